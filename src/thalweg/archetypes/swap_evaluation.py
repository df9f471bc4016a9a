"""Evaluate a swap of two entries of the archetypes at optimal codes: [A] (31) to (34)."""

import numpy as np

from thalweg._typing import Array
from thalweg.archetypes.hull_projection import nearest_in_hull
from thalweg.archetypes.objective import Point, Problem, State
from thalweg.archetypes.swap_candidates import Swap
from thalweg.solvers.simplex import simplex_least_squares

__all__ = ["SwapEvaluation"]

# Maximum number of iterations of (32), (33) and (34). They also stop when the last decrease is
# below this share of the distance from the target.
_MAX_ITER, _MIN_PROGRESS = 50, 0.01


class SwapEvaluation:
    """Minimise (17) over W, T and the entry that enters the support, after a swap.

    The leaving entry is set to 0, and the entering one starts from 0. Products of H are updated
    entry by entry, and only the rows of T of the two entries change. The given point is not
    modified.

    Parameters
    ----------
    problem : Problem
        The problem.
    point : Point
        The point before the swap.
    distances : array of shape (k,)
        Squared distances of its archetypes from the convex hull of the data.
    columns : dict of int to array of shape (m,)
        The columns of the data that contain the two entries.
    swap : Swap
        The two entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Problem, DataMatrix
    >>> from thalweg.archetypes.swap_candidates import Swap
    >>> from thalweg.archetypes.initialisation import from_archetypes
    >>> from thalweg.archetypes.swap_evaluation import SwapEvaluation
    >>> X = np.array([[1.0, 3.0], [1.0, 3.0]])
    >>> problem = Problem(DataMatrix.of(X), weight=1.0, nonzeros=1)
    >>> point = problem.at(from_archetypes(problem.rows, np.array([[1.0, 0.0]])))
    >>> trial = SwapEvaluation(
    ...     problem, point, np.array([9.0]), {0: X[:, 0], 1: X[:, 1]}, Swap((0, 0), (0, 1))
    ... )
    >>> trial.reaches(5.0), trial.point().state.H
    (True, array([[0., 3.]]))
    """

    def __init__(
        self,
        problem: Problem,
        point: Point,
        distances: Array,
        columns: dict[int, Array],
        swap: Swap,
    ) -> None:
        self._problem, self._columns, self._enters = problem, columns, swap.enters
        (self._H, self._W, self._T) = (point.state.H.copy(), point.state.W, point.state.T)
        self._HX, self._HH = point.HX.copy(), point.HH.copy()
        leaves = swap.enters if swap.leaves is None else swap.leaves
        self._touched = np.unique([leaves[0], swap.enters[0]])
        self._others = float(distances.sum() - distances[self._touched].sum())
        self._hull: Array = np.empty((0, 0))
        if swap.leaves is not None:
            self._set(swap.leaves, 0.0)

    def reaches(self, target: float) -> bool:
        """Iterate until (17) is below the target; return False without sufficient progress."""
        last = np.inf
        for _ in range(_MAX_ITER):
            value = self._codes()
            if value < target:
                return True
            if last - value <= _MIN_PROGRESS * (value - target):
                return False
            last = value
            self._entry()
        return False

    def point(self) -> Point:
        """Return the current point."""
        return self._problem.known(State(self._H, self._W, self._T), self._HX, self._HH)

    def _codes(self) -> float:
        """Solve for W (32) and for the affected rows of T (33); return (17)."""
        problem, rows, touched = self._problem, self._problem.rows, self._touched
        self._W, _ = simplex_least_squares(self._HH, self._HX.T, self._W)
        strong, squares = problem.emphasised(self._W), problem.emphasised(rows.squares[:, None])
        fit = squares.sum() - 2.0 * np.vdot(strong.T, self._HX)
        fit += np.vdot(self._W.T @ strong, self._HH)
        if not problem.weight:
            return float(fit)
        solved, _ = nearest_in_hull(rows, self._HX[touched], self._T[touched])
        self._T = self._T.copy()
        self._T[touched] = solved
        self._hull = rows.mixed(solved)
        distance = self._others + np.sum((self._H[touched] - self._hull) ** 2)
        return float(fit + problem.weight * distance)

    def _entry(self) -> None:
        """Set the entry to its optimal value for these codes, (34)."""
        i, j = self._enters
        weight, codes = self._problem.weight, self._W[:, i]
        strong = self._problem.emphasised(self._W)[:, i]
        slope = (self._W.T @ strong) @ self._H[:, j] - strong @ self._columns[j]
        curve = float(strong @ codes) + weight
        if weight:
            row = int(np.searchsorted(self._touched, i))
            slope += weight * (self._H[i, j] - self._hull[row, j])
        if curve > 0.0:
            self._set(self._enters, max(float(self._H[i, j] - slope / curve), 0.0))

    def _set(self, entry: tuple[int, int], value: float) -> None:
        """Set an entry of H, and update the products."""
        i, j = entry
        move = value - self._H[i, j]
        self._HX[i] += move * self._columns[j]
        self._HH[i] += move * self._H[:, j]
        self._HH[:, i] += move * self._H[:, j]
        self._HH[i, i] += move * move
        self._H[i, j] = value
