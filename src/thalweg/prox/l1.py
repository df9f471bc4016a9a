"""The l1 norm, with optional bounds on the entries."""

from dataclasses import dataclass
from math import inf
from numbers import Real
from typing import ClassVar

import numpy as np

from thalweg import _native
from thalweg._checks import require_nonnegative
from thalweg._typing import Array, Mask
from thalweg.errors import ParameterError
from thalweg.prox._elastic import elastic_conjugate, elastic_value, soft_threshold
from thalweg.prox._floats import floats, on_floats
from thalweg.prox._membership import indicator, near


@on_floats
@dataclass(frozen=True)
class L1:
    """Soft-threshold: argmin_u weight |u|_1 + |u - x|^2 / (2 step) subject to |u_i| <= bound.

    The outlier penalty of [O]: (17), or (16) without bound. With ``nonnegative=True`` the outliers
    are in the set R' of VI-A.

    Parameters
    ----------
    weight : float
        The weight of the norm (lambda in [O]), >= 0.
    bound : float
        The largest absolute value of an entry (M in [O]), >= 0; inf for no bound.
    nonnegative : bool
        Whether the entries must also be >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l1 import L1
    >>> L1(weight=1.0, bound=2.0).prox(np.array([0.5, -1.5, 9.0]))
    array([ 0. , -0.5,  2. ])
    """

    name: ClassVar[str] = "l1"
    convex: ClassVar[bool] = True
    weight: float = 1.0
    bound: float = inf
    nonnegative: bool = False

    def __post_init__(self) -> None:
        require_nonnegative(weight=self.weight)
        if not (isinstance(self.bound, Real) and self.bound >= 0):
            raise ParameterError(
                f"bound must be a number >= 0 or inf, got {self.bound!r}. "
                "It is the largest absolute value of an entry; use inf for no bound."
            )

    @property
    def coefficients(self) -> tuple[float, float] | None:
        """The coefficients (a, b) of a sum(x) + b |x|^2 / 2 on x >= 0; None with a bound."""
        return (self.weight, 0.0) if self.bound == inf else None

    @property
    def native(self) -> _native.L1Penalty:
        """The penalty as an argument of compiled kernels."""
        lower = 0.0 if self.nonnegative else -self.bound
        return _native.L1Penalty(weight=self.weight, upper=self.bound, lower=lower)

    def value(self, x: Array) -> Array:
        """Return weight |x|_1 of each column, inf for columns outside of the bounds."""
        inside = indicator(near(x, np.clip(x, -self.bound, self.bound)))
        return inside + elastic_value(x, self.weight, 0.0, self.nonnegative)

    def prox(self, x: Array, step: float = 1.0) -> Array:
        """Return the soft-thresholded columns, clipped to the bounds."""
        return soft_threshold(x, float(self.weight * step), self.nonnegative, float(self.bound))

    def conjugate(self, y: Array) -> Array:
        """Return bound sum max(|y| - weight, 0) of each column, with y for |y| if nonnegative."""
        if self.bound == inf:
            return elastic_conjugate(y, self.weight, 0.0, self.nonnegative)
        excess = soft_threshold(y.astype(np.float64), self.weight, self.nonnegative)
        total: Array = self.bound * np.sum(np.abs(excess), axis=0)
        return total

    def envelope(self, x: Array) -> tuple[Array, Array]:
        """Return the Moreau envelope of each column and its gradient, in one pass."""
        x = floats(x)
        rows = np.ascontiguousarray(x.T.reshape(-1, len(x)))
        rest = np.empty_like(rows)
        values = np.empty(len(rows), dtype=x.dtype)
        _native.envelope_l1(rows, self.native, rest, values)
        return values.reshape(x.shape[1:]), rest.T.reshape(x.shape, order="F")

    def curvature(self, x: Array) -> Mask:
        """Return True where the second derivative of the envelope is 1; elsewhere it is 0."""
        u = self.prox(x)
        at_bound = (u >= self.bound) if self.nonnegative else (np.abs(u) >= self.bound)
        curved: Mask = (u == 0) | at_bound
        return curved

    def parts(self) -> tuple["L1", tuple[float, float]]:
        """Return the norm without bounds, and the bounds of the entries, split as in [O] (24)."""
        return L1(self.weight), (0.0 if self.nonnegative else -self.bound, self.bound)
