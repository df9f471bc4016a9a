"""One swap of two entries of the archetypes, with the codes solved again: [A] (31) to (34)."""

import numpy as np

from thalweg._typing import Array
from thalweg.archetypes.hull_projection import nearest_in_hull
from thalweg.archetypes.objective import Point, Problem, State
from thalweg.archetypes.swap_candidates import Swap
from thalweg.solvers.simplex import simplex_least_squares

__all__ = ["SwapEvaluation"]

# Rounds of (32), (33) and (34). They also end when the last one brought less than this share of
# what is missing.
_ROUNDS, _HOPELESS = 50, 0.01


class SwapEvaluation:
    """Minimises (17) over W, T and the entry that enters; the point it began at is left alone.

    The entry that leaves is set to zero, and the one that enters begins there. Products of H are
    kept up to date entry by entry, and of T only the rows of the two entries change.

    Parameters
    ----------
    problem : Problem
        The data, weight and sparsity.
    point : Point
        Where the swap is tried.
    distances : array of shape (k,)
        Squared distances of its archetypes from the hull of the data.
    columns : dict of int to array of shape (m,)
        The columns of the data in which the two entries are.
    swap : Swap
        The two entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Problem, DataMatrix
    >>> from thalweg.archetypes.swap_candidates import Swap
    >>> from thalweg.archetypes.initialisation import around
    >>> from thalweg.archetypes.swap_evaluation import SwapEvaluation
    >>> X = np.array([[1.0, 3.0], [1.0, 3.0]])
    >>> problem = Problem(DataMatrix.of(X), weight=1.0, nonzeros=1)
    >>> point = problem.at(around(problem.rows, np.array([[1.0, 0.0]])))
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
        """Alternate between the codes and the entry until (17) is below a target, if it ever is."""
        last = np.inf
        for _ in range(_ROUNDS):
            value = self._codes()
            if value < target:
                return True
            if last - value <= _HOPELESS * (value - target):
                return False
            last = value
            self._entry()
        return False

    def point(self) -> Point:
        """Return where this is."""
        return self._problem.known(State(self._H, self._W, self._T), self._HX, self._HH)

    def _codes(self) -> float:
        """Solve for W (32), and for the rows of T that can change (33); return (17)."""
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
        """Set the entry to its best value for these codes, (34)."""
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
        """Change an entry of H, and its products."""
        i, j = entry
        move = value - self._H[i, j]
        self._HX[i] += move * self._columns[j]
        self._HH[i] += move * self._H[:, j]
        self._HH[:, i] += move * self._H[:, j]
        self._HH[i, i] += move * move
        self._H[i, j] = value
