"""The family of beta-divergences."""

from dataclasses import dataclass
from functools import partial
from math import inf
from typing import ClassVar

import numpy as np

from thalweg._checks import require_finite
from thalweg._typing import Array
from thalweg.divergences import Interval
from thalweg.divergences._blocks import column_sums, entrywise, filled
from thalweg.divergences._phi import power_divergence
from thalweg.divergences._power import power_at_zero, times_power


@dataclass(frozen=True)
class Beta:
    """The beta-divergence, sum (v^beta - p^beta - beta p^(beta - 1) (v - p)) / (beta (beta - 1)).

    [D] Table II: Bregman divergences, differentiable in p for every beta and convex in p for
    1 <= beta <= 2 (Remark 1). The limits are Itakura-Saito at 0 and Kullback-Leibler at 1; 2 is
    half the squared distance.

    Parameters
    ----------
    beta : float
        Exponent. Smaller values give more weight to small entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.beta import Beta
    >>> Beta(1.5).value(np.array([1.0, 4.0]), np.array([1.0, 1.0])).round(4)
    np.float64(3.3333)
    """

    name: ClassVar[str] = "beta"
    aliases: ClassVar[tuple[str, ...]] = ()
    beta: float = 1.5

    def __post_init__(self) -> None:
        require_finite(beta=self.beta)

    @property
    def convex(self) -> bool:
        """Whether 1 <= beta <= 2."""
        return bool(1 <= self.beta <= 2)

    @property
    def domain(self) -> Interval:
        """Nonnegative data if beta > 0, otherwise positive data."""
        return Interval(0.0, inf, self.beta > 0)

    @property
    def growth(self) -> tuple[float, float]:
        """The exponents of :meth:`split`; the majoriser of a concave part is its tangent."""
        b = float(self.beta)
        return max(b - 1, 0.0), max(2 - b, 0.0)

    @property
    def slope_at_zero(self) -> float | None:
        """The derivative in p at v = 0, p^(beta - 1), which is constant for beta = 1 only."""
        return 1.0 if self.beta == 1 else None

    def value(self, v: Array, p: Array) -> Array:
        """Return the divergence of each column."""
        b = float(self.beta)
        each = partial(power_divergence, exponent=b, degree=b)  # [D] Table II
        return column_sums(each, v, p)

    def grad(self, v: Array, p: Array) -> Array:
        """Return p^(beta - 2) (p - v)."""
        return entrywise(partial(_grad, b=float(self.beta)), v, p)

    def curvature(self, v: Array, p: Array) -> Array:
        """Return the second derivative, or p^(beta - 2), its value at v = p, if not convex."""
        return entrywise(partial(_curvature, b=float(self.beta)), v, p)

    def split(self, v: Array, p: Array) -> tuple[Array, Array]:
        """Return v p^(beta - 2) and p^(beta - 1)."""
        b = float(self.beta)
        neg = entrywise(partial(times_power, exponent=b - 2), v, p)
        return neg, entrywise(partial(_power, exponent=b - 1), v, p)

    def outliers(self, v: Array, p: Array) -> Array:
        """Return 0, since the loss is not robust."""
        return filled(v, p, 0)


def _grad(v: Array, p: Array, b: float) -> Array:
    grad = times_power(p - v, p, b - 2)
    np.copyto(grad, power_at_zero(b - 1), where=(v == 0) & (p == 0))
    return grad


def _curvature(v: Array, p: Array, b: float) -> Array:
    if not 1 <= b <= 2:
        return _power(v, p, b - 2)
    weight: Array = (b - 1) * p + (2 - b) * v
    curvature = times_power(weight, p, b - 3)
    at_zero = 0.0 if b == 1 else power_at_zero(b - 2)
    np.copyto(curvature, at_zero, where=(weight == 0) & (p == 0))
    return curvature


def _power(v: Array, p: Array, exponent: float) -> Array:
    return times_power(np.ones_like(p), p, exponent)
