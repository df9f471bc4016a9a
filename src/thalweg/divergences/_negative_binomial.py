"""The negative binomial divergence of entries, with the dispersion a > 0 of each.

    d(v | p) = v log(v / p) - (v + 1/a) log((1 + a v) / (1 + a p))

With x = (v - p) / p, w = a p / (1 + a p) and s = 1 - w it is p (phi(x) - phi(w x) / w), where
phi(x) = (1 + x) log(1 + x) - x. Where w is near 1, as for large p, both terms are nearly equal.
There it is evaluated as -log(v / p) / a - (v + 1/a) log(1 - s (v - p) / v), which tends to
Itakura-Saito over a. Only v near p needs a series,
p s x^2 sum_n (-x)^n (1 + w + ... + w^n) / ((n + 1) (n + 2)).
"""

from collections.abc import Callable
from functools import partial
from math import inf

import numpy as np

from thalweg._typing import Array
from thalweg.divergences._blocks import blocks, entrywise
from thalweg.divergences._power import log_ratio

EntryFunction = Callable[[Array, Array, Array], Array]

# From this share w of the quadratic part on, the form for large p is evaluated: there both forms
# lose no more than a digit. Safety margin: any value in 0.3..0.7 gives the same results.
_LARGE_SHARE = 0.5
# Terms of the series, whose remainder is of this order.
_TERMS = 5


def with_dispersion(
    function: EntryFunction, v: Array, p: Array, dispersion: float | Array
) -> Array:
    """Return ``function(v, p, a)``; a is common, or an array with one number per row."""
    if np.ndim(dispersion) == 0:
        return entrywise(partial(_with_number, function, float(dispersion)), v, p)
    v, p = np.broadcast_arrays(v, p)
    wide = np.asarray(dispersion, v.dtype).reshape(-1, *(1,) * (v.ndim - 1))
    wide = np.broadcast_to(wide, v.shape)
    result = np.empty(v.shape, dtype=np.result_type(v, p))
    for rows in blocks(v):
        result[rows] = function(v[rows], p[rows], wide[rows])
    return result


def _with_number(function: EntryFunction, dispersion: float, v: Array, p: Array) -> Array:
    return function(v, p, np.asarray(dispersion, np.result_type(v, p)))


@np.errstate(all="ignore")
def divergence(v: Array, p: Array, a: Array) -> Array:
    """Return the divergence of each entry."""
    s = 1 / (1 + a * p)
    ratio, rest = log_ratio(v, p), v + 1 / a
    small = v * ratio - rest * np.log1p(a * (v - p) * s)
    large = -ratio / a - rest * np.log1p(-s * ((v - p) / v))
    each: Array = np.where(a * p * s <= _LARGE_SHARE, small, large)
    np.copyto(each, np.log1p(a * p) / a, where=v == 0)
    np.copyto(each, inf, where=(p == 0) & (v > 0))
    np.copyto(each, 0, where=v == p)
    reach = (5 * float(np.finfo(each.dtype).eps)) ** (1 / 7)
    near = np.abs(v - p) < reach * p
    return np.where(near, _series(v, p, a, s), each)


def _series(v: Array, p: Array, a: Array, s: Array) -> Array:
    x, w = (v - p) / p, a * p * s
    total, powers, sign = np.zeros_like(x), np.ones_like(w), np.ones_like(x)
    for n in range(_TERMS):
        total = total + sign * powers / ((n + 1) * (n + 2))
        powers, sign = 1 + w * powers, -sign * x
    return p * s * x * x * total


@np.errstate(all="ignore")
def gradient(v: Array, p: Array, a: Array) -> Array:
    """Return (p - v) / (p (1 + a p))."""
    grad = (p - v) / p
    np.copyto(grad, 1, where=v == 0)
    return grad / (1 + a * p)


@np.errstate(all="ignore")
def curvature(v: Array, p: Array, a: Array) -> Array:
    """Return 1 / (p (1 + a p)), the second derivative at v = p."""
    return 1 / (p * (1 + a * p))


@np.errstate(all="ignore")
def falling(v: Array, p: Array) -> Array:
    """Return v / p, the part of the derivative that falls with p."""
    neg = v / p
    np.copyto(neg, 0, where=v == 0)
    return neg


def rising(v: Array, p: Array, a: Array) -> Array:
    """Return (1 + a v) / (1 + a p), the slope of the tangent of the concave part."""
    return (1 + a * v) / (1 + a * p)
