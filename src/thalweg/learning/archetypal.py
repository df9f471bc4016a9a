"""Learn sparse archetypes from all samples: several initial states, continuation, local search."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.archetypes import DataMatrix, Point, Problem
from thalweg.archetypes.block_descent import Descent, DescentResult
from thalweg.archetypes.certificate import Certificate
from thalweg.archetypes.constrained_problem import ConstrainedResult, solve_constrained
from thalweg.archetypes.continuation import Continuation, PathPoint
from thalweg.archetypes.initialisation import from_archetypes
from thalweg.archetypes.local_search import LocalSearch
from thalweg.archetypes.support_relaxation import relax_support
from thalweg.learning.archetypal_fit import ArchetypalFit
from thalweg.learning.archetypal_init import InitialState, auto_inits, impute, initial_state
from thalweg.solvers import Status

__all__ = ["ArchetypalLearner"]

# Number of the best solutions whose support is relaxed.
# benchmark: archetypes
_N_RELAXED = 3

Callback = Callable[[Point], None]


class _Solution(NamedTuple):
    """The path from one initial state, the descent at its end, and the data imputed there."""

    init: str
    path: tuple[PathPoint, ...]
    result: DescentResult
    rows: DataMatrix
    certificate: Certificate | None

    @property
    def objective(self) -> float:
        return self.result.point.objective


@dataclass(frozen=True, eq=False)
class ArchetypalLearner:
    """Minimise (17) of [A], or (3), from one or several initial states, and keep the best result.

    From each initial state, the penalised form (17) is solved for decreasing weights, and then by
    local search. With several initial states, the supports of the best solutions are relaxed. The
    constrained form (3) is solved directly; only missing entries are imputed along a path first.

    Parameters
    ----------
    n_components : int
        Number of archetypes.
    nonzeros : int or None
        Limit on the nonzeros of all archetypes; None for no limit.
    weight : float or None
        Weight of the distance from the hull in (17); None for the constrained form.
    alpha : float
        Largest distance of a sample in the constrained form.
    init : str or array of shape (n_components, n_features)
        One of :data:`~thalweg.learning.archetypal_init.INITS`, or archetypes.
    continuation : Continuation
        Number of weights, and the descent for each.
    search : LocalSearch
        The search after the last descent.
    n_relaxations : int
        Maximum number of relaxations of a support.
    mip_seconds : float
        Time limit of ``init="mip"``.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.learning.archetypal import ArchetypalLearner
    >>> learner = ArchetypalLearner(n_components=2, nonzeros=2)
    >>> fit = learner.run(DataMatrix.of(np.eye(2)), None, np.random.default_rng(0))
    >>> round(fit.objective, 6), sorted(fit.init_objectives)[:2]
    (0.0, ['projections', 'random'])
    """

    n_components: int
    nonzeros: int | None = None
    weight: float | None = 1.0
    alpha: float = float("nan")
    init: str | Array = "auto"
    continuation: Continuation = field(default_factory=Continuation)
    search: LocalSearch = field(default_factory=LocalSearch)
    n_relaxations: int = 5
    mip_seconds: float = 60.0

    @property
    def descent(self) -> Descent:
        """The descent for the last weight."""
        return self.continuation.descent

    def run(
        self,
        rows: DataMatrix,
        observed: Mask | None,
        rng: np.random.Generator,
        callback: Callback | None = None,
    ) -> ArchetypalFit:
        """Learn from all samples.

        Parameters
        ----------
        rows : DataMatrix
            The data, with missing entries imputed.
        observed : boolean array of shape (m, n), or None
            The observed entries, None if all are. Others are imputed again along the path.
        rng : Generator
            For random initial states.
        callback : callable, optional
            Gets the point after each sweep. The last point is that of the result.

        Returns
        -------
        ArchetypalFit
            The result with the lowest objective.
        """
        solve = self._solve_constrained if self.weight is None else self._solve_penalised
        fit = solve(rows, observed, rng, callback)
        # With imputed entries, the bound of the certificate is that of other data.
        return fit if observed is None else fit._replace(certificate=None)

    def _solve_penalised(
        self,
        rows: DataMatrix,
        observed: Mask | None,
        rng: np.random.Generator,
        callback: Callback | None,
    ) -> ArchetypalFit:
        """Solve (17) from each initial state."""
        problem = Problem(rows, self.weight or 0.0, self.nonzeros)
        solutions = []
        for name, initial in self._initial_states(problem, rng):
            path, result, imputed = self._path.run(
                problem, initial.state, callback, partial(impute, observed)
            )
            found = _Solution(name, path, result, imputed, initial.certificate)
            solutions.append(self._searched(found, problem, callback))
        objectives = {one.init: one.objective for one in solutions}
        solutions.sort(key=lambda one: one.objective)
        best = solutions[0]
        converged = best.result.status is Status.CONVERGED
        if len(solutions) > 1:
            relaxed = [self._relaxed(one, problem, callback) for one in solutions[:_N_RELAXED]]
            best = min(relaxed, key=lambda one: one.objective)
            best = self._searched(best, problem, callback)
            converged = best.result.status is Status.CONVERGED
            best = self._swept(best, problem, callback)
        return ArchetypalFit(
            state=best.result.point.state,
            rows=best.rows,
            objective=best.objective,
            converged=converged,
            init=best.init,
            init_objectives=objectives,
            path=best.path,
            stationarity=best.result.residual,
            certificate=best.certificate,
        )

    def _solve_constrained(
        self,
        rows: DataMatrix,
        observed: Mask | None,
        rng: np.random.Generator,
        callback: Callback | None,
    ) -> ArchetypalFit:
        """Solve (3) from each initial state; missing entries are imputed by (17) first."""
        problem = Problem(rows, 1.0, self.nonzeros)
        found = dict[str, tuple[ConstrainedResult, DataMatrix, Certificate | None]]()
        for name, initial in self._initial_states(problem, rng):
            imputed, state = rows, initial.state
            if observed is not None:
                refill = partial(impute, observed)
                _, ended, imputed = self._path.run(problem, state, callback, refill)
                state = ended.point.state
            limits = (self.alpha, self.nonzeros, self.descent)
            result = solve_constrained(imputed, state, *limits, callback)
            found[name] = (result, imputed, initial.certificate)
        name = min(found, key=lambda name: found[name][0].rank)
        best, imputed, certificate = found[name]
        if callback is not None:  # so that the last point is the one that is kept
            callback(problem.at(best.state)._replace(objective=best.distance))
        return ArchetypalFit(
            state=best.state,
            rows=imputed,
            objective=best.distance,
            converged=best.converged,
            init=name,
            init_objectives={
                name: one.distance if one.feasible else np.inf for name, (one, *_) in found.items()
            },
            constrained=best,
            certificate=certificate,
        )

    @property
    def _path(self) -> Continuation:
        """The continuation; given archetypes skip it, since a large weight would move them away."""
        given = not isinstance(self.init, str)
        return replace(self.continuation, count=1) if given else self.continuation

    def _initial_states(
        self, problem: Problem, rng: np.random.Generator
    ) -> Iterator[tuple[str, InitialState]]:
        """Yield the names of the initialisations, and their states."""
        settings = (problem, self.n_components)
        if not isinstance(self.init, str):
            yield "given", InitialState(from_archetypes(problem.rows, self.init))
        elif self.init != "auto":
            yield self.init, initial_state(self.init, *settings, rng, self.mip_seconds)
        else:
            for name in auto_inits(problem.rows.shape):
                # Each has its own generator, so that init=name gives the same state.
                yield name, initial_state(name, *settings, deepcopy(rng), self.mip_seconds)

    def _searched(
        self, solution: _Solution, problem: Problem, callback: Callback | None
    ) -> _Solution:
        """Apply the local search; the last point of the path is that after it."""
        problem = replace(problem, rows=solution.rows)
        result = self.search.run(problem, solution.result, callback)
        if result is solution.result:
            return solution
        path = (*solution.path[:-1], PathPoint.of(problem, result))
        return solution._replace(result=result, path=path)

    def _relaxed(
        self, solution: _Solution, problem: Problem, callback: Callback | None
    ) -> _Solution:
        """Relax the limit on the nonzeros, and add the improvements to the path."""
        if problem.nonzeros is None:
            return solution
        problem = replace(problem, rows=solution.rows)
        found = relax_support(problem, solution.result, self.descent, self.n_relaxations, callback)
        path = solution.path + tuple(PathPoint.of(problem, result) for result in found[1:])
        return solution._replace(result=found[-1], path=path)

    def _swept(self, solution: _Solution, problem: Problem, callback: Callback | None) -> _Solution:
        """Add one sweep, so that the callback gets the point that is kept last."""
        problem = replace(problem, rows=solution.rows)
        once = replace(self.descent, max_sweeps=1)
        result = once.run(problem, solution.result.point.state, callback)
        last, point = solution.path[-1], PathPoint.of(problem, result)
        point = point._replace(sweeps=last.sweeps + point.sweeps, swaps=last.swaps + point.swaps)
        return solution._replace(result=result, path=(*solution.path[:-1], point))
