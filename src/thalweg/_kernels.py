"""Every compiled loop: pure functions on arrays, and nothing else.

Rows are samples here (the memory order in which a sample is contiguous). Each public kernel
has a naive twin in ``tests/reference.py``. Kernels release the GIL and are cached on disk.
"""

from typing import Any

import numpy as np
from numba import njit

# Entries of a solution below this share of its largest entry count as zero.
_ROUNDING = 1e-13
# A Cholesky pivot below this share of its diagonal entry marks a dependent column.
_DEPENDENT = 1e-12

SOLVED, CAPPED = 0, 1


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_subset(S: Any, b: Any, index: Any, n: Any, L: Any, x: Any) -> Any:
    """Solve S[index, index] x = b[index] by Cholesky; return -1, or the place that broke down."""
    for i in range(n):
        x[i] = b[index[i]]
        for j in range(i, n):
            L[i, j] = S[index[i], index[j]]
    for j in range(n):
        row = L[j]
        pivot = row[j]
        if not pivot > _DEPENDENT * S[index[j], index[j]]:
            return j
        scale = 1.0 / np.sqrt(pivot)
        for k in range(j, n):
            row[k] *= scale
        x[j] *= scale
        for i in range(j + 1, n):
            factor = row[i]
            target = L[i]
            for k in range(i, n):
                target[k] -= factor * row[k]
            x[i] -= factor * x[j]
    for j in range(n - 1, -1, -1):
        row = L[j]
        total = x[j]
        for k in range(j + 1, n):
            total -= row[k] * x[k]
        x[j] = total / row[j]
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def _largest(x: Any) -> Any:
    top = 0.0
    for k in range(x.size):
        top = max(top, abs(x[k]))
    return top


@njit(cache=True, nogil=True, error_model="numpy")
def _select(flags: Any, wanted: Any, index: Any) -> Any:
    n = 0
    for k in range(flags.size):
        if flags[k] == wanted:
            index[n] = k
            n += 1
    return n


@njit(cache=True, nogil=True, error_model="numpy")
def _primal_point(G: Any, c: Any, passive: Any, h: Any, y: Any, index: Any, L: Any, x: Any) -> Any:
    """Set h on the passive set by the normal equations, and y = G h - c."""
    n = _select(passive, True, index)
    if _solve_subset(G, c, index, n, L, x) >= 0:
        return False
    h[:] = 0.0
    y[:] = -c
    for i in range(n):
        h[index[i]] = x[i]
        row = G[index[i]]
        for k in range(h.size):
            y[k] += x[i] * row[k]
    for i in range(n):
        y[index[i]] = 0.0
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _dual_point(
    inverse: Any, u: Any, passive: Any, h: Any, y: Any, index: Any, L: Any, x: Any
) -> Any:
    """Set the same point from u = G^-1 c: the multipliers of the few entries held at zero."""
    n = _select(passive, False, index)
    if _solve_subset(inverse, u, index, n, L, x) >= 0:
        return False
    h[:] = u
    y[:] = 0.0
    for i in range(n):
        row = inverse[index[i]]
        for k in range(h.size):
            h[k] -= x[i] * row[k]
        y[index[i]] = -x[i]
    for i in range(n):
        h[index[i]] = 0.0
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _pivot(
    G: Any,
    inverse: Any,
    use_inverse: Any,
    c: Any,
    u: Any,
    h: Any,
    passive: Any,
    y: Any,
    index: Any,
    L: Any,
    x: Any,
    max_pivots: Any,
) -> Any:
    """Block principal pivoting with Murty's rule as a guard; False if it gave up."""
    K = h.size
    fewest, patience = K + 1, 3
    slack = _ROUNDING * _largest(c)
    for _ in range(max_pivots):
        held = K - passive.sum()
        done = False
        if use_inverse and 2 * held <= K:
            done = _dual_point(inverse, u, passive, h, y, index, L, x)
        if not done and not _primal_point(G, c, passive, h, y, index, L, x):
            return False
        floor = -_ROUNDING * _largest(h)
        wrong, last = 0, -1
        for k in range(K):
            if (passive[k] and h[k] < floor) or (not passive[k] and y[k] < -slack):
                wrong += 1
                last = k
        if wrong == 0:
            for k in range(K):
                h[k] = max(h[k], 0.0)
            return True
        exchange_all = True
        if wrong < fewest:
            fewest, patience = wrong, 3
        elif patience > 0:
            patience -= 1
        else:
            exchange_all = False
        for k in range(K):
            if exchange_all or k == last:
                if passive[k]:
                    passive[k] = not h[k] < floor
                else:
                    passive[k] = y[k] < -slack
    return False


