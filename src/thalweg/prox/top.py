"""Nonnegative vectors with few nonzeros."""

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.errors import ParameterError
from thalweg.prox._membership import indicator, largest, nonnegative, tolerance


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
        if self.count >= len(x):
            u: Array = np.maximum(x, 0)
            return u
        last = np.partition(-x, self.count - 1, axis=0)[self.count - 1]
        kept, tied = -x < last, -x == last
        # Of entries that equal the last one kept, the first ones fill the places that are left.
        kept |= tied & (np.cumsum(tied, axis=0) <= self.count - np.count_nonzero(kept, axis=0))
        return np.where(kept & (x > 0), x, x.dtype.type(0))

    def conjugate(self, y: Array) -> Array:
        """Return 0 for each column that is <= 0, and inf for the others."""
        return indicator(nonnegative(-y))
