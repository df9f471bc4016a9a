"""Nonnegative vectors with a limited number of nonzeros."""

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.errors import ParameterError
from thalweg.prox._floats import on_floats
from thalweg.prox._membership import indicator, largest, nonnegative, tolerance


@on_floats
@dataclass(frozen=True)
class Top:
    """Keep the largest entries: argmin_u |u - x| subject to u >= 0, at most ``count`` nonzeros.

    The set is not convex. Of equal entries, the one with the lowest index is kept.

    Parameters
    ----------
    count : int
        The largest number of nonzeros in a column, >= 1.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.top import Top
    >>> Top(count=2).prox(np.array([1.0, 3.0, -4.0, 1.0]))
    array([1., 3., 0., 0.])
    """

    name: ClassVar[str] = "top"
    convex: ClassVar[bool] = False
    count: int = 1

    def __post_init__(self) -> None:
        if not (isinstance(self.count, Integral) and self.count >= 1):
            raise ParameterError(
                f"count must be an integer >= 1, got {self.count!r}. "
                "It is the largest number of nonzeros in a column."
            )

    def value(self, x: Array) -> Array:
        """Return 0 for each column in the set, and inf for the others."""
        nonzero = np.abs(x) > tolerance(x) * largest(x)
        return indicator(nonnegative(x) & (np.count_nonzero(nonzero, axis=0) <= self.count))

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return the projection of each column onto the set; ``step`` has no effect."""
        u: Array = np.maximum(x, 0.0)
        if u.ndim == 1:
            _cut(u, self.count)
        else:
            for column in u.T:
                _cut(column, self.count)
        return u

    def conjugate(self, y: Array) -> Array:
        """Return 0 for each column that is <= 0, and inf for the others."""
        return indicator(nonnegative(-y))


def _cut(u: Array, count: int) -> None:
    """Set all but the ``count`` largest entries of u >= 0 to 0; of equal entries keep the first."""
    positive = u[u > 0]
    excess = positive.size - count
    if excess <= 0:
        return
    smallest_kept = np.partition(positive, excess)[excess]
    u[u < smallest_kept] = 0
    ties = np.count_nonzero(u) - count
    if ties > 0:
        u[np.flatnonzero(u == smallest_kept)[-ties:]] = 0
