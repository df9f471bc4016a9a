"""Nonnegative vectors with few nonzeros."""

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
    """argmin_u |u - x| subject to u >= 0 with at most ``count`` nonzeros.

    The set is not convex: of equal entries the one with the lowest index is kept.

    Parameters
    ----------
    count : int
        How many entries of a column may differ from 0, at least 1.

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
                f"count should be a whole number >= 1, but {self.count!r} came. "
                "Give the number of entries of a column that may differ from 0."
            )

    def value(self, x: Array) -> Array:
        """Return 0 for each column inside of the set, and inf for the others."""
        nonzero = np.abs(x) > tolerance(x) * largest(x)
        return indicator(nonnegative(x) & (np.count_nonzero(nonzero, axis=0) <= self.count))

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return the nearest columns in the set; ``step`` does not matter."""
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
    """Set all but the largest entries of u >= 0 to zero; of equal ones the first are kept."""
    positive = u[u > 0]
    spare = positive.size - count
    if spare <= 0:
        return
    last = np.partition(positive, spare)[spare]
    u[u < last] = 0
    extra = np.count_nonzero(u) - count
    if extra > 0:
        u[np.flatnonzero(u == last)[-extra:]] = 0
