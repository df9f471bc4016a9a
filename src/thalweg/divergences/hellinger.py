"""The squared Hellinger distance."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.divergences import Interval
from thalweg.divergences._blocks import column_sums, entrywise, filled, shared


@dataclass(frozen=True)
class Hellinger:
    """The squared Hellinger distance, 2 |sqrt(v) - sqrt(p)|^2.

    [D] Table I: the alpha-divergence at 1/2, differentiable and convex in p (Remark 1).

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.hellinger import Hellinger
    >>> Hellinger().value(np.array([4.0, 0.0]), np.array([1.0, 9.0]))
    np.float64(20.0)
    """

    name: ClassVar[str] = "hellinger"
    aliases: ClassVar[tuple[str, ...]] = ()
    convex: ClassVar[bool] = True
    domain: ClassVar[Interval] = Interval(0.0, inf, True)
    growth: ClassVar[tuple[float, float]] = (0.0, 0.5)
    slope_at_zero: ClassVar[float] = 2.0

    def value(self, v: Array, p: Array) -> Array:
        """Return the divergence of each column."""
        return column_sums(_divergence, v, p)

    def grad(self, v: Array, p: Array) -> Array:
        """Return 2 - 2 sqrt(v / p)."""
        return entrywise(_grad, v, p)

    @np.errstate(all="ignore")
    def curvature(self, v: Array, p: Array) -> Array:
        """Return sqrt(v / p) / p, the second derivative."""
        curvature = _root_of_ratio(v, p)
        curvature /= p
        np.copyto(curvature, 0, where=v == 0)
        return curvature

    def split(self, v: Array, p: Array) -> tuple[Array, Array]:
        """Return 2 sqrt(v / p) and 2."""
        neg = _root_of_ratio(v, p)
        neg *= 2
        return neg, shared(v, p, 2)

    def outliers(self, v: Array, p: Array) -> Array:
        """Return 0, since the loss is not robust."""
        return filled(v, p, 0)


@np.errstate(all="ignore")
def _divergence(v: Array, p: Array) -> Array:
    each = v - p  # [D] Table I, as (v - p)^2 / (sqrt(v) + sqrt(p))^2 to avoid cancellation
    each /= np.sqrt(v) + np.sqrt(p)
    np.copyto(each, 0, where=v == p)
    each *= each
    each *= 2
    return each


@np.errstate(all="ignore")
def _grad(v: Array, p: Array) -> Array:
    root = np.sqrt(p)
    grad: Array = 2 * (p - v)
    grad /= root + np.sqrt(v)
    grad /= root
    np.copyto(grad, 2, where=v == 0)
    return grad


@np.errstate(all="ignore")
def _root_of_ratio(v: Array, p: Array) -> Array:
    root = v / p
    np.sqrt(root, out=root)
    np.copyto(root, 0, where=v == 0)
    return root
