"""PETRELS: parallel estimation and tracking by recursive least squares."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg import _kernels
from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder
from thalweg.trackers import Track
from thalweg.trackers._blocks import as_rows, copied, pack, unpack
from thalweg.trackers._encoders import LeastSquares
from thalweg.trackers._rows import Rows, first_rows, motion

__all__ = ["Petrels"]


@dataclass(frozen=True)
class Petrels:
    """PETRELS of Chi, Eldar and Calderbank (2013), with the step of [T] on request.

    Row u of the basis minimises, over all samples so far in which its entry was observed, the sum
    of forgetting^age (v - w' u)^2, where the codes w are those that each sample had when it came.
    A row's matrix of second moments is kept by its triangular factors, which stay positive
    definite in any arithmetic. A sample costs O(F K^2).

    Parameters
    ----------
    forgetting : float
        What a sample's weight is multiplied by with each later sample.
    step_size : {"full", "adaptive", "forgetting"}
        "full": a row moves to its new minimum. "adaptive": it moves the share eta of the way,
        [T] (26): the sine of the angle between sample and subspace, or 1 beyond a sine of 1/2.
        "forgetting": it moves all the way, and eta multiplies the forgetting factor,
        lambda_t = eta_t lambda, [T] II-B.
    ridge : float
        Weight of the first basis, in samples of the size of the first: alpha / 2 of [T] (23).

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.petrels import Petrels
    >>> tracker = Petrels()
    >>> V = np.outer([3.0, 4.0], np.ones(50))
    >>> state, _ = tracker.step(tracker.init(np.array([[1.0], [0.0]])), V)
    >>> bool(abs(state.U[1] / state.U[0] - 4 / 3)[0] < 1e-2)
    True
    """

    forgetting: float = 0.98
    step_size: str = "full"
    ridge: float = 0.01
    name: ClassVar[str] = "petrels"

    def __post_init__(self) -> None:
        motion(self.forgetting, self.step_size, self.ridge)

    def init(self, U: Array) -> Rows:
        """Return the state with the basis U and nothing learned."""
        return first_rows(U)

    def step(self, state: Rows, V: Array, observed: Mask | None = None) -> tuple[Rows, Track]:
        """Return the state after the columns of V, and their codes."""
        X, mask = as_rows(V, observed, state.U.dtype)
        U, D, L = pack(state.U), copied(state.D), copied(state.L)
        H, error = np.empty((len(X), U.shape[1]), dtype=U.dtype), np.empty(len(X))
        way = motion(self.forgetting, self.step_size, self.ridge)
        _kernels.track_least_squares(X, mask, U, D, L, way, H, error)
        return Rows(unpack(U, X.shape[1]), D, L), Track(H.T, np.zeros_like(X).T, error)

    def encoder(self, state: Rows) -> Encoder:
        """Return least squares on the entries observed."""
        return LeastSquares()
