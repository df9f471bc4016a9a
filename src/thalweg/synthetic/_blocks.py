"""Drawing data in blocks of rows, so that no temporary array is as large as the data."""

from collections.abc import Iterator
from math import floor

import numpy as np

from thalweg._typing import Array

ROWS = 1024  # rows per block


def blocks(n_rows: int, size: int = ROWS) -> Iterator[slice]:
    """Return slices of ``size`` rows; the last one may be shorter."""
    return (slice(start, start + size) for start in range(0, n_rows, size))


def part(share: float, total: int) -> int:
    """Return floor(share * total), up to rounding: 0.29 * 100 is below 29 in floats."""
    return floor(round(share * total, 9))


def sparse_rows(n_rows: int, length: int, n_hit: int, rng: np.random.Generator) -> Array:
    """Return rows with ``n_hit`` numbers from U[-1, 1] at random positions, and 0 elsewhere."""
    rows = np.zeros((n_rows, length))
    rows[:, :n_hit] = rng.uniform(-1.0, 1.0, (n_rows, n_hit))
    return rng.permuted(rows, axis=1)
