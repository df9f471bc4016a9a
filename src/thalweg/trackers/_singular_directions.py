"""Singular directions of a window of samples: the leading ones, and those off a subspace."""

import numpy as np

from thalweg._typing import Array

__all__ = ["are_dense", "has_new_direction", "leading_directions", "new_directions"]

# Weight of the previous basis in the singular value decomposition, as a share of the norm of the
# window: it supplies the directions that the window lacks. Safety margin: any value in 1e-12..1e-6
# gives the same results.
_PREVIOUS_BASIS_WEIGHT = 1e-8
# Smallest noise scale, as a share of the root mean square of the samples: rounding is no change.
# Safety margin: any value in 1e-9..1e-5 gives the same results.
_NOISE_FLOOR = 1e-7
# Largest share of the squared norm of a direction in a single feature. With 0.8, directions of
# a few outliers are added to the subspace. benchmark: tracking_table
_DENSE_SHARE = 0.5


def leading_directions(L: Array, U: Array) -> Array:
    """Compute the K leading left singular vectors of L; U supplies those that L lacks."""
    norm = float(np.linalg.norm(L))
    if norm == 0.0:
        return U
    stack = np.hstack([L, _PREVIOUS_BASIS_WEIGHT * norm * U])
    vectors: Array = np.linalg.svd(stack, full_matrices=False)[0][:, : U.shape[1]]
    return vectors.astype(U.dtype)


def new_directions(L: Array, U: Array, count: int) -> Array:
    """Compute the leading left singular vectors of the projection of L off the subspace of U."""
    rest = L - U @ (U.T @ L)
    vectors: Array = np.linalg.svd(rest - U @ (U.T @ rest), full_matrices=False)[0][:, :count]
    return vectors.astype(U.dtype)


def are_dense(directions: Array) -> bool:
    """Return whether no unit vector has more than half of its squared norm in one feature."""
    return bool(np.square(directions).max(initial=0.0) <= _DENSE_SHARE)


def has_new_direction(L: Array, U: Array, factor: float, threshold: float | None) -> bool:
    """Return whether the samples L have a direction off the subspace of U.

    The published rule compares the largest eigenvalue of their second moments off the subspace with
    a threshold in data units. Without one, it is compared with ``factor`` squared times the largest
    eigenvalue of noise, whose variance is estimated from the eigenvalues after the first K.
    """
    (F, n), K = L.shape, U.shape[1]
    rest = U @ (U.T @ L)
    np.subtract(L, rest, out=rest)
    squares = np.linalg.svd(rest, compute_uv=False).astype(np.float64) ** 2
    if threshold is not None:
        return bool(squares[0] >= n * threshold)
    variance = squares[K:].sum() / (max(n - K, 1) * max(F - 2 * K, 1))
    mean_square = float(np.einsum("fn,fn->", L, L, dtype=np.float64)) / L.size
    variance = max(variance, _NOISE_FLOOR**2 * mean_square)
    # largest singular value of an F x n matrix of standard normal noise
    return bool(squares[0] > factor**2 * variance * (np.sqrt(F) + np.sqrt(n)) ** 2)
