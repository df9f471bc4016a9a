"""Boxes: a lower and an upper bound for each entry."""

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
    """Clip to bounds: argmin_u |u - x| subject to lower <= u <= upper.

    Parameters
    ----------
    lower, upper : float or array of length n_rows
        The bounds of all rows, or of each row; -inf or inf for no bound.

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
            nonempty = np.all((lower <= upper) & (lower < np.inf) & (upper > -np.inf))
            valid = bool(nonempty) and max(lower.ndim, upper.ndim) <= 1
        except (TypeError, ValueError):
            valid = False
        if not valid:
            raise ParameterError(
                "lower and upper must be numbers or arrays with one number per row, with "
                f"lower <= upper, got lower={self.lower!r} and upper={self.upper!r}. "
                "Use -inf or inf for no bound."
            )

    def value(self, x: Array) -> Array:
        """Return 0 for each column in the box, and inf for the others."""
        return indicator(near(x, self.prox(x)))

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return the projection of each column onto the box; ``step`` has no effect."""
        lower, upper = self._bounds(x)
        return x.clip(lower, upper)

    def conjugate(self, y: Array) -> Array:
        """Return the support function, sum max(lower y, upper y), of each column."""
        wide = y.astype(np.float64)
        # Where a bound is infinite, a rounding error would give inf, and 0 * inf would be NaN.
        wide[np.abs(wide) <= tolerance(y) * largest(wide)] = 0.0
        lower, upper = self._bounds(wide)
        with np.errstate(invalid="ignore"):
            best = np.where(wide > 0, upper * wide, np.where(wide < 0, lower * wide, 0.0))
        total: Array = np.sum(best, axis=0)
        return total

    def _bounds(self, x: Array) -> tuple[Array, Array]:
        lower = _as_column("lower", self.lower, x)
        return lower, _as_column("upper", self.upper, x)


def _as_column(name: str, bound: ArrayLike, x: Array) -> Array:
    values = np.asarray(bound, dtype=x.dtype)
    if values.ndim == 0:
        return values
    require_rows(name, values, x)
    return values[:, None] if x.ndim == 2 else values
