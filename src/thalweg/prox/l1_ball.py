"""The nonnegative part of an l1 ball."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.prox._boundary import cost, project_into
from thalweg.prox._floats import on_floats
from thalweg.prox._membership import indicator, nonnegative, tolerance
from thalweg.prox._parameters import require_radius


@on_floats
@dataclass(frozen=True)
class L1Ball:
    """Project onto the l1 ball: argmin_u |u - x| subject to u >= 0, sum(u) <= radius.

    Parameters
    ----------
    radius : float
        The largest sum of a column, between 1e-153 and 1e153.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l1_ball import L1Ball
    >>> L1Ball().prox(np.array([1.25, 0.75, -1.0]))
    array([0.75, 0.25, 0.  ])
    """

    name: ClassVar[str] = "l1-ball"
    convex: ClassVar[bool] = True
    radius: float = 1.0

    def __post_init__(self) -> None:
        require_radius(radius=self.radius)

    def value(self, x: Array) -> Array:
        """Return 0 for each column in the set, and inf for the others."""
        small = cost(x, 1 / self.radius, 0.0) <= 1 + tolerance(x)
        return indicator(nonnegative(x) & small)

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return the projection of each column onto the set; ``step`` has no effect."""
        return project_into(x, 1 / self.radius, 0.0)

    def gauge(self, x: Array) -> Array:
        """Return the gauge min{s >= 0 : x in s C} of each nonnegative column x."""
        size: Array = cost(x, 1 / self.radius, 0.0)
        return size

    @property
    def border(self) -> tuple[float, float, bool]:
        """The (l1, l2, False) of the set {u >= 0 : l1 sum(u) + l2/2 |u|^2 <= 1}."""
        return 1 / self.radius, 0.0, False

    @property
    def price(self) -> tuple[float, float]:
        """The coefficients of sum(y) and |y|^2 / 2 in the gauge."""
        return 1 / self.radius, 0.0

    def conjugate(self, y: Array) -> Array:
        """Return the support function, radius max(y, 0), of each column."""
        support: Array = y.max(axis=0, initial=0.0) * np.float64(self.radius)
        return support
