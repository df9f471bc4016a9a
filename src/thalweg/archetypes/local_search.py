"""Local search: swaps that are valued after the codes were solved again, Algorithm 3 of [A]."""

from dataclasses import dataclass, field

import numpy as np

from thalweg._typing import Array
from thalweg.archetypes.block_descent import Descent, Ended, Watch, quadratic
from thalweg.archetypes.objective import Point, Problem
from thalweg.archetypes.swap_candidates import candidates
from thalweg.archetypes.swap_evaluation import SwapEvaluation

__all__ = ["LocalSearch"]

# A swap has to lower the objective by more than rounding does, as a share of |X|^2.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class LocalSearch:
    """Algorithm 3 of [A], followed by the descent, until neither lowers (17).

    An entry of H leaves the support, another enters it at t, and W, T and t are minimised over
    in turns, (32) to (34). If (17) is lower then, the swap is made; if not, H, W and T stay as
    they were. [A] tries one pair, (35) and (36). Here the best pairs by their change at fixed W
    and T follow; with as many trials as there are pairs no improving swap is left. A swap has to
    lower (17) by the share ``descent.tol``.

    Parameters
    ----------
    trials : int
        Pairs that are tried at a time, besides that of (35) and (36). The search ends when none
        of them is an improvement.
    descent : Descent
        How to go on from a swap.

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

    def run(self, problem: Problem, ended: Ended, watch: Watch | None = None) -> Ended:
        """Go on from where a descent ended; ``watch`` is shown the point after each sweep."""
        left = ended.point.state.H.size  # a limit that rounding cannot get around
        while problem.nonzeros is not None and self.trials and left > 0:
            point, count = self._swap(problem, ended.point)
            if count == 0:
                break
            after = self.descent.run(problem, point.state, watch)
            sweeps, swaps = ended.sweeps + after.sweeps, ended.swaps + count + after.swaps
            ended, left = after._replace(sweeps=sweeps, swaps=swaps), left - count
        return ended

    def _swap(self, problem: Problem, point: Point) -> tuple[Point, int]:
        """Go through the candidates, and make every swap that pays."""
        H, W, T = point.state
        limit = problem.nonzeros or 0
        Q, P = quadratic(problem, W, T)
        swaps = candidates(Q, P, H, limit - int(np.count_nonzero(H)), self.trials)
        used = sorted({entry[1] for swap in swaps for entry in swap if entry is not None})
        columns = dict(zip(used, problem.rows.columns(used).T, strict=True))
        floor, count = _ROUNDING * float(problem.rows.squares.sum()), 0
        distances = _distances(problem, point)
        for swap in swaps:
            if not swap.possible(point.state.H, limit):  # by now another one has been made
                continue
            trial = SwapEvaluation(problem, point, distances, columns, swap)
            if trial.reaches((1.0 - self.descent.tol) * point.objective - floor):
                point, count = trial.point(), count + 1
                distances = _distances(problem, point)
        return point, count


def _distances(problem: Problem, point: Point) -> Array:
    """Return the squared distance of each archetype from its point of the hull."""
    H, _, T = point.state
    distances: Array = np.sum((H - problem.rows.mixed(T)) ** 2, axis=1)
    return distances
