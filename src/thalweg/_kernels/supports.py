"""Minimisation over the entries of a matrix that are not zero, its columns coupled by rows."""

from typing import Any

import numpy as np
from numba import njit

# Columns that are worked on together: their part of the matrix stays in the cache.
_COLUMNS = 256


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def sweep_supports(Q: Any, P: Any, H: Any, sweeps: Any) -> Any:
    """Lower tr(H'QH)/2 - <P, H> over the entries of H that are positive, one after the other.

    Each is set to its best value, or to zero where that is below; zeros stay zeros.
    """
    K, n = H.shape
    target = np.empty(_COLUMNS, dtype=H.dtype)
    for begin in range(0, n, _COLUMNS):
        width = min(_COLUMNS, n - begin)
        for _ in range(sweeps):
            for k in range(K):
                if not Q[k, k] > 0.0:  # nothing depends on this row
                    continue
                h, p = H[k, begin : begin + width], P[k, begin : begin + width]
                for j in range(width):
                    target[j] = p[j]
                for i in range(K):
                    if i != k:
                        other, q = H[i, begin : begin + width], Q[k, i]
                        for j in range(width):
                            target[j] -= q * other[j]
                scale = 1.0 / Q[k, k]
                for j in range(width):
                    h[j] = max(target[j] * scale, 0.0) if h[j] > 0.0 else 0.0
