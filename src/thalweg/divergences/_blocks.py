"""Evaluate functions of large arrays in blocks of rows, so that temporaries stay in the cache."""

from collections.abc import Callable, Iterator

import numpy as np

from thalweg._typing import Array

Function = Callable[[Array, Array], Array]

# Entries per block (64 KB in double precision). Larger temporaries would be returned to the
# operating system and allocated again.
# speed only: results do not depend on it
BLOCK = 2**13


def column_sums(function: Function, v: Array, p: Array) -> Array:
    """Return the sum of each column of ``function(v, p)``, accumulated in double precision."""
    v, p = np.broadcast_arrays(v, p)
    total = np.zeros(v.shape[1:])
    with np.errstate(over="ignore"):
        for rows in blocks(v):
            total += np.sum(function(v[rows], p[rows]), axis=0, dtype=np.float64)
        sums: Array = total.astype(np.result_type(v, p))[()]
    return sums


def entrywise(function: Function, v: Array, p: Array) -> Array:
    """Return ``function(v, p)`` for an entrywise function."""
    v, p = np.broadcast_arrays(v, p)
    if v.flags.fnc and p.flags.fnc:
        return entrywise(function, v.T, p.T).T
    result = np.empty(v.shape, dtype=np.result_type(v, p))
    for rows in blocks(v):
        result[rows] = function(v[rows], p[rows])
    return result


def filled(v: Array, p: Array, number: float) -> Array:
    """Return an array of the common shape and dtype of ``v`` and ``p``, filled with a number."""
    return np.full(np.broadcast_shapes(v.shape, p.shape), number, dtype=np.result_type(v, p))


def shared(v: Array, p: Array, number: float) -> Array:
    """Return a constant for all entries: shape (1, 1), or (1,) for one vector."""
    return np.full((1,) * max(v.ndim, p.ndim), number, dtype=np.result_type(v, p))


def blocks(v: Array) -> Iterator[slice]:
    """Return slices of rows whose entries fit into the cache."""
    count = max(1, BLOCK * len(v) // max(1, v.size))
    return (slice(start, start + count) for start in range(0, len(v), count))
