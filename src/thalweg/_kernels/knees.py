"""The knee of Huber's loss with which a fit to given residuals varies least."""

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def _add_up(sizes: Any, power: Any, limit: Any, at: Any, total: Any) -> Any:
    """Go on adding sorted sizes up, or their squares, from a place to the last within a limit."""
    while at < sizes.size and sizes[at] <= limit:
        total += np.float64(sizes[at]) ** power
        at += 1
    return at, total


@njit(cache=True, nogil=True, error_model="numpy")
def huber_knee(sizes: Any, knees: Any, blur: Any, worse: Any) -> Any:
    """Return the knee that sorted sizes of residuals call for, out of evenly spaced ones.

    The variance at the knee c is E[min(|e|, c)^2] / P(|e| <= c)^2. The share of entries within a
    knee is that within knees which are smaller and larger by ``blur``: by how much entries fall
    short of a knee grows with the knee like their number.

    Returned is the largest knee whose variance is no worse than the least. One above the least by
    the share ``worse`` counts as worse and one by half of it as half worse, so that the residual
    does not decide by a hair.
    """
    variance = np.empty(knees.size)
    inner, low, high = (0, 0.0), (0, 0.0), (0, 0.0)
    for i in range(knees.size):
        near, far = knees[i] - blur, knees[i] + blur
        inner = _add_up(sizes, 2, knees[i], *inner)
        low, high = _add_up(sizes, 1, near, *low), _add_up(sizes, 1, far, *high)
        within = (far * high[0] - high[1] - near * low[0] + low[1]) / (2.0 * blur)
        cut = inner[1] + knees[i] ** 2 * (sizes.size - inner[0])
        variance[i] = cut / max(within, 1.0) ** 2
    best = np.argmin(variance)
    too_large = 0.0
    for i in range(best, knees.size):
        too_large += min((variance[i] / variance[best] - 1.0) / worse, 1.0)
    return knees[-1] - (knees[1] - knees[0]) * too_large
