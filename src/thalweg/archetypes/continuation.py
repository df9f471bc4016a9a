"""Continuation in the weight: from a large one, with a nearly convex problem, to the given one."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.archetypes.block_descent import Callback, Descent, DescentResult, nearest_sparse
from thalweg.archetypes.data_matrix import DataMatrix
from thalweg.archetypes.objective import Problem, State

__all__ = ["Continuation", "PathPoint", "Refill", "weights_down_to"]

# First weight of a path ([A] 4.2), and the last one before 0, which a geometric sequence does not
# reach.
_FIRST_WEIGHT, _LAST_WEIGHT_BEFORE_ZERO = 30.0, 0.03


class PathPoint(NamedTuple):
    """The solution for one weight of a path.

    Attributes
    ----------
    weight : float
        Lambda of [A].
    nonzeros : int or None
        Limit on the nonzeros of H.
    objective : float
        Value of (17).
    components : array of shape (k, n)
        H.
    sweeps, swaps : int
        Numbers of sweeps and swaps.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import SparseArchetypalNMF
    >>> model = SparseArchetypalNMF(2, continuation_steps=3, random_state=0).fit(np.eye(4))
    >>> [round(stop.weight, 3) for stop in model.path_]
    [30.0, 5.477, 1.0]
    """

    weight: float
    nonzeros: int | None
    objective: float
    components: Array
    sweeps: int
    swaps: int

    @classmethod
    def of(cls, problem: Problem, ended: DescentResult) -> "PathPoint":
        """Return the record of a descent."""
        found = ended.point
        sizes = (ended.sweeps, ended.swaps)
        return cls(problem.weight, problem.nonzeros, found.objective, found.state.H, *sizes)


def weights_down_to(weight: float, count: int) -> list[float]:
    """Return ``count`` weights from 30 to the given one, in geometric progression.

    Examples
    --------
    >>> from thalweg.archetypes.continuation import weights_down_to
    >>> [round(w, 2) for w in weights_down_to(1.0, 4)]
    [30.0, 9.65, 3.11, 1.0]
    """
    if count == 1:
        return [weight]
    if weight == 0.0:
        return [*np.geomspace(_FIRST_WEIGHT, _LAST_WEIGHT_BEFORE_ZERO, count - 1).tolist(), 0.0]
    return [*np.geomspace(max(_FIRST_WEIGHT, weight), weight, count)[:-1].tolist(), weight]


Refill = Callable[[DataMatrix, State], DataMatrix]


def _unchanged(rows: DataMatrix, _: State) -> DataMatrix:
    return rows


@dataclass(frozen=True)
class Continuation:
    """Solve (17) for decreasing weights, each from the solution of the last one.

    Parameters
    ----------
    count : int
        Number of weights; 1 for the given weight only.
    descent : Descent
        The descent for each weight; the last one runs to its tolerance.
    short : int
        Maximum number of sweeps for each weight but the last.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Problem, DataMatrix
    >>> from thalweg.archetypes.continuation import Continuation
    >>> from thalweg.archetypes.initialisation import zero
    >>> problem = Problem(DataMatrix.of(np.eye(3)), weight=1.0, nonzeros=2)
    >>> stops, _, _ = Continuation(count=2).run(problem, zero(problem.rows, 2))
    >>> [stop.weight for stop in stops]
    [30.0, 1.0]
    """

    count: int = 8
    descent: Descent = field(default_factory=Descent)
    short: int = 40

    def run(
        self,
        problem: Problem,
        state: State,
        callback: Callback | None = None,
        refill: Refill = _unchanged,
    ) -> tuple[tuple[PathPoint, ...], DescentResult, DataMatrix]:
        """Solve the problem from a state; ``refill`` may impute the data after each weight.

        Returns the points of the path, the result of the last descent, and its data.
        """
        rows, stops = problem.rows, list[PathPoint]()
        for weight in weights_down_to(problem.weight, self.count):
            last = len(stops) == self.count - 1
            descent = self.descent if last else replace(self.descent, max_sweeps=self.short)
            state = state._replace(H=nearest_sparse(state.H, problem.nonzeros))
            goal = Problem(rows, weight, problem.nonzeros)
            ended = descent.run(goal, state, callback)
            state = ended.point.state
            stops.append(PathPoint.of(goal, ended))
            if not last:
                rows = refill(rows, state)
        return tuple(stops), ended, rows
