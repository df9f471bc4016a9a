"""The constrained form (3) of [A], with a bound on the distance of each sample.

    min  |H - T X|^2   over H >= 0 with few nonzeros, T and W with rows in the simplex
                       subject to |x_i - w_i H| <= alpha for every sample i

With Lagrange multipliers mu_i, the Lagrangian is (17) with weight 1 and emphasis mu_i.
"""

from dataclasses import replace

from thalweg import _native
from thalweg.archetypes.block_descent import Callback, Descent, nearest_sparse, quadratic
from thalweg.archetypes.data_matrix import DataMatrix
from thalweg.archetypes.hull_projection import nearest_in_hull
from thalweg.archetypes.lagrange_multipliers import (
    MAX_MULTIPLIER,
    ConstrainedResult,
    MultiplierSearch,
)
from thalweg.archetypes.objective import State
from thalweg.solvers.simplex import simplex_least_squares

__all__ = ["ConstrainedResult", "solve_constrained"]

# First stage: sweeps of the descent between two updates of the multipliers. Second stage: updates
# of the multipliers between two solutions for W, and coordinate passes over the support after each.
_SWEEPS, _UPDATES, _PASSES = 2, 20, 3


def solve_constrained(
    rows: DataMatrix,
    state: State,
    alpha: float,
    nonzeros: int | None = None,
    descent: Descent | None = None,
    callback: Callback | None = None,
) -> ConstrainedResult:
    """Solve (3): archetypes near the convex hull, with all samples within ``alpha`` of theirs.

    The multiplier of each sample is multiplied by d_i / alpha, with d_i its distance. In the first
    stage the descent alternates with updates of the multipliers, and the support may change. (3) is
    not convex; if no multipliers have a feasible minimum, this stage oscillates. In the second
    stage W is fixed for several updates: the problem is then convex in H and T, and each new W
    reduces the distances. The best feasible point of both stages is returned. A failure does not
    prove that (3) is infeasible.

    Parameters
    ----------
    rows : DataMatrix
        The data.
    state : State
        Initial state.
    alpha : float
        Largest allowed distance of a sample from the hull of the archetypes.
    nonzeros : int, optional
        Largest number of nonzeros of H.
    descent : Descent, optional
        The descent of the first stage; its ``max_sweeps`` limits each of the two stages.
    callback : callable, optional
        Gets the point after each sweep, with the Lagrangian as its objective.

    Returns
    -------
    ConstrainedResult
        The best point.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.constrained_problem import solve_constrained
    >>> from thalweg.archetypes.initialisation import from_archetypes
    >>> rows = DataMatrix.of(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    >>> found = solve_constrained(rows, from_archetypes(rows, np.eye(2)), alpha=1e-3)
    >>> found.feasible, bool(found.distance < 1e-6)
    (True, True)
    """
    descent = descent or Descent()
    search = MultiplierSearch(rows, nonzeros, alpha)
    state = state._replace(H=nearest_sparse(state.H, nonzeros))
    _with_the_descent(search, state, descent, callback)
    _with_codes_held(search, search.best.state, descent.max_sweeps, callback)
    return search.best._replace(converged=search.done)


def _with_the_descent(
    search: MultiplierSearch, state: State, descent: Descent, callback: Callback | None
) -> None:
    short = replace(descent, max_sweeps=_SWEEPS)
    for _ in range(-(-descent.max_sweeps // _SWEEPS)):
        point = short.run(search.problem(), state, callback).point
        state = search.visit(point)
        if search.done or search.multipliers.max() > MAX_MULTIPLIER:
            break
        search.press(search.distances(state))


def _with_codes_held(
    search: MultiplierSearch, state: State, cap: int, callback: Callback | None
) -> None:
    search.begin()
    for _ in range(-(-cap // _UPDATES)):
        H, W, T = state
        for update in range(_UPDATES):
            if update:
                search.press(search.distances(State(H, W, T)))
            Q, P = quadratic(search.problem(), W, T)
            H = H.copy()
            _native.sweep_supports(Q, P, H, _PASSES)
            HX = search.rows.correlated(H)
            T, _ = nearest_in_hull(search.rows, HX, T)
        HH = H @ H.T
        W, _ = simplex_least_squares(HH, HX.T, W)
        point = search.problem().known(State(H, W, T), HX, HH)
        if callback is not None:
            callback(point)
        state = search.visit(point)
        if search.done:
            break
