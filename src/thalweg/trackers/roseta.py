"""ROSETA: proximal steps of the subspace along the gradient of the least absolute residual."""

from dataclasses import dataclass
from typing import ClassVar

from thalweg._checks import require_nonnegative, require_positive, require_whole
from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder
from thalweg.encoders.robust_regression import RobustRegression
from thalweg.trackers import Track
from thalweg.trackers._geodesic import GeodesicState, init_geodesic, track_l1

__all__ = ["RosetaTracker"]


@dataclass(frozen=True)
class RosetaTracker:
    """Track a subspace by ROSETA of Mansour and Jiang (2015).

    Codes h and outliers s minimise |s|_1 subject to v = U h + s on the observed entries, by ADMM
    with multipliers y. The new basis minimises the augmented Lagrangian of the sample plus
    |U+ - U|^2 / 2, which at the solution of ADMM is

        U+ = U + y h' / (1 + mu |h|^2).

    y is orthogonal to U, so an orthonormal basis of the same space is a rotation by
    atan(|y| |h| / (1 + mu |h|^2)): a step is shorter than a quarter turn, and samples with large
    codes rotate less. mu is rate 2^-l / (1 + eta), where eta increases if two successive gradients
    agree, and the level l changes when eta leaves [1, 15], by the rule of GRASTA. A sample costs
    O(F K^2), and O(F K) for each iteration of ADMM.

    The paper alternates between codes and filling of the gaps, and its mu is also the penalty
    parameter of ADMM. Here the codes are solved for on the observed entries, and ADMM has a penalty
    parameter of its own, relative to the mean residual of least squares: the minimum is the same.
    Norms of codes are relative to their mean over the last 100 samples, gradients are compared by
    their cosine, and y is relative to its largest norm; so the result does not depend on units. The
    outliers are the whole residual of the fit, noise included.

    Parameters
    ----------
    rate : float
        Factor of mu: the larger it is, the shorter are the first steps.
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
    >>> from thalweg.trackers.roseta import RosetaTracker
    >>> rng = np.random.default_rng(0)
    >>> V = np.outer(np.ones(20), rng.normal(size=500))
    >>> V[rng.random(V.shape) < 0.1] += 10.0
    >>> tracker = RosetaTracker()
    >>> state, _ = tracker.step(tracker.init(np.eye(20, 1)), V)
    >>> bool(abs(state.U.sum()) / 20**0.5 > 0.999)
    True
    """

    rate: float = 16.0  # benchmark: tracking_table
    rho: float = 1.8
    tol: float = 1e-3
    max_inner_iter: int = 200
    name: ClassVar[str] = "roseta"

    def __post_init__(self) -> None:
        require_positive(rate=self.rate, rho=self.rho)
        require_nonnegative(tol=self.tol)
        require_whole(1, max_inner_iter=self.max_inner_iter)

    def init(self, U: Array) -> GeodesicState:
        """Return the state before the first sample, with the basis U."""
        return init_geodesic(U)

    def step(
        self, state: GeodesicState, V: Array, observed: Mask | None = None
    ) -> tuple[GeodesicState, Track]:
        """Return the state after the columns of V, and their codes and outliers."""
        return track_l1(state, V, observed, "proximal", self.rate, self._regression())

    def encoder(self, state: GeodesicState) -> Encoder:
        """Return the fit of least absolute residuals, with 20 times as many iterations."""
        return self._regression().with_more_iterations()

    def _regression(self) -> RobustRegression:
        return RobustRegression(rho=self.rho, tol=self.tol, max_iter=self.max_inner_iter)
