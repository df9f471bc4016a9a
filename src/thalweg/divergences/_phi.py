"""The function that generates both the alpha- and the beta-divergences.

With phi(t) = (t^a - 1 - a (t - 1)) / (a (a - 1)) they are p phi(v / p) and p^a phi(v / p).
phi is log(t)^2 times the second divided difference of exp at 0, log(t) and a log(t). Evaluated with
the widest interval last, it has no cancellation at a = 0 and a = 1, with the limits t - 1 - log(t)
and t log(t) - t + 1. Only t near 1 needs a series.
"""

from math import inf

import numpy as np

from thalweg._typing import Array
from thalweg.divergences._power import log_ratio, times_power


@np.errstate(all="ignore")
def power_divergence(v: Array, p: Array, exponent: float, degree: float) -> Array:
    """Return p^degree phi(v / p) of each entry, with ``exponent`` a of phi.

    ``degree`` is 1 or the exponent.
    """
    low, middle, high = sorted((0.0, 1.0, exponent))
    ratio = log_ratio(v, p)
    each = _scaled_phi(ratio, high - middle, middle - low)
    # phi is of the order of t^high for t > 1 and of t^low for t < 1; halves as in times_power.
    half = np.maximum(ratio * (high / 2), ratio * (low / 2))
    half += np.log(p) * (degree / 2)
    np.exp(half, out=half)
    each *= half
    each *= half
    _set_limits(each, v, p, ratio, exponent, degree)
    correct_near(each, v, p, exponent, degree)
    return each


def _scaled_phi(ratio: Array, top: float, bottom: float) -> Array:
    """Return phi(t) / t^high for t > 1 and phi(t) / t^low for t < 1, with ratio = log t.

    ``top`` and ``bottom`` are the differences of the sorted exponents 0, 1 and a.
    """
    size, sign = np.abs(ratio), np.copysign(1, ratio)
    upper, lower = _decayed(size, top), _decayed(size, bottom)
    scaled: Array = upper * lower
    scaled *= (top + bottom) / 2 + sign * ((top - bottom) / 2)  # top for t > 1, bottom for t < 1
    sign *= upper - lower
    scaled += sign
    scaled /= top + bottom
    return scaled


def _decayed(size: Array, rate: float) -> Array:
    """Return (1 - exp(-rate size)) / rate, which is ``size`` at rate 0."""
    return size if rate == 0 else np.expm1(-rate * size) / -rate


def _set_limits(
    each: Array, v: Array, p: Array, ratio: Array, exponent: float, degree: float
) -> None:
    """Overwrite ``each`` where v or p is 0 by the limit, a power of the other."""
    edge = np.isinf(ratio)
    if not edge.any():
        return
    low, middle, high = sorted((0.0, 1.0, exponent))
    data = 1 / ((high - middle) * (high - low)) if degree == high > middle else inf
    model = 1 / ((middle - low) * (high - low)) if low == 0 < middle else inf
    limit = np.where(ratio > 0, data * np.power(v, degree), model * np.power(p, degree))
    np.copyto(each, limit, where=edge)
    np.copyto(each, 0, where=v == p)


@np.errstate(all="ignore")
def correct_near(each: Array, v: Array, p: Array, exponent: float, degree: float) -> None:
    """Overwrite ``each`` by the Taylor series of p^degree phi(v / p) where v is near p."""
    # At this x the rounding error, eps / x^2, equals the remainder of the series, x^5 / 5.
    reach = (5 * float(np.finfo(each.dtype).eps)) ** (1 / 7) / max(1.0, abs(exponent - 2) / 3)
    near = np.abs(v - p) < reach * p
    v, p = v[near], p[near]
    x = (v - p) / p
    terms = [0.5]
    for n in range(3, 7):
        terms.append(terms[-1] * (exponent + 1 - n) / n)
    series = terms[4] * x
    for term in terms[3:0:-1]:
        series += term
        series *= x
    series += terms[0]
    series *= x
    series *= x
    each[near] = times_power(series, p, degree)
