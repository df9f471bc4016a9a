"""The nearest point of the data's hull, which few samples span."""

import numpy as np

from thalweg._typing import Array, Indices
from thalweg.archetypes.data_matrix import DataMatrix
from thalweg.solvers.simplex import simplex_least_squares

__all__ = ["nearest_in_hull"]

# Samples that may join a working set for each point and round.
_JOIN = 4
# A slope below all others by this share of the problem's size calls a sample into the set.
_TOL = 1e-9


def nearest_in_hull(
    rows: DataMatrix,
    HX: Array,
    T: Array | None = None,
    *,
    rounds: int = 100,
    steps: int | None = None,
) -> tuple[Array, Array]:
    """Return argmin_T |H - T X| over T with rows in the simplex, [A] (20), (33).

    With few samples all inner products are at hand, and the solution is exact. With many, only
    a working set of them is looked at: samples with weight, and those whose slope shows that
    they would lower the distance. A round costs one pass over the data; no round raises it.

    Parameters
    ----------
    rows : DataMatrix
        The data X.
    HX : array of shape (k, m)
        H X'.
    T : array of shape (k, m), optional
        Where to begin; by default at a sample for each point.
    rounds : int
        Cap on the rounds with a working set.
    steps : int, optional
        Cap on the steps of each row in a round.

    Returns
    -------
    T : array of shape (k, m)
        The weights.
    gaps : array of shape (k,)
        How far |H - T X|^2 / 2 is from its minimum at most.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.hull_projection import nearest_in_hull
    >>> square = DataMatrix.of(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]))
    >>> T, _ = nearest_in_hull(square, square.correlated(np.array([[0.5, 3.0]])))
    >>> T @ square.X
    array([[0.5, 1. ]])
    """
    if rows.gram is not None:
        return simplex_least_squares(rows.gram, HX, T, steps)
    if T is None:
        T = np.zeros(HX.shape)
        T[np.arange(len(HX)), np.argmin(rows.squares / 2 - HX, axis=1)] = 1.0
    active = np.flatnonzero(T.any(axis=0))
    for round_ in range(max(rounds, 1)):
        T = _solve(rows, HX, T, active, steps)
        slopes = rows.correlated(rows.mixed(T)) - HX
        gaps = np.max(slopes, axis=1, where=T > 0.0, initial=-np.inf) - slopes.min(axis=1)
        joined = _callers(slopes, gaps, _TOL * float(rows.squares.max(initial=0.0)))
        more = np.union1d(np.flatnonzero(T.any(axis=0)), joined)
        if round_ + 1 >= rounds or len(np.setdiff1d(joined, active)) == 0:
            break
        active = more
    return T, np.maximum(gaps, 0.0)


def _solve(rows: DataMatrix, HX: Array, T: Array, active: Indices, steps: int | None) -> Array:
    chosen = rows.take(active)
    small, _ = simplex_least_squares(chosen @ chosen.T, HX[:, active], T[:, active], steps)
    T = np.zeros(T.shape)
    T[:, active] = small
    return T


def _callers(slopes: Array, gaps: Array, floor: float) -> Indices:
    """Return the samples with the least slopes of each row that is not done."""
    count = min(_JOIN, slopes.shape[1])
    best = np.argpartition(slopes, count - 1, axis=1)[:, :count]
    return np.unique(best[gaps > floor])
