"""Directions of a window of samples: the strongest, those off a subspace, and their strength."""

import numpy as np

from thalweg._typing import Array

__all__ = ["changed", "leading", "new_directions", "spread"]

# Share of a window's size with which the last basis stands for directions that it lacks.
_KEEP = 1e-8
# Noise is not taken for less than this share of the samples.
_FLOOR = 1e-7


def leading(L: Array, U: Array) -> Array:
    """Return the K leading left singular vectors of L; U stands for those that it lacks."""
    size = float(np.linalg.norm(L))
    if size == 0.0:
        return U
    stack = np.hstack([L, _KEEP * size * U])
    vectors: Array = np.linalg.svd(stack, full_matrices=False)[0][:, : U.shape[1]]
    return vectors.astype(U.dtype)


def new_directions(L: Array, U: Array, count: int) -> Array:
    """Return the leading left singular vectors of what is left of L off the subspace of U."""
    rest = L - U @ (U.T @ L)
    vectors: Array = np.linalg.svd(rest - U @ (U.T @ rest), full_matrices=False)[0][:, :count]
    return vectors.astype(U.dtype)


def spread(directions: Array) -> bool:
    """Tell whether no unit vector has more than half of its square in a single feature."""
    return bool(np.square(directions).max(initial=0.0) <= 0.5)


def changed(L: Array, U: Array, factor: float, threshold: float | None) -> bool:
    """Tell whether the samples L have a direction off the subspace of U.

    The published rule compares the largest eigenvalue of their second moments with a threshold
    in the units of the data. Without one, it is compared with the largest that noise would
    have, the size of which is taken from the eigenvalues after the first K.
    """
    (F, n), K = L.shape, U.shape[1]
    rest = L - U @ (U.T @ L)
    squares = np.linalg.svd(rest, compute_uv=False).astype(np.float64) ** 2
    if threshold is not None:
        return bool(squares[0] >= n * threshold)
    variance = squares[K:].sum() / (max(n - K, 1) * max(F - 2 * K, 1))
    variance = max(variance, _FLOOR**2 * float(np.mean(np.square(L, dtype=np.float64))))
    return bool(squares[0] > factor**2 * variance * (np.sqrt(F) + np.sqrt(n)) ** 2)
