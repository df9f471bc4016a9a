"""What a start of archetypes leads to, and data whose gaps are filled on the way."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from thalweg._typing import Mask
from thalweg.archetypes import DataMatrix, Problem, State
from thalweg.archetypes.block_descent import Callback, DescentResult
from thalweg.archetypes.continuation import Continuation, PathPoint, Refill
from thalweg.archetypes.local_search import LocalSearch

__all__ = ["Planned", "Run", "completed", "refilled"]


class Run(NamedTuple):
    """What a start led to, and the data with their gaps filled at the end."""

    name: str
    stops: tuple[PathPoint, ...]
    ended: DescentResult
    rows: DataMatrix

    def searched(self, problem: Problem, search: LocalSearch, watch: Callback) -> "Run":
        """Return the run after a local search; its last stop takes that in."""
        problem = replace(problem, rows=self.rows)
        ended = search.run(problem, self.ended, watch)
        if ended is self.ended:
            return self
        return self._replace(ended=ended, stops=(*self.stops[:-1], PathPoint.of(problem, ended)))


class Planned(NamedTuple):
    """A start, its path, and the search at the end of it."""

    name: str
    path: Continuation
    search: LocalSearch
    start: Callable[[], State]

    def __call__(self, problem: Problem, refill: Refill, watch: Callback) -> Run:
        run = Run(self.name, *self.path.run(problem, self.start(), watch, refill))
        return run.searched(problem, self.search, watch)


def refilled(observed: Mask | None, rows: DataMatrix, state: State) -> DataMatrix:
    """Put the low-rank part into gaps."""
    return rows if observed is None else DataMatrix(np.where(observed, rows.X, state.W @ state.H))


def completed(X: Any) -> tuple[DataMatrix, Mask | None]:
    """Return the data with the mean of their feature in gaps, and where there is none."""
    values = X.data if sparse.issparse(X) else X
    if not np.isnan(np.sum(values, dtype=np.float64)):
        return DataMatrix.of(X), None
    # sums are rounded alike whatever the order in memory
    dense = np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    observed = ~np.isnan(dense)
    known = np.where(observed, dense, 0.0)
    means = known.sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
    return DataMatrix.of(np.where(observed, known, means)), observed
