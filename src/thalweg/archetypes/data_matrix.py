"""The data as the maths sees them: a matrix that is multiplied, a block of rows at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from thalweg._typing import Array

__all__ = ["DataMatrix"]

# Entries of a block; sparse data with more of them are made dense a block at a time.
_BLOCK = 2**24
# Samples up to which their inner products are kept: a small multiple of the data themselves.
_GRAM = 1024


@dataclass(frozen=True, eq=False)
class DataMatrix:
    """A matrix X (m, n) in float64, dense or CSR, and its products.

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
        """Take in a matrix; a sparse one that fits into a block becomes dense."""
        if sparse.issparse(X) and X.shape[0] * X.shape[1] > _BLOCK:
            return cls(sparse.csr_array(X, dtype=np.float64))
        dense = X.toarray() if sparse.issparse(X) else X
        return cls(np.ascontiguousarray(dense, dtype=np.float64))

    @property
    def shape(self) -> tuple[int, int]:
        """(m, n)."""
        m, n = self.X.shape
        return int(m), int(n)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the rows, dense, with their place; the same blocks whatever the form of X."""
        m, n = self.shape
        size = max(1, _BLOCK // n)
        for begin in range(0, m, size):
            where = slice(begin, min(begin + size, m))
            yield where, self.take(where)

    def take(self, index: Any) -> Array:
        """Return some rows, dense."""
        rows = self.X[index]
        chosen: Array = rows.toarray() if sparse.issparse(rows) else rows
        return chosen

    def columns(self, index: list[int]) -> Array:
        """Return some columns, dense, of shape (m, number)."""
        columns = self.X[:, index]
        chosen: Array = columns.toarray() if sparse.issparse(columns) else columns
        return chosen

    def correlated(self, H: Array) -> Array:
        """Return H X' (k, m)."""
        return np.hstack([H @ block.T for _, block in self.blocks()])

    def mixed(self, T: Array) -> Array:
        """Return T X (k, n); samples that have no weight in any row are left out."""
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
        """X X', or None when it would be much larger than the data."""
        return self.correlated(self.X) if self._few else None

    @property
    def _few(self) -> bool:
        m, n = self.shape
        return isinstance(self.X, np.ndarray) and m <= max(_GRAM, n)
