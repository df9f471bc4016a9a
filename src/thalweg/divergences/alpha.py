"""The family of alpha-divergences."""

from dataclasses import dataclass
from functools import partial
from math import inf
from typing import ClassVar

import numpy as np

from thalweg._checks import require_finite
from thalweg._typing import Array
from thalweg.divergences import Interval
from thalweg.divergences._blocks import column_sums, entrywise, filled, shared
from thalweg.divergences._phi import power_divergence
from thalweg.divergences._power import log_ratio, power_at_zero


@dataclass(frozen=True)
class Alpha:
    """The alpha-divergence, sum (p ((v / p)^alpha - 1) - alpha (v - p)) / (alpha (alpha - 1)).

    [D] Table I: f-divergences, differentiable and convex in p for every alpha (Remark 1). The
    limits are sum p log(p / v) - p + v at 0 and Kullback-Leibler at 1; 1/2 is Hellinger, 2
    Pearson's and -1 Neyman's chi-squared.

    Parameters
    ----------
    alpha : float
        Exponent. Larger values penalise a model below the data more.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.alpha import Alpha
    >>> Alpha(2.0).value(np.array([1.0, 3.0]), np.array([1.0, 2.0])).round(4)
    np.float64(0.25)
    """

    name: ClassVar[str] = "alpha"
    aliases: ClassVar[tuple[str, ...]] = ()
    convex: ClassVar[bool] = True
    alpha: float = 2.0

    def __post_init__(self) -> None:
        require_finite(alpha=self.alpha)

    @property
    def domain(self) -> Interval:
        """Nonnegative data if alpha > 0, otherwise positive data."""
        return Interval(0.0, inf, self.alpha > 0)

    @property
    def growth(self) -> tuple[float, float]:
        """The exponents of :meth:`split`."""
        a = float(self.alpha)
        # For alpha = 0, log(r) is between 0 and (r - 1 / r) / 2.
        return (1.0, 1.0) if a == 0 else (max(-a, 0.0), max(a, 0.0))

    @property
    def slope_at_zero(self) -> float | None:
        """The derivative in p at v = 0, which is 1 / alpha if alpha > 0 and infinite otherwise."""
        return 1 / float(self.alpha) if self.alpha > 0 else None

    def value(self, v: Array, p: Array) -> Array:
        """Return the divergence of each column."""
        each = partial(power_divergence, exponent=float(self.alpha), degree=1.0)  # [D] Table I
        return column_sums(each, v, p)

    def grad(self, v: Array, p: Array) -> Array:
        """Return (1 - (v / p)^alpha) / alpha, which is log(p / v) at 0."""
        return entrywise(partial(_grad, a=float(self.alpha)), v, p)

    def curvature(self, v: Array, p: Array) -> Array:
        """Return (v / p)^alpha / p, the second derivative."""
        return entrywise(partial(_curvature, a=float(self.alpha)), v, p)

    def split(self, v: Array, p: Array) -> tuple[Array, Array]:
        """Return (v / p)^alpha / alpha and 1 / alpha, in reverse order for alpha < 0."""
        a = float(self.alpha)
        if a == 0:  # positive and negative part of log(v / p), each plus 1/2
            return entrywise(_log_excess, v, p), entrywise(_log_excess, p, v)
        power = entrywise(partial(_power, a=a), v, p)
        constant = shared(v, p, 1 / abs(a))
        return (power, constant) if a > 0 else (constant, power)

    def outliers(self, v: Array, p: Array) -> Array:
        """Return 0, since the loss is not robust."""
        return filled(v, p, 0)


@np.errstate(all="ignore")
def _grad(v: Array, p: Array, a: float) -> Array:
    ratio = log_ratio(v, p)
    return -ratio if a == 0 else np.expm1(a * ratio) / -a


@np.errstate(all="ignore")
def _curvature(v: Array, p: Array, a: float) -> Array:
    # Multiply twice by the root of the power, which may overflow when the quotient does not.
    half = np.exp(log_ratio(v, p) * (a / 2)) if a else filled(v, p, 1)
    curvature: Array = half / p * half
    np.copyto(curvature, power_at_zero(-1 - a) / v, where=p == 0)
    np.copyto(curvature, 0 if a > 0 else inf, where=(v == 0) & (p == 0))
    return curvature


@np.errstate(all="ignore")
def _power(v: Array, p: Array, a: float) -> Array:
    power: Array = np.exp(a * log_ratio(v, p)) / abs(a)
    return power


def _log_excess(v: Array, p: Array) -> Array:
    excess: Array = np.maximum(log_ratio(v, p), 0) + 0.5
    return excess
