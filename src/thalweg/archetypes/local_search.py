"""Local search with swaps that are evaluated at optimal codes: Algorithm 3 of [A]."""

from dataclasses import dataclass, field

import numpy as np

from thalweg._typing import Array
from thalweg.archetypes.block_descent import Callback, Descent, DescentResult, quadratic
from thalweg.archetypes.objective import Point, Problem
from thalweg.archetypes.swap_candidates import candidates
from thalweg.archetypes.swap_evaluation import SwapEvaluation

__all__ = ["LocalSearch"]

# Rounding error of the objective, in units of |X|^2; a swap must decrease it by more.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class LocalSearch:
    """Alternate Algorithm 3 of [A] and the descent until neither decreases (17).

    One entry of H leaves the support and another enters it with value t; then W, T and t are
    minimised over in turn, (32) to (34). The swap is kept if (17) decreases by more than the share
    ``descent.tol``. [A] tries one pair of entries, (35) and (36). Here the pairs with the largest
    decrease at fixed W and T are also tried; with as many trials as pairs, the result has no
    improving swap.

    Parameters
    ----------
    trials : int
        Number of pairs tried in addition to that of (35) and (36). The search stops when none
        of them improves the objective.
    descent : Descent
        The descent after the swaps.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Problem, DataMatrix
    >>> from thalweg.archetypes.block_descent import Descent
    >>> from thalweg.archetypes.local_search import LocalSearch
    >>> from thalweg.archetypes.initialisation import zero
    >>> X = np.random.default_rng(0).random((20, 8))
    >>> problem = Problem(DataMatrix.of(X), weight=1.0, nonzeros=9)
    >>> first = Descent(swaps=False).run(problem, zero(problem.rows, 3))
    >>> LocalSearch().run(problem, first).point.objective < first.point.objective
    True
    """

    trials: int = 20
    descent: Descent = field(default_factory=Descent)

    def run(
        self, problem: Problem, ended: DescentResult, callback: Callback | None = None
    ) -> DescentResult:
        """Search from the result of a descent; ``callback`` gets the point after each sweep."""
        left = ended.point.state.H.size  # bounds the number of swaps despite rounding errors
        while problem.nonzeros is not None and self.trials and left > 0:
            point, count = self._swap(problem, ended.point)
            if count == 0:
                break
            after = self.descent.run(problem, point.state, callback)
            sweeps, swaps = ended.sweeps + after.sweeps, ended.swaps + count + after.swaps
            ended, left = after._replace(sweeps=sweeps, swaps=swaps), left - count
        return ended

    def _swap(self, problem: Problem, point: Point) -> tuple[Point, int]:
        """Try all candidates, and keep every swap that improves the objective."""
        H, W, T = point.state
        limit = problem.nonzeros or 0
        Q, P = quadratic(problem, W, T)
        swaps = candidates(Q, P, H, limit - int(np.count_nonzero(H)), self.trials)
        used = sorted({entry[1] for swap in swaps for entry in swap if entry is not None})
        columns = dict(zip(used, problem.rows.columns(used).T, strict=True))
        floor, count = _ROUNDING * float(problem.rows.squares.sum()), 0
        distances = _distances(problem, point)
        for swap in swaps:
            if not swap.possible(point.state.H, limit):  # after an earlier swap
                continue
            trial = SwapEvaluation(problem, point, distances, columns, swap)
            if trial.reaches((1.0 - self.descent.tol) * point.objective - floor):
                point, count = trial.point(), count + 1
                distances = _distances(problem, point)
        return point, count


def _distances(problem: Problem, point: Point) -> Array:
    """Return the squared distance of each archetype from its hull point."""
    H, _, T = point.state
    distances: Array = np.sum((H - problem.rows.mixed(T)) ** 2, axis=1)
    return distances
