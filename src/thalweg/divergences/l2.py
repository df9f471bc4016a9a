"""The Euclidean distance."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.divergences import Interval
from thalweg.divergences._blocks import column_sums
from thalweg.divergences._half_quadratic import inverse, smallest_residual, smoothed, weighted_split


@dataclass(frozen=True)
class L2:
    """The Euclidean distance |v - p|, not squared.

    All samples have gradients of the same norm, so that distant samples have bounded influence.
    [D] Table III: convex in p, but not differentiable at p = v (Remark 1). The whole residual of a
    sample counts as an outlier.

    :meth:`curvature` and :meth:`split` belong to the loss with |u| replaced by a parabola where
    |u| <= e, with e = 1e-10 times the mean of |v| in the column. Elsewhere pos - neg equals
    :meth:`grad`.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.l2 import L2
    >>> L2().value(np.array([1.0, 4.0]), np.array([4.0, 8.0]))
    np.float64(5.0)
    """

    name: ClassVar[str] = "l2"
    aliases: ClassVar[tuple[str, ...]] = ()
    convex: ClassVar[bool] = True
    domain: ClassVar[Interval] = Interval(0.0, inf, True)
    growth: ClassVar[tuple[float, float]] = (1.0, 0.0)
    half_quadratic: ClassVar[bool] = True
    slope_at_zero: ClassVar[None] = None

    def value(self, v: Array, p: Array) -> Array:
        """Return the distance of each column."""
        norms: Array = _norms(v - p)[0]  # [D] Table III
        return norms

    def grad(self, v: Array, p: Array) -> Array:
        """Return (p - v) / |p - v|, and 0 where v = p."""
        residual = p - v
        length = _norms(residual)
        residual /= np.where(length > 0, length, 1)
        return residual

    def curvature(self, v: Array, p: Array) -> Array:
        """Return the half-quadratic weights 1 / max(|v - p|, e) of each column."""
        return inverse(_norms(v - p), smallest_residual(v))

    def weights(self, residual: Array, floor: Array) -> Array:
        """Return 1 / max(|u|, floor) of each column."""
        return inverse(_norms(residual), floor)

    def smoothed(self, residual: Array, floor: Array) -> Array:
        """Return |u| of each column, smoothed below the floor."""
        return smoothed(_norms(residual), floor)

    def split(self, v: Array, p: Array) -> tuple[Array, Array]:
        """Return w v and w p with the weights w of :meth:`curvature`."""
        return weighted_split(self.curvature(v, p), v, p)

    def outliers(self, v: Array, p: Array) -> Array:
        """Return v - p."""
        return v - p


def _norms(residual: Array) -> Array:
    """Return the norm of each column as a row, scaled to avoid overflow of the squares."""
    high, low = residual.max(axis=0, initial=0), residual.min(axis=0, initial=0)
    size = np.maximum(high, -low)[None]
    squares = column_sums(_scaled_square, residual, np.where(size > 0, size, 1))
    norms: Array = size * np.sqrt(squares)
    return norms


def _scaled_square(residual: Array, size: Array) -> Array:
    scaled = residual / size
    scaled *= scaled
    return scaled
