"""Samples that are a subspace plus a few outliers: compressive sensing off the subspace.

The basis is kept with one run of memory for each of its K columns, so that sums over the
features are sums over runs. Sums may be reordered by the compiler, the same way at each call.
"""

from typing import Any

import numpy as np
from numba import njit

# Relative to the largest entry of a Gram matrix; fewer entries than codes leave it singular.
_RIDGE = 1e-12
# Share of the residual that the next stage has to explain, on the way to a small bound.
_SHRINK = 0.3
_STEPS = 200  # a cap; about ten are the rule
_HALVINGS = 30
_ACCURACY = 1e-10  # relative decrease of the l1 norm that a Newton step still promises
_ROUGH = 0.1  # the same, at which a stage ends
_ARMIJO = 1e-4
_LITTLE = 1e-6
_GAUSSIAN = 1.482602218505602  # standard deviation of a normal variable over its median modulus
# The level of noise is not taken for less than this share of a sample's size.
_FLOOR = 1e-7
# Rounds that a level takes to be found from a single sample.
_ROUNDS = 3


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _dot(x: Any, y: Any) -> Any:
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _clipped(x: Any, y: Any, limit: Any) -> Any:
    """Return the sum of x_i y_i with y clipped to +-limit."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * min(max(y[i], -limit), limit)
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _excess(e: Any, limit: Any) -> Any:
    """Return the l1 norm of what is beyond +-limit."""
    total = 0.0
    for i in range(e.size):
        total += max(abs(e[i]) - limit, 0.0)
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _below(e: Any, square: Any) -> Any:
    """Return the sum of min(e_i^2, square), and how many are larger."""
    total, count = 0.0, 0
    for i in range(e.size):
        own = e[i] * e[i]
        total += min(own, square)
        count += own > square
    return total, count


@njit(cache=True, nogil=True, error_model="numpy")
def _limit(e: Any, bound: Any) -> Any:
    """Return the number at which e has to be clipped to have the norm ``bound``, below its own.

    The square of the clipped norm is concave and piecewise linear in the square of the limit:
    Newton's method from the left ends after as many steps as pieces are met.
    """
    square, last = bound * bound / e.size, -1
    for _ in range(100):
        total, count = _below(e, square)
        if count == 0 or count == last:
            break
        square += (bound * bound - total) / count
        last = count
    return np.sqrt(square)


@njit(cache=True, nogil=True, error_model="numpy")
def _solve(G: Any, c: Any, x: Any) -> Any:
    """Set x to the solution of G x = c for a positive semidefinite G, which is overwritten."""
    K = c.size
    top = 0.0
    for k in range(K):
        top = max(top, G[k, k])
    if top == 0.0:
        x[:] = 0.0
        return
    for k in range(K):
        G[k, k] += _RIDGE * top
    for k in range(K):
        for j in range(k + 1):
            total = G[k, j]
            for m in range(j):
                total -= G[k, m] * G[j, m]
            if j < k:
                G[k, j] = total / G[j, j]
            else:
                G[k, k] = np.sqrt(max(total, 1e-3 * _RIDGE * top))
    for k in range(K):
        total = c[k]
        for m in range(k):
            total -= G[k, m] * x[m]
        x[k] = total / G[k, k]
    for k in range(K - 1, -1, -1):
        total = x[k]
        for m in range(k + 1, K):
            total -= G[m, k] * x[m]
        x[k] = total / G[k, k]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _normal_equations(A: Any, weight: Any, y: Any, G: Any, g: Any) -> Any:
    """Set G to A diag(weight) A' and g to A (weight y)."""
    K, n = A.shape
    scaled = np.empty(n)
    for k in range(K):
        for i in range(n):
            scaled[i] = weight[i] * A[k, i]
        g[k] = _dot(scaled, y)
        for m in range(k + 1):
            G[k, m] = _dot(scaled, A[m])
            G[m, k] = G[k, m]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _move(e: Any, A: Any, d: Any, step: Any, out: Any) -> Any:
    """Set out to e - step A'd."""
    out[:] = e
    for k in range(d.size):
        shift = step * d[k]
        a = A[k]
        for i in range(e.size):
            out[i] -= shift * a[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _direction(A: Any, e: Any, limit: Any, damping: Any, weight: Any, d: Any) -> Any:
    """Set d to the way that Newton's method goes from e, damped; return what it promises.

    With I the entries within the limit, O the others and a = A_I e_I, the gradient of the least
    l1 norm is -A clip(e) / limit and its second derivative
    (A_I A_I' + a a' / (limit^2 |O|)) / limit. Reweighted least squares has weights of
    limit / |e| in O instead, and goes down in any case. A share of these weights is the damping.
    """
    K = A.shape[0]
    G, a, g = np.empty((K, K)), np.empty(K), np.empty(K)
    beyond = 0
    for i in range(e.size):
        size = abs(e[i])
        beyond += size > limit
        weight[i] = 1.0 if size <= limit else damping * limit / size
    _normal_equations(A, weight, e, G, a)
    for k in range(K):
        g[k] = _clipped(A[k], e, limit)
    for k in range(K):
        a[k] = (a[k] - damping * g[k]) / (1.0 - damping) if damping < 1.0 else 0.0
    for k in range(K):
        for m in range(K):
            G[k, m] += a[k] * a[m] / (limit * limit * max(beyond, 1))
    _solve(G, g, d)
    return _dot(g, d) / limit


@njit(cache=True, nogil=True, error_model="numpy")
def _descend(A: Any, e: Any, bound: Any, damping: Any, weight: Any, d: Any, trial: Any) -> Any:
    """Set trial to the residual after a step d (times what is returned first) that goes down.

    Returned are the step, 0 if there is none, and the relative decrease that it promised.
    """
    limit = _limit(e, bound)
    value = _excess(e, limit)
    promise = _direction(A, e, limit, damping, weight, d)
    step = 1.0
    # A step that has to be cut a lot is not worth making, unless it is the last resort.
    for _ in range(4 if damping < 1.0 else _HALVINGS):
        _move(e, A, d, step, trial)
        if _excess(trial, _limit(trial, bound)) <= value - _ARMIJO * step * promise:
            return step, promise / value
        step *= 0.5
    return 0.0, promise / value


@njit(cache=True, nogil=True, error_model="numpy")
def _sense(v: Any, A: Any, bound: Any, h: Any, e: Any, work: Any) -> Any:
    """Set h and e = v - A'h to where the l1 norm of the outliers x is least.

        minimise |x|_1 over x and h, subject to |v - A'h - x| <= bound

    For a given h the best x is what remains of e beyond some limit, at which the clipped e has
    the norm ``bound``. What is left is a convex function of h. Small bounds are approached by
    stages. Returned is the limit, inf where no outliers are needed.
    """
    trial, weight = work
    d = np.empty(h.size)
    weight[:] = 1.0
    h[:] = 0.0
    e[:] = v
    _refit(v, A, weight, h, e)
    norm = np.sqrt(_dot(e, e))
    if norm <= bound or norm == 0.0:
        return np.inf
    stage, damping = max(bound, _SHRINK * norm), _LITTLE
    for _ in range(_STEPS):
        step, promise = _descend(A, e, stage, damping, weight, d, trial)
        if step > 0.0:
            e[:] = trial
            for k in range(d.size):
                h[k] += step * d[k]
        if stage == bound:
            if promise <= _ACCURACY or (step == 0.0 and damping == 1.0):
                break
        elif step == 1.0 or promise <= _ROUGH:
            stage = max(bound, _SHRINK * stage)
        damping = max(0.03 * damping, _LITTLE) if step == 1.0 else min(10.0 * damping, 1.0)
    return _limit(e, bound)


@njit(cache=True, nogil=True, error_model="numpy")
def _refit(v: Any, A: Any, weight: Any, h: Any, e: Any) -> Any:
    """Set h to the weighted least squares, refined once, and e from v - A'h to the new one."""
    K = A.shape[0]
    G, c, d = np.empty((K, K)), np.empty(K), np.empty(K)
    for _ in range(2):
        _normal_equations(A, weight, e, G, c)
        _solve(G, c, d)
        for k in range(K):
            h[k] += d[k]
        _move(v, A, h, 1.0, e)


@njit(cache=True, nogil=True, error_model="numpy")
def _level(e: Any) -> Any:
    """Return the standard deviation of normal noise with the median of |e|, of about 1024."""
    return _GAUSSIAN * np.median(np.abs(e[:: max(1, e.size // 1024)]))


@njit(cache=True, nogil=True, error_model="numpy")
def _separate(v: Any, A: Any, bound: Any, cut: Any, h: Any, e: Any, clean: Any) -> Any:
    """Sense the outliers, keep those beyond the threshold, and fit the clean entries.

    Least squares on the clean entries is that on the support of the outliers: what it leaves
    of the outliers is all that codes do not explain. With no more clean entries than codes
    anything would fit, and the codes are left as they came.
    """
    limit = _sense(v, A, bound, h, e, (np.empty(e.size), clean))
    count = 0
    for i in range(e.size):
        kept = abs(e[i]) - limit <= cut
        clean[i] = kept
        count += kept
    if count > h.size:
        _refit(v, A, clean, h, e)


@njit(cache=True, nogil=True, error_model="numpy")
def _recover(v: Any, A: Any, rules: Any, fixed: Any, level: Any, h: Any, e: Any, clean: Any) -> Any:
    """Separate one sample at a level of noise, found from itself if 0; return its own level."""
    floor = _FLOOR * np.sqrt(_dot(v, v) / v.size)
    rounds = 1
    if level == 0.0:
        _sense(v, A, np.inf, h, e, (e, clean))
        level, rounds = _level(e), _ROUNDS
    for _ in range(rounds):
        unit = max(level, floor)
        bound = rules[0] if fixed[0] else rules[0] * unit * np.sqrt(v.size)
        cut = rules[1] if fixed[1] else rules[1] * unit
        _separate(v, A, bound, cut, h, e, clean)
        level = _level(e)
    return level


@njit(cache=True, nogil=True, error_model="numpy")
def _follow(level: Any, own: Any, weight: Any) -> Any:
    """Return the geometric mean of two levels, which a few failed samples hardly move."""
    return own if level == 0.0 else level * (own / level) ** weight


@njit(cache=True, nogil=True, error_model="numpy")
def recover_sparse(
    V: Any, observed: Any, P: Any, rules: Any, fixed: Any, memory: Any, level: Any, found: Any
) -> Any:
    """Take samples, the rows of V, apart into P'h, outliers and noise, one after the other.

    P has the K vectors of an orthonormal basis as rows. ``rules`` are the bound of the noise
    and the threshold of outliers, absolute where ``fixed`` says so, else in units of the level
    of noise: a running mean over ``memory`` samples (0 for a level that stays), kept in
    ``level`` with the number of samples in it. ``found`` are codes, outliers and median
    residuals.
    """
    H, R, error = found
    K = P.shape[0]
    for s in range(V.shape[0]):
        places = np.flatnonzero(observed[s])
        n = places.size
        v, A, e, clean = np.empty(n), np.empty((K, n)), np.empty(n), np.empty(n)
        v[:] = V[s][places]
        for k in range(K):
            A[k] = P[k][places]
        H[s], R[s], error[s] = 0.0, 0.0, np.nan
        if n > 0:
            own = _recover(v, A, rules, fixed, level[0], H[s], e, clean)
            if n > K:
                error[s] = own / _GAUSSIAN
                if memory > 0 and own > 0.0:
                    level[1] = min(level[1] + 1.0, memory)
                    level[0] = _follow(level[0], own, 1.0 / level[1])
        for i in range(n):
            if clean[i] == 0.0:
                R[s, places[i]] = e[i]
