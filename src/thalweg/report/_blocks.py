"""Downsample large tables and long curves."""

from itertools import pairwise
from typing import Any

import numpy as np

from thalweg._typing import Array, Indices

__all__ = ["block_edges", "block_max_abs", "block_means", "extreme_points"]


def block_edges(n: int, most: int) -> Indices:
    """Return the edges of at most ``most`` blocks of nearly equal size."""
    return np.linspace(0, n, min(n, most) + 1).round().astype(np.intp)


def block_means(table: Array, rows: Indices, columns: Indices) -> Array:
    """Return the mean of the observed values in each block; NaN if there are none."""
    observed = ~np.isnan(table)
    count = _sums(observed.astype(np.float64), rows, columns)
    # dividing before summing avoids overflow
    share = np.where(observed, table, 0) / np.repeat(
        np.repeat(np.maximum(count, 1), np.diff(rows), axis=0), np.diff(columns), axis=1
    )
    return np.where(count > 0, _sums(share, rows, columns), np.nan)


def block_max_abs(table: Array, rows: Indices, columns: Indices) -> Array:
    """Return the observed value of largest magnitude in each block; NaN if there is none."""
    high = _reduce(np.fmax, table, rows, columns)
    low = _reduce(np.fmin, table, rows, columns)
    return np.where(np.abs(low) > np.abs(high), low, high)


def extreme_points(y: Array, most: int) -> Indices:
    """Return indices of a curve: its ends, and the minimum and maximum of each block."""
    if len(y) <= most:
        return np.arange(len(y))
    edges = block_edges(len(y), most // 2)
    chosen = {0, len(y) - 1}
    for start, stop in pairwise(edges.tolist()):
        block = y[start:stop]
        if np.isnan(block).all():
            chosen.add(start)  # one NaN keeps the gap visible
        else:
            chosen |= {start + int(np.nanargmin(block)), start + int(np.nanargmax(block))}
    return np.array(sorted(chosen), dtype=np.intp)


def _sums(table: Array, rows: Indices, columns: Indices) -> Array:
    return _reduce(np.add, table, rows, columns)


def _reduce(ufunc: Any, table: Array, rows: Indices, columns: Indices) -> Array:
    reduced: Array = ufunc.reduceat(ufunc.reduceat(table, rows[:-1], axis=0), columns[:-1], axis=1)
    return reduced
