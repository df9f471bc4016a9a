"""Robust stochastic approximation: averaged gradient steps on the samples of a buffer."""

from typing import Any

import numpy as np
from numba import njit

# Where the model is below this share of an entry, its slope is taken as if it were there: the
# slope of a loss that is infinite at zero would else set the bound of all slopes for ever.
_FARTHEST = 0.1
# Rounds that find the active entries of a projection; it takes three or four.
_ROUNDS = 100
# A sum of positive entries is exact up to so many times the rounding error of one of them.
_EXACT = 16.0

_SUMS = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True)
def _draw(seed: Any) -> Any:
    """Return the next number of splitmix64 (Steele, Lea and Flood, 2014)."""
    seed[0] += np.uint64(0x9E3779B97F4A7C15)
    z = seed[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def shuffled(n: Any, seed: Any) -> Any:
    """Return 0, ..., n - 1 in random order; the generator's state ``seed`` moves on."""
    order = np.arange(n)
    for i in range(n - 1, 0, -1):
        j = np.int64(_draw(seed) % np.uint64(i + 1))
        order[i], order[j] = order[j], order[i]
    return order


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_SUMS)
def _active(x: Any, threshold: Any) -> Any:
    """Return number, sum and sum of squares of the entries above the threshold."""
    count, total, squares = 0, 0.0, 0.0
    for i in range(x.size):
        kept = x[i] > threshold
        value = np.float64(x[i]) if kept else 0.0
        count += kept
        total += value
        squares += value * value
    return count, total, squares


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_SUMS)
def _shrink(x: Any, shift: Any, scale: Any) -> Any:
    """Set x to max(x - shift, 0) scale; return its sum and its sum of squares."""
    total, squares = 0.0, 0.0
    for i in range(x.size):
        x[i] = max(x[i] - shift, x.dtype.type(0.0)) * scale
        value = np.float64(x[i])
        total += value
        squares += value * value
    return total, squares


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_SUMS)
def _cut(x: Any, shift: Any) -> Any:
    """Set x to max(x - shift, 0); return number and sum of what is left."""
    count, total = 0, 0.0
    for i in range(x.size):
        value = max(x[i] - shift, x.dtype.type(0.0))
        x[i] = value
        count += value > x.dtype.type(0.0)
        total += np.float64(value)
    return count, total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_SUMS)
def _scale(x: Any, factor: Any) -> Any:
    for i in range(x.size):
        x[i] *= factor


@njit(cache=True, nogil=True, error_model="numpy")
def _level(x: Any, count: Any, total: Any, size: Any, full: Any) -> Any:
    """Set x to the nearest vector >= 0 of the sum size, or at most size if not full.

    Count and total are those of the positive entries. All active entries are lowered alike
    until the sum is right, then again without those that fell to zero (Michelot, 1986). Only
    the first time can they be raised; then all that may be active is.
    """
    if not full and total <= size:
        _cut(x, x.dtype.type(0.0))
        return
    excess = total - size
    for _ in range(_ROUNDS):
        # without a positive entry the largest one takes all
        shift = excess / count if count > 0 else np.float64(x.max()) - size
        before = count
        count, total = _cut(x, x.dtype.type(shift))
        excess = total - size
        if count == before:
            break
    if abs(excess) > _EXACT * np.finfo(x.dtype).eps * size:
        # Far points lose digits in the difference: go back along the ray.
        _scale(x, x.dtype.type(size / total))


