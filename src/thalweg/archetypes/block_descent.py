"""Block descent on (17) with extrapolation; it ends at a stationary point of Definition 2."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thalweg import _kernels
from thalweg._typing import Array
from thalweg.archetypes.fixed_code_swaps import swap_entries
from thalweg.archetypes.hull_projection import nearest_in_hull
from thalweg.archetypes.objective import Point, Problem, State
from thalweg.prox.simplex import Simplex
from thalweg.prox.top import Top
from thalweg.solvers import Status
from thalweg.solvers.simplex import simplex_least_squares

__all__ = ["Descent", "Ended", "Watch", "nearest_sparse", "quadratic", "stationarity"]

# Passes over the support of H after a step on it; they cost k / m of the products with the data.
_PASSES = 2
# Share of the last move that is made again, and how it grows and falls.
_AHEAD, _GROW, _CEILING_GROWS, _SHRINK = 0.5, 1.05, 1.02, 0.5
# A swap has to lower the objective by this share.
_WORTH = 1e-8
# In a sweep on the way: passes over tall data that look for samples to join the hull's working
# set, and steps on each row of T, whose supports can be large. To end, both are exact.
_ROUNDS, _HULL_STEPS = 2, 30

Watch = Callable[[Point], None]


class Ended(NamedTuple):
    """Where a descent ended.

    Attributes
    ----------
    point : Point
        The blocks and their objective.
    residual : float
        How much one more step of (18) would change H, relative to its norm; W and T are exact.
    sweeps, swaps : int
        How many were made.
    status : Status
        Whether the residual is below the tolerance.

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
    """Return the nearest H >= 0 with so many nonzeros in all, P_l of [A].

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
    """Algorithm 1 of [A], with exact minimisation over W and T, and moves that are extrapolated.

    A sweep takes a step (18) on H, at 1/L instead of 1/(2L), followed by exact minimisation over
    one entry of the support after the other; then W and T are minimised over exactly. It
    begins a little beyond the last move (A. M. S. Ang and N. Gillis, 2019), and is made again
    without that where the objective rose: no sweep raises it.

    Parameters
    ----------
    tol : float
        Residual at which to end.
    max_sweeps : int
        Cap on the number of sweeps.
    swaps : bool
        Whether nonzeros may change places with zeros after the steps on H.

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

    def run(self, problem: Problem, state: State, watch: Watch | None = None) -> Ended:
        """Descend from a state; ``watch`` is shown the point after each sweep."""
        here, last = problem.at(state), state
        ahead, ceiling, swaps, residual = _AHEAD, 1.0, 0, np.inf
        settled = exact = False  # nothing moves; and W and T are exact
        for sweep in range(1, self.max_sweeps + 1):
            plain = sweep == 1 or settled
            step = self._sweep(problem, here, last, 0.0 if plain else ahead, settled)
            quiet = step.residual <= self.tol and step.swaps == 0
            if quiet and plain and exact:  # it began at the point itself, and did not leave it
                return Ended(here, step.residual, sweep - 1, swaps, Status.CONVERGED)
            if not plain and step.point.objective > here.objective:
                ceiling, ahead = ahead, _SHRINK * ahead
                step = self._sweep(problem, here, here.state, 0.0, False)
            elif not plain:
                ahead, ceiling = min(ceiling, _GROW * ahead), min(1.0, _CEILING_GROWS * ceiling)
            last, here, residual = here.state, step.point, step.residual
            swaps += step.swaps
            if watch is not None:
                watch(here)
            settled, exact = quiet, settled
        return Ended(here, residual, self.max_sweeps, swaps, Status.CAPPED)

    def _sweep(
        self, problem: Problem, here: Point, last: State, ahead: float, exact: bool
    ) -> "_Step":
        H, W, T = here.state
        if ahead:
            W, T = _beyond(W, last.W, ahead), _beyond(T, last.T, ahead)
        found, residual, swaps = self._archetypes(problem, here, W, T)
        if ahead:
            # Entries that were not zero go on; no place becomes one.
            further = np.maximum(found + ahead * (found - H), 0.0)
            found = np.where((found > 0) & (H > 0), further, found)
        HX, HH = problem.rows.correlated(found), found @ found.T
        W, _ = simplex_least_squares(HH, HX.T, W)  # (19)
        if problem.weight:
            limits = {} if exact else {"rounds": _ROUNDS, "steps": _HULL_STEPS}
            T, _ = nearest_in_hull(problem.rows, HX, T, **limits)  # (20)
        return _Step(problem.known(State(found, W, T), HX, HH), residual, swaps)

    def _archetypes(
        self, problem: Problem, here: Point, W: Array, T: Array
    ) -> tuple[Array, float, int]:
        """Lower (17) over H; return it with the step's relative length and the swaps."""
        Q, P = quadratic(problem, W, T)
        H, count = _proximal_step(Q, P, here.state.H, problem.nonzeros), 0
        residual = _relative(H - here.state.H, here.state.H)
        _kernels.sweep_supports(Q, P, H, _PASSES)
        if self.swaps and problem.nonzeros is not None:
            free = problem.nonzeros - int(np.count_nonzero(H))
            H, count = swap_entries(Q, P, H, max(free, 0), _WORTH * here.objective)
            if count:
                _kernels.sweep_supports(Q, P, H, 1)
        return H, residual, count


class _Step(NamedTuple):
    point: Point
    residual: float
    swaps: int


def stationarity(problem: Problem, state: State) -> float:
    """Return how far one sweep of (18), (19), (20) moves a state: Definition 2 of [A].

    The largest of the three moves, each relative to the norm of its block. Steps are 1/L, twice
    those of [A]: what does not move then does not move with theirs either.

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
    # The gradients of |X - W H|^2 / 2 are (W H - X) H', not minus that as printed.
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
    """Return (18): the gradient step, then the nearest sparse nonnegative matrix."""
    return nearest_sparse(H - (Q @ H - P) / _norm(Q), nonzeros)


def _norm(Q: Array) -> float:
    """Return the largest eigenvalue of a positive semidefinite matrix, or 1 for zero."""
    return float(np.linalg.eigvalsh(Q)[-1]) or 1.0


def _project(W: Array) -> Array:
    return Simplex().prox(W.T).T


def _beyond(now: Array, before: Array, ahead: float) -> Array:
    """Go on from the last move, and back into the simplex along the ray."""
    moved = np.maximum(now + ahead * (now - before), 0.0)
    inside: Array = moved / moved.sum(axis=1, keepdims=True)
    return inside


def _relative(move: Array, block: Array) -> float:
    size = float(np.linalg.norm(block))
    return float(np.linalg.norm(move)) / (size or 1.0)
