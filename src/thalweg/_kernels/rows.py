"""Features with a matrix of their own: weighted sums of squares, and descent on each row."""

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def weighted_grams(weights: Any, X: Any, keep: Any, share: Any, grams: Any) -> Any:
    """Set grams[i] to keep grams[i] + share sum_j weights[i, j] x_j x_j', x_j the rows of X."""
    n, K = X.shape
    scaled = np.empty((n, K), dtype=X.dtype)
    product = np.empty((K, K), dtype=X.dtype)
    for i in range(weights.shape[0]):
        for j in range(n):
            root = np.sqrt(share * weights[i, j])
            for k in range(K):
                scaled[j, k] = root * X[j, k]
        np.dot(scaled.T, scaled, product)
        target = grams[i]
        for k in range(K):
            for m in range(K):
                target[k, m] = keep * target[k, m] + product[k, m]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def sweep_rows(A: Any, B: Any, W: Any, lower: Any, free: Any, sweeps: Any) -> Any:
    """Lower w' A_f w / 2 - b_f' w in each row w >= lower of W, one entry after the other.

    ``lower`` has a bound for each column.
    """
    F, K = W.shape
    for f in range(F):
        for _ in range(sweeps):
            for k in range(K):
                curve = A[f, k, k]
                if not free[k] or not curve > 0.0:
                    continue
                slope = B[f, k]
                for j in range(K):
                    slope -= A[f, k, j] * W[f, j]
                W[f, k] = max(W[f, k] + slope / curve, lower[k])
