"""GRASTA: rotations of the subspace along the slope of the least absolute residual."""

from dataclasses import dataclass
from typing import ClassVar

from thalweg._checks import require_positive
from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder
from thalweg.trackers import Track
from thalweg.trackers._robust_fit import RobustFit
from thalweg.trackers._turning import Steered, choose, follow, steady

__all__ = ["Grasta"]


@dataclass(frozen=True)
class Grasta:
    """GRASTA of He, Balzano and Szlam (2012).

    Codes h and outliers s minimise |s|_1 with v = U h + s on the entries observed, by ADMM. Its
    multipliers y, the slope of |v - U h|_1, are numbers in [-1, 1] whatever the size of an
    outlier; made orthogonal to U and paired with h they are the gradient on the Grassmannian,
    and U follows the geodesic. As |y| does not shrink when U gets better, steps have to: the
    adaptive one is rate 2^-l / (1 + m), where m falls when two gradients in a row agree and
    rises when they oppose one another, and the level l changes when m leaves [1, 15]. A sample
    costs O(F K^2) and O(F K) for each round of ADMM.

    The paper's weight of ADMM and its steps have units. Here rho is relative to the mean
    residual of least squares, which changes the way of ADMM and not its end; gradients are
    compared by their cosine; and the angle is the step times the mean size of y times |h|
    relative to its mean over the last 100 samples, and a sixth of a turn at most. So nothing
    depends on units. Outliers are all that is left by the fit, noise too.

    Parameters
    ----------
    step_size : {"adaptive", "constant", "diminishing"}
        How far to turn; diminishing steps are rate / (1 + t) at sample t.
    rate : float
        Factor of the steps, the paper's C.
    rho : float
        Weight of ADMM.
    tol : float
        ADMM ends when loss and dual differ by no more than this share of the loss.
    max_iter : int
        Cap on the rounds of ADMM.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.grasta import Grasta
    >>> rng = np.random.default_rng(0)
    >>> V = np.outer(np.ones(20), rng.normal(size=500))
    >>> V[rng.random(V.shape) < 0.1] += 10.0
    >>> tracker = Grasta()
    >>> state, _ = tracker.step(tracker.init(np.eye(20, 1)), V)
    >>> bool(abs(state.U.sum()) / 20**0.5 > 0.9999)
    True
    """

    step_size: str = "adaptive"
    rate: float = 1.0
    rho: float = 1.8
    tol: float = 1e-3
    max_iter: int = 200
    name: ClassVar[str] = "grasta"

    def __post_init__(self) -> None:
        self._rule()
        require_positive(rho=self.rho, tol=self.tol, max_iter=self.max_iter)

    def init(self, U: Array) -> Steered:
        """Return the state with the basis U and no samples."""
        return steady(U)

    def step(self, state: Steered, V: Array, observed: Mask | None = None) -> tuple[Steered, Track]:
        """Return the state after the columns of V, and their codes and outliers."""
        return follow(state, V, observed, self._rule(), self.rate, self._fit())

    def encoder(self, state: Steered) -> Encoder:
        """Return the fit of least absolute residual, with a cap 20 times as high."""
        return self._fit().patient()

    def _fit(self) -> RobustFit:
        return RobustFit(rho=self.rho, tol=self.tol, max_iter=self.max_iter)

    def _rule(self) -> int:
        return choose(self.step_size, self.rate, "adaptive", "constant", "diminishing")
