"""Nonnegative least squares, and its alternation with closed-form outliers."""

from typing import Any

import numpy as np
from numba import njit

# Entries of a solution below this share of its largest entry count as zero.
_ROUNDING = 1e-13
# A pivot below this share of its diagonal entry marks a dependent column.
_DEPENDENT = 1e-12

SOLVED, CAPPED = 0, 1


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _solve_subset(S: Any, b: Any, index: Any, n: Any, L: Any, x: Any) -> Any:
    """Solve S[index, index] x = b[index] by elimination; return -1, or the place that broke down.

    S is definite, so that no rows have to be exchanged; the upper half is all that is needed.
    """
    for i in range(n):
        x[i] = b[index[i]]
        row, target = S[index[i]], L[i]
        for j in range(i, n):
            target[j] = row[index[j]]
    for j in range(n):
        row = L[j]
        pivot = row[j]
        if not pivot > _DEPENDENT * S[index[j], index[j]]:
            return j
        row[j] = 1.0 / pivot
        for i in range(j + 1, n):
            factor = row[i] * row[j]
            target = L[i]
            for k in range(i, n):
                target[k] -= factor * row[k]
            x[i] -= factor * x[j]
    for j in range(n - 1, -1, -1):
        row = L[j]
        total = x[j]
        for k in range(j + 1, n):
            total -= row[k] * x[k]
        x[j] = total * row[j]
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def _largest(x: Any) -> Any:
    top = 0.0
    for k in range(x.size):
        top = max(top, abs(x[k]))
    return top


@njit(cache=True, nogil=True, error_model="numpy")
def _gradient(G: Any, c: Any, h: Any, y: Any) -> Any:
    """Set y = G h - c."""
    for k in range(h.size):
        y[k] = -c[k]
    for j in range(h.size):
        if h[j] != 0.0:
            row = G[j]
            for k in range(h.size):
                y[k] += h[j] * row[k]


