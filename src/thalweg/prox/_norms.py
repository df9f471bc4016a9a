"""Euclidean norms of columns that neither overflow nor underflow."""

from math import inf
from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.prox._membership import largest

# Sum of squares below which subnormal squares, which have fewer digits, may matter in the sum.
# Safety margin: the tests also pass with 1e-290 and 1e-250.
_SMALL = 1e-280


def column_squares(x: Array) -> Any:
    """Return the sum of squares of each column in float64, inf on overflow."""
    return np.einsum("i...,i...->...", x, x, dtype=np.float64)


def column_norms(x: Array) -> Any:
    """Return the Euclidean norm of each column in float64."""
    squares = column_squares(x)
    if x.ndim == 1:
        return np.sqrt(squares) if _SMALL < squares < inf else _scaled_norms(x)
    norms = np.sqrt(squares)
    rare = ~((squares > _SMALL) & (squares < inf))
    if rare.any():
        norms[rare] = _scaled_norms(x[:, rare])
    return norms


def _scaled_norms(x: Array) -> Any:
    scale = largest(x).astype(np.float64)
    scale = np.where(scale > 0, scale, 1.0)
    return scale * np.sqrt(column_squares(x / scale))
