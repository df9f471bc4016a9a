"""Boxes: each entry between a lower and an upper bound."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from thalweg._typing import Array
from thalweg.errors import ParameterError
from thalweg.prox._floats import on_floats
from thalweg.prox._membership import indicator, largest, near, tolerance
from thalweg.prox._parameters import require_rows


@on_floats
@dataclass(frozen=True, eq=False)
class Box:
    """argmin_u |u - x| subject to lower <= u <= upper.

    Parameters
    ----------
    lower, upper : float or array of length n_rows
        The bounds of all rows, or of each row; -inf and inf leave a side open.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.box import Box
    >>> Box(lower=-1.0, upper=[0.5, 0.5, 2.0]).prox(np.array([0.7, -2.0, 1.0]))
    array([ 0.5, -1. ,  1. ])
    """

    name: ClassVar[str] = "box"
    convex: ClassVar[bool] = True
    lower: ArrayLike = 0.0
    upper: ArrayLike = 1.0

    def __post_init__(self) -> None:
        try:
            lower, upper = (np.asarray(b, dtype=np.float64) for b in (self.lower, self.upper))
            inhabited = np.all((lower <= upper) & (lower < np.inf) & (upper > -np.inf))
            sound = bool(inhabited) and max(lower.ndim, upper.ndim) <= 1
        except (TypeError, ValueError):
            sound = False
        if not sound:
            raise ParameterError(
                "lower and upper should be numbers, or arrays with one number per row, with "
                f"lower <= upper, but lower={self.lower!r} and upper={self.upper!r} came. "
                "Swap or widen the bounds; use -inf or inf to leave a side open."
            )

    def value(self, x: Array) -> Array:
        """Return 0 for each column inside of the box, and inf for the others."""
        return indicator(near(x, self.prox(x)))

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return the nearest columns in the box; ``step`` does not matter."""
        lower, upper = self._bounds(x)
        return x.clip(lower, upper)

    def conjugate(self, y: Array) -> Array:
        """Return the support function, sum max(lower y, upper y), of each column."""
        wide = y.astype(np.float64)
        # Rounding errors on an open side would cost inf, and 0 * inf would be NaN.
        wide[np.abs(wide) <= tolerance(y) * largest(wide)] = 0.0
        lower, upper = self._bounds(wide)
        with np.errstate(invalid="ignore"):
            best = np.where(wide > 0, upper * wide, np.where(wide < 0, lower * wide, 0.0))
        total: Array = np.sum(best, axis=0)
        return total

    def _bounds(self, x: Array) -> tuple[Array, Array]:
        lower = _down_rows("lower", self.lower, x)
        return lower, _down_rows("upper", self.upper, x)


def _down_rows(name: str, bound: ArrayLike, x: Array) -> Array:
    values = np.asarray(bound, dtype=x.dtype)
    if values.ndim == 0:
        return values
    require_rows(name, values, x)
    return values[:, None] if x.ndim == 2 else values
