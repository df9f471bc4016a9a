"""Way out of a poor support: more nonzeros for a while, then fewer again."""

from dataclasses import replace

from thalweg.archetypes.block_descent import Descent, Ended, Watch, nearest_sparse
from thalweg.archetypes.objective import Problem

__all__ = ["widen"]

# Shares of the zeros that may be filled, one after the other, on the way back to none: a wide and
# a narrow detour, which take turns.
_DETOURS = ((0.6, 0.3, 0.15), (0.3, 0.15))
# Sweeps at each share.
_SHORT = 20
# A detour has to lower the objective by this share to be followed by another of its kind.
_WORTH = 1e-6


def widen(
    problem: Problem, start: Ended, descent: Descent, rounds: int, watch: Watch | None = None
) -> tuple[Ended, ...]:
    """Lower (17) by detours through denser archetypes; return the improvements in order.

    Swaps exchange single entries. With some of the zeros free, whole archetypes can change, and
    entries that are taken away again bit by bit hand over to those that are in the same sample.

    Parameters
    ----------
    problem : Problem
        With a limit on the nonzeros.
    start : Ended
        Where a descent on it ended.
    descent : Descent
        How to descend, also at the end of each detour.
    rounds : int
        Cap on the detours.
    watch : callable, optional
        Is shown the point after each sweep.

    Returns
    -------
    tuple of Ended
        The start first; each next one has a lower objective.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Problem, DataMatrix
    >>> from thalweg.archetypes.block_descent import Descent
    >>> from thalweg.archetypes.initialisation import zero
    >>> from thalweg.archetypes.support_relaxation import widen
    >>> X = np.random.default_rng(0).random((20, 8))
    >>> problem = Problem(DataMatrix.of(X), weight=1.0, nonzeros=9)
    >>> first = Descent().run(problem, zero(problem.rows, 3))
    >>> widen(problem, first, Descent(), 4)[-1].point.objective <= first.point.objective
    True
    """
    kept, failed = [start], 0
    for round_ in range(rounds):
        ended = _detour(problem, kept[-1], descent, _DETOURS[round_ % len(_DETOURS)], watch)
        before = kept[-1].point.objective
        failed = 0 if ended.point.objective < (1.0 - _WORTH) * before else failed + 1
        if ended.point.objective < before:
            kept.append(ended)
        if failed == len(_DETOURS):
            break
    return tuple(kept)


def _detour(
    problem: Problem, start: Ended, descent: Descent, shares: tuple[float, ...], watch: Watch | None
) -> Ended:
    least = problem.nonzeros or 0
    state, short = start.point.state, replace(descent, max_sweeps=_SHORT)
    for share in shares:
        count = least + int(share * (state.H.size - least))
        wide = replace(problem, nonzeros=count)
        state = state._replace(H=nearest_sparse(state.H, count))
        state = short.run(wide, state, watch).point.state
    return descent.run(problem, state._replace(H=nearest_sparse(state.H, least)), watch)
