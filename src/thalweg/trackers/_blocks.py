"""Rows of a basis in blocks, as the kernels want them, and samples as rows."""

from math import prod

import numpy as np

from thalweg._kernels import BYTES
from thalweg._typing import Array, Mask

__all__ = ["as_rows", "copied", "pack", "told", "unpack"]

# Length of a row, in units of the rounding error and of the usual one, that tells nothing.
_ROUNDING = 1e2


def copied(array: Array) -> Array:
    """Return a copy that begins where a vector may: one that straddles lines is read twice."""
    blocks = _room(array.shape, array.dtype)
    blocks[...] = array
    return blocks


def _room(shape: tuple[int, ...], dtype: np.dtype) -> Array:
    size = prod(shape) * dtype.itemsize
    room = np.empty(size + BYTES, dtype=np.uint8)
    first = -room.ctypes.data % BYTES
    return room[first : first + size].view(dtype).reshape(shape)


def pack(U: Array) -> Array:
    """Return the rows of U in blocks: entry ``[b, k, lane]`` is ``U[lanes * b + lane, k]``."""
    (F, K), lanes = U.shape, BYTES // U.itemsize
    padded = np.zeros((-(-F // lanes) * lanes, K), dtype=U.dtype)
    padded[:F] = U
    return copied(padded.reshape(-1, lanes, K).transpose(0, 2, 1))


def unpack(blocks: Array, F: int) -> Array:
    """Return the first F rows that :func:`pack` put into blocks."""
    K = blocks.shape[1]
    return np.ascontiguousarray(blocks.transpose(0, 2, 1).reshape(-1, K)[:F])


def as_rows(V: Array, observed: Mask | None, dtype: np.dtype) -> tuple[Array, Mask]:
    """Return the columns of V, and which of their entries were observed, as contiguous rows."""
    X = np.ascontiguousarray(V.T, dtype=dtype)
    mask = (
        np.ones(X.shape, dtype=np.bool_) if observed is None else np.ascontiguousarray(observed.T)
    )
    return X, mask


def told(W: Array) -> Array:
    """Return W with zeros for rows that are nothing but rounding.

    That is what turning a basis leaves of features that were never observed; a sample of which no
    other feature is observed would get codes as large as the inverse of it.
    """
    lengths = np.linalg.norm(W, axis=1)
    least = _ROUNDING * np.finfo(W.dtype).eps * np.sqrt(np.mean(np.square(lengths)))
    return np.where((lengths > least)[:, None], W, W.dtype.type(0))
