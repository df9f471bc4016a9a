"""Products, selections and chunks of matrices whose columns are samples."""

from typing import Any

import numpy as np
from scipy import sparse

from thalweg._typing import Array, Indices

__all__ = ["CHUNK_ENTRIES", "MAX_CHUNK_SIZE", "chunks", "rows_per_block", "take_columns", "times"]

# Samples per chunk, at most and at least, and entries per work array of a chunk (8 MB in double
# precision: a few such arrays stay in the cache). They set speed and memory, not results.
# benchmarks: ratios
MAX_CHUNK_SIZE, _MIN_CHUNK_SIZE, CHUNK_ENTRIES = 256, 16, 2**20
# Entries of a block of rows that is encoded at a time by one thread, which bounds the memory (8 MB
# in float64).
_BLOCK_ENTRIES = 2**20


def times(W: Any, H: Any) -> Array:
    """Return W @ H in column-major order, so that each sample is contiguous in memory.

    One of them may be sparse.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.columns import times
    >>> times(np.eye(2), np.ones((2, 3))).flags.f_contiguous
    True
    """
    if sparse.issparse(W):  # its transposes would take longer than a small product
        return np.asfortranarray(W @ H)
    # BLAS may raise the invalid flag for padding that it reads but does not use.
    with np.errstate(invalid="ignore"):
        product: Array = (H.T @ W.T).T
    return product


def take_columns(X: Any, columns: Indices | slice) -> Any:
    """Return the selected columns of an array in column-major order.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.columns import take_columns
    >>> take_columns(np.arange(6).reshape(2, 3), np.array([2, 0]))
    array([[2, 0],
           [5, 3]])
    """
    return X.T[columns].T


def chunks(V: Array, n_work: int) -> list[slice]:
    """Split the columns of V into slices whose work arrays fit into the cache.

    ``n_work`` is the number of entries that an algorithm keeps per sample beyond its features.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.columns import chunks
    >>> chunks(np.ones((3, 300)), 1)
    [slice(0, 256, None), slice(256, 512, None)]
    """
    n_features, n_samples = V.shape
    most = CHUNK_ENTRIES // max(n_features, n_work, 1)
    size = max(_MIN_CHUNK_SIZE, min(MAX_CHUNK_SIZE, most))
    return [slice(start, start + size) for start in range(0, n_samples, size)]


def rows_per_block(n: int, n_features: int) -> int:
    """Return the number of rows to encode at a time, for an even number of blocks or a single one.

    It depends on shapes only, so that results do not depend on the number of threads.

    Examples
    --------
    >>> from thalweg.encoders.columns import rows_per_block
    >>> rows_per_block(1000, 10), rows_per_block(20_000, 400)
    (1000, 2560)
    """
    most = max(1, _BLOCK_ENTRIES // n_features)
    if n <= most:
        return max(n, 1)
    n_blocks = 2 * -(-n // (2 * most))
    rows = -(-n // n_blocks)
    return rows if rows <= MAX_CHUNK_SIZE else -(-rows // MAX_CHUNK_SIZE) * MAX_CHUNK_SIZE
