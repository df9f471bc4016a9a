"""The Kullback-Leibler divergence."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.divergences import Interval
from thalweg.divergences._blocks import column_sums, filled, shared
from thalweg.divergences._phi import correct_near


@dataclass(frozen=True)
class KL:
    """The Kullback-Leibler divergence, sum v log(v / p) - v + p.

    [D] Tables I and II: the alpha- and the beta-divergence at 1, differentiable and convex in
    p (Remark 1). It is the negative log-likelihood of Poisson counts v with means p, up to a
    constant.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.kl import KL
    >>> KL().value(np.array([0.0, 2.0]), np.array([0.5, 2.0]))
    np.float64(0.5)
    """

    name: ClassVar[str] = "kl"
    aliases: ClassVar[tuple[str, ...]] = ("kullback-leibler", "poisson")
    convex: ClassVar[bool] = True
    domain: ClassVar[Interval] = Interval(0.0, inf, True)
    growth: ClassVar[tuple[float, float]] = (0.0, 1.0)
    slope_at_zero: ClassVar[float] = 1.0

    def value(self, v: Array, p: Array) -> Array:
        """Return the divergence of each column; p where v is 0, inf where only p is 0."""
        return column_sums(_divergence, v, p)

    @np.errstate(all="ignore")
    def grad(self, v: Array, p: Array) -> Array:
        """Return 1 - v / p."""
        grad = p - v
        grad /= p
        np.copyto(grad, 1, where=v == 0)
        return grad

    @np.errstate(all="ignore")
    def curvature(self, v: Array, p: Array) -> Array:
        """Return v / p^2, the second derivative."""
        curvature = v / p
        curvature /= p
        np.copyto(curvature, 0, where=v == 0)
        return curvature

    @np.errstate(all="ignore")
    def split(self, v: Array, p: Array) -> tuple[Array, Array]:
        """Return v / p and 1."""
        neg = v / p
        np.copyto(neg, 0, where=v == 0)
        return neg, shared(v, p, 1)

    def outliers(self, v: Array, p: Array) -> Array:
        """Return 0, since the loss is not robust."""
        return filled(v, p, 0)


@np.errstate(all="ignore")
def _divergence(v: Array, p: Array) -> Array:
    ratio = v / p
    each = np.log(ratio)  # [D] Table I
    each *= v
    each -= v - p
    np.copyto(each, p, where=~(ratio > 0))
    correct_near(each, v, p, 1.0, 1.0)
    return each
