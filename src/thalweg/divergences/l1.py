"""The l1 distance."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.divergences import Interval
from thalweg.divergences._blocks import column_sums
from thalweg.divergences._half_quadratic import inverse, smallest_residual, smoothed, weighted_split


@dataclass(frozen=True)
class L1:
    """The l1 distance, |v - p|_1.

    [D] Tables I and III: convex in p, but not differentiable at p = v (Remark 1). It is the
    negative log-likelihood of v = p plus Laplace noise, up to a factor and a constant. The whole
    residual counts as outliers.

    :meth:`curvature` and :meth:`split` belong to the loss with |u| replaced by a parabola where
    |u| <= e, with e = 1e-10 times the mean of |v| in the column. Elsewhere pos - neg equals
    :meth:`grad`.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.l1 import L1
    >>> L1().value(np.array([1.0, 4.0]), np.array([2.0, 2.0]))
    np.float64(3.0)
    """

    name: ClassVar[str] = "l1"
    aliases: ClassVar[tuple[str, ...]] = ("manhattan", "laplace")
    convex: ClassVar[bool] = True
    domain: ClassVar[Interval] = Interval(0.0, inf, True)
    growth: ClassVar[tuple[float, float]] = (1.0, 0.0)
    half_quadratic: ClassVar[bool] = True
    slope_at_zero: ClassVar[float] = 1.0

    def value(self, v: Array, p: Array) -> Array:
        """Return the distance of each column."""
        return column_sums(_distance, v, p)  # [D] Table III

    def grad(self, v: Array, p: Array) -> Array:
        """Return the sign of p - v, a subgradient."""
        grad = p - v
        np.copysign(grad != 0, grad, out=grad)  # ten times as fast as np.sign
        return grad

    def curvature(self, v: Array, p: Array) -> Array:
        """Return the half-quadratic weights 1 / max(|v - p|, e)."""
        return inverse(v - p, smallest_residual(v))

    def weights(self, residual: Array, floor: Array) -> Array:
        """Return 1 / max(|u|, floor) of each entry."""
        return inverse(residual.copy(), floor)

    def smoothed(self, residual: Array, floor: Array) -> Array:
        """Return |u| of each entry, smoothed below the floor."""
        return smoothed(np.abs(residual), floor)

    def split(self, v: Array, p: Array) -> tuple[Array, Array]:
        """Return w v and w p with the weights w of :meth:`curvature`."""
        return weighted_split(self.curvature(v, p), v, p)

    def outliers(self, v: Array, p: Array) -> Array:
        """Return v - p."""
        return v - p


def _distance(v: Array, p: Array) -> Array:
    residual = v - p
    return np.abs(residual, out=residual)
