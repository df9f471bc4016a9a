"""Rows of a basis in blocks, as the kernels want them, and samples as rows."""

import numpy as np

from thalweg._kernels import BYTES
from thalweg._typing import Array, Mask

__all__ = ["as_rows", "pack", "unpack"]


def pack(U: Array) -> Array:
    """Return the rows of U in blocks: entry ``[b, k, lane]`` is ``U[lanes * b + lane, k]``."""
    (F, K), lanes = U.shape, BYTES // U.itemsize
    padded = np.zeros((-(-F // lanes) * lanes, K), dtype=U.dtype)
    padded[:F] = U
    return np.ascontiguousarray(padded.reshape(-1, lanes, K).transpose(0, 2, 1))


def unpack(blocks: Array, F: int) -> Array:
    """Return the first F rows that :func:`pack` put into blocks."""
    K = blocks.shape[1]
    return np.ascontiguousarray(blocks.transpose(0, 2, 1).reshape(-1, K)[:F])


def as_rows(V: Array, seen: Mask | None, dtype: np.dtype) -> tuple[Array, Mask]:
    """Return the columns of V, and which of their entries were seen, as contiguous rows."""
    X = np.ascontiguousarray(V.T, dtype=dtype)
    mask = np.ones(X.shape, dtype=np.bool_) if seen is None else np.ascontiguousarray(seen.T)
    return X, mask