@njit(cache=True, nogil=True, error_model="numpy")
def _copy_row(source: Any, target: Any) -> Any:
    for i in range(source.size):
        target[i] = source[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _select(flags: Any, wanted: Any, index: Any) -> Any:
    n = 0
    for k in range(flags.size):
        index[n] = k  # overwritten unless wanted: a branch would be guessed wrong too often
        n += flags[k] == wanted
    return n


@njit(cache=True, nogil=True, error_model="numpy")
def _primal_point(G: Any, c: Any, passive: Any, h: Any, y: Any, index: Any, L: Any, x: Any) -> Any:
    """Set h on the passive set by the normal equations, and y = G h - c."""
    n = _select(passive, True, index)
    if _solve_subset(G, c, index, n, L, x) >= 0:
        return False
    for k in range(h.size):
        h[k] = 0.0
        y[k] = -c[k]
    for i in range(n):
        h[index[i]] = x[i]
        row = G[index[i]]
        for k in range(h.size):
            y[k] += x[i] * row[k]
    for i in range(n):
        y[index[i]] = 0.0
    return True


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _dual_point(inverse: Any, u: Any, n: Any, h: Any, y: Any, index: Any, L: Any, x: Any) -> Any:
    """Set the same point from u = G^-1 c: the multipliers of the n entries held at zero."""
    if _solve_subset(inverse, u, index, n, L, x) >= 0:
        return False
    for k in range(h.size):
        h[k] = u[k]
        y[k] = 0.0
    for i in range(n):
        row, factor = inverse[index[i]], x[i]
        for k in range(h.size):
            h[k] -= factor * row[k]
        y[index[i]] = -factor
    for i in range(n):
        h[index[i]] = 0.0
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _exchange(h: Any, y: Any, floor: Any, slack: Any, passive: Any, all_of_them: Any) -> Any:
    """Move what is on the wrong side of the support to the other, or only the last of it."""
    for k in range(h.size - 1, -1, -1):
        wrong = (h[k] < floor) | (y[k] < slack)
        passive[k] ^= wrong
        if wrong and not all_of_them:
            return


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
    slack = -_ROUNDING * _largest(c)
    for _ in range(max_pivots):
        held = _select(passive, False, index)
        done = False
        if use_inverse and 2 * held <= K:
            done = _dual_point(inverse, u, held, h, y, index, L, x)
        if not done and not _primal_point(G, c, passive, h, y, index, L, x):
            return False
        floor = -_ROUNDING * _largest(h)
        wrong = 0
        for k in range(K):  # h is zero where it is held, and y elsewhere
            wrong += (h[k] < floor) | (y[k] < slack)
        if wrong == 0:
            for k in range(K):
                h[k] = max(h[k], 0.0)
            return True
        if wrong < fewest:
            fewest, patience = wrong, 3
        else:
            patience -= 1
        _exchange(h, y, floor, slack, passive, patience >= 0)
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
    barred = np.zeros(K, dtype=np.bool_)
    for k in range(K):
        h[k] = 0.0
        passive[k] = False
    slack = 1e-11 * _largest(c)
    for _ in range(max_steps):
        _gradient(G, c, h, y)
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
def _split_l1(z: Any, weight: Any, bound: Any, lower: Any, r: Any) -> Any:
    """Move the outliers of one row z into r; return z^2/2 + weight |r|, summed, of what is left."""
    zero, half = z.dtype.type(0.0), z.dtype.type(0.5)
    total = zero
    for i in range(z.size):
        taken = min(max(z[i] - weight, zero), bound) + max(min(z[i] + weight, zero), lower)
        rest = z[i] - taken
        r[i] = taken
        z[i] = rest
        total += half * rest * rest + weight * abs(taken)
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def envelope_l1(Z: Any, weight: Any, bound: Any, lower: Any, E: Any, values: Any) -> Any:
    """Split each row z into outliers r and rest e = z - r; e^2/2 + weight |r| goes into values.

    r minimises (z - r)^2/2 + weight |r| over lower <= r <= bound, where lower is -bound or 0.
    """
    r = np.empty(Z.shape[1], dtype=Z.dtype)
    for s in range(Z.shape[0]):
        _copy_row(Z[s], E[s])
        values[s] = _split_l1(E[s], weight, bound, lower, r)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _next_weight(z: Any, weight: Any, target: Any, last: Any) -> Any:
    """Return the outliers' weight for residual z: from its mean size down to the target.

    Codes move by little more than the weight in a step, so that from afar a small weight alone
    would take many. An infinite weight is one that has yet to be set.
    """
    size = z.dtype.type(0.5) * weight
    if weight == np.inf:
        size, count = z.dtype.type(0.0), z.dtype.type(0.0)
        for i in range(z.size):
            size += abs(z[i])
            count += z.dtype.type(z[i] != 0.0)  # a gap's residual is zero, and does not count
        size /= max(count, z.dtype.type(1.0))
    return target if last else max(size, target)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _residual(v: Any, seen: Any, z: Any, hidden: Any) -> Any:
    """Turn z = W h into v - W h; what of it lies behind gaps goes into hidden."""
    for i in range(v.size):
        z[i] = v[i] - z[i]
    for i in range(seen.size):
        hidden[i] = z[i] * (not seen[i])
        z[i] *= seen[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _settle(
    last: Any,
    m: Any,
    V: Any,
    seen: Any,
    rows: Any,
    penalty: Any,
    limits: Any,
    tol: Any,
    result: Any,
) -> Any:
    """Evaluate m rows at work; record those that have settled, pack the others; return how many."""
    order, previous, weights, z, h, passive = rows
    H, R, loss, cost, solved = result
    gaps, hidden, kept = seen.size > 0, np.zeros(V.shape[1], dtype=V.dtype), 0
    for s in range(m):
        t = order[s]
        _residual(V[t], seen[t] if gaps else seen.ravel(), z[s], hidden)
        weights[s] = _next_weight(z[s], weights[s], limits[0], last)
        fit = float(_split_l1(z[s], weights[s], limits[1], limits[2], R[t]))
        for k in range(h.shape[1]):
            fit += penalty[0] * h[s, k] + 0.5 * penalty[1] * h[s, k] * h[s, k]
        settled = abs(previous[s] - fit) <= tol * previous[s]
        if weights[s] > limits[0]:  # of another problem, and to be compared with nothing
            fit = -1.0
        if settled or last:
            if gaps:  # a gap's outlier takes all that is left, and costs nothing
                R[t] += hidden
            _copy_row(h[s], H[t])
            loss[t], cost[t], solved[t] = fit, fit - 0.5 * np.dot(z[s], z[s]), settled
            continue
        if kept < s:
            _copy_row(z[s], z[kept])
            _copy_row(h[s], h[kept])
            _copy_row(passive[s], passive[kept])
        order[kept], previous[kept], weights[kept] = t, fit, weights[s]
        kept += 1
    return kept


@njit(cache=True, nogil=True, error_model="numpy")
def _aim(m: Any, G: Any, inverse: Any, rows: Any, penalty: Any, relax: Any, aims: Any) -> Any:
    """Set the linear terms C of the relaxed majoriser for m rows, and U = C @ inverse."""
    order, _, _, _, h, _ = rows
    slope, C, U = aims
    shared, nothing = G.shape[0] == 1, np.zeros(h.shape[1])
    if shared:
        np.dot(h[:m], G[0], C[:m])
    for s in range(m):
        if not shared:
            _gradient(G[order[s]], nothing, h[s], C[s])
        for k in range(h.shape[1]):
            # G holds the quadratic penalty, whose gradient does not belong here.
            C[s, k] += relax * (slope[s, k] - penalty[0] - penalty[1] * h[s, k])
    if inverse.size > 0:
        np.dot(C[:m], inverse, U[:m])


@njit(cache=True, nogil=True, error_model="numpy")
def _reach(m: Any, G: Any, inverse: Any, rows: Any, aims: Any) -> Any:
    """Replace the codes of m rows by the exact minimisers of what was aimed at."""
    order, _, _, _, h, passive = rows
    _, C, U = aims
    K, use_inverse = h.shape[1], inverse.size > 0
    L, x, y, index = np.empty((K, K)), np.empty(K), np.empty(K), np.empty(K, dtype=np.int64)
    for s in range(m):
        gram = G[0] if G.shape[0] == 1 else G[order[s]]
        c, u, row, support = C[s], U[s], h[s], passive[s]
        if not _pivot(gram, inverse, use_inverse, c, u, row, support, y, index, L, x, 2 * K + 50):
            _active_set(gram, c, row, support, y, index, L, x, 3 * K + 10)


@njit(cache=True, nogil=True, error_model="numpy")
def alternate_l1(
    V: Any,
    seen: Any,
    W: Any,
    G: Any,
    inverse: Any,
    cold: Any,
    penalty: Any,
    limits: Any,
    relax: Any,
    tol: Any,
    max_iter: Any,
    result: Any,
) -> Any:
    """Alternate between the outliers of each row of V and its exact codes, until it settles.

    ``result`` is (H, R, loss, cost, solved). The codes start at the rows of H or, ``cold``, at
    those that are best without outliers; the outliers' weight then comes down from the size of
    the residual. ``seen`` is empty when there is no gap. ``G`` and ``inverse`` are as in
    :func:`nonnegative_codes`, with ``relax * penalty[1]`` on the diagonal. ``limits`` are weight,
    upper and lower bound of the outliers. A row that has settled leaves the work arrays, so that
    all else is products of matrices.
    """
    n, K = V.shape[0], W.shape[0]
    columns = np.ascontiguousarray(W.T)
    z, h = np.empty_like(V), np.zeros((n, K)) if cold else result[0].astype(np.float64)
    weights = np.full(n, V.dtype.type(np.inf) if cold else limits[0])
    # No loss before this is -1.
    rows = (np.arange(n), np.full(n, -1.0), weights, z, h, h > 0.0)
    narrow, slope = np.empty((n, K), dtype=V.dtype), np.empty((n, K), dtype=V.dtype)
    aims = (slope, np.empty((n, K)), np.empty((n, K)))
    if cold:
        np.dot(V, columns, slope)
        _aim(n, G, inverse, rows, penalty, 1.0, aims)
        # The signs of the unconstrained solution are the best guess of the support there is.
        rows[-1][:] = (aims[-1] > 0.0) | (inverse.size == 0)
        _reach(n, G, inverse, rows, aims)
    m = n
    for step in range(max_iter + 1):
        for s in range(m):
            _copy_row(h[s], narrow[s])
        np.dot(narrow[:m], W, z[:m])
        m = _settle(step == max_iter, m, V, seen, rows, penalty, limits, tol, result)
        if m == 0:
            return
        np.dot(z[:m], columns, slope[:m])
        _aim(m, G, inverse, rows, penalty, relax, aims)
        _reach(m, G, inverse, rows, aims)
