"""PETRELS: parallel estimation and tracking by recursive least squares."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg import _native
from thalweg._linalg import aligned_copy, as_rows, pack_rows, unpack_rows
from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder
from thalweg.encoders.least_squares import LeastSquares
from thalweg.trackers import Track
from thalweg.trackers._row_least_squares import (
    RowState,
    check_forgetting,
    check_row_update,
    init_rows,
    row_update,
)

__all__ = ["PetrelsTracker"]


@dataclass(frozen=True)
class PetrelsTracker:
    """Track a subspace by PETRELS of Chi, Eldar and Calderbank (2013).

    Row u of the basis minimises, over all past samples with its entry observed,

        sum_t forgetting^age(t) (v_t - h_t' u)^2

    where the codes h_t are those that sample t had when it arrived. The matrix of second moments of
    each row is stored by its LDL' factors, which keep it positive definite in any arithmetic. A
    sample costs O(F K^2).

    Parameters
    ----------
    forgetting : float
        Factor by which each sample multiplies the weights of all earlier ones.
    step_size : {"full", "adaptive", "forgetting"}
        "full": a row moves to its new minimum. "adaptive": it moves by the share eta of the way,
        [T] (26): eta is the sine of the angle between sample and subspace, or 1 for a sine above
        1/2. "forgetting": it moves all the way, and eta multiplies the forgetting factor,
        lambda_t = eta_t lambda, [T] II-B.
    ridge : float
        Weight of the first basis, in samples of the norm of the first one: alpha / 2 of [T] (23).

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.petrels import PetrelsTracker
    >>> tracker = PetrelsTracker()
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
        check_forgetting(self.forgetting)
        check_row_update(self.step_size, self.ridge)

    def init(self, U: Array) -> RowState:
        """Return the state before the first sample, with the basis U."""
        return init_rows(U)

    def step(
        self, state: RowState, V: Array, observed: Mask | None = None
    ) -> tuple[RowState, Track]:
        """Return the state after the columns of V, and their codes."""
        X, mask = as_rows(V, observed, state.U.dtype)
        U, D, L = pack_rows(state.U), aligned_copy(state.D), aligned_copy(state.L)
        H, error = np.empty((len(X), U.shape[1]), dtype=U.dtype), np.empty(len(X))
        settings = row_update(self.forgetting, self.step_size, self.ridge)
        _native.track_least_squares(X, mask, (U, D, L), settings, H, error)
        state = RowState(unpack_rows(U, X.shape[1]), D, L)
        return state, Track(H.T, np.zeros_like(X).T, error)

    def encoder(self, state: RowState) -> Encoder:
        """Return least squares on the observed entries."""
        return LeastSquares()
