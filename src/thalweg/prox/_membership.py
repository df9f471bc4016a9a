"""When a point counts as a member of a set, up to rounding."""

from math import sqrt
from typing import Any

import numpy as np

from thalweg._typing import Array, Mask


def tolerance(x: Array) -> float:
    """Return the relative rounding error to forgive in a sum over a column of ``x``.

    Entries carry the rounding of their own dtype, which averages out over a column; sums are
    taken in double precision, where a sequential one may drift by n units in the last place.
    """
    n = len(x)
    own = float(np.finfo(x.dtype).eps)
    return own * (64 + sqrt(n)) + n * float(np.finfo(np.float64).eps)


def largest(x: Array) -> Any:
    """Return the largest modulus of each column, 0 for a column without entries."""
    return np.abs(x).max(axis=0, initial=0.0)


def near(x: Array, nearest: Array) -> Mask:
    """Tell for each column whether it equals its nearest member of the set, up to rounding."""
    close: Mask = largest(x - nearest) <= tolerance(x) * largest(x)
    return close


def nonnegative(x: Array) -> Mask:
    """Tell for each column whether it is >= 0, up to rounding."""
    return near(x, np.maximum(x, 0.0))


def indicator(inside: Mask) -> Array:
    """Return 0 where ``inside`` holds and inf elsewhere."""
    return np.where(inside, 0.0, np.inf)
