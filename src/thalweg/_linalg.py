"""Small linear algebra that several rooms share: bases, angles, and rows in blocks."""

from math import prod

import numpy as np
from scipy.linalg import lapack

from thalweg._native import BLOCK_BYTES
from thalweg._typing import Array, Mask, Observed
from thalweg.errors import ParameterError

__all__ = [
    "aligned_copy",
    "as_rows",
    "largest_angle",
    "orthonormal",
    "pack_rows",
    "unpack_rows",
    "without_rounding_rows",
]

# Smallest pivot over the largest: above the first ratio one pass of Cholesky QR is enough, above
# the second one two passes are. Safety margin: any values in 0.3..0.9 and 1e-4..0.1 give bases
# that are orthonormal to 1e-14.
_ONE_PASS_PIVOT_RATIO = 0.5
_TWO_PASS_PIVOT_RATIO = 0.01
# Squared sines below this multiple of the rounding error are computed from the sine itself:
# 1 - cos^2 would have few correct digits. Safety margin: any value in 1e6..1e12 gives angles above
# 1e-12 to five digits.
_SMALL_ANGLE_EPS = 1e9
# A row shorter than this many rounding errors of the typical row is zero. Safety margin: any value
# in 10..1e4 gives the same results.
_ROUNDING_ROW_EPS = 1e2


def orthonormal(U: Array) -> Array:
    """Compute an orthonormal basis of the span of the columns of U, by Cholesky QR.

    ``Q = U inv(L)'`` where ``L L' = U' U``. A second pass removes the rounding errors of
    ill-conditioned columns; nearly dependent columns are left to Householder's QR, which is slower.

    Parameters
    ----------
    U : array of shape (F, K)
        A basis.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg._linalg import orthonormal
    >>> orthonormal(np.array([[2.0, 3.0], [0.0, 4.0]])).round(12)
    array([[1., 0.],
           [0., 1.]])
    """
    Q = U
    for _ in range(2):
        factor = _cholesky_factor(Q)
        if factor is None:
            return np.linalg.qr(U)[0]
        Q = Q @ _inverse_of_transposed(factor)
        if _pivot_ratio(factor) >= _ONE_PASS_PIVOT_RATIO:
            break
    return Q


def _cholesky_factor(Q: Array) -> Array | None:
    """Return the Cholesky factor of the Gram matrix, or None if it is too inaccurate."""
    with np.errstate(over="ignore", invalid="ignore"):
        gram = Q.T @ Q
    if not np.isfinite(gram).all():
        return None
    try:
        factor = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return None
    return factor if _pivot_ratio(factor) >= _TWO_PASS_PIVOT_RATIO else None


def _inverse_of_transposed(factor: Array) -> Array:
    """Return the inverse of L' for a triangular factor L with a positive diagonal."""
    trtri = lapack.strtri if factor.dtype == np.float32 else lapack.dtrtri
    inverse: Array = trtri(factor.T)[0]
    return inverse


def _pivot_ratio(factor: Array) -> float:
    """Return the smallest pivot of a Cholesky factor, relative to the largest."""
    pivots = np.diag(factor)
    return float(pivots.min() / pivots.max())


def largest_angle(P: Array, Q: Array) -> float:
    """Compute the largest principal angle between two subspaces, in radians.

    Parameters
    ----------
    P, Q : arrays of shape (F, K)
        Bases with orthonormal columns.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg._linalg import largest_angle
    >>> round(largest_angle(np.array([[0.6], [0.8]]), np.array([[1.0], [0.0]])), 12)
    0.927295218002
    """
    inside = Q.T @ P
    cosine = np.linalg.svd(inside, compute_uv=False)[-1]
    squared_sine = (1.0 - cosine) * (1.0 + cosine)
    if squared_sine < _SMALL_ANGLE_EPS * np.finfo(inside.dtype).eps:
        outside = P - Q @ inside
        squared_sine = max(np.linalg.eigvalsh(outside.T @ outside)[-1], 0.0)
    return float(np.arctan2(np.sqrt(squared_sine), cosine))


def aligned_copy(array: Array) -> Array:
    """Return a copy that is aligned to vector registers: unaligned loads cross cache lines."""
    size = prod(array.shape) * array.dtype.itemsize
    buffer = np.empty(size + BLOCK_BYTES, dtype=np.uint8)
    # buffer.ctypes.data would leave a reference cycle behind
    first = -buffer.__array_interface__["data"][0] % BLOCK_BYTES
    aligned = buffer[first : first + size].view(array.dtype).reshape(array.shape)
    aligned[...] = array
    return aligned


def pack_rows(U: Array) -> Array:
    """Return the rows of U in blocks: entry ``[b, k, lane]`` is ``U[lanes * b + lane, k]``."""
    (F, K), lanes = U.shape, BLOCK_BYTES // U.itemsize
    padded = np.zeros((-(-F // lanes) * lanes, K), dtype=U.dtype)
    padded[:F] = U
    return aligned_copy(padded.reshape(-1, lanes, K).transpose(0, 2, 1))


def unpack_rows(blocks: Array, F: int) -> Array:
    """Return the first F rows of a matrix in blocks, the inverse of :func:`pack_rows`."""
    K = blocks.shape[1]
    return np.ascontiguousarray(blocks.transpose(0, 2, 1).reshape(-1, K)[:F])


def as_rows(V: Array, observed: Observed | None, dtype: np.dtype) -> tuple[Array, Mask]:
    """Return the columns of V and of the mask of observed entries as contiguous rows.

    Raises if entries have weights, for methods that have none.
    """
    if observed is not None and observed.dtype != np.bool_:
        raise ParameterError(
            "weights must be None or 0 and 1 with this method, got other weights. Use an estimator "
            "whose fit has weights."
        )
    X = np.ascontiguousarray(V.T, dtype=dtype)
    if observed is None:
        return X, np.ones(X.shape, dtype=np.bool_)
    return X, np.ascontiguousarray(observed.T)


def without_rounding_rows(W: Array) -> Array:
    """Return W with rows set to 0 that consist of rounding errors.

    Rotations of a basis leave such rows for features that were never observed. A sample with only
    these features observed would get codes as large as the inverse of the rounding error.
    """
    lengths = np.linalg.norm(W, axis=1)
    typical = np.sqrt(np.mean(np.square(lengths)))
    least = _ROUNDING_ROW_EPS * np.finfo(W.dtype).eps * typical
    return np.where((lengths > least)[:, None], W, W.dtype.type(0))
