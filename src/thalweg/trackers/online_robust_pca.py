"""Online robust PCA: the basis that is best for all codes and clean samples so far."""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from thalweg import _kernels
from thalweg._checks import require_nonnegative, require_positive
from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder
from thalweg.errors import ParameterError
from thalweg.trackers import Track
from thalweg.trackers._blocks import as_rows
from thalweg.trackers._robust_fit import RobustFit

__all__ = ["OnlineRobustPCA", "Summed"]


class Summed(NamedTuple):
    """A basis, and the statistics of all samples that it minimises the surrogate of.

    Attributes
    ----------
    U : array of shape (F, K)
        Basis; it need not be orthonormal.
    A : array of shape (K, K)
        Sum of h h'.
    B : array of shape (F, K)
        Sum of (v - r) h', with U h in place of gaps.
    control : array of shape (2,)
        Typical length of a sample, and the number of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.online_robust_pca import OnlineRobustPCA
    >>> OnlineRobustPCA().init(np.eye(3, 2)).A
    array([[0., 0.],
           [0., 0.]])
    """

    U: Array
    A: Array
    B: Array
    control: Array


@dataclass(frozen=True)
class OnlineRobustPCA:
    """ORPCA of Feng, Xu and Yan (2013): stochastic optimisation of robust PCA.

    Codes h and outliers r of a sample minimise

        |v - U h - r|^2 / 2 + lambda1 |h|^2 / 2 + lambda2 |r|_1

    and then U minimises the sum of these over all samples so far, with their h and r held, and
    lambda1 |U|^2 / 2: that is tr(U'U (A + lambda1 I)) / 2 - tr(U'B), by block coordinate descent
    over columns. The basis need not be orthonormal. A sample costs O(F K^2).

    The paper has no gaps: here codes come from the entries observed, and in B a gap is filled with
    U h, which is the least that can be said of it. Both weights are relative to a typical length
    c of samples, the square root of F times the median size of an entry, averaged over the last
    100 samples: data are taken as if divided by c, and nothing depends on their units.

    Parameters
    ----------
    lambda1 : float, optional
        Weight of codes and basis; 1 / sqrt(F) by default, the usual choice of robust PCA.
    lambda2 : float, optional
        Weight of outliers; 1 / sqrt(F) by default, the usual choice too: an outlier
        is what is farther from the fit than the median size of an entry.
    forgetting : float
        What a sample's weight is multiplied by with each later sample; the paper forgets nothing.
    sweeps : int
        Passes of block coordinate descent for each sample.
    tol : float
        Codes are found by ADMM, which ends when loss and dual differ by no more than this share.
    max_iter : int
        Cap on the rounds of ADMM.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.online_robust_pca import OnlineRobustPCA
    >>> rng = np.random.default_rng(0)
    >>> V = np.outer(np.ones(20), rng.normal(size=500))
    >>> V[rng.random(V.shape) < 0.1] += 10.0
    >>> tracker = OnlineRobustPCA()
    >>> state, _ = tracker.step(tracker.init(np.eye(20, 1)), V)
    >>> bool(abs(state.U.sum()) > 0.99 * np.linalg.norm(state.U) * 20**0.5)
    True
    """

    lambda1: float | None = None
    lambda2: float | None = None
    forgetting: float = 1.0
    sweeps: int = 1
    tol: float = 1e-3
    max_iter: int = 200
    name: ClassVar[str] = "orpca"

    def __post_init__(self) -> None:
        require_nonnegative(lambda1=self.lambda1 or 0.0)
        require_positive(lambda2=1.0 if self.lambda2 is None else self.lambda2, tol=self.tol)
        require_positive(sweeps=self.sweeps, max_iter=self.max_iter)
        if not 0.0 < self.forgetting <= 1.0:
            raise ParameterError(
                f"forgetting must be above 0 and at most 1, got {self.forgetting!r}. "
                "1 forgets nothing; half_life(n) gives the factor that halves after n samples."
            )

    def init(self, U: Array) -> Summed:
        """Return the state with the basis U and no samples."""
        K = U.shape[1]
        return Summed(U, np.zeros((K, K)), np.zeros_like(U), np.zeros(2))

    def step(self, state: Summed, V: Array, observed: Mask | None = None) -> tuple[Summed, Track]:
        """Return the state after the columns of V, and their codes and outliers."""
        X, mask = as_rows(V, observed, state.U.dtype)
        U, B = np.array(state.U.T, order="C"), np.array(state.B.T, order="C")
        A, control, fit = state.A.copy(), state.control.copy(), self._fit(state.U, 1.0)
        H, R = np.empty((len(X), len(U)), dtype=U.dtype), np.empty_like(X)
        error = np.empty(len(X))
        _kernels.track_statistics(
            U, X, mask, fit.ridge, fit.threshold, self.forgetting, self.sweeps, fit.rho, fit.tol,
            fit.max_iter, A, B, control, H, R, error,
        )  # fmt: skip
        return Summed(U.T, A, B.T, control), Track(H.T, R.T, error)

    def encoder(self, state: Summed) -> Encoder:
        """Return the fit of codes and outliers at the length so far, its cap 20 times as high."""
        return self._fit(state.U, float(state.control[0])).patient()

    def _fit(self, U: Array, length: float) -> RobustFit:
        usual = 1.0 / sqrt(len(U))
        ridge = usual if self.lambda1 is None else self.lambda1
        threshold = length * (usual if self.lambda2 is None else self.lambda2)
        return RobustFit(threshold, ridge, tol=self.tol, max_iter=self.max_iter)
