"""Large tables and long curves in a bounded number of cells and points."""

from itertools import pairwise
from typing import Any

import numpy as np

from thalweg._typing import Array, Indices

__all__ = ["cuts", "extremes", "largest", "means"]


def cuts(n: int, most: int) -> Indices:
    """Return where at most ``most`` blocks of about one size begin, and the end of the last."""
    return np.linspace(0, n, min(n, most) + 1).round().astype(np.intp)


def means(table: Array, rows: Indices, columns: Indices) -> Array:
    """Return the mean of what is seen in each block; NaN where nothing is."""
    seen = ~np.isnan(table)
    count = _sums(seen.astype(np.float64), rows, columns)
    # dividing first keeps sums of large numbers finite
    share = np.where(seen, table, 0) / np.repeat(
        np.repeat(np.maximum(count, 1), np.diff(rows), axis=0), np.diff(columns), axis=1
    )
    return np.where(count > 0, _sums(share, rows, columns), np.nan)


def largest(table: Array, rows: Indices, columns: Indices) -> Array:
    """Return the seen value of largest size in each block; NaN where nothing is seen."""
    high = _reduce(np.fmax, table, rows, columns)
    low = _reduce(np.fmin, table, rows, columns)
    return np.where(np.abs(low) > np.abs(high), low, high)


def extremes(y: Array, most: int) -> Indices:
    """Return places along a curve: its ends, and least and largest value of each block."""
    if len(y) <= most:
        return np.arange(len(y))
    edges = cuts(len(y), most // 2)
    chosen = {0, len(y) - 1}
    for start, stop in pairwise(edges.tolist()):
        block = y[start:stop]
        if np.isnan(block).all():
            chosen.add(start)  # keeps the gap a gap
        else:
            chosen |= {start + int(np.nanargmin(block)), start + int(np.nanargmax(block))}
    return np.array(sorted(chosen), dtype=np.intp)


def _sums(table: Array, rows: Indices, columns: Indices) -> Array:
    return _reduce(np.add, table, rows, columns)


def _reduce(ufunc: Any, table: Array, rows: Indices, columns: Indices) -> Array:
    found: Array = ufunc.reduceat(ufunc.reduceat(table, rows[:-1], axis=0), columns[:-1], axis=1)
    return found