@njit(cache=True, nogil=True, error_model="numpy")
def _step_inside(h: Any, passive: Any, index: Any, n: Any, x: Any) -> Any:
    """Move h towards x until the first entry hits zero; drop what is zero. True if x is reached."""
    step = 1.0
    for i in range(n):
        k = index[i]
        if x[i] <= 0.0:
            step = min(step, h[k] / (h[k] - x[i]) if h[k] > 0.0 else 0.0)
    for i in range(n):
        k = index[i]
        h[k] += step * (x[i] - h[k])
        if x[i] <= 0.0 and h[k] <= _ROUNDING * abs(x[i]):
            h[k] = 0.0
            passive[k] = False
    return step == 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def _active_set(
    G: Any, c: Any, h: Any, passive: Any, y: Any, index: Any, L: Any, x: Any, max_steps: Any
) -> Any:
    """Lawson-Hanson from zero: slower than pivoting, but copes with dependent columns."""
    K = h.size
    h[:] = 0.0
    passive[:] = False
    barred = np.zeros(K, dtype=np.bool_)
    slack = 1e-11 * _largest(c)
    for _ in range(max_steps):
        y[:] = np.dot(G, h) - c
        entering = -1
        for k in range(K):
            usable = not passive[k] and not barred[k] and y[k] < -slack
            if usable and (entering < 0 or y[k] < y[entering]):
                entering = k
        if entering < 0:
            return True
        passive[entering] = True
        reached = False
        while not reached:
            n = _select(passive, True, index)
            broken = _solve_subset(G, c, index, n, L, x)
            if broken >= 0:
                passive[index[broken]] = False
                h[index[broken]] = 0.0
                barred[index[broken]] = True
                continue
            reached = _step_inside(h, passive, index, n, x)
            if not passive[entering]:
                barred[entering] = True
    return False


@njit(cache=True, nogil=True, error_model="numpy")
def nonnegative_codes(
    G: Any, inverse: Any, C: Any, U: Any, H: Any, passive: Any, status: Any, max_pivots: Any
) -> Any:
    """Minimise h'Gh/2 - c'h over h >= 0 for each row c of C, into the rows of H.

    ``G`` is (1, K, K) when the rows share it, else (n, K, K). ``inverse`` is the inverse of the
    shared one and ``U = C @ inverse``; both are empty when the inverse is not to be trusted.
    ``passive`` is the first guess of the support, and holds the support afterwards.
    """
    n, K = C.shape
    L = np.empty((K, K))
    x = np.empty(K)
    y = np.empty(K)
    index = np.empty(K, dtype=np.int64)
    use_inverse = U.size > 0
    for s in range(n):
        gram = G[s] if G.shape[0] == n else G[0]
        u = U[s] if use_inverse else C[s]
        solved = _pivot(
            gram, inverse, use_inverse, C[s], u, H[s], passive[s], y, index, L, x, max_pivots
        )
        if not solved:
            solved = _active_set(gram, C[s], H[s], passive[s], y, index, L, x, 3 * K + 10)
        status[s] = SOLVED if solved else CAPPED


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def envelope_l1(Z: Any, weight: Any, bound: Any, lower: Any, E: Any, values: Any) -> Any:
    """Split each row z into outliers r and rest e = z - r; sum e^2/2 + weight |r| into values.

    r minimises (z - r)^2/2 + weight |r| over lower <= r <= bound, where lower is -bound or 0.
    """
    for s in range(Z.shape[0]):
        z, e = Z[s], E[s]
        total = Z.dtype.type(0.0)
        for i in range(z.size):
            r = min(max(z[i] - weight, Z.dtype.type(0.0)), bound)
            r += max(min(z[i] + weight, Z.dtype.type(0.0)), lower)
            rest = z[i] - r
            e[i] = rest
            total += Z.dtype.type(0.5) * rest * rest + weight * abs(r)
        values[s] = total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def sweep_atoms(A: Any, D: Any, W: Any, radius: Any, free: Any) -> Any:
    """One pass of exact minimisation over the rows w of W in turn, with w >= 0, |w| <= radius.

    The objective is <W W', A>/2 - <W, B>; ``D = B - A @ W`` on entry, and is kept up to date.
    """
    K, F = W.shape
    change = np.empty(F, dtype=W.dtype)
    for k in range(K):
        if not free[k] or A[k, k] <= 0.0:
            continue
        w, d = W[k], D[k]
        scale = 1.0 / A[k, k]
        square = W.dtype.type(0.0)
        for i in range(F):
            moved = max(w[i] + scale * d[i], W.dtype.type(0.0))
            change[i] = moved
            square += moved * moved
        shrink = min(radius / np.sqrt(square), 1.0) if square > 0.0 else 1.0
        for i in range(F):
            moved = change[i] * shrink
            change[i] = moved - w[i]
            w[i] = moved
        for j in range(K):
            factor = A[k, j]
            target = D[j]
            for i in range(F):
                target[i] -= factor * change[i]
