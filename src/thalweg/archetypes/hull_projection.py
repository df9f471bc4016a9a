"""Projection onto the convex hull of the data."""

import numpy as np

from thalweg._typing import Array, Indices
from thalweg.archetypes.data_matrix import DataMatrix
from thalweg.solvers.simplex import simplex_least_squares

__all__ = ["nearest_in_hull"]

# Samples that are added to the working set for each point in an iteration.
# speed only: the projection does not depend on it
_SAMPLES_PER_POINT = 4
# Optimality gap above which samples are added, in units of the largest |x|^2.
_GAP_TOL = 1e-9


def nearest_in_hull(
    rows: DataMatrix,
    HX: Array,
    T: Array | None = None,
    *,
    rounds: int = 100,
    steps: int | None = None,
) -> tuple[Array, Array]:
    """Compute argmin_T |H - T X| over T with rows in the simplex: [A] (20), (33).

    If the Gram matrix X X' is available, the solution is exact. Otherwise the problem is solved on
    a working set of samples: those with nonzero weight, and those with the most negative
    derivatives. Each iteration takes one pass over the data and does not increase the distance.

    Parameters
    ----------
    rows : DataMatrix
        The data X.
    HX : array of shape (k, m)
        H X'.
    T : array of shape (k, m), optional
        Initial weights; by default the nearest sample of each point.
    rounds : int
        Maximum number of iterations with a working set.
    steps : int, optional
        Maximum number of active-set steps for each row in an iteration.

    Returns
    -------
    T : array of shape (k, m)
        Weights.
    gaps : array of shape (k,)
        Upper bounds of |H - T X|^2 / 2 minus its minimum.

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
        added = _steepest(slopes, gaps, _GAP_TOL * float(rows.squares.max(initial=0.0)))
        if round_ + 1 >= rounds or len(np.setdiff1d(added, active)) == 0:
            break
        active = np.union1d(np.flatnonzero(T.any(axis=0)), added)
    return T, np.maximum(gaps, 0.0)


def _solve(rows: DataMatrix, HX: Array, T: Array, active: Indices, steps: int | None) -> Array:
    chosen = rows.take(active)
    small, _ = simplex_least_squares(chosen @ chosen.T, HX[:, active], T[:, active], steps)
    T = np.zeros(T.shape)
    T[:, active] = small
    return T


def _steepest(slopes: Array, gaps: Array, floor: float) -> Indices:
    """Return the samples with the smallest derivatives, for each row with a gap above ``floor``."""
    count = min(_SAMPLES_PER_POINT, slopes.shape[1])
    best = np.argpartition(slopes, count - 1, axis=1)[:, :count]
    return np.unique(best[gaps > floor])
