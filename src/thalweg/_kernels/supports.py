"""Minimisation over the entries of a matrix that are not zero, its columns coupled by rows."""

from typing import Any

import numpy as np
from numba import njit

# Columns that are worked on together: their part of the matrix stays in the cache.
_COLUMNS = 256


@njit(cache=True, nogil=True, error_model="numpy")
def offer_entries(curves: Any, S: Any, H: Any, out: Any, cost: Any, into: Any, gain: Any) -> Any:
    """Find in each column of H the entry that is cheapest to leave, and the best one to enter.

    With slopes S an entry h that leaves costs q h^2 - 2 h s, and one that enters gains s^2 / q,
    q its row's number of ``curves``. Where there is none, cost is inf, gain zero.
    """
    K, n = H.shape
    cost[:], gain[:], out[:], into[:] = np.inf, 0.0, 0, 0
    for k in range(K):
        q = curves[k]
        for j in range(n):
            h, s = H[k, j], S[k, j]
            if h > 0.0:
                price = h * (q * h - 2.0 * s)
                if price < cost[j]:
                    cost[j], out[j] = price, k
            elif s < 0.0 < q and s * s > gain[j] * q:
                gain[j], into[j] = s * s / q, k


@njit(cache=True, nogil=True, error_model="numpy")
def exchange_entries(Q: Any, S: Any, H: Any, busy: Any, least: Any) -> Any:
    """Let a nonzero of each column change places with a zero, if that gains more than ``least``.

    With slopes S an entry h of row a that leaves costs q h^2 - 2 h s, and lowers the slope of row
    b by Q[a, b] h; b then gains the square of its slope over Q[b, b]. All pairs are looked at, and
    the best one is taken. Columns that are ``busy`` stay. Returned is the number of exchanges.
    """
    K, n = H.shape
    count = 0
    for j in range(n):
        if busy[j]:
            continue
        best, out, into, value = -least, -1, -1, 0.0
        for a in range(K):
            h = H[a, j]
            if not h > 0.0:
                continue
            price = h * (Q[a, a] * h - 2.0 * S[a, j])
            for b in range(K):
                slope = S[b, j] - Q[a, b] * h
                if H[b, j] > 0.0 or not slope < 0.0 < Q[b, b]:
                    continue
                change = price - slope * slope / Q[b, b]
                if change < best:
                    best, out, into, value = change, a, b, -slope / Q[b, b]
        if out >= 0:
            H[out, j], H[into, j] = 0.0, value
            count += 1
    return count


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
