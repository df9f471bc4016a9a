"""Least squares over the simplex: an active set for each right-hand side."""

from typing import Any

import numpy as np
from numba import njit

# Added to the diagonal of a system, as a share of the largest diagonal entry: rows may depend on
# one another. The line search that follows makes up for it.
_RIDGE = 1e-13


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _aim(G: Any, c: Any, index: Any, n: Any, ridge: Any, L: Any, a: Any, b: Any, d: Any) -> Any:
    """Set d[index] to the minimiser of w'Gw/2 - c'w with sum 1 on the entries of the index.

    With G a = c and G b = 1 it is a - mu b, mu such that the sum is 1. Elimination needs the
    upper half only. Returned is whether all pivots were positive.
    """
    for i in range(n):
        a[i], b[i] = c[index[i]], 1.0
        row, target = G[index[i]], L[i]
        for j in range(i, n):
            target[j] = row[index[j]]
        target[i] += ridge
    for j in range(n):
        row = L[j]
        if not row[j] > 0.0:
            return False
        row[j] = 1.0 / row[j]
        for i in range(j + 1, n):
            factor, target = row[i] * row[j], L[i]
            for k in range(i, n):
                target[k] -= factor * row[k]
            a[i] -= factor * a[j]
            b[i] -= factor * b[j]
    sum_a, sum_b = 0.0, 0.0
    for j in range(n - 1, -1, -1):
        row = L[j]
        for k in range(j + 1, n):
            a[j] -= row[k] * a[k]
            b[j] -= row[k] * b[k]
        a[j] *= row[j]
        b[j] *= row[j]
        sum_a += a[j]
        sum_b += b[j]
    for i in range(n):
        d[index[i]] = a[i] - (sum_a - 1.0) / sum_b * b[i]
    return True


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _slopes(G: Any, x: Any, y: Any) -> Any:
    """Add G x to y, where x is mostly zero."""
    for j in range(x.size):
        if x[j] != 0.0:
            row = G[j]
            for i in range(x.size):
                y[i] += x[j] * row[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _advance(w: Any, g: Any, d: Any, change: Any) -> Any:
    """Go from w along d to the lowest point, or to where an entry becomes zero.

    ``change`` is G d; the gradient g is kept up to date. Returned is whether anything fell.
    """
    slope, curve = 0.0, 0.0
    for i in range(w.size):
        slope += d[i] * g[i]
        curve += d[i] * change[i]
    if not slope < 0.0:
        return False
    step, leaver = -slope / curve if curve > 0.0 else np.inf, -1
    for i in range(w.size):
        if d[i] < 0.0 and w[i] < -d[i] * step:
            step, leaver = w[i] / -d[i], i
    if not 0.0 < step < np.inf:
        return False
    total = 0.0
    for i in range(w.size):
        w[i] = 0.0 if i == leaver else max(w[i] + step * d[i], 0.0)
        g[i] += step * change[i]
        total += w[i]
    for i in range(w.size):
        w[i] /= total
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def simplex_codes(G: Any, C: Any, W: Any, cap: Any, tol: Any, gaps: Any) -> Any:
    """Minimise w'Gw/2 - c'w over w >= 0 with sum 1, for each row c of C, from the row w of W on.

    The support grows by the entry of the steepest slope and shrinks where an entry becomes zero;
    on a support the minimum is exact. ``gaps`` are set to the largest slope on the support minus
    the least of all slopes, which is at least the distance of the objective from its minimum; a
    row ends when that is below ``tol`` times the size of the problem, or after ``cap`` steps.
    """
    m, K = W.shape
    g, d, change = np.empty(K), np.empty(K), np.empty(K)
    L, a, b, index = np.empty((K, K)), np.empty(K), np.empty(K), np.empty(K, dtype=np.int64)
    for r in range(m):
        gram, w, c = G[r if G.shape[0] > 1 else 0], W[r], C[r]
        size = 0.0
        for i in range(K):
            g[i] = -c[i]
            size = max(size, gram[i, i], abs(c[i]))
        _slopes(gram, w, g)
        for step in range(cap + 1):
            n, low, high, least = 0, 0, -1, np.inf
            for i in range(K):
                if g[i] < g[low]:
                    low = i
                if w[i] > 0.0:
                    index[n] = i
                    n += 1
                    least = min(least, g[i])
                    if high < 0 or g[i] > g[high]:
                        high = i
            gaps[r] = g[high] - g[low]
            if step == cap or not gaps[r] > tol * size:
                break
            if w[low] == 0.0 and g[low] < least:
                index[n] = low
                n += 1
            d[:] = 0.0
            whole = _aim(gram, c, index, n, _RIDGE * size, L, a, b, d)
            for i in range(n):
                d[index[i]] -= w[index[i]]
            change[:] = 0.0
            _slopes(gram, d, change)
            if whole and _advance(w, g, d, change):
                continue
            # Rounding spoilt the system: move weight from the worst entry to the best.
            d[:] = 0.0
            d[low], d[high] = 1.0, -1.0
            change[:] = gram[low] - gram[high]
            if not _advance(w, g, d, change):
                break
