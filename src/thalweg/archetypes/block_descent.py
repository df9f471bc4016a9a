"""Block coordinate descent on (17) with extrapolation, to a stationary point of Definition 2."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thalweg import _native
from thalweg._typing import Array
from thalweg.archetypes.fixed_code_swaps import swap_entries
from thalweg.archetypes.hull_projection import nearest_in_hull
from thalweg.archetypes.objective import Point, Problem, State
from thalweg.prox.simplex import Simplex
from thalweg.prox.top import Top
from thalweg.solvers import Status
from thalweg.solvers.simplex import simplex_least_squares

__all__ = ["Callback", "Descent", "DescentResult", "nearest_sparse", "quadratic", "stationarity"]

# Coordinate passes over the support of H in a sweep. A pass costs k / m of a product with the data.
# benchmarks: archetypes_speed
_PASSES = 2
# Extrapolation: initial factor of the last move, its growth after a decrease of the objective, the
# growth of its upper bound, and its reduction after an increase (A. M. S. Ang and N. Gillis, 2019).
# benchmarks: archetypes_speed
_INITIAL_EXTRAPOLATION, _GROWTH, _BOUND_GROWTH, _REDUCTION = 0.5, 1.05, 1.02, 0.5
# Smallest decrease of the objective by a swap, in units of the objective.
_MIN_SWAP_DECREASE = 1e-8
# Hull projection in a sweep: iterations of the working set, and active-set steps for each row of T.
# The last sweep has no such limits.
# benchmarks: archetypes_speed
_HULL_ROUNDS, _HULL_STEPS = 2, 30

Callback = Callable[[Point], None]


class DescentResult(NamedTuple):
    """The result of a descent.

    Attributes
    ----------
    point : Point
        The state and its objective.
    residual : float
        Norm of a further step (18), relative to that of H; W and T are exact.
    sweeps, swaps : int
        Numbers of sweeps and swaps.
    status : Status
        Whether the residual is at most ``tol``.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Problem, DataMatrix
    >>> from thalweg.archetypes.block_descent import Descent
    >>> from thalweg.archetypes.initialisation import zero
    >>> problem = Problem(DataMatrix.of(np.eye(2)), weight=1.0)
    >>> Descent(tol=1e-6).run(problem, zero(problem.rows, 1)).status.name
    'CONVERGED'
    """

    point: Point
    residual: float
    sweeps: int
    swaps: int
    status: Status


def nearest_sparse(H: Array, nonzeros: int | None) -> Array:
    """Project onto the matrices H >= 0 with at most ``nonzeros`` nonzeros: P_l of [A].

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes.block_descent import nearest_sparse
    >>> nearest_sparse(np.array([[3.0, -1.0], [1.0, 2.0]]), 2)
    array([[3., 0.],
           [0., 2.]])
    """
    if nonzeros is None:
        clipped: Array = np.maximum(H, 0.0)
        return clipped
    return Top(nonzeros).prox(H.ravel()).reshape(H.shape)


@dataclass(frozen=True)
class Descent:
    """Minimise (17) by Algorithm 1 of [A], with exact steps on W and T and extrapolation.

    A sweep takes a step (18) on H, with step size 1/L instead of 1/(2L), minimises over each entry
    of the support in turn, and then minimises exactly over W and over T. It starts from an
    extrapolation of the last two states (A. M. S. Ang and N. Gillis, 2019). If the objective
    increases, the sweep is repeated without extrapolation; so it never increases.

    Parameters
    ----------
    tol : float
        Residual at which to stop.
    max_sweeps : int
        Maximum number of sweeps.
    swaps : bool
        Whether nonzeros may be swapped with zeros after the steps on H.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Problem, DataMatrix
    >>> from thalweg.archetypes.block_descent import Descent
    >>> from thalweg.archetypes.initialisation import zero
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    >>> problem = Problem(DataMatrix.of(X), weight=1.0, nonzeros=2)
    >>> round(Descent().run(problem, zero(problem.rows, 2)).point.objective, 6)
    0.0
    """

    tol: float = 1e-5
    max_sweeps: int = 1000
    swaps: bool = True

    def run(
        self, problem: Problem, state: State, callback: Callback | None = None
    ) -> DescentResult:
        """Descend from a state; ``callback`` gets the point after each sweep."""
        here, last = problem.at(state), state
        ahead, ceiling, swaps, residual = _INITIAL_EXTRAPOLATION, 1.0, 0, np.inf
        settled = exact = False  # the residual is small; W and T are exact
        for sweep in range(1, self.max_sweeps + 1):
            plain = sweep == 1 or settled
            step = self._sweep(problem, here, last, 0.0 if plain else ahead, settled)
            quiet = step.residual <= self.tol and step.swaps == 0
            if quiet and plain and exact:  # a sweep without extrapolation left the point unchanged
                return DescentResult(here, step.residual, sweep - 1, swaps, Status.CONVERGED)
            if not plain and step.point.objective > here.objective:
                ceiling, ahead = ahead, _REDUCTION * ahead
                step = self._sweep(problem, here, here.state, 0.0, False)
            elif not plain:
                ahead, ceiling = min(ceiling, _GROWTH * ahead), min(1.0, _BOUND_GROWTH * ceiling)
            last, here, residual = here.state, step.point, step.residual
            swaps += step.swaps
            if callback is not None:
                callback(here)
            settled, exact = quiet, settled
        return DescentResult(here, residual, self.max_sweeps, swaps, Status.CAPPED)

    def _sweep(
        self, problem: Problem, here: Point, last: State, ahead: float, exact: bool
    ) -> "_Step":
        H, W, T = here.state
        if ahead:
            W, T = _beyond(W, last.W, ahead), _beyond(T, last.T, ahead)
        found, residual, swaps = self._archetypes(problem, here, W, T)
        if ahead:
            # Only entries of both supports are extrapolated, so the support does not change.
            further = np.maximum(found + ahead * (found - H), 0.0)
            found = np.where((found > 0) & (H > 0), further, found)
        HX, HH = problem.rows.correlated(found), found @ found.T
        W, _ = simplex_least_squares(HH, HX.T, W)  # (19)
        if problem.weight:
            limits = {} if exact else {"rounds": _HULL_ROUNDS, "steps": _HULL_STEPS}
            T, _ = nearest_in_hull(problem.rows, HX, T, **limits)  # (20)
        return _Step(problem.known(State(found, W, T), HX, HH), residual, swaps)

    def _archetypes(
        self, problem: Problem, here: Point, W: Array, T: Array
    ) -> tuple[Array, float, int]:
        """Decrease (17) over H; return H, the relative norm of its step, and the swaps."""
        Q, P = quadratic(problem, W, T)
        H, count = _proximal_step(Q, P, here.state.H, problem.nonzeros), 0
        residual = _relative(H - here.state.H, here.state.H)
        _native.sweep_supports(Q, P, H, _PASSES)
        if self.swaps and problem.nonzeros is not None:
            free = problem.nonzeros - int(np.count_nonzero(H))
            H, count = swap_entries(Q, P, H, max(free, 0), _MIN_SWAP_DECREASE * here.objective)
            if count:
                _native.sweep_supports(Q, P, H, 1)
        return H, residual, count


class _Step(NamedTuple):
    point: Point
    residual: float
    swaps: int


def stationarity(problem: Problem, state: State) -> float:
    """Return the norm of one sweep of (18), (19), (20) from a state: Definition 2 of [A].

    It is the largest of three moves, each relative to the norm of its block. Step sizes are 1/L,
    twice those of [A]; a stationary point for the larger steps is one for the smaller steps, too.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Problem, DataMatrix, State
    >>> from thalweg.archetypes.block_descent import stationarity
    >>> problem = Problem(DataMatrix.of(np.eye(2)), weight=1.0)
    >>> stationarity(problem, State(np.eye(2), np.eye(2), np.eye(2)))
    0.0
    """
    H, W, T = state
    moved = _proximal_step(*quadratic(problem, W, T), H, problem.nonzeros)
    HX, HH = problem.rows.correlated(moved), moved @ moved.T
    # The gradient of |X - W H|^2 / 2 in W is (W H - X) H'; [A] prints the opposite sign.
    codes = _project(W - (W @ HH - HX.T) / _norm(HH))
    moves = [_relative(moved - H, H), _relative(codes - W, W)]
    if problem.weight:
        top = np.linalg.norm(problem.rows.take(slice(None)), 2) ** 2
        hull = problem.rows.correlated(problem.rows.mixed(T)) - HX
        moves.append(_relative(_project(T - hull / max(top, np.finfo(float).tiny)) - T, T))
    return max(moves)


def quadratic(problem: Problem, W: Array, T: Array) -> tuple[Array, Array]:
    """Return Q, P with (17) = tr(H'QH) - 2 <P, H> + constant, as a function of H.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Problem, DataMatrix
    >>> from thalweg.archetypes.block_descent import quadratic
    >>> problem = Problem(DataMatrix.of(np.array([[2.0], [4.0]])), weight=1.0)
    >>> quadratic(problem, np.ones((2, 1)), np.array([[0.5, 0.5]]))
    (array([[3.]]), array([[9.]]))
    """
    strong = problem.emphasised(W)
    Q, P = W.T @ strong, problem.rows.mixed(strong.T)
    if not problem.weight:
        return Q, P
    Q.flat[:: len(Q) + 1] += problem.weight
    return Q, P + problem.weight * problem.rows.mixed(T)


def _proximal_step(Q: Array, P: Array, H: Array, nonzeros: int | None) -> Array:
    """Return (18): a gradient step, then the projection onto sparse nonnegative matrices."""
    return nearest_sparse(H - (Q @ H - P) / _norm(Q), nonzeros)


def _norm(Q: Array) -> float:
    """Return the largest eigenvalue of a positive semidefinite matrix, or 1 if it is 0."""
    return float(np.linalg.eigvalsh(Q)[-1]) or 1.0


def _project(W: Array) -> Array:
    return Simplex().prox(W.T).T


def _beyond(now: Array, before: Array, ahead: float) -> Array:
    """Extrapolate the last move, and scale the rows into the simplex."""
    moved = np.maximum(now + ahead * (now - before), 0.0)
    inside: Array = moved / moved.sum(axis=1, keepdims=True)
    return inside


def _relative(move: Array, block: Array) -> float:
    size = float(np.linalg.norm(block))
    return float(np.linalg.norm(move)) / (size or 1.0)
