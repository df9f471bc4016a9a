"""Leading singular vectors, and factors padded to the requested rank."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from thalweg._typing import Array

__all__ = ["leading", "padded", "unit"]

# Smaller dimension of a matrix, absolute and per singular vector, up to which a dense decomposition
# is used instead of Lanczos iterations.
# speed only: results do not depend on them
_MAX_DENSE_SIZE, _MAX_DENSE_PER_RANK = 64, 3


def unit(values: Array) -> float:
    """Return the power of 2 next to the largest entry; in this unit no square overflows."""
    largest = float(np.max(np.abs(values), initial=0.0))
    return float(2.0 ** np.floor(np.log2(largest))) if largest > 0.0 else 1.0


def leading(M: Any, rank: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return the leading singular triplets of M, dense or sparse, in descending order."""
    if min(M.shape) <= max(_MAX_DENSE_SIZE, _MAX_DENSE_PER_RANK * rank):
        dense = M.toarray() if sparse.issparse(M) else M
        U, s, Vt = np.linalg.svd(dense, full_matrices=False)
        return U[:, :rank], s[:rank], Vt[:rank].T
    if not abs(M).max() > 0.0:
        return np.eye(M.shape[0], rank), np.zeros(rank), np.eye(M.shape[1], rank)
    U, s, Vt = svds(M, rank, v0=rng.standard_normal(min(M.shape)))
    order = np.argsort(-s)
    return U[:, order], s[order], Vt[order].T


def padded(U: Array, H: Array, n_components: int, dtype: Any) -> tuple[Array, Array]:
    """Return the factors padded with zeros to rank ``n_components``."""
    wanting = n_components - U.shape[1]
    U, H = np.pad(U, ((0, 0), (0, wanting))), np.pad(H, ((0, wanting), (0, 0)))
    return U.astype(dtype), H.astype(dtype)
