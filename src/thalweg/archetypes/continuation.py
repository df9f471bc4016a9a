"""Continuation: from a large weight, where the problem is nearly convex, to the one at hand."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.archetypes.block_descent import Descent, Ended, Watch, nearest_sparse
from thalweg.archetypes.data_matrix import DataMatrix
from thalweg.archetypes.objective import Problem, State

__all__ = ["Continuation", "Refill", "Stop", "weights_down_to"]

# The weight to begin with, [A] 4.2; and the last one before 0, which no ratio leads to.
_LARGE, _SMALL = 30.0, 0.03


class Stop(NamedTuple):
    """One problem of a path, and what was found for it.

    Attributes
    ----------
    weight : float
        Lambda of [A].
    nonzeros : int or None
        The most that H may have.
    objective : float
        (17) with these.
    components : array of shape (k, n)
        H.
    sweeps, swaps : int
        How many it took.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import SparseArchetypalNMF
    >>> model = SparseArchetypalNMF(2, path=3, random_state=0).fit(np.eye(4))
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
    def of(cls, problem: Problem, ended: Ended) -> "Stop":
        """Note where a descent ended."""
        found = ended.point
        sizes = (ended.sweeps, ended.swaps)
        return cls(problem.weight, problem.nonzeros, found.objective, found.state.H, *sizes)


def weights_down_to(weight: float, count: int) -> list[float]:
    """Return so many weights from 30 to the given one, in equal ratios.

    Examples
    --------
    >>> from thalweg.archetypes.continuation import weights_down_to
    >>> [round(w, 2) for w in weights_down_to(1.0, 4)]
    [30.0, 9.65, 3.11, 1.0]
    """
    if count == 1:
        return [weight]
    if weight == 0.0:
        return [*np.geomspace(_LARGE, _SMALL, count - 1).tolist(), 0.0]
    return [*np.geomspace(max(_LARGE, weight), weight, count)[:-1].tolist(), weight]


Refill = Callable[[DataMatrix, State], DataMatrix]


def _unchanged(rows: DataMatrix, _: State) -> DataMatrix:
    return rows


@dataclass(frozen=True)
class Continuation:
    """Solves (17) along falling weights, each from the solution before.

    Parameters
    ----------
    count : int
        Number of weights; 1 for the last one alone.
    descent : Descent
        How each problem is solved; the last one to its tolerance.
    short : int
        Cap on the sweeps of each problem but the last.

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
        watch: Watch | None = None,
        refill: Refill = _unchanged,
    ) -> tuple[tuple[Stop, ...], Ended, DataMatrix]:
        """Go from a state to the problem; ``refill`` may renew the data between two stops.

        Returned are the stops, how the last one ended, and its data.
        """
        rows, stops = problem.rows, list[Stop]()
        for weight in weights_down_to(problem.weight, self.count):
            last = len(stops) == self.count - 1
            descent = self.descent if last else replace(self.descent, max_sweeps=self.short)
            state = state._replace(H=nearest_sparse(state.H, problem.nonzeros))
            goal = Problem(rows, weight, problem.nonzeros)
            ended = descent.run(goal, state, watch)
            state = ended.point.state
            stops.append(Stop.of(goal, ended))
            if not last:
                rows = refill(rows, state)
        return tuple(stops), ended, rows
