"""GROUSE: one rotation of the subspace for each sample, by its least squares residual."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from thalweg import _native
from thalweg._linalg import as_rows
from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder
from thalweg.encoders.least_squares import LeastSquares
from thalweg.trackers import Track
from thalweg.trackers._geodesic import check_step, step_of

__all__ = ["GrouseState", "GrouseTracker"]


class GrouseState(NamedTuple):
    """A basis, and the number of samples.

    Attributes
    ----------
    U : array of shape (F, K)
        Orthonormal basis.
    n_samples : float
        Number of samples so far.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.grouse import GrouseTracker
    >>> GrouseTracker().init(np.eye(3, 2)).n_samples
    0.0
    """

    U: Array
    n_samples: float


@dataclass(frozen=True)
class GrouseTracker:
    """Track a subspace by GROUSE of Balzano, Nowak and Recht (2010).

    Let h be the least squares codes on the observed entries, p = U h, and r the residual, zero at
    missing entries. The gradient of |r|^2 on the Grassmannian has rank one, and the geodesic along
    it rotates p towards r and leaves the orthogonal complement of both. The greedy angle
    atan(|r| / |p|), of Balzano and Wright (2013), rotates the subspace until it contains p + r, the
    sample with its gaps filled. The basis is the only memory: noise enters it unless the steps
    diminish. A sample costs O(F K^2).

    The angle of the 2010 paper is rate |r| |p|, in squared units of the data. Here it is divided by
    |p + r|^2: the step does not depend on units, and a constant step of rate 1 is nearly greedy if
    residuals are small.

    Parameters
    ----------
    step_size : {"greedy", "constant", "diminishing"}
        Rule of the rotation angle. Diminishing steps are multiplied by K / (K + t) at sample t.
    rate : float
        Factor of the steps that are not greedy.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.grouse import GrouseTracker
    >>> tracker = GrouseTracker()
    >>> V = np.array([[3.0, np.e], [4.0, 4.0]])
    >>> observed = np.array([[True, False], [True, True]])
    >>> state, track = tracker.step(tracker.init(np.array([[1.0], [0.0]])), V, observed)
    >>> state.U.round(6)
    array([[0.6],
           [0.8]])
    """

    step_size: str = "greedy"
    rate: float = 1.0
    name: ClassVar[str] = "grouse"

    def __post_init__(self) -> None:
        check_step(self.step_size, self.rate, "greedy", "constant", "diminishing")

    def init(self, U: Array) -> GrouseState:
        """Return the state before the first sample, with the basis U."""
        return GrouseState(U, 0.0)

    def step(
        self, state: GrouseState, V: Array, observed: Mask | None = None
    ) -> tuple[GrouseState, Track]:
        """Return the state after the columns of V, and their codes."""
        X, mask = as_rows(V, observed, state.U.dtype)
        U = np.array(state.U.T, order="C")
        H, error = np.empty((len(X), len(U)), dtype=U.dtype), np.empty(len(X))
        step = step_of(self.step_size, self.rate)
        n_samples = _native.track_grouse(U, X, mask, step, state.n_samples, H, error)
        return GrouseState(U.T, n_samples), Track(H.T, np.zeros_like(X).T, error)

    def encoder(self, state: GrouseState) -> Encoder:
        """Return least squares on the observed entries."""
        return LeastSquares()
