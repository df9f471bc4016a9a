"""Tests of set membership up to rounding errors."""

from math import sqrt
from typing import Any

import numpy as np

from thalweg._typing import Array, Mask

# Rounding errors of one entry, in units of eps, that membership tests accept.
# Safety margin: the tests also pass with 16 and 256.
_ROUNDINGS = 64


def tolerance(x: Array) -> float:
    """Return the relative rounding error of a sum over a column of ``x``.

    Each entry has a rounding error of its own dtype; over a column of n entries these errors
    average out, to about sqrt(n) units. Sums are taken in float64, where a sequential sum has an
    error of up to n units in the last place.
    """
    n = len(x)
    entry_eps = float(np.finfo(x.dtype).eps)
    return entry_eps * (_ROUNDINGS + sqrt(n)) + n * float(np.finfo(np.float64).eps)


def largest(x: Array) -> Any:
    """Return the largest absolute value of each column, 0 for a column without entries."""
    return np.abs(x).max(axis=0, initial=0.0)


def near(x: Array, nearest: Array) -> Mask:
    """Test whether each column equals its projection onto a set, up to rounding."""
    close: Mask = largest(x - nearest) <= tolerance(x) * largest(x)
    return close


def nonnegative(x: Array) -> Mask:
    """Test whether each column is >= 0, up to rounding."""
    return near(x, np.maximum(x, 0.0))


def indicator(inside: Mask) -> Array:
    """Return 0 where ``inside`` is True, and inf elsewhere."""
    return np.where(inside, 0.0, np.inf)
