"""Half the squared Euclidean distance."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.divergences import Interval
from thalweg.divergences._blocks import column_sums, filled, shared


@dataclass(frozen=True)
class SquaredL2:
    """Half the squared Euclidean distance, |v - p|^2 / 2.

    [D] Table II: the beta-divergence at 2, differentiable and convex in p (Remark 1). It is the
    negative log-likelihood of v = p plus Gaussian noise, up to a factor and a constant.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.squared_l2 import SquaredL2
    >>> SquaredL2().value(np.array([1.0, 4.0]), np.array([1.0, 2.0]))
    np.float64(2.0)
    """

    name: ClassVar[str] = "squared-l2"
    aliases: ClassVar[tuple[str, ...]] = ("frobenius", "euclidean", "squared", "gaussian")
    convex: ClassVar[bool] = True
    domain: ClassVar[Interval] = Interval(0.0, inf, True)
    growth: ClassVar[tuple[float, float]] = (1.0, 0.0)
    slope_at_zero: ClassVar[None] = None

    def value(self, v: Array, p: Array) -> Array:
        """Return half the squared distance of each column."""
        return column_sums(_divergence, v, p)

    def grad(self, v: Array, p: Array) -> Array:
        """Return p - v."""
        return p - v

    def curvature(self, v: Array, p: Array) -> Array:
        """Return 1."""
        return shared(v, p, 1)

    def split(self, v: Array, p: Array) -> tuple[Array, Array]:
        """Return v and p."""
        return v, p

    def outliers(self, v: Array, p: Array) -> Array:
        """Return 0, since the loss is not robust."""
        return filled(v, p, 0)


@np.errstate(over="ignore")
def _divergence(v: Array, p: Array) -> Array:
    each = v - p
    each *= each
    each /= 2  # [D] Table II
    return each
