"""The nonnegative orthant."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.prox._floats import on_floats
from thalweg.prox._membership import indicator, nonnegative


@on_floats
@dataclass(frozen=True)
class Orthant:
    """argmin_u |u - x| subject to u >= 0.

    [O] VI-A, the set C_1: the most basic constraint of a nonnegative factorisation.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.orthant import Orthant
    >>> Orthant().prox(np.array([1.5, -2.0, 0.5]))
    array([1.5, 0. , 0.5])
    """

    name: ClassVar[str] = "nonnegative"
    convex: ClassVar[bool] = True

    @property
    def coefficients(self) -> tuple[float, float]:
        """The linear and the quadratic coefficient on x >= 0."""
        return 0.0, 0.0

    @property
    def l2_radius(self) -> float:
        """The set is the nonnegative l2 ball of this radius."""
        return inf

    def value(self, x: Array) -> Array:
        """Return 0 for each column that is >= 0, and inf for the others."""
        return indicator(nonnegative(x))

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return the nearest nonnegative columns; ``step`` does not matter."""
        return np.maximum(x, 0.0)

    def gauge(self, x: Array) -> Array:
        """Return 0 of each nonnegative column: the set holds every multiple of it."""
        return np.zeros(x.shape[1:], x.dtype)

    @property
    def price(self) -> tuple[float, float]:
        """The gauge is zero."""
        return 0.0, 0.0

    def conjugate(self, y: Array) -> Array:
        """Return 0 for each column that is <= 0, and inf for the others."""
        return indicator(nonnegative(-y))
