"""Subspaces followed sample by sample: rotations of a basis, robust codes, statistics of them.

The basis is held by its K rows of F entries. Of a sample with gaps, the entries that were observed
and the same columns of the basis are packed first, so that all loops below run over memory that
is contiguous. The small systems of codes are solved in double precision.
"""

from math import atan, cos, exp, pi, sin, sqrt
from typing import Any

import numpy as np
from numba import njit

# Entries of a sample for which all of an iteration is done before the next ones, in fast memory.
_CHUNK = 256
# A median of more entries than this is taken of every other one, every third one, ...
_MEDIAN = 1024
# A mean over the stream is one of so many samples at most.
_MEMORY = 100.0
# The largest rotation: beyond a quarter turn, a basis comes back to where it was.
_TURN = pi / 3.0
# The step's variable: where it starts in a level, and where it leaves it.
_FIRST, _LEAST, _MOST = 6.0, 1.0, 15.0
# The sigmoid by which it moves: its limits and its width.
_FALL, _RISE, _WIDTH = -1.0, 1.0, 0.1
# Levels go up and down to this one, from where a way back is not too long.
_LEVELS = 16.0
# Share of its mean diagonal, in units of the rounding error, that makes a Gram matrix definite.
_RIDGE = 1e3

# How a rotation's angle is found.
GREEDY, CONSTANT, DIMINISHING, ADAPTIVE, PROXIMAL = 0, 1, 2, 3, 4


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _dot(x: Any, y: Any) -> Any:
    total = x.dtype.type(0.0)
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _add(factor: Any, x: Any, y: Any) -> Any:
    for i in range(x.size):
        y[i] += factor * x[i]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _mean_size(x: Any) -> Any:
    total = x.dtype.type(0.0)
    for i in range(x.size):
        total += abs(x[i])
    return float(total) / x.size


