"""The simplex of vectors with a given sum."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.prox._boundary import cost, project_onto
from thalweg.prox._floats import on_floats
from thalweg.prox._membership import indicator, nonnegative, tolerance
from thalweg.prox._parameters import require_radius


@on_floats
@dataclass(frozen=True)
class Simplex:
    """Project onto the simplex: argmin_u |u - x| subject to u >= 0, sum(u) = total.

    The set C_2 of [O] VI-A. Unlike a ball, it excludes zero columns.

    Parameters
    ----------
    total : float
        The sum of each column, between 1e-153 and 1e153.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.simplex import Simplex
    >>> Simplex().prox(np.array([0.5, 0.25, -1.0]))
    array([0.625, 0.375, 0.   ])
    """

    name: ClassVar[str] = "simplex"
    convex: ClassVar[bool] = True
    total: float = 1.0

    def __post_init__(self) -> None:
        require_radius(total=self.total)

    def value(self, x: Array) -> Array:
        """Return 0 for each column in the simplex, and inf for the others."""
        full = np.abs(cost(x, 1 / self.total, 0.0) - 1) <= tolerance(x)
        return indicator(nonnegative(x) & full)

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return the projection of each column onto the simplex; ``step`` has no effect."""
        u = np.empty_like(x)
        u[...] = project_onto(x, 1 / self.total, 0.0)
        return u

    def gauge(self, x: Array) -> Array:
        """Return sum(x) / total, the s with x in s C, of each nonnegative column x."""
        size: Array = cost(x, 1 / self.total, 0.0)
        return size

    @property
    def border(self) -> tuple[float, float, bool]:
        """The (l1, l2, True) of the set {u >= 0 : l1 sum(u) + l2/2 |u|^2 = 1}."""
        return 1 / self.total, 0.0, True

    @property
    def price(self) -> tuple[float, float]:
        """The coefficients of sum(y) and |y|^2 / 2 in the gauge."""
        return 1 / self.total, 0.0

    def conjugate(self, y: Array) -> Array:
        """Return the support function, total max(y), of each column."""
        support: Array = y.max(axis=0, initial=-np.inf) * np.float64(self.total)
        return support
