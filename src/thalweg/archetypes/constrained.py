"""The constrained form (3) of [A]: every sample within a distance of the archetypes' hull."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.archetypes.descent import Descent
from thalweg.archetypes.hull import nearest_in_hull
from thalweg.archetypes.path import Path
from thalweg.archetypes.problem import Problem, State
from thalweg.archetypes.rows import Rows

__all__ = ["Constrained", "solve_constrained"]

# Weights from which to begin and at which to give up, as factors of the data's scale.
_FROM, _TO, _HALVINGS = 30.0, 1e-4, 6
# Rounds in which samples at the limit get more emphasis, and the weight is raised again.
_ROUNDS, _RAISE = 15, 1.5


class Constrained(NamedTuple):
    """What was found for (3).

    Attributes
    ----------
    state : State
        The blocks: feasible, or the one that came nearest to it.
    feasible : bool
        Whether all samples are within ``alpha``.
    distance : float
        D(H, X), which is minimised.
    worst : float
        The largest distance of a sample from the archetypes' hull.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Rows
    >>> from thalweg.archetypes.constrained import solve_constrained
    >>> from thalweg.archetypes.starts import zero
    >>> rows = Rows.of(np.eye(3))
    >>> solve_constrained(rows, zero(rows, 1), alpha=0.1).feasible
    False
    """

    state: State
    feasible: bool
    distance: float
    worst: float


def solve_constrained(
    rows: Rows, state: State, alpha: float, nonzeros: int | None = None, tol: float = 1e-5
) -> Constrained:
    """Return archetypes near the data's hull with every sample within ``alpha`` of theirs.

    (17) is the Lagrangian of (3) when each sample has a multiplier. So the largest weight is
    found first at which all samples are near enough, by bisection; then samples at the limit get
    more emphasis and others less, while the weight is raised. The best feasible point is kept.
    (3) is not convex: that none was found does not prove that there is none.

    Parameters
    ----------
    rows : Rows
        The data.
    state : State
        Where to begin.
    alpha : float
        The largest distance allowed.
    nonzeros : int, optional
        The most that H may have.
    tol : float
        Of each descent.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Rows
    >>> from thalweg.archetypes.constrained import solve_constrained
    >>> from thalweg.archetypes.starts import around
    >>> rows = Rows.of(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    >>> found = solve_constrained(rows, around(rows, np.eye(2)), alpha=1e-3)
    >>> found.feasible, bool(found.distance < 1e-6)
    (True, True)
    """
    search = _Search(rows, nonzeros, alpha, Descent(tol, max_sweeps=300))
    high, low = _FROM, None
    while low is None and high > _TO:
        state = search.visit(high, None, state)
        if search.best.feasible:
            low = high
        high = high / 3.0 if low is None else 3.0 * high
    if low is None:
        state = search.visit(0.0, None, state)
    for _ in range(_HALVINGS if low is not None and low < _FROM else 0):
        assert low is not None
        middle = float(np.sqrt(low * high))
        found = search.visit(middle, None, state)
        low, high = (middle, high) if search.last_feasible else (low, middle)
        state = found if search.last_feasible else state
    _emphasise(search, state, low or _TO)
    return search.best


class _Search:
    """Keeps the best point, and knows whether the last one was feasible."""

    def __init__(self, rows: Rows, nonzeros: int | None, alpha: float, descent: Descent) -> None:
        self.problem, self.alpha, self.descent = Problem(rows, 0.0, nonzeros), alpha, descent
        self.best = Constrained(State(*3 * [np.empty(0)]), False, np.inf, np.inf)
        self.last_feasible = False
        self.distances: Array = np.empty(0)

    def visit(self, weight: float, emphasis: Array | None, state: State) -> State:
        """Minimise (17) and note what (3) makes of it."""
        problem = replace(self.problem, weight=weight, emphasis=emphasis)
        _, ended, rows = Path(1, self.descent).run(problem, state)
        state = ended.point.state
        state = state._replace(T=nearest_in_hull(rows, ended.point.HX, state.T)[0])
        pairs = rows.blocks()
        squares = [
            np.sum((block - state.W[where] @ state.H) ** 2, axis=1) for where, block in pairs
        ]
        self.distances = np.sqrt(np.concatenate(squares))
        distance = float(np.sum((state.H - rows.mixed(state.T)) ** 2))
        worst = float(self.distances.max())
        self.last_feasible = worst <= self.alpha
        found = Constrained(state, self.last_feasible, distance, worst)
        self.best = min(self.best, found, key=_rank)
        return state


def _rank(found: Constrained) -> tuple[bool, float]:
    return not found.feasible, found.distance if found.feasible else found.worst


def _emphasise(search: _Search, state: State, weight: float) -> None:
    emphasis = np.ones(len(state.W))
    for _ in range(_ROUNDS):
        if search.last_feasible:
            weight *= _RAISE
        emphasis = emphasis * np.clip(search.distances / search.alpha, 0.5, 2.0) ** 2
        emphasis /= emphasis.mean()
        state = search.visit(weight, emphasis, state)
