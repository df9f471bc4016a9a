"""GRASTA: rotations of the subspace along the gradient of the least absolute residual."""

from dataclasses import dataclass
from typing import ClassVar

from thalweg._checks import require_nonnegative, require_positive, require_whole
from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder
from thalweg.encoders.robust_regression import RobustRegression
from thalweg.trackers import Track
from thalweg.trackers._geodesic import GeodesicState, check_step, init_geodesic, track_l1

__all__ = ["GrastaTracker"]


@dataclass(frozen=True)
class GrastaTracker:
    """Track a subspace by GRASTA of He, Balzano and Szlam (2012).

    Codes h and outliers s minimise |s|_1 subject to v = U h + s on the observed entries, by ADMM.
    Its multipliers y are the gradient of |v - U h|_1: numbers in [-1, 1], whatever the size of an
    outlier. Projected off U and multiplied by h', they are the gradient on the Grassmannian, and U
    moves along the geodesic. |y| does not decrease as U improves, so the steps must: the adaptive
    step is rate 2^-l / (1 + m), where m decreases if two successive gradients agree and increases
    if they oppose each other, and the level l changes when m leaves [1, 15]. A sample costs
    O(F K^2), and O(F K) for each iteration of ADMM.

    The paper's penalty parameter of ADMM and its steps have units. Here rho is relative to the mean
    residual of least squares, which changes the iterates of ADMM and not its solution. Gradients
    are compared by their cosine. The angle is the step times the mean absolute y times |h| relative
    to its mean over the last 100 samples, and at most pi / 3. So the result does not depend on
    units. The outliers are the whole residual of the fit, noise included.

    Parameters
    ----------
    step_size : {"adaptive", "constant", "diminishing"}
        Rule of the rotation angle; diminishing steps are rate / (1 + t) at sample t.
    rate : float
        Factor of the steps, the paper's C.
    rho : float
        Penalty parameter of ADMM.
    tol : float
        ADMM stops if loss and dual differ by at most this share of the loss. With 0, all
        iterations are done.
    max_inner_iter : int
        Maximum number of ADMM iterations for each sample.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.grasta import GrastaTracker
    >>> rng = np.random.default_rng(0)
    >>> V = np.outer(np.ones(20), rng.normal(size=500))
    >>> V[rng.random(V.shape) < 0.1] += 10.0
    >>> tracker = GrastaTracker()
    >>> state, _ = tracker.step(tracker.init(np.eye(20, 1)), V)
    >>> bool(abs(state.U.sum()) / 20**0.5 > 0.9999)
    True
    """

    step_size: str = "adaptive"
    rate: float = 1.0
    rho: float = 1.8
    tol: float = 1e-3
    max_inner_iter: int = 200
    name: ClassVar[str] = "grasta"

    def __post_init__(self) -> None:
        check_step(self.step_size, self.rate, "adaptive", "constant", "diminishing")
        require_positive(rho=self.rho)
        require_nonnegative(tol=self.tol)
        require_whole(1, max_inner_iter=self.max_inner_iter)

    def init(self, U: Array) -> GeodesicState:
        """Return the state before the first sample, with the basis U."""
        return init_geodesic(U)

    def step(
        self, state: GeodesicState, V: Array, observed: Mask | None = None
    ) -> tuple[GeodesicState, Track]:
        """Return the state after the columns of V, and their codes and outliers."""
        return track_l1(state, V, observed, self.step_size, self.rate, self._regression())

    def encoder(self, state: GeodesicState) -> Encoder:
        """Return the fit of least absolute residuals, with 20 times as many iterations."""
        return self._regression().with_more_iterations()

    def _regression(self) -> RobustRegression:
        return RobustRegression(rho=self.rho, tol=self.tol, max_iter=self.max_inner_iter)