@njit(cache=True, nogil=True, error_model="numpy")
def project(x: Any, l1: Any, l2: Any, full: Any) -> Any:
    """Set x to the nearest vector >= 0 with l1 sum(x) + l2/2 sum(x^2) = 1, or <= 1 if not full.

    By the KKT conditions x becomes max(x - mu l1, 0) / (1 + mu l2). For given active entries mu
    is the root of a quadratic; it is found again until the active entries are those of mu.
    """
    if l2 == 0.0:
        count, total, _ = _active(x, x.dtype.type(0.0))
        _level(x, count, total, 1.0 / l1, full)
        return
    mu, before = 0.0, -1
    for _ in range(_ROUNDS):
        count, total, squares = _active(x, mu * l1)
        if count == before:
            break
        excess = l1 * total + 0.5 * l2 * squares - 1.0
        if count == 0 and full:
            mu = x.max() / l1 - 1.0 / l1**2  # the largest entry takes all at most
        elif before < 0 and not full and excess <= 0.0:
            break
        else:
            share = excess / (count * l1**2 + 2.0 * l2)
            mu = 2.0 * share / (1.0 + np.sqrt(1.0 + 2.0 * l2 * share))
        before = count
    linear, squares = _shrink(x, x.dtype.type(mu * l1), x.dtype.type(1.0 / (1.0 + mu * l2)))
    excess = l1 * linear + 0.5 * l2 * squares - 1.0
    if (full or mu > 0.0) and abs(excess) > np.finfo(x.dtype).eps:
        # Far points lose digits in the difference: go back along the ray.
        linear *= l1
        _scale(x, x.dtype.type(2.0 / (linear + np.sqrt(linear**2 + 2.0 * l2 * squares))))


@njit(cache=True, nogil=True, error_model="numpy")
def _into(W: Any, k: Any, border: Any, bounds: Any) -> Any:
    """Set atom k to the nearest vector between its bounds if there are any, else in the set."""
    x = W[k]
    if bounds.shape[1] == 0:
        project(x, border[0], border[1], border[2])
        return
    for i in range(x.size):
        x[i] = min(max(x[i], bounds[0, k, i]), bounds[1, k, i])


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_SUMS)
def _slope(v: Any, h: Any, W: Any, beta: Any, e: Any) -> Any:
    """Set e to p^(beta - 2) (p - v) with p = W'h, zero where v is NaN; return |e|^2."""
    zero, farthest = e.dtype.type(0.0), e.dtype.type(_FARTHEST)
    e[:] = zero
    for k in range(h.size):
        if h[k] != zero:
            for i in range(e.size):
                e[i] += h[k] * W[k, i]
    power = e.dtype.type(beta - 2.0)
    for i in range(e.size):
        if beta == 2.0:
            e[i] -= v[i]
            continue
        near = max(e[i], farthest * v[i], np.finfo(e.dtype).tiny)
        e[i] = (near - v[i]) / near
        if beta == 0.0:
            e[i] /= near
        elif beta != 1.0:
            e[i] *= near ** (power + 1)
    square = 0.0
    for i in range(e.size):
        value = zero if np.isnan(v[i]) else e[i]
        e[i] = value
        square += np.float64(value) * np.float64(value)
    return square


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_SUMS)
def _length(square: Any, h: Any, e: Any, W: Any, penalty: Any, frozen: Any) -> Any:
    """Return the norm of the gradient, e h' and the slope of the penalty, in the free atoms."""
    total = 0.0
    for k in range(frozen, h.size):
        total += square * np.float64(h[k]) * np.float64(h[k])
        if penalty[0] > 0.0 or penalty[1] > 0.0:
            for i in range(e.size):
                own = penalty[0] + penalty[1] * W[k, i]
                total += own * (own + 2.0 * np.float64(h[k]) * e[i])
    return np.sqrt(max(total, 0.0))


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_SUMS)
def _take_in(w: Any, share: Any, average: Any) -> Any:
    """Move the average towards w by a share; return squares of its way, and of it before."""
    way, length = 0.0, 0.0
    part = w.dtype.type(share)
    for i in range(w.size):
        old = average[i]
        step = part * (w[i] - old)
        average[i] = old + step
        way += np.float64(step) * np.float64(step)
        length += np.float64(old) * np.float64(old)
    return way, length


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_SUMS)
def _move(w: Any, code: Any, e: Any, rate: Any, penalty: Any, share: Any, average: Any) -> Any:
    """Take w into the average, and then a step: one pass over memory for both.

    Returned are what ``_take_in`` returns, and number and sum of the positive entries of w.
    """
    part, slope = w.dtype.type(share), w.dtype.type(rate * code)
    keep, flat = w.dtype.type(1.0 - rate * penalty[1]), w.dtype.type(rate * penalty[0])
    way, length, count, total = 0.0, 0.0, 0, 0.0
    for i in range(w.size):
        old = average[i]
        step = part * (w[i] - old)
        average[i] = old + step
        way += np.float64(step) * np.float64(step)
        length += np.float64(old) * np.float64(old)
        value = keep * w[i] - slope * e[i] - flat
        w[i] = value
        kept = value > w.dtype.type(0.0)
        count += kept
        total += np.float64(value) if kept else 0.0
    return way, length, count, total


