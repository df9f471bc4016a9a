"""The function l1 |x|_1 + l2/2 |x|^2, over all x or x >= 0, shared by L1, SquaredL2, ElasticNet."""

from math import inf

import numpy as np

from thalweg._typing import Array
from thalweg.prox._membership import indicator, largest, nonnegative, tolerance
from thalweg.prox._norms import column_squares


def soft_threshold(x: Array, threshold: float, positive: bool, bound: float = inf) -> Array:
    """Return argmin_u threshold |u|_1 + |u - x|^2 / 2 subject to |u_i| <= bound.

    If ``positive``, also subject to u >= 0.
    """
    if positive:
        u: Array = x - threshold
        return u.clip(0.0, bound, out=u)
    # [O] (16) as x - clip(x): two passes, and no signs needed.
    u = x.clip(-threshold, threshold)
    np.subtract(x, u, out=u)
    return u if bound == inf else u.clip(-bound, bound, out=u)  # [O] (17), Lemma S-3


def elastic_value(x: Array, l1: float, l2: float, positive: bool) -> Array:
    """Return l1 |x|_1 + l2/2 |x|^2 of each column, inf outside of x >= 0 if ``positive``."""
    total: Array = np.asarray(l1 * np.sum(np.abs(x), axis=0, dtype=np.float64))
    if l2:
        total = total + l2 / 2 * column_squares(x)
    return total + indicator(nonnegative(x)) if positive else total


def elastic_prox(x: Array, l1: float, l2: float, positive: bool, step: float) -> Array:
    """Return argmin_u of the elastic value plus |u - x|^2 / (2 step)."""
    u = soft_threshold(x, float(l1 * step), positive)
    u /= float(1 + l2 * step)
    return u


def elastic_conjugate(y: Array, l1: float, l2: float, positive: bool) -> Array:
    """Return max_x <x, y> - elastic value of x, for each column."""
    excess = soft_threshold(y.astype(np.float64), l1, positive)
    if l2:
        squares: Array = column_squares(excess) / (2 * l2)
        return squares
    return indicator(largest(excess) <= tolerance(y) * (l1 + largest(y)))
