"""Escape from a local minimum by relaxing the limit on nonzeros, and tightening it again."""

from dataclasses import replace

from thalweg.archetypes.block_descent import Callback, Descent, DescentResult, nearest_sparse
from thalweg.archetypes.objective import Problem

__all__ = ["relax_support"]

# Shares of the zeros that may become nonzero, in the successive stages of a relaxation: a wide and
# a narrow schedule, used in turn.
# benchmarks: archetypes_toy
_SCHEDULES = ((0.6, 0.3, 0.15), (0.3, 0.15))
# Sweeps in each stage.
_STAGE_SWEEPS = 20
# Smallest relative decrease of the objective by a relaxation. The search stops if no schedule
# attains it.
_MIN_DECREASE = 1e-6


def relax_support(
    problem: Problem,
    start: DescentResult,
    descent: Descent,
    rounds: int,
    callback: Callback | None = None,
) -> tuple[DescentResult, ...]:
    """Decrease (17) by descents through denser archetypes; return the improvements in order.

    Swaps exchange single entries only. With more nonzeros allowed, whole archetypes can change; the
    limit is then reduced to the original one in stages.

    Parameters
    ----------
    problem : Problem
        The problem, with a limit on the nonzeros.
    start : DescentResult
        Result of a descent.
    descent : Descent
        The descent in each stage; the last stage runs to its tolerance.
    rounds : int
        Maximum number of relaxations.
    callback : callable, optional
        Gets the point after each sweep.

    Returns
    -------
    tuple of DescentResult
        ``start``, followed by results with decreasing objectives.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Problem, DataMatrix
    >>> from thalweg.archetypes.block_descent import Descent
    >>> from thalweg.archetypes.initialisation import zero
    >>> from thalweg.archetypes.support_relaxation import relax_support
    >>> X = np.random.default_rng(0).random((20, 8))
    >>> problem = Problem(DataMatrix.of(X), weight=1.0, nonzeros=9)
    >>> first = Descent().run(problem, zero(problem.rows, 3))
    >>> relax_support(problem, first, Descent(), 4)[-1].point.objective <= first.point.objective
    True
    """
    kept, failed = [start], 0
    for round_ in range(rounds):
        schedule = _SCHEDULES[round_ % len(_SCHEDULES)]
        ended = _relax(problem, kept[-1], descent, schedule, callback)
        before = kept[-1].point.objective
        failed = 0 if ended.point.objective < (1.0 - _MIN_DECREASE) * before else failed + 1
        if ended.point.objective < before:
            kept.append(ended)
        if failed == len(_SCHEDULES):
            break
    return tuple(kept)


def _relax(
    problem: Problem,
    start: DescentResult,
    descent: Descent,
    shares: tuple[float, ...],
    callback: Callback | None,
) -> DescentResult:
    least = problem.nonzeros or 0
    state, short = start.point.state, replace(descent, max_sweeps=_STAGE_SWEEPS)
    for share in shares:
        count = least + int(share * (state.H.size - least))
        wide = replace(problem, nonzeros=count)
        state = state._replace(H=nearest_sparse(state.H, count))
        state = short.run(wide, state, callback).point.state
    return descent.run(problem, state._replace(H=nearest_sparse(state.H, least)), callback)
