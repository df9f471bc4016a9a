"""A dense or sparse data matrix, with products computed in blocks of rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from thalweg._typing import Array

__all__ = ["DataMatrix"]

# Entries of a block (128 MB). Larger sparse matrices are made dense in blocks.
# speed and memory only: results do not depend on it
_BLOCK_ENTRIES = 2**24
# Number of samples up to which the Gram matrix X X' is kept (8 MB) even if it is larger than X.
# speed and memory only
_MAX_GRAM_SAMPLES = 1024


@dataclass(frozen=True, eq=False)
class DataMatrix:
    """A matrix X (m, n) in float64, dense or in CSR format, and its products.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> DataMatrix.of(np.eye(3)).mixed(np.array([[0.5, 0.5, 0.0]]))
    array([[0.5, 0.5, 0. ]])
    """

    X: Any

    @classmethod
    def of(cls, X: Any) -> "DataMatrix":
        """Convert a matrix; a sparse one that fits into a block becomes dense."""
        if sparse.issparse(X) and X.shape[0] * X.shape[1] > _BLOCK_ENTRIES:
            return cls(sparse.csr_array(X, dtype=np.float64))
        dense = X.toarray() if sparse.issparse(X) else X
        return cls(np.ascontiguousarray(dense, dtype=np.float64))

    @property
    def shape(self) -> tuple[int, int]:
        """(m, n)."""
        m, n = self.X.shape
        return int(m), int(n)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield dense blocks of rows with their slices, the same for dense and sparse X."""
        m, n = self.shape
        size = max(1, _BLOCK_ENTRIES // n)
        for begin in range(0, m, size):
            where = slice(begin, min(begin + size, m))
            yield where, self.take(where)

    def take(self, index: Any) -> Array:
        """Return the selected rows as a dense array."""
        rows = self.X[index]
        chosen: Array = rows.toarray() if sparse.issparse(rows) else rows
        return chosen

    def columns(self, index: list[int]) -> Array:
        """Return the selected columns as a dense array."""
        columns = self.X[:, index]
        chosen: Array = columns.toarray() if sparse.issparse(columns) else columns
        return chosen

    def correlated(self, H: Array) -> Array:
        """Return H X' (k, m)."""
        return np.hstack([H @ block.T for _, block in self.blocks()])

    def mixed(self, T: Array) -> Array:
        """Return T X (k, n), without reading samples of weight 0."""
        used = np.flatnonzero(T.any(axis=0))
        if 2 * len(used) < T.shape[1]:
            few: Array = T[:, used] @ self.take(used)
            return few
        total = np.zeros((len(T), self.shape[1]))
        for where, block in self.blocks():
            total += T[:, where] @ block
        return total

    @cached_property
    def squares(self) -> Array:
        """|x|^2 of each row."""
        return np.concatenate([np.einsum("ij,ij->i", block, block) for _, block in self.blocks()])

    @cached_property
    def top(self) -> Array:
        """The largest entry of each column."""
        largest: Array = np.max([block.max(axis=0) for _, block in self.blocks()], axis=0)
        return largest

    @cached_property
    def gram(self) -> Array | None:
        """X X', or None if it would be much larger than the data."""
        m, n = self.shape
        small = isinstance(self.X, np.ndarray) and m <= max(_MAX_GRAM_SAMPLES, n)
        return self.correlated(self.X) if small else None
