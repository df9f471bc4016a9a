"""A box for matrices, with bounds for each entry; :class:`Box` has bounds for each row."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.prox._floats import on_floats
from thalweg.prox._membership import indicator, near

__all__ = ["EntrywiseBox"]


@on_floats
@dataclass(frozen=True, eq=False)
class EntrywiseBox:
    """Clip a matrix: argmin_U |U - X| subject to lower <= U <= upper.

    Parameters
    ----------
    lower, upper : array of shape (n_rows, n_columns)
        The finite bounds of each entry.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox import EntrywiseBox
    >>> EntrywiseBox(np.zeros((2, 2)), np.eye(2)).prox(np.full((2, 2), 0.7))
    array([[0.7, 0. ],
           [0. , 0.7]])
    """

    name: ClassVar[str] = "entrywise-box"
    convex: ClassVar[bool] = True
    lower: Array
    upper: Array

    def value(self, x: Array) -> Array:
        """Return 0 for each column within its bounds, and inf for the others."""
        return indicator(near(x, self.prox(x)))

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return the nearest matrix within the bounds; ``step`` has no effect."""
        return np.clip(x, self.lower.astype(x.dtype), self.upper.astype(x.dtype))

    def conjugate(self, y: Array) -> Array:
        """Return the support function, sum max(lower y, upper y), of each column."""
        total: Array = np.sum(np.where(y > 0, self.upper * y, self.lower * y), axis=0)
        return total
