"""Multipliers of the samples of the constrained form (3) of [A], and the best point found."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.archetypes.data_matrix import DataMatrix
from thalweg.archetypes.hull_projection import nearest_in_hull
from thalweg.archetypes.objective import Point, Problem, State

__all__ = ["HOPELESS", "Constrained", "MultiplierSearch"]

# Multipliers begin at 1 / 30, the largest weight of a path ([A] 4.2). One of a sample beyond the
# limit is at least the share _LIFT of the largest; above HOPELESS no feasible point is near.
_FIRST, _LIFT, HOPELESS = 1.0 / 30.0, 1e-3, 1e9
# Multipliers aim at this share of alpha, so that points around the solution are feasible.
_AIM = 0.999
# A search ends when sum mu (alpha^2 - d^2) is below this share of the distance that is
# minimised, this many times in a row: for convex problems that sum is the duality gap.
_SLACK, _QUIET = 1e-4, 3
# A distance below this share of the largest |x|^2 is rounding.
_EMPTY = 1e-12


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

    @property
    def rank(self) -> tuple[bool, float]:
        """Sort key: feasible ones by the distance, and before all others."""
        return not self.feasible, self.distance if self.feasible else self.worst


@dataclass
class MultiplierSearch:
    """The multipliers of the samples, and the best point so far.

    Parameters
    ----------
    rows : DataMatrix
        The data.
    nonzeros : int or None
        The most that H may have.
    alpha : float
        The largest distance allowed.

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
        self.best = Constrained(State(*3 * [np.empty(0)]), False, np.inf, np.inf)
        self.begin()

    def begin(self) -> None:
        """Set the multipliers to where they begin."""
        self.multipliers = np.full(self.rows.shape[0], _FIRST)
        self._quiet = 0

    @property
    def done(self) -> bool:
        """Whether nothing has changed for a while."""
        return self._quiet >= _QUIET

    def problem(self) -> Problem:
        """Return the Lagrangian as a problem (17)."""
        return Problem(self.rows, 1.0, self.nonzeros, self.multipliers)

    def distances(self, state: State) -> Array:
        """Return how far each sample is from its mixture of archetypes."""
        H, W, _ = state
        squares = [np.sum((block - W[at] @ H) ** 2, axis=1) for at, block in self.rows.blocks()]
        distances: Array = np.sqrt(np.concatenate(squares))
        return distances

    def visit(self, point: Point) -> State:
        """Note what (3) makes of a point; return it with T exact."""
        state = point.state
        state = state._replace(T=nearest_in_hull(self.rows, point.HX, state.T)[0])
        distances = self.distances(state)
        distance = float(np.sum((state.H - self.rows.mixed(state.T)) ** 2))
        worst = float(distances.max())
        found = Constrained(state, worst <= self.alpha, distance, worst)
        self.best = min(self.best, found, key=lambda one: one.rank)
        slack = float(self.multipliers @ ((_AIM * self.alpha) ** 2 - distances**2))
        small = abs(slack) <= _SLACK * distance or distance <= _EMPTY * self.rows.squares.max()
        self._quiet = self._quiet + 1 if found.feasible and small else 0
        return state

    def press(self, distances: Array) -> None:
        """Raise the multipliers of samples beyond the limit, and lower the others."""
        share = distances / (_AIM * self.alpha)
        moved = np.maximum(self.multipliers * np.clip(share, 0.5, 2.0), np.finfo(float).eps)
        self.multipliers = np.where(share > 1.0, np.maximum(moved, _LIFT * moved.max()), moved)
