"""The nonnegative part of a Euclidean ball."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.prox._floats import on_floats
from thalweg.prox._membership import indicator, nonnegative, tolerance
from thalweg.prox._norms import column_norms
from thalweg.prox._parameters import require_radius


@on_floats
@dataclass(frozen=True)
class L2Ball:
    """Project onto the l2 ball: argmin_u |u - x| subject to u >= 0, |u|_2 <= radius.

    The set C of the dictionary columns in [O].

    Parameters
    ----------
    radius : float
        The largest norm of a column, between 1e-153 and 1e153.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> L2Ball().prox(np.array([3.0, 4.0, -1.0]))
    array([0.6, 0.8, 0. ])
    """

    name: ClassVar[str] = "l2-ball"
    convex: ClassVar[bool] = True
    radius: float = 1.0

    def __post_init__(self) -> None:
        require_radius(radius=self.radius)

    @cached_property
    def l2_radius(self) -> float:
        """The radius of the nonnegative l2 ball that is the set."""
        return self.radius

    def value(self, x: Array) -> Array:
        """Return 0 for each column in the set, and inf for the others."""
        short = column_norms(x) <= self.radius * (1 + tolerance(x))
        return indicator(nonnegative(x) & short)

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return the projection of each column onto the set; ``step`` has no effect."""
        u = np.maximum(x, 0.0)
        u *= self.radius / np.maximum(column_norms(u), self.radius)  # [O] (22), Lemma S-4
        return u

    def gauge(self, x: Array) -> Array:
        """Return the gauge min{s >= 0 : x in s C} of each nonnegative column x."""
        size: Array = column_norms(x) / self.radius
        return size

    @property
    def border(self) -> tuple[float, float, bool]:
        """The (l1, l2, False) of the set {u >= 0 : l1 sum(u) + l2/2 |u|^2 <= 1}."""
        return 0.0, 2.0 * self.radius**-2.0, False

    @property
    def price(self) -> tuple[float, float]:
        """The coefficients of sum(y) and |y|^2 / 2 in a majoriser of the gauge."""
        return 0.0, self.radius**-2.0

    def conjugate(self, y: Array) -> Array:
        """Return the support function, radius |max(y, 0)|_2, of each column."""
        support: Array = self.radius * column_norms(np.maximum(y, 0.0))
        return support
