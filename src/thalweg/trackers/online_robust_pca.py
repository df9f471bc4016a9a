"""Online robust PCA: the basis that is best for the codes and clean samples so far."""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from thalweg import _native
from thalweg._checks import require_nonnegative, require_positive, require_whole
from thalweg._linalg import as_rows
from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder
from thalweg.encoders.robust_regression import RobustRegression
from thalweg.trackers import Track
from thalweg.trackers._row_least_squares import check_forgetting

__all__ = ["OnlineRobustPCATracker", "SurrogateState"]


class SurrogateState(NamedTuple):
    """A basis, and the statistics of all samples in the surrogate that it minimises.

    Attributes
    ----------
    U : array of shape (F, K)
        Basis; it need not be orthonormal.
    A : array of shape (K, K)
        Sum of h h'.
    B : array of shape (F, K)
        Sum of (v - r) h', with U h at missing entries.
    sample_norm : float
        Typical norm of a sample.
    n_samples : float
        Number of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.online_robust_pca import OnlineRobustPCATracker
    >>> OnlineRobustPCATracker().init(np.eye(3, 2)).A
    array([[0., 0.],
           [0., 0.]])
    """

    U: Array
    A: Array
    B: Array
    sample_norm: float
    n_samples: float


@dataclass(frozen=True)
class OnlineRobustPCATracker:
    """Track a subspace by ORPCA of Feng, Xu and Yan (2013), stochastic robust PCA.

    Codes h and outliers r of a sample minimise

        |v - U h - r|^2 / 2 + lambda1 |h|^2 / 2 + lambda2 |r|_1.

    Then U minimises the sum of this over all past samples with their h and r, plus
    lambda1 |U|^2 / 2: that is tr(U'U (A + lambda1 I)) / 2 - tr(U'B), by block coordinate descent
    over its columns. The basis need not be orthonormal. A sample costs O(F K^2).

    The paper has no missing entries: here the codes come from the observed entries, and B has U h
    at the others. Both weights are relative to the typical norm c of the samples, which is
    sqrt(F) times the median absolute entry, averaged over the last 100 samples: the data are
    treated as if divided by c, so that the result does not depend on units.

    Parameters
    ----------
    lambda1 : float, optional
        Weight of codes and basis, relative to c; 1 / sqrt(F) by default, the usual choice of robust
        PCA.
    lambda2 : float, optional
        Weight of the outliers, relative to c; 1 / sqrt(F) by default: an outlier is a residual
        above the median absolute entry.
    forgetting : float
        Factor by which each sample multiplies the weights of all earlier ones; 1 in the paper.
    sweeps : int
        Number of sweeps of block coordinate descent for each sample.
    tol : float
        The codes are computed by ADMM, which stops if loss and dual differ by at most this share of
        the loss. With 0, all iterations are done.
    max_inner_iter : int
        Maximum number of ADMM iterations for each sample.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.online_robust_pca import OnlineRobustPCATracker
    >>> rng = np.random.default_rng(0)
    >>> V = np.outer(np.ones(20), rng.normal(size=500))
    >>> V[rng.random(V.shape) < 0.1] += 10.0
    >>> tracker = OnlineRobustPCATracker()
    >>> state, _ = tracker.step(tracker.init(np.eye(20, 1)), V)
    >>> bool(abs(state.U.sum()) > 0.99 * np.linalg.norm(state.U) * 20**0.5)
    True
    """

    lambda1: float | None = None
    lambda2: float | None = None
    forgetting: float = 1.0
    sweeps: int = 1
    tol: float = 1e-3
    max_inner_iter: int = 200
    name: ClassVar[str] = "orpca"

    def __post_init__(self) -> None:
        if self.lambda1 is not None:
            require_nonnegative(lambda1=self.lambda1)
        if self.lambda2 is not None:
            require_positive(lambda2=self.lambda2)
        require_nonnegative(tol=self.tol)
        require_whole(1, sweeps=self.sweeps, max_inner_iter=self.max_inner_iter)
        check_forgetting(self.forgetting)

    def init(self, U: Array) -> SurrogateState:
        """Return the state before the first sample, with the basis U."""
        K = U.shape[1]
        return SurrogateState(U, np.zeros((K, K)), np.zeros_like(U), 0.0, 0.0)

    def step(
        self, state: SurrogateState, V: Array, observed: Mask | None = None
    ) -> tuple[SurrogateState, Track]:
        """Return the state after the columns of V, and their codes and outliers."""
        X, mask = as_rows(V, observed, state.U.dtype)
        U, B = np.array(state.U.T, order="C"), np.array(state.B.T, order="C")
        A, norm = (
            state.A.copy(),
            _native.SampleNorm(mean=state.sample_norm, n_samples=state.n_samples),
        )
        problem = self._regression(state.U, 1.0).problem()
        H, R = np.empty((len(X), len(U)), dtype=U.dtype), np.empty_like(X)
        error = np.empty(len(X))
        step = _native.SurrogateStep(forgetting=self.forgetting, sweeps=self.sweeps)
        _native.track_surrogate(U, X, mask, step, problem, (A, B), norm, (H, R, error))
        return SurrogateState(U.T, A, B.T, norm.mean, norm.n_samples), Track(H.T, R.T, error)

    def encoder(self, state: SurrogateState) -> Encoder:
        """Return the fit of codes and outliers, with 20 times as many iterations."""
        return self._regression(state.U, state.sample_norm).with_more_iterations()

    def _regression(self, U: Array, sample_norm: float) -> RobustRegression:
        default = 1.0 / sqrt(len(U))
        ridge = default if self.lambda1 is None else self.lambda1
        weight = sample_norm * (default if self.lambda2 is None else self.lambda2)
        return RobustRegression(weight, ridge, tol=self.tol, max_iter=self.max_inner_iter)
