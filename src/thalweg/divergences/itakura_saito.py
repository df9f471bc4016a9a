"""The Itakura-Saito divergence."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.divergences import Interval
from thalweg.divergences._blocks import column_sums, entrywise, filled
from thalweg.divergences._phi import correct_near


@dataclass(frozen=True)
class ItakuraSaito:
    """The Itakura-Saito divergence, sum v / p - log(v / p) - 1.

    [D] Table II: the beta-divergence at 0, differentiable but not convex in p (Remark 1; [R]
    III-D assumes that it is convex). It is invariant to a common scale of v and p. It is the
    negative log-likelihood of v = p times Gamma noise of mean 1, up to a factor and a constant.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.itakura_saito import ItakuraSaito
    >>> ItakuraSaito().value(np.array([1.0, 2.0]), np.array([1.0, 1.0])).round(4)
    np.float64(0.3069)
    """

    name: ClassVar[str] = "itakura-saito"
    aliases: ClassVar[tuple[str, ...]] = ("is", "gamma")
    convex: ClassVar[bool] = False
    domain: ClassVar[Interval] = Interval(0.0, inf, False)
    growth: ClassVar[tuple[float, float]] = (0.0, 2.0)
    slope_at_zero: ClassVar[None] = None

    def value(self, v: Array, p: Array) -> Array:
        """Return the divergence of each column; inf where only one of v and p is 0."""
        return column_sums(_divergence, v, p)

    @np.errstate(all="ignore")
    def grad(self, v: Array, p: Array) -> Array:
        """Return (p - v) / p^2."""
        grad = p - v
        grad /= p
        grad /= p
        np.copyto(grad, inf, where=(v == 0) & (p == 0))
        return grad

    def curvature(self, v: Array, p: Array) -> Array:
        """Return 1 / p^2, the second derivative (2 v - p) / p^3 at v = p.

        The step p - grad / curvature is then v. The second derivative itself is negative for
        p > 2 v, where Newton's method fails.
        """
        return entrywise(_curvature, v, p)

    @np.errstate(all="ignore")
    def split(self, v: Array, p: Array) -> tuple[Array, Array]:
        """Return v / p^2 and 1 / p."""
        neg = v / p
        neg /= p
        np.copyto(neg, 0, where=v == 0)
        return neg, filled(v, p, 1) / p

    def outliers(self, v: Array, p: Array) -> Array:
        """Return 0, since the loss is not robust."""
        return filled(v, p, 0)


@np.errstate(all="ignore")
def _divergence(v: Array, p: Array) -> Array:
    each = (v - p) / p
    each -= np.log(v / p)  # [D] Table II
    np.copyto(each, inf, where=p == 0)
    np.copyto(each, 0, where=v == p)
    correct_near(each, v, p, 0.0, 0.0)
    return each


@np.errstate(all="ignore")
def _curvature(v: Array, p: Array) -> Array:
    curvature = 1 / p
    curvature /= p
    return curvature
