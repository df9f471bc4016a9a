"""Nonnegative least squares, and its alternation with closed-form outliers."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

# Entries of a solution below this share of its largest entry count as zero.
_ROUNDING = 1e-13
# A pivot below this share of its diagonal entry marks a dependent column.
_DEPENDENT = 1e-12
# Of what the loss falls by in an alternation, codes make up about this share, outliers the rest.
_CODES_SHARE = 1.0 / 3.0

SOLVED, CAPPED = 0, 1


class Rows(NamedTuple):
    """What :func:`alternate_l1` holds of the rows at work, those that have left taken out."""

    order: Any  # its place among all rows
    settled: Any
    weights: Any  # of the outliers
    z: Any  # W h, then what outliers leave of v - W h
    h: Any
    image: Any  # G h
    passive: Any  # the support of h
    rest: Any  # |v - W h - r|^2/2
    taken: Any  # weight |r|


class Aims(NamedTuple):
    """The quadratic h'Gh/2 - c'h that each row is to minimise next."""

    slope: Any  # W'(v - W h - r)
    C: Any
    U: Any  # C G^-1, where the inverse is to be trusted
    Y: Any  # h G - C at the minimum


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
def _apply_inverses(gram: Any, order: Any, C: Any, U: Any) -> Any:
    """Set the rows of U to c G^-1, where the inverse is to be trusted.

    ``order`` tells which of all right-hand sides the rows of C are.
    """
    _, inverse, trusted, place = gram
    if place.size > 0:
        for s in range(order.size):
            at = place[order[s]]
            if trusted[at]:
                np.dot(C[s], inverse[at], U[s])
    elif trusted[0]:
        np.dot(C, inverse[0], U)


@njit(cache=True, nogil=True, error_model="numpy")
def nonnegative_codes(
    gram: Any, C: Any, guessed: Any, H: Any, passive: Any, status: Any, max_pivots: Any
) -> Any:
    """Minimise h'Gh/2 - c'h over h >= 0 for each row c of C, into the rows of H.

    ``gram`` holds what a :class:`thalweg.solvers.nnls.Gram` does; as a plain tuple, since Numba
    leaks a little of every named one that comes from outside. ``passive`` holds the support
    afterwards, and before, if it was ``guessed``, the guess.
    """
    (G, inverse, trusted, place), (n, K) = gram, C.shape
    U = np.ones((n, K))
    _apply_inverses(gram, np.arange(n), C, U)
    if not guessed:
        passive[:] = U > 0.0  # without a trusted inverse all of it
    L = np.empty((K, K))
    x = np.empty(K)
    y = np.empty(K)
    index = np.empty(K, dtype=np.int64)
    for s in range(n):
        at = place[s] if place.size > 0 else 0
        h, support = H[s], passive[s]
        solved = _pivot(
            G[at], inverse[at], trusted[at], C[s], U[s], h, support, y, index, L, x, max_pivots
        )
        if not solved:
            solved = _active_set(G[at], C[s], h, support, y, index, L, x, 3 * K + 10)
        status[s] = SOLVED if solved else CAPPED


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _split_l1(v: Any, z: Any, weight: Any, bound: Any, lower: Any, r: Any) -> Any:
    """Split v - z into outliers r and a rest, which replaces z; return |rest|^2/2 and |r|."""
    zero = z.dtype.type(0.0)
    squares, sizes = zero, zero
    for i in range(z.size):
        rest = v[i] - z[i]
        taken = min(max(rest - weight, zero), bound) + max(min(rest + weight, zero), lower)
        rest -= taken
        r[i] = taken
        z[i] = rest
        squares += rest * rest
        sizes += abs(taken)
    return z.dtype.type(0.5) * squares, sizes


@njit(cache=True, nogil=True, error_model="numpy")
def envelope_l1(Z: Any, weight: Any, bound: Any, lower: Any, E: Any, values: Any) -> Any:
    """Split each row z into outliers r and rest e = z - r; e^2/2 + weight |r| goes into values.

    r minimises (z - r)^2/2 + weight |r| over lower <= r <= bound, where lower is -bound or 0.
    """
    r = np.empty(Z.shape[1], dtype=Z.dtype)
    for s in range(Z.shape[0]):
        E[s] = 0.0
        half, sizes = _split_l1(Z[s], E[s], weight, bound, lower, r)
        values[s] = half + weight * sizes


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _mean_size(v: Any, z: Any) -> Any:
    """Return the mean of |v - z| over the entries where they differ; at gaps they do not."""
    size, count = z.dtype.type(0.0), z.dtype.type(0.0)
    for i in range(z.size):
        rest = abs(v[i] - z[i])
        size += rest
        count += z.dtype.type(rest != 0.0)
    return size / max(count, z.dtype.type(1.0))


@njit(cache=True, nogil=True, error_model="numpy")
def _part(last: Any, m: Any, V: Any, observed: Any, rows: Any, limits: Any, R: Any) -> Any:
    """Part v - W h of m rows into rest and outliers.

    Codes move by little more than the weight in a step, so that from afar a small weight alone
    would take many: it comes down from the mean size of the residual. An infinite weight is one
    that has yet to be set.
    """
    target, bound, lower = limits
    for s in range(m):
        t, z, weight = rows.order[s], rows.z[s], rows.weights[s]
        if observed.size > 0:
            for i in range(z.size):
                z[i] = z[i] if observed[t, i] else V[t, i]
        size = _mean_size(V[t], z) if weight == np.inf else V.dtype.type(0.5) * weight
        weight = target if last else max(size, target)
        half, sizes = _split_l1(V[t], z, weight, bound, lower, R[t])
        rows.weights[s], rows.rest[s], rows.taken[s] = weight, half, float(weight) * float(sizes)


@njit(cache=True, nogil=True, error_model="numpy")
def _aim(m: Any, gram: Any, rows: Any, penalty: Any, relax: Any, aims: Any) -> Any:
    """Set the linear terms C of the relaxed majoriser for m rows, and U = C G^-1."""
    for s in range(m):
        h, image, slope, c = rows.h[s], rows.image[s], aims.slope[s], aims.C[s]
        for k in range(h.size):
            # The image holds the quadratic penalty, whose gradient does not belong here.
            c[k] = image[k] + relax * (slope[k] - penalty[0] - penalty[1] * h[k])
    _apply_inverses(gram, rows.order[:m], aims.C[:m], aims.U[:m])


@njit(cache=True, nogil=True, error_model="numpy")
def _reach(m: Any, gram: Any, rows: Any, aims: Any) -> Any:
    """Replace the codes of m rows by the exact minimisers of what was aimed at; set Y = HG - C."""
    (grams, inverses, trusted, place), K = gram, rows.h.shape[1]
    L, x, index = np.empty((K, K)), np.empty(K), np.empty(K, dtype=np.int64)
    for s in range(m):
        at = place[rows.order[s]] if place.size > 0 else 0
        G, inverse = grams[at], inverses[at]
        c, u, y, h, passive = aims.C[s], aims.U[s], aims.Y[s], rows.h[s], rows.passive[s]
        if not _pivot(G, inverse, trusted[at], c, u, h, passive, y, index, L, x, 2 * K + 50):
            _active_set(G, c, h, passive, y, index, L, x, 3 * K + 10)
            _gradient(G, c, h, y)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _cost_of(h: Any, penalty: Any) -> Any:
    cost = 0.0
    for k in range(h.size):
        cost += penalty[0] * h[k] + 0.5 * penalty[1] * h[k] * h[k]
    return cost


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _gain(old: Any, new: Any, c: Any, y: Any, image: Any, l2: Any, relax: Any) -> Any:
    """Return what the loss falls by when the codes move and the outliers stay."""
    gain, inverse, more = 0.0, 1.0 / relax, (relax - 1.0) * l2
    for k in range(old.size):
        step, change = new[k] - old[k], c[k] - image[k]
        gain += step * (inverse * change - 0.5 * (change + y[k] - more * step))
    return gain


@njit(cache=True, nogil=True, error_model="numpy")
def _record(s: Any, loss: Any, cost: Any, rows: Any, result: Any) -> Any:
    t = rows.order[s]
    _copy_row(rows.h[s], result[0][t])
    result[2][t], result[3][t] = loss, cost


@njit(cache=True, nogil=True, error_model="numpy")
def _pack(s: Any, into: Any, rows: Any) -> Any:
    """Move a row at work, all but its z, to a place before it."""
    rows.order[into], rows.settled[into] = rows.order[s], rows.settled[s]
    rows.weights[into], rows.rest[into], rows.taken[into] = (
        rows.weights[s],
        rows.rest[s],
        rows.taken[s],
    )
    _copy_row(rows.h[s], rows.h[into])
    _copy_row(rows.image[s], rows.image[into])
    _copy_row(rows.passive[s], rows.passive[into])


@njit(cache=True, nogil=True, error_model="numpy")
def _leave(last: Any, m: Any, rows: Any, penalty: Any, result: Any) -> Any:
    """Record the rows whose outliers were all that was awaited; return how many are left."""
    kept = 0
    for s in range(m):
        if rows.settled[s] or last:
            cost = rows.taken[s] + _cost_of(rows.h[s], penalty)
            _record(s, rows.rest[s] + cost, cost, rows, result)
            continue
        if kept < s:
            _copy_row(rows.z[s], rows.z[kept])
            _pack(s, kept, rows)
        kept += 1
    return kept


@njit(cache=True, nogil=True, error_model="numpy")
def _settle(
    m: Any,
    rows: Any,
    old: Any,
    aims: Any,
    penalty: Any,
    weight: Any,
    relax: Any,
    tol: Any,
    loose: Any,
    rounding: Any,
    result: Any,
) -> Any:
    """Mark the rows whose loss has hardly fallen as their codes moved; return how many are left.

    The share ``loose`` of the rest may be left to gain; with less than half of that the outliers
    are kept as they are, and the row is recorded. What the loss falls by because of rounding
    counts for nothing.
    """
    kept = 0
    for s in range(m):
        h, image, c, y = rows.h[s], rows.image[s], aims.C[s], aims.Y[s]
        before = rows.rest[s] + rows.taken[s] + _cost_of(old[s], penalty)
        gain = _gain(old[s], h, c, y, image, penalty[1], relax)
        # The loss at another weight is that of another problem.
        t, fair = rows.order[s], loose[rows.order[s]] * rows.rest[s]
        low = gain <= _CODES_SHARE * tol * before + fair + rounding[t]
        rows.settled[s] = result[4][t] = low and rows.weights[s] == weight
        if rows.settled[s] and gain < 0.5 * fair:
            _record(s, before - gain, rows.taken[s] + _cost_of(h, penalty), rows, result)
            continue
        for k in range(h.size):
            image[k] = c[k] + y[k]
        if kept < s:
            _pack(s, kept, rows)
        kept += 1
    return kept


@njit(cache=True, nogil=True, error_model="numpy")
def alternate_l1(
    V: Any,
    observed: Any,
    W: Any,
    gram: Any,
    cold: Any,
    penalty: Any,
    limits: Any,
    relax: Any,
    tol: Any,
    max_iter: Any,
    loose: Any,
    result: Any,
) -> Any:
    """Alternate between the outliers of each row of V and its exact codes, until it settles.

    ``result`` is (H, R, loss, cost, solved). The codes start at the rows of H or, ``cold``, at
    those that are best without outliers; the outliers' weight then comes down from the size of
    the residual. ``observed`` is empty when there is no gap. ``gram`` is as in
    :func:`nonnegative_codes`, with ``relax * penalty[1]`` on the diagonal. ``limits`` are weight,
    upper and lower bound of the outliers.

    A row has settled when its loss falls by no more than ``tol`` of itself in an alternation. The
    part of the codes in that is known without another look at the residual, and tells the whole.
    Then the outliers of the last codes are found. With ``loose`` above 0 a row has also settled
    when no more than this share of what noise makes of codes, K of the entries' parts in the
    rest, is to be gained, and may keep the outliers of the codes before. A row that has settled
    leaves the work arrays, so that all else is products of matrices.
    """
    (G, _, _, place), n, K = gram, V.shape[0], W.shape[0]
    columns, rounding, share = np.ascontiguousarray(W.T), np.empty(n), np.empty(n)
    for t in range(n):
        rounding[t] = K * float(np.finfo(V.dtype).eps) ** 2 * np.dot(V[t], V[t])
        count = np.count_nonzero(observed[t]) if observed.size > 0 else V.shape[1]
        share[t] = loose * K / max(count, 1)
    h = np.zeros((n, K)) if cold else result[0].astype(np.float64)
    rows = Rows(
        np.arange(n),
        np.zeros(n, dtype=np.bool_),
        np.full(n, V.dtype.type(np.inf) if cold else limits[0]),
        np.empty_like(V),
        h,
        np.zeros((n, K)),
        h > 0.0,
        np.empty(n),
        np.empty(n),
    )
    narrow, slope = np.empty((n, K), dtype=V.dtype), np.empty((n, K), dtype=V.dtype)
    aims, old = Aims(slope, np.empty((n, K)), np.ones((n, K)), np.empty((n, K))), np.empty((n, K))
    if cold:
        np.dot(V, columns, slope)
        _aim(n, gram, rows, penalty, 1.0, aims)
        # The signs of the unconstrained solution are the best guess of the support there is;
        # where it is not known, all of it.
        rows.passive[:] = aims.U > 0.0
        _reach(n, gram, rows, aims)
        rows.image[:] = aims.C + aims.Y
    elif place.size > 0:
        for s in range(n):
            _gradient(G[place[s]], np.zeros(K), h[s], rows.image[s])
    else:
        np.dot(h, G[0], rows.image)
    m = n
    for step in range(max_iter + 1):
        for s in range(m):
            _copy_row(h[s], narrow[s])
        np.dot(narrow[:m], W, rows.z[:m])
        _part(step == max_iter, m, V, observed, rows, limits, result[1])
        m = _leave(step == max_iter, m, rows, penalty, result)
        if m == 0:
            break
        for s in range(m):
            _copy_row(h[s], old[s])
        np.dot(rows.z[:m], columns, slope[:m])
        _aim(m, gram, rows, penalty, relax, aims)
        _reach(m, gram, rows, aims)
        m = _settle(m, rows, old, aims, penalty, limits[0], relax, tol, share, rounding, result)
    if observed.size > 0:  # a gap's outlier takes all that is left, and costs nothing
        np.dot(result[0], W, rows.z)
        for t in range(n):
            for i in range(V.shape[1]):
                result[1][t, i] += (V[t, i] - rows.z[t, i]) * (not observed[t, i])
