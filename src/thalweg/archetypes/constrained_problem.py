"""The constrained form (3) of [A]: every sample within a distance of the archetypes' hull.

    min  |H - T X|^2   over H >= 0 with few nonzeros, T and W with rows in the simplex
                       subject to |x_i - w_i H| <= alpha for every sample i

With a multiplier mu_i for each sample, the Lagrangian is (17) with weight 1 and emphasis mu_i.
"""

from dataclasses import replace

from thalweg import _kernels
from thalweg.archetypes.block_descent import Descent, Watch, nearest_sparse, quadratic
from thalweg.archetypes.data_matrix import DataMatrix
from thalweg.archetypes.hull_projection import nearest_in_hull
from thalweg.archetypes.lagrange_multipliers import HOPELESS, Constrained, MultiplierSearch
from thalweg.archetypes.objective import State
from thalweg.solvers.simplex import simplex_least_squares

__all__ = ["Constrained", "solve_constrained"]

# Sweeps of the descent between two changes of the multipliers; and, while W stays, changes of the
# multipliers between two solutions for W, with passes over the support at each.
_SWEEPS, _CHANGES, _PASSES = 2, 20, 3


def solve_constrained(
    rows: DataMatrix,
    state: State,
    alpha: float,
    nonzeros: int | None = None,
    descent: Descent | None = None,
    watch: Watch | None = None,
) -> Constrained:
    """Return archetypes near the data's hull with every sample within ``alpha`` of theirs.

    Multipliers of samples beyond ``alpha`` grow, others fall, each by the factor d_i / alpha. In
    the first stage the descent goes on from change to change, with the support free. (3) is not
    convex, and where no multipliers have a feasible minimum this goes to and fro. So in a second
    stage W stays for a while: over H and T the problem is convex then, and each new W, nearest to
    the samples, leaves more room. The best feasible point of both is returned. That none was
    found does not prove that there is none.

    Parameters
    ----------
    rows : DataMatrix
        The data.
    state : State
        Where to begin.
    alpha : float
        The largest distance allowed.
    nonzeros : int, optional
        The most that H may have.
    descent : Descent, optional
        The sweeps of the first stage; its cap holds for each of the two.
    watch : callable, optional
        Is shown the point after each sweep, with its Lagrangian as the objective.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.constrained_problem import solve_constrained
    >>> from thalweg.archetypes.initialisation import around
    >>> rows = DataMatrix.of(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    >>> found = solve_constrained(rows, around(rows, np.eye(2)), alpha=1e-3)
    >>> found.feasible, bool(found.distance < 1e-6)
    (True, True)
    """
    descent = descent or Descent()
    search = MultiplierSearch(rows, nonzeros, alpha)
    state = state._replace(H=nearest_sparse(state.H, nonzeros))
    _with_the_descent(search, state, descent, watch)
    _with_codes_held(search, search.best.state, descent.max_sweeps, watch)
    return search.best


def _with_the_descent(
    search: MultiplierSearch, state: State, descent: Descent, watch: Watch | None
) -> None:
    short = replace(descent, max_sweeps=_SWEEPS)
    for _ in range(-(-descent.max_sweeps // _SWEEPS)):
        point = short.run(search.problem(), state, watch).point
        state = search.visit(point)
        if search.done or search.multipliers.max() > HOPELESS:
            break
        search.press(search.distances(state))


def _with_codes_held(search: MultiplierSearch, state: State, cap: int, watch: Watch | None) -> None:
    search.begin()
    for _ in range(-(-cap // _CHANGES)):
        H, W, T = state
        for change in range(_CHANGES):
            if change:
                search.press(search.distances(State(H, W, T)))
            Q, P = quadratic(search.problem(), W, T)
            H = H.copy()
            _kernels.sweep_supports(Q, P, H, _PASSES)
            HX = search.rows.correlated(H)
            T, _ = nearest_in_hull(search.rows, HX, T)
        HH = H @ H.T
        W, _ = simplex_least_squares(HH, HX.T, W)
        point = search.problem().known(State(H, W, T), HX, HH)
        if watch is not None:
            watch(point)
        state = search.visit(point)
        if search.done:
            break
