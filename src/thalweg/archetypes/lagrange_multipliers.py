"""Lagrange multipliers of the constrained form (3) of [A]."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.archetypes.data_matrix import DataMatrix
from thalweg.archetypes.hull_projection import nearest_in_hull
from thalweg.archetypes.objective import Point, Problem, State

__all__ = ["MAX_MULTIPLIER", "ConstrainedResult", "MultiplierSearch"]

# Initial multiplier: the inverse of the first weight of a path ([A] 4.2).
_INITIAL_MULTIPLIER = 1.0 / 30.0
# Smallest multiplier of a sample beyond alpha, in units of the largest one.
_MIN_MULTIPLIER_SHARE = 1e-3
# Largest multiplier; if one exceeds it, the first stage stops without a feasible point.
MAX_MULTIPLIER = 1e9
# Multipliers are updated for this share of alpha, so that points near the solution are feasible.
_TARGET_SHARE = 0.999
# The search stops when sum mu (alpha^2 - d^2), the duality gap of a convex problem, is below this
# share of the objective in this number of successive updates.
_GAP_TOL, _N_SMALL_GAPS = 1e-4, 3
# An objective below this share of the largest |x|^2 is a rounding error.
_ROUNDING = 1e-12
# Smallest and largest factor of a multiplier in an update.
_MIN_FACTOR, _MAX_FACTOR = 0.5, 2.0


class ConstrainedResult(NamedTuple):
    """The solution of (3).

    Attributes
    ----------
    state : State
        H, W and T: the best feasible state, or the one with the smallest violation.
    feasible : bool
        Whether all samples are within ``alpha``.
    distance : float
        D(H, X), the objective.
    worst : float
        Largest distance of a sample from the hull of the archetypes.
    converged : bool
        Whether the duality gap is small; False if the iteration limit was reached.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.constrained_problem import solve_constrained
    >>> from thalweg.archetypes.initialisation import zero
    >>> rows = DataMatrix.of(np.eye(3))
    >>> solve_constrained(rows, zero(rows, 1), alpha=0.1).feasible
    False
    """

    state: State
    feasible: bool
    distance: float
    worst: float
    converged: bool = False

    @property
    def rank(self) -> tuple[bool, float]:
        """Sort key: feasible results first, by their distance; then by the largest distance."""
        return not self.feasible, self.distance if self.feasible else self.worst


@dataclass
class MultiplierSearch:
    """Lagrange multipliers of the samples, with the best point so far.

    Parameters
    ----------
    rows : DataMatrix
        The data.
    nonzeros : int or None
        Largest number of nonzeros of H.
    alpha : float
        Largest allowed distance.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.lagrange_multipliers import MultiplierSearch
    >>> search = MultiplierSearch(DataMatrix.of(np.eye(2)), None, alpha=1.0)
    >>> search.press(np.array([0.0, 3.0]))
    >>> float(search.multipliers[1] / search.multipliers[0])
    4.0
    """

    rows: DataMatrix
    nonzeros: int | None
    alpha: float

    def __post_init__(self) -> None:
        self.best = ConstrainedResult(State(*3 * [np.empty(0)]), False, np.inf, np.inf)
        self.begin()

    def begin(self) -> None:
        """Reset the multipliers to their initial value."""
        self.multipliers = np.full(self.rows.shape[0], _INITIAL_MULTIPLIER)
        self._small_gaps = 0

    @property
    def done(self) -> bool:
        """Whether the gap was small in enough successive updates."""
        return self._small_gaps >= _N_SMALL_GAPS

    def problem(self) -> Problem:
        """Return the Lagrangian as a problem (17)."""
        return Problem(self.rows, 1.0, self.nonzeros, self.multipliers)

    def distances(self, state: State) -> Array:
        """Return the distance of each sample from its convex combination of archetypes."""
        H, W, _ = state
        squares = [np.sum((block - W[at] @ H) ** 2, axis=1) for at, block in self.rows.blocks()]
        distances: Array = np.sqrt(np.concatenate(squares))
        return distances

    def visit(self, point: Point) -> State:
        """Evaluate (3) at a point, keep it if it is the best, and return it with optimal T."""
        state = point.state
        state = state._replace(T=nearest_in_hull(self.rows, point.HX, state.T)[0])
        distances = self.distances(state)
        distance = float(np.sum((state.H - self.rows.mixed(state.T)) ** 2))
        worst = float(distances.max())
        found = ConstrainedResult(state, worst <= self.alpha, distance, worst)
        self.best = min(self.best, found, key=lambda one: one.rank)
        gap = float(self.multipliers @ ((_TARGET_SHARE * self.alpha) ** 2 - distances**2))
        small = abs(gap) <= _GAP_TOL * distance or distance <= _ROUNDING * self.rows.squares.max()
        self._small_gaps = self._small_gaps + 1 if found.feasible and small else 0
        return state

    def press(self, distances: Array) -> None:
        """Increase the multipliers of samples beyond alpha, and decrease the others."""
        share = distances / (_TARGET_SHARE * self.alpha)
        factors = np.clip(share, _MIN_FACTOR, _MAX_FACTOR)
        moved = np.maximum(self.multipliers * factors, np.finfo(float).eps)
        raised = np.maximum(moved, _MIN_MULTIPLIER_SHARE * moved.max())
        self.multipliers = np.where(share > 1.0, raised, moved)