@njit(cache=True, nogil=True, error_model="numpy")
def approximate(
    V: Any,
    H: Any,
    W: Any,
    average: Any,
    seed: Any,
    bound: Any,
    pace: Any,
    beta: Any,
    penalty: Any,
    border: Any,
    bounds: Any,
    frozen: Any,
    tol: Any,
    least: Any,
    most: Any,
) -> Any:
    """[R] Algorithm 2 on the rows of V with codes H; atoms are the rows of W, which moves.

    The average, W when it begins, is the result. Returned are the steps made and the largest
    gradient so far. The gradient of a sample is e h', which is never formed; atoms that a sample
    does not use stay where they are.
    """
    order = shuffled(V.shape[0], seed)
    e = np.empty(V.shape[1], dtype=W.dtype)
    total, steps = 0.0, 0
    penalised = penalty[0] > 0.0 or penalty[1] > 0.0
    # what a set asks of the sums of atoms, if that is all: the step itself tells the sums
    level = 1.0 / border[0] if bounds.shape[1] == 0 and border[1] == 0.0 else 0.0
    while steps < most:
        i = order[steps % order.size]
        h = H[i]
        steps += 1
        square = _slope(V[i], h, W, beta, e)
        bound = max(bound, _length(square, h, e, W, penalty, frozen))
        change, size = 0.0, 0.0
        if bound > 0.0:
            rate = pace / (bound * np.sqrt(steps))  # statement 2
            total += rate
            share = rate / total if total > 0.0 else 0.0
            for k in range(W.shape[0]):
                w = W[k]
                if k < frozen or (h[k] == 0.0 and not penalised):
                    way, length = _take_in(w, share, average[k])
                else:  # statements 3, 5 and 6
                    way, length, count, positive = _move(
                        w, h[k], e, rate, penalty, share, average[k]
                    )
                    if level > 0.0:
                        _level(w, count, positive, level, border[2])
                    else:
                        _into(W, k, border, bounds)
                change += way
                size += length
        if steps >= least and np.sqrt(change) <= tol * np.sqrt(size):  # (9)
            break
    for k in range(frozen, W.shape[0]):
        _into(average, k, border, bounds)  # rounding errors of the sums
    return steps, bound


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_bordered(A: Any, B: Any, W: Any, l1: Any, l2: Any, full: Any, free: Any) -> Any:
    """One pass of exact minimisation over the rows w of W in turn, each in a set as in project.

    The objective is <W W', A>/2 - <W, B>; returned are its value before the pass and what it has
    fallen by.
    """
    K, F = W.shape
    slope = np.dot(A, W)
    value = 0.0
    for k in range(K):
        for i in range(F):
            value += W[k, i] * (0.5 * slope[k, i] - B[k, i])
    old, fall = np.empty(F, dtype=W.dtype), 0.0
    for k in range(K):
        scale = W.dtype.type(1.0) / A[k, k]
        # No weight, or one so small that its inverse is inf, and inf times zero NaN.
        if not free[k] or not 0.0 < scale < np.inf:
            continue
        np.dot(A[k], W, slope[k])
        old[:] = W[k]
        for i in range(F):
            W[k, i] += scale * (B[k, i] - slope[k, i])
        project(W[k], l1, l2, full)
        for i in range(F):
            step = np.float64(W[k, i]) - old[i]
            fall += step * (B[k, i] - slope[k, i] - 0.5 * A[k, k] * step)
    return value, fall
