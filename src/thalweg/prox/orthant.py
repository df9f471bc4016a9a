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
    """Project onto the nonnegative orthant: argmin_u |u - x| subject to u >= 0.

    The set C_1 of [O] VI-A.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.orthant import Orthant
    >>> Orthant().prox(np.array([1.5, -2.0, 0.5]))
    array([1.5, 0. , 0.5])
    """

    name: ClassVar[str] = "nonnegative"
    convex: ClassVar[bool] = True

    # (a, b) of a sum(x) + b |x|^2 / 2 on x >= 0
    coefficients: ClassVar[tuple[float, float]] = (0.0, 0.0)
    # radius of the nonnegative l2 ball that is the set
    l2_radius: ClassVar[float] = inf

    def value(self, x: Array) -> Array:
        """Return 0 for each column that is >= 0, and inf for the others."""
        return indicator(nonnegative(x))

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return max(x, 0); ``step`` has no effect."""
        return np.maximum(x, 0.0)

    def gauge(self, x: Array) -> Array:
        """Return 0 for each nonnegative column, since the set is a cone."""
        return np.zeros(x.shape[1:], x.dtype)

    @property
    def price(self) -> tuple[float, float]:
        """The coefficients of sum(y) and |y|^2 / 2 in the gauge, which is 0."""
        return 0.0, 0.0

    def conjugate(self, y: Array) -> Array:
        """Return 0 for each column that is <= 0, and inf for the others."""
        return indicator(nonnegative(-y))