@njit(cache=True, nogil=True, error_model="numpy")
def _median_size(x: Any) -> Any:
    """Return the median of the sizes of the entries, or of an evenly spaced share of them."""
    every = max(x.size // _MEDIAN, 1)
    return np.median(np.abs(x[::every]))


@njit(cache=True, nogil=True, error_model="numpy")
def _model(U: Any, h: Any, start: Any, stop: Any, p: Any) -> Any:
    """Set p = sum of h[k] U[k] at some entries."""
    p[:] = 0.0
    for k in range(h.size):
        _add(p.dtype.type(h[k]), U[k, start:stop], p)


@njit(cache=True, nogil=True, error_model="numpy")
def _combine(U: Any, h: Any, p: Any) -> Any:
    """Set p = sum of h[k] U[k]."""
    for start in range(0, p.size, _CHUNK):
        stop = min(start + _CHUNK, p.size)
        _model(U, h, start, stop, p[start:stop])


@njit(cache=True, nogil=True, error_model="numpy")
def _project(U: Any, x: Any, c: Any) -> Any:
    """Set c = the products of x with the rows of U."""
    c[:] = 0.0
    for start in range(0, x.size, _CHUNK):
        stop = min(start + _CHUNK, x.size)
        for k in range(c.size):
            c[k] += _dot(U[k, start:stop], x[start:stop])


@njit(cache=True, nogil=True, error_model="numpy")
def _pack(U: Any, v: Any, observed: Any, index: Any, room: Any, row: Any) -> Any:
    """Return the columns of U and the entries of v that were observed."""
    K, F = U.shape
    m = 0
    for i in range(F):
        index[m] = i  # overwritten unless it was observed
        m += observed[i]
    if m == F:
        return U, v
    columns = room[: K * m].reshape((K, m))
    for i in range(m):
        row[i] = v[index[i]]
    for k in range(K):
        source, target = U[k], columns[k]
        for i in range(m):
            target[i] = source[index[i]]
    return columns, row[:m]


@njit(cache=True, nogil=True, error_model="numpy")
def _unpack(x: Any, observed: Any, full: Any) -> Any:
    """Set full = x where an entry was observed, and zero elsewhere."""
    n = 0
    for i in range(full.size):
        full[i] = x[min(n, x.size - 1)] if observed[i] else x.dtype.type(0.0)
        n += observed[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _gram(U: Any, G: Any) -> Any:
    """Set the lower half of G = U U'; return the mean of its diagonal."""
    K, m = U.shape
    G[:] = 0.0
    for start in range(0, m, _CHUNK):
        stop = min(start + _CHUNK, m)
        for k in range(K):
            for j in range(k + 1):
                G[k, j] += _dot(U[k, start:stop], U[j, start:stop])
    return np.trace(G) / K


@njit(cache=True, nogil=True, error_model="numpy")
def _factor(G: Any, ridge: Any, L: Any) -> Any:
    """Set L to the Cholesky factor of G + ridge I; G is the lower half."""
    K = L.shape[0]
    for k in range(K):
        for j in range(k + 1):
            total = G[k, j]
            for i in range(j):
                total -= L[k, i] * L[j, i]
            if j < k:
                L[k, j] = total / L[j, j]
            else:
                L[k, k] = sqrt(max(total + ridge, ridge))


@njit(cache=True, nogil=True, error_model="numpy")
def _solve(L: Any, c: Any, x: Any) -> Any:
    """Set x to the solution of L L' x = c."""
    K = c.size
    for k in range(K):
        total = c[k]
        for i in range(k):
            total -= L[k, i] * x[i]
        x[k] = total / L[k, k]
    for k in range(K - 1, -1, -1):
        total = x[k]
        for i in range(k + 1, K):
            total -= L[i, k] * x[i]
        x[k] = total / L[k, k]


@njit(cache=True, nogil=True, error_model="numpy")
def _least_ridge(level: Any, dtype: Any) -> Any:
    """Return what makes a Gram matrix of this mean diagonal definite."""
    return _RIDGE * np.finfo(dtype).eps * level if level > 0.0 else 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def _subtract(U: Any, h: Any, v: Any, rest: Any) -> Any:
    """Set rest = v - U'h."""
    _combine(U, h, rest)
    for i in range(v.size):
        rest[i] = v[i] - rest[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _least_squares(U: Any, v: Any, ridge: Any, G: Any, h: Any, rest: Any) -> Any:
    """Set h to the minimum of |rest|^2/2 + ridge |h|^2/2 with rest = v - U'h, and G = U U'.

    A second solution, for what is left by the first, takes most of the ridge away that only
    rounding asks for. Returned is the mean of G's diagonal.
    """
    K = h.size
    L, c, step = np.empty((K, K)), np.empty(K), np.empty(K)
    level = _gram(U, G)
    _factor(G, ridge + _least_ridge(level, v.dtype), L)
    h[:] = 0.0
    rest[:] = v
    for _ in range(2):
        _project(U, rest, c)
        for k in range(K):
            c[k] -= ridge * h[k]
        _solve(L, c, step)
        for k in range(K):
            h[k] += step[k]
        _subtract(U, h, v, rest)
    return level


@njit(cache=True, nogil=True, error_model="numpy")
def _orthonormalise(U: Any) -> Any:
    """Make the rows orthonormal, each after those before it, twice as rounding asks for it."""
    for k in range(U.shape[0]):
        for _ in range(2):
            for j in range(k):
                _add(-_dot(U[k], U[j]), U[j], U[k])
        U[k] /= np.sqrt(_dot(U[k], U[k]))


@njit(cache=True, nogil=True, error_model="numpy")
def _rotate(U: Any, h: Any, direction: Any, angle: Any, p: Any) -> Any:
    """Turn U'h by an angle towards a direction of length one that is orthogonal to all rows.

    U'h is in p. Its length shows rounding errors of the basis, which is made orthonormal anew
    as soon as they come near to the root of the precision.
    """
    length = sqrt(_dot(h, h))
    dtype = p.dtype.type
    back, forth = dtype((cos(angle) - 1.0) / length), dtype(sin(angle))
    error = abs(float(_dot(p, p)) / (length * length) - 1.0)
    for i in range(p.size):
        p[i] = back * p[i] + forth * direction[i]
    for k in range(h.size):
        _add(dtype(h[k] / length), p, U[k])
    if error > 0.25 * np.sqrt(np.finfo(p.dtype).eps):
        _orthonormalise(U)


@njit(cache=True, nogil=True, error_model="numpy")
def _mean(mean: Any, count: Any, x: Any) -> Any:
    """Return the mean after one more sample, the last of so many."""
    return mean + (x - mean) / min(count, _MEMORY)


# --- least squares: GROUSE ---------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy")
def track_grouse(
    U: Any, V: Any, observed: Any, rule: Any, rate: Any, count: Any, H: Any, error: Any
) -> Any:
    """Rotate the basis after each row of V; return how many samples there were so far.

    U is changed; codes and median residuals, with the basis before each row, go to H and error.
    """
    (B, F), K, eps = V.shape, U.shape[0], np.finfo(V.dtype).eps
    index, room, row = np.empty(F, np.int64), np.empty(K * F, V.dtype), np.empty(F, V.dtype)
    G, h, spare = np.empty((K, K)), np.empty(K), np.empty(F, V.dtype)
    p, direction = np.empty(F, V.dtype), np.empty(F, V.dtype)
    for s in range(B):
        columns, v = _pack(U, V[s], observed[s], index, room, row)
        rest = spare[: v.size]
        H[s], error[s] = 0.0, np.nan
        if v.size == 0:
            continue
        count += 1.0
        _least_squares(columns, v, 0.0, G, h, rest)
        H[s] = h
        if v.size > K:
            error[s] = _median_size(rest)
        short, long = sqrt(_dot(rest, rest)), sqrt(_dot(h, h))
        # A residual of nothing but rounding has no direction.
        if not short > eps * long or long == 0.0:
            continue
        angle = atan(short / long)
        if rule != GREEDY:
            share = rate if rule == CONSTANT else rate * K / (K + count)
            angle = min(share * short * long / (short * short + long * long), _TURN)
        _unpack(rest, observed[s], direction)
        direction /= V.dtype.type(short)
        _combine(U, h, p)
        _rotate(U, h, direction, angle, p)
    return count


# --- robust codes ------------------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _clip(v: Any, p: Any, loss: Any, dual: Any, z: Any) -> Any:
    """Take one step of ADMM at a few entries, where p is the model.

    dual, the scaled one with its sign turned, is all that has to be remembered: of
    x = v - p + dual, the new dual is what the loss's prox takes off. z is what the codes' next
    step has to fit. Returned are the loss, by how much it and its conjugate at the dual exceed
    their product (Fenchel and Young), and |dual|^2.
    """
    kind = v.dtype.type
    gain, tau, knee, steep = kind(loss[0]), kind(loss[1]), kind(loss[2]), kind(loss[3])
    one, half, scale = kind(1.0), kind(0.5), kind(1.0 / loss[1])
    total, excess, square = kind(0.0), kind(0.0), kind(0.0)
    for i in range(v.size):
        rest = v[i] - p[i]
        new = min(max(gain * (rest + dual[i]), -tau), tau)
        z[i] = new + new - dual[i]
        dual[i] = new
        slope, y = min(steep * abs(rest), one), new * scale
        value = slope * (abs(rest) - half * knee * slope)
        total += value
        excess += value + half * knee * y * y - y * rest
        square += new * new
    return float(total), float(excess), float(square)


@njit(cache=True, nogil=True, error_model="numpy")
def _admm(
    U: Any, v: Any, L: Any, ridge: Any, loss: Any, tol: Any, max_iter: Any, h: Any, dual: Any
) -> Any:
    """Improve codes and dual by ADMM until they nearly are a pair; False if they never are."""
    p, z = np.empty(_CHUNK, v.dtype), np.empty(_CHUNK, v.dtype)
    c, step = np.empty(h.size), np.empty(h.size)
    for _ in range(max_iter):
        total = excess = square = 0.0
        for k in range(h.size):
            c[k] = -ridge * h[k]
        for start in range(0, v.size, _CHUNK):
            stop = min(start + _CHUNK, v.size)
            n = stop - start
            _model(U, h, start, stop, p[:n])
            sums = _clip(v[start:stop], p[:n], loss, dual[start:stop], z[:n])
            total, excess, square = total + sums[0], excess + sums[1], square + sums[2]
            for k in range(h.size):
                c[k] += _dot(U[k, start:stop], z[:n])
        _solve(L, c, step)
        for k in range(h.size):
            h[k] += step[k]
        if excess <= tol * total and _dot(c, c) <= tol * tol * loss[4] * square:
            return True
    return False


@njit(cache=True, nogil=True, error_model="numpy")
def _robust_fit(
    U: Any, v: Any, ridge: Any, knee: Any, rho: Any, tol: Any, max_iter: Any, h: Any,
    rest: Any, dual: Any,
) -> Any:  # fmt: skip
    """Set the codes of one sample, rest = v - U'h, and dual, the loss's slope there in [-1, 1].

    The loss is |rest|, summed, if the knee is zero; else Huber's, rest^2/2 up to the knee and
    linear beyond, with slopes relative to the knee. ridge |h|^2/2 is added. ADMM begins at least
    squares, with the weight rho in units of their residual.
    """
    K = h.size
    G, L = np.empty((K, K)), np.empty((K, K))
    level = _least_squares(U, v, ridge, G, h, rest)
    size = _mean_size(rest)
    dual[:] = 0.0
    if size <= 8.0 * np.finfo(v.dtype).eps * _mean_size(v):  # nothing but rounding is left
        return True
    weight = rho / size  # of ADMM
    gain, first, tau, steep = 1.0, 1.0, 1.0 / weight, 1.0 / np.finfo(v.dtype).tiny
    if knee > 0.0:
        weight = min(weight * knee, 1.0)
        gain, first, tau, steep = 1.0 / (1.0 + weight), 1.0 / weight, knee / weight, 1.0 / knee
    ridge /= weight
    _factor(G, ridge + _least_ridge(level, v.dtype), L)
    for i in range(v.size):
        dual[i] = min(max(first * rest[i], -tau), tau)
    loss = (gain, tau, float(knee), steep, level)
    solved = _admm(U, v, L, ridge, loss, tol, max_iter, h, dual)
    _subtract(U, h, v, rest)
    dual /= v.dtype.type(tau)
    return solved


@njit(cache=True, nogil=True, error_model="numpy")
def robust_codes(
    U: Any, V: Any, observed: Any, ridge: Any, knee: Any, rho: Any, tol: Any, max_iter: Any, H: Any,
    solved: Any,
) -> Any:  # fmt: skip
    """Set the codes of each row of V for a fixed basis; see :func:`_robust_fit` for the loss."""
    (B, F), K = V.shape, U.shape[0]
    index, room, row = np.empty(F, np.int64), np.empty(K * F, V.dtype), np.empty(F, V.dtype)
    h, rest, dual = np.empty(K), np.empty(F, V.dtype), np.empty(F, V.dtype)
    for s in range(B):
        columns, v = _pack(U, V[s], observed[s], index, room, row)
        m = v.size
        H[s], solved[s] = 0.0, True
        if m > 0:
            solved[s] = _robust_fit(
                columns, v, ridge, knee, rho, tol, max_iter, h, rest[:m], dual[:m]
            )
            H[s] = h


# --- least absolute residuals: GRASTA and ROSETA -----------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy")
def _sigmoid(x: Any) -> Any:
    """Rise from _FALL over 0 at x = 0 to _RISE."""
    return _FALL + (_RISE - _FALL) / (1.0 - _RISE / _FALL * exp(-x / _WIDTH))


@njit(cache=True, nogil=True, error_model="numpy")
def _adapt(control: Any, x: Any) -> Any:
    """Return 2^-level / (1 + variable) after the variable, and maybe the level, has moved by x."""
    control[0] += _sigmoid(x)
    if control[0] >= _MOST:
        control[0], control[1] = _FIRST, min(control[1] + 1.0, _LEVELS)
    elif control[0] <= _LEAST:
        control[0], control[1] = _FIRST, max(control[1] - 1.0, -_LEVELS)
    return 2.0 ** -control[1] / (1.0 + control[0])


@njit(cache=True, nogil=True, error_model="numpy")
def _angle(rule: Any, rate: Any, control: Any, agreement: Any, slope: Any, length: Any) -> Any:
    """Return by how much to turn, for a slope and a length of codes relative to their means."""
    if rule == PROXIMAL:
        damping = rate * _adapt(control, agreement)
        return atan(slope * length / (1.0 + damping * length * length))
    step = rate
    if rule == DIMINISHING:
        step = rate / (1.0 + control[3])
    elif rule == ADAPTIVE:
        step = rate * _adapt(control, -agreement)
    return min(step * slope * length, _TURN)


@njit(cache=True, nogil=True, error_model="numpy")
def track_l1(
    U: Any, V: Any, observed: Any, rule: Any, rate: Any, rho: Any, tol: Any, max_iter: Any,
    control: Any, direction: Any, code: Any, H: Any, R: Any, error: Any,
) -> Any:  # fmt: skip
    """Rotate the basis after each row of V along the slope of its least absolute residual.

    ``control`` holds the step's variable and level, the mean of |h|^2, and the number of
    samples; ``direction`` and ``code`` the last gradient, a matrix of rank one and of norm one.
    """
    (B, F), K, dtype = V.shape, U.shape[0], V.dtype.type
    index, room, row = np.empty(F, np.int64), np.empty(K * F, V.dtype), np.empty(F, V.dtype)
    h, c, p, slope = np.empty(K), np.empty(K), np.empty(F, V.dtype), np.empty(F, V.dtype)
    spare, spare_dual = np.empty(F, V.dtype), np.empty(F, V.dtype)
    for s in range(B):
        columns, v = _pack(U, V[s], observed[s], index, room, row)
        rest, dual = spare[: v.size], spare_dual[: v.size]
        H[s], R[s], error[s] = 0.0, 0.0, np.nan
        if v.size == 0:
            continue
        _robust_fit(columns, v, 0.0, 0.0, rho, tol, max_iter, h, rest, dual)
        H[s] = h
        _unpack(rest, observed[s], R[s])
        if v.size > K:
            error[s] = _median_size(rest)
        if control[3] == 0.0:
            control[0] = _FIRST
        control[3] += 1.0
        square = _dot(h, h)
        control[2] = _mean(control[2], control[3], square)
        # At the minimum the slope is orthogonal to the basis; before it, nearly so.
        _project(columns, dual, c)
        _unpack(dual, observed[s], slope)
        _combine(U, c, p)
        slope -= p
        norm, length = sqrt(_dot(slope, slope)), sqrt(square)
        if norm == 0.0 or length == 0.0:
            continue
        slope /= dtype(norm)
        agreement = float(_dot(slope, direction)) * _dot(h, code) / length
        relative = length / sqrt(control[2])
        angle = _angle(rule, rate, control, agreement, norm / sqrt(v.size), relative)
        direction[:] = slope
        code[:] = h / length
        _combine(U, h, p)
        _rotate(U, h, slope, angle, p)


# --- statistics of robust codes: online robust PCA ---------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep(A: Any, B: Any, ridge: Any, U: Any, sweeps: Any) -> Any:
    """Minimise <U U', A + ridge I>/2 - <U, B> over one row of U after the other."""
    K, F = U.shape
    slope, dtype = np.empty(_CHUNK, U.dtype), U.dtype.type
    for start in range(0, F, _CHUNK):
        stop = min(start + _CHUNK, F)
        for _ in range(sweeps):
            for k in range(K):
                if not A[k, k] > 0.0:  # no sample has used it: nothing is known of it
                    continue
                rest = slope[: stop - start]
                rest[:] = B[k, start:stop]
                for j in range(K):
                    if j != k:
                        _add(dtype(-A[k, j]), U[j, start:stop], rest)
                U[k, start:stop] = rest * dtype(1.0 / (A[k, k] + ridge))


@njit(cache=True, nogil=True, error_model="numpy")
def track_statistics(
    U: Any, V: Any, observed: Any, ridge: Any, threshold: Any, forgetting: Any, sweeps: Any,
    rho: Any, tol: Any, max_iter: Any, A: Any, S: Any, control: Any, H: Any, R: Any, error: Any,
) -> Any:  # fmt: skip
    """Minimise the surrogate of all samples so far over the basis after each row of V.

    ``A`` and ``S`` are the sums of h h' and h (v - r)', ``control`` the typical length of a
    sample and the number of samples. The ridge is that of codes, the threshold is relative to
    the length.
    """
    (B, F), K, dtype = V.shape, U.shape[0], V.dtype.type
    index, room, row = np.empty(F, np.int64), np.empty(K * F, V.dtype), np.empty(F, V.dtype)
    h, clean = np.empty(K), np.empty(F, V.dtype)
    spare, spare_dual = np.empty(F, V.dtype), np.empty(F, V.dtype)
    for s in range(B):
        columns, v = _pack(U, V[s], observed[s], index, room, row)
        rest, dual = spare[: v.size], spare_dual[: v.size]
        H[s], R[s], error[s] = 0.0, 0.0, np.nan
        if v.size == 0:
            continue
        control[1] += 1.0
        size = float(_median_size(v))
        size = sqrt(F) * (size if size > 0.0 else _mean_size(v))
        control[0] = _mean(control[0], control[1], size)
        limit = threshold * control[0]
        _robust_fit(columns, v, ridge, limit, rho, tol, max_iter, h, rest, dual)
        H[s] = h
        if v.size > K:
            error[s] = _median_size(rest)
        for i in range(v.size):
            rest[i] -= min(max(rest[i], -dtype(limit)), dtype(limit))
        _unpack(rest, observed[s], R[s])
        _combine(U, h, clean)  # what a gap is taken for
        for i in range(F):
            clean[i] = V[s, i] - R[s, i] if observed[s, i] else clean[i]
        for k in range(K):
            for j in range(K):
                A[k, j] = forgetting * A[k, j] + h[k] * h[j]
            S[k] *= dtype(forgetting)
            _add(dtype(h[k]), clean, S[k])
        _sweep(A, S, ridge * control[0] ** 2, U, sweeps)
