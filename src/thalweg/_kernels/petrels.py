"""Row-wise recursive least squares, and codes of a sample with and without outliers.

Rows of the basis stand in blocks of ``LANES``, entry by entry: ``U[b, k, lane]`` is entry k of
row ``LANES * b + lane``. The innermost loops run over lanes, do the same for each, and are
vectorised by the compiler; what does not take part has the weight 0. Each row has a symmetric
matrix H = L diag(d) L' of its own, of which the factors are kept, packed: the entry (r, j),
r > j, of the unit triangle L is ``L[b, r (r - 1) / 2 + j, lane]``. Adding w w' to H through its
factors keeps it positive definite whatever the rounding.
"""

from math import exp, log, sqrt
from typing import Any

import numpy as np
from numba import njit

LANES = 64

# Share of the mean diagonal, in units of the rounding error, that is added to it, so that fewer
# entries than codes still have one answer, close to that of least norm.
_RIDGE = 1e4
_CORRECTED = 3  # solutions with it, each of what the ones before have left
_CAP = 60  # steps of the exact fit; a few are the rule
_WEIGHTED = 3  # of which the first are of reweighted least squares
_HALVINGS = 30  # of a step that is too long, or doublings
_FLAT = 0.1  # of the slope may be left at the end of a step
_STILL = 1e-9  # of the knee that is no way to go
_THIN = 16  # blocks of which one is looked at first, where there are many
_ROUNDS = 10  # of rejection
_BELIEVED = 0.3  # share of the entries that a fit has to keep
LISTEN = 16  # samples that only tell the noise level, before any changes the basis
_MEMORY = 5  # place in the state of the noise level from where on theirs are kept
# Share of residuals that are below the noise level at least: of normal noise a third, and of the
# clean ones among many outliers nearly all.
_LOW = 0.3
_USUAL = 0.5  # share of the usual number of kept entries below which a fit is not believed
_FLOOR = 1e-8  # share of |w|^2 below which no pivot falls, however long nothing came its way


@njit(cache=True, nogil=True, error_model="numpy")
def _seen(seen: Any, index: Any) -> Any:
    """List the places that were seen; return their number."""
    count = 0
    for i in range(seen.size):
        index[count] = i
        count += seen[i]
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def _gather(values: Any, U: Any, index: Any, count: Any, x: Any, mask: Any, room: Any) -> Any:
    """Return the rows of U that are listed, in blocks, and set x to the values there.

    Without gaps that is U itself. Where x has no value, the mask is 0 and the row is zero.
    """
    blocks = (count + LANES - 1) // LANES
    if count == values.size:
        x[:count] = values
        atoms = U
    else:
        atoms = room[:blocks]
        atoms[blocks - 1] = 0.0
        for place in range(count):
            i = index[place]
            x[place] = values[i]
            b, lane, source, target = i // LANES, i % LANES, place // LANES, place % LANES
            for k in range(U.shape[1]):
                atoms[source, k, target] = U[b, k, lane]
    mask[:count] = 1.0
    mask[count : blocks * LANES] = 0.0
    x[count : blocks * LANES] = 0.0
    return atoms


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _subtract(U: Any, w: Any, mask: Any, r: Any) -> Any:
    """Take U w off r, where the mask is 1."""
    K = U.shape[1]
    row = np.empty(LANES, dtype=U.dtype)
    for b in range(U.shape[0]):
        start = b * LANES
        for lane in range(LANES):
            row[lane] = 0.0
        for k in range(K):
            step, atoms = w[k], U[b, k]
            for lane in range(LANES):
                row[lane] += step * atoms[lane]
        for lane in range(LANES):
            r[start + lane] -= mask[start + lane] * row[lane]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _normal_equations(U: Any, weight: Any, y: Any, G: Any, g: Any) -> Any:
    """Set G = sum_i weight_i u_i u_i' (its lower half) and g = sum_i y_i u_i."""
    K = U.shape[1]
    G[:] = 0.0
    g[:] = 0.0
    scaled = np.empty(LANES, dtype=U.dtype)
    for b in range(U.shape[0]):
        start = b * LANES
        for k in range(K):
            atoms = U[b, k]
            total = U.dtype.type(0.0)
            for lane in range(LANES):
                scaled[lane] = weight[start + lane] * atoms[lane]
                total += y[start + lane] * atoms[lane]
            g[k] += total
            for m in range(k + 1):
                other = U[b, m]
                total = U.dtype.type(0.0)
                for lane in range(LANES):
                    total += scaled[lane] * other[lane]
                G[k, m] += total


@njit(cache=True, nogil=True, error_model="numpy")
def _substitute(G: Any, g: Any) -> Any:
    """Overwrite g by the solution of L diag(d) L' x = g, where G has L below its diagonal d."""
    K = g.size
    for i in range(K):
        for k in range(i):
            g[i] -= G[i, k] * g[k]
    for i in range(K):
        g[i] /= G[i, i]
    for i in range(K - 1, -1, -1):
        for k in range(i + 1, K):
            g[i] -= G[k, i] * g[k]


@njit(cache=True, nogil=True, error_model="numpy")
def _solve(G: Any, g: Any, ridge: Any, x: Any) -> Any:
    """Solve G x = g; with a singular G close to the solution of least norm.

    It is done with a ridge, a share of the mean diagonal, whose effect on x is then taken off:
    a bias, however small, would add up in a basis that codes are found with again and again.
    G is overwritten by its factors, and g.
    """
    K = g.size
    x[:] = 0.0
    mean = 0.0
    for k in range(K):
        mean += G[k, k] / K
    if not mean > 0.0:
        return
    for k in range(K):
        G[k, k] += ridge * mean
    for j in range(K):
        for k in range(j):
            G[j, j] -= G[j, k] * G[j, k] * G[k, k]
        G[j, j] = max(G[j, j], 0.5 * ridge * mean)
        for i in range(j + 1, K):
            for k in range(j):
                G[i, j] -= G[i, k] * G[j, k] * G[k, k]
            G[i, j] /= G[j, j]
    for _ in range(_CORRECTED):
        _substitute(G, g)
        for k in range(K):
            x[k] += g[k]
            g[k] *= ridge * mean  # what the ridge has left of g


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _classify(r: Any, knee: Any, kind: Any, clipped: Any) -> Any:
    """Set kind to the side of the knees that r is on, and r clipped; return how many changed."""
    changes = 0
    for i in range(r.size):
        value = r[i]
        beyond = abs(value) > knee
        now = (1 if value > 0.0 else -1) if beyond else 0
        clipped[i] = now * knee if beyond else value
        changes += now != kind[i]
        kind[i] = now
    return changes


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _slope(r: Any, trial: Any, share: Any, knee: Any) -> Any:
    """Return the slope of Huber's function on the way from r to trial, at a share of it."""
    total = 0.0
    for i in range(r.size):
        way = trial[i] - r[i]
        value = r[i] + share * way
        total += min(max(value, -knee), knee) * way
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _good_share(r: Any, trial: Any, knee: Any) -> Any:
    """Return how much of the way from r to trial to go, so that Huber's function falls well.

    All of it, if the slope at the end is much less steep than at the beginning; else less or
    more, until it is.
    """
    low, high = 0.0, 1.0
    below, above = _slope(r, trial, low, knee), _slope(r, trial, high, knee)
    steep = _FLAT * abs(below)
    for _ in range(_HALVINGS):
        if not above < -steep:
            break
        low, below, high = high, above, 2.0 * high
        above = _slope(r, trial, high, knee)
    share, slope = high, above
    for k in range(2 * _HALVINGS):
        if abs(slope) <= steep:
            break
        # the slope rises by straight pieces: a secant has its zero, once both ends are on one
        share = 0.5 * (low + high) if k % 2 else low - below * (high - low) / (above - below)
        slope = _slope(r, trial, share, knee)
        if slope < 0.0:
            low, below = share, slope
        else:
            high, above = share, slope
    return share


@njit(cache=True, nogil=True, error_model="numpy")
def _near(r: Any, trial: Any, distance: Any) -> Any:
    """Tell whether no entry of r moves by more than a distance."""
    farthest = 0.0
    for i in range(r.size):
        farthest = max(farthest, abs(trial[i] - r[i]))
    return farthest <= distance


@njit(cache=True, nogil=True, error_model="numpy")
def _huber(
    U: Any, x: Any, mask: Any, knee: Any, ridge: Any, cap: Any, w: Any, r: Any, desk: Any
) -> Any:
    """Minimise sum_i huber(x_i - u_i' w; knee) over the entries of the mask, from w as it comes.

    It is min_s |x - U w - s|^2 / 2 + knee |s|_1. Newton's step is exact once it leaves every
    entry on its side of the knees; before, it is made shorter or longer until it descends well.
    The first steps, and those without an entry within the knees, are of reweighted least
    squares. Return whether the minimum was reached within the cap on steps.
    """
    K = w.size
    n = x.size
    G, g, delta = np.empty((K, K)), np.empty(K), np.empty(K)
    kind = np.full(n, 2, dtype=np.int8)
    clipped, weight, trial = desk[0, :n], desk[1, :n], desk[2, :n]
    begun = np.any(w != 0.0)
    r[:] = x
    _subtract(U, w, mask, r)
    _classify(r, knee, kind, clipped)
    for step in range(cap):
        inside = 0
        for i in range(n):
            weight[i] = mask[i] if kind[i] == 0 else 0.0
            inside += weight[i] != 0.0
        careful = step < _WEIGHTED and not begun
        newton = inside > 0 and not careful
        if not newton:
            for i in range(n):
                if kind[i] != 0:
                    weight[i] = knee / abs(r[i])
        _normal_equations(U, weight, clipped, G, g)
        _solve(G, g, ridge, delta)
        trial[:] = r
        _subtract(U, delta, mask, trial)
        changes = _classify(trial, knee, kind, clipped)
        still = changes == 0 and (newton or _near(r, trial, _STILL * knee))
        share = 1.0 if careful or still else _good_share(r, trial, knee)
        if share != 1.0:
            for i in range(n):
                trial[i] = r[i] + share * (trial[i] - r[i])
            _classify(trial, knee, kind, clipped)
        r[:] = trial
        for k in range(K):
            w[k] += share * delta[k]
        if still and not careful:
            return True
    return False


@njit(cache=True, nogil=True, error_model="numpy")
def _sketch(U: Any, x: Any, mask: Any, knee: Any, ridge: Any, w: Any, desk: Any) -> Any:
    """Set w to the minimum of Huber's function over a few of many blocks, to begin with."""
    blocks = U.shape[0] // _THIN
    if blocks < 2:
        return
    n = blocks * LANES
    atoms = np.empty((blocks, U.shape[1], LANES), U.dtype)
    values, there, r = np.empty((3, n), U.dtype)
    for b in range(blocks):
        atoms[b] = U[b * _THIN]
        here, source = b * LANES, b * _THIN * LANES
        values[here : here + LANES] = x[source : source + LANES]
        there[here : here + LANES] = mask[source : source + LANES]
    _huber(atoms, values, there, knee, ridge, _CAP, w, r, desk)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _keep(r: Any, mask: Any, limit: Any, clean: Any) -> Any:
    """Set clean to the entries with |r| up to the limit; return their number and the changes."""
    count = 0
    changes = 0
    for i in range(r.size):
        now = mask[i] if abs(r[i]) <= limit else 0.0
        count += now != 0.0
        changes += now != clean[i]
        clean[i] = now
    return count, changes


@njit(cache=True, nogil=True, error_model="numpy")
def _refit(U: Any, x: Any, mask: Any, clean: Any, ridge: Any, w: Any, r: Any, desk: Any) -> Any:
    """Set w to the least-squares codes of the clean entries, and r to the residual of all."""
    K = w.size
    G, g, y = np.empty((K, K)), np.empty(K), desk[0, : x.size]
    for i in range(x.size):
        y[i] = clean[i] * x[i]
    _normal_equations(U, clean, y, G, g)
    _solve(G, g, ridge, w)
    r[:] = x
    _subtract(U, w, mask, r)


@njit(cache=True, nogil=True, error_model="numpy")
def _reject(
    U: Any, x: Any, mask: Any, limit: Any, least: Any, ridge: Any,
    w: Any, r: Any, clean: Any, desk: Any,
) -> Any:  # fmt: skip
    """Fit the entries within the limit, until these stay the same; return their number.

    If fewer than ``least`` are left, few entries fit one another by chance: then the fit is left
    as it came, which all entries had a say in.
    """
    first = w.copy()
    count, _ = _keep(r, mask, limit, clean)
    for _ in range(_ROUNDS):
        if count < least:
            w[:] = first
            r[:] = x
            _subtract(U, w, mask, r)
            count, _ = _keep(r, mask, limit, clean)
            break
        _refit(U, x, mask, clean, ridge, w, r, desk)
        count, changes = _keep(r, mask, limit, clean)
        if changes == 0:
            break
    return count


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _squares(r: Any, weight: Any) -> Any:
    total = 0.0
    for i in range(r.size):
        total += weight[i] * r[i] * r[i]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _quantiles(r: Any, count: Any, K: Any) -> Any:
    """Return median and low quantile of |r| without its K smallest, which a fit may make zero.

    Of many entries about 1000, evenly spread, have to do.
    """
    stride = max(count // 1024, 1)
    sizes = np.sort(np.abs(r[:count:stride]))
    zeros = min(K, sizes.size - 1)
    rest = sizes.size - zeros
    return sizes[zeros + rest // 2], sizes[zeros + int(_LOW * rest)]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _recurse(
    U: Any, D: Any, L: Any, w: Any, x: Any, clean: Any, forgetting: Any, floor: Any, step: Any
) -> Any:
    """Set H = forgetting H + w w' and u += step (x - w'u) H^-1 w in each row of the clean ones.

    Rows that are not clean forget as well. The factors follow Gill, Golub, Murray and Saunders
    (1974), method C1, from which the gain H^-1 w is one back substitution away: with
    H+ = L+ D+ L+', the numbers b of that method are D+^-1 L+^-1 w.
    """
    K = w.size
    z, gain = np.empty((K, LANES), dtype=U.dtype), np.empty((K, LANES), dtype=U.dtype)
    left, error = np.empty(LANES, dtype=U.dtype), np.empty(LANES, dtype=U.dtype)
    one = U.dtype.type(1.0)
    for b in range(U.shape[0]):
        start = b * LANES
        for lane in range(LANES):
            left[lane] = one
            error[lane] = x[start + lane]
        for k in range(K):
            weight, atoms = w[k], U[b, k]
            for lane in range(LANES):
                z[k, lane] = weight * clean[start + lane]
                error[lane] -= weight * atoms[lane]
        for j in range(K):
            diagonal = D[b, j]
            for lane in range(LANES):
                p = z[j, lane]
                old = max(forgetting * diagonal[lane], floor)
                new = old + left[lane] * p * p
                inverse = one / new
                gain[j, lane] = left[lane] * p * inverse
                left[lane] *= old * inverse
                diagonal[lane] = new
            for r in range(j + 1, K):
                column = L[b, r * (r - 1) // 2 + j]
                for lane in range(LANES):
                    rest = z[r, lane] - z[j, lane] * column[lane]
                    z[r, lane] = rest
                    column[lane] += gain[j, lane] * rest
        for j in range(K - 1, -1, -1):
            for r in range(j + 1, K):
                column = L[b, r * (r - 1) // 2 + j]
                for lane in range(LANES):
                    gain[j, lane] -= column[lane] * gain[r, lane]
        for lane in range(LANES):
            error[lane] *= step * clean[start + lane]
        for k in range(K):
            atoms = U[b, k]
            for lane in range(LANES):
                atoms[lane] += error[lane] * gain[k, lane]


@njit(cache=True, nogil=True, error_model="numpy")
def _admm(U: Any, x: Any, mask: Any, knee: Any, ridge: Any, admm: Any, w: Any, r: Any) -> Any:
    """Minimise what :func:`_huber` does by Algorithm 2 of [T], as it is meant, from w = 0.

    ``admm`` holds rho1, rho2, Huber's knee in (22), the absolute and the relative tolerance,
    the last two but one in the units of the knee, and the largest number of rounds. Return
    whether the stopping rule was met.
    """
    n, K = x.size, w.size
    rho1, rho2, fit_knee, absolute = admm[0], admm[1], admm[2] * knee, admm[3] * knee
    G, g = np.empty((K, K)), np.empty(K)
    s, dual, e, target = np.zeros(n), np.zeros(n), np.zeros(n), np.empty_like(x)
    w[:] = 0.0
    r[:] = x
    for _ in range(int(admm[5])):
        change = size = count = 0.0
        for i in range(n):
            u = (r[i] + rho1 * (s[i] - dual[i])) / (1.0 + rho1)  # [T] (15), its sign corrected
            both = u + dual[i]
            shrunk = np.sign(both) * max(abs(both) - knee / rho1, 0.0)  # [T] (16)
            dual[i] = both - shrunk  # [T] Algorithm 2, line 10
            change += (shrunk - s[i]) ** 2
            size += dual[i] ** 2
            count += mask[i]
            s[i] = shrunk
            target[i] = mask[i] * (x[i] - s[i] + e[i])
        _normal_equations(U, mask, target, G, g)
        _solve(G, g, ridge, w)  # [T] (20)
        r[:] = x
        _subtract(U, w, mask, r)
        for i in range(n):
            z = s[i] - r[i]  # [T] (21)
            shrunk = np.sign(z) * max(abs(z) - fit_knee * (1.0 + 1.0 / rho2), 0.0)
            e[i] = mask[i] * (rho2 * z + shrunk) / (1.0 + rho2)  # [T] (22)
        if sqrt(change) < sqrt(count) * absolute + admm[4] * rho1 * sqrt(size):
            return True
    return False


@njit(cache=True, nogil=True, error_model="numpy")
def _few(count: Any, K: Any) -> Any:
    """Tell whether so few entries were seen that no outlier can be told among them."""
    return count < 2 * K + 2


@njit(cache=True, nogil=True, error_model="numpy")
def _fit(
    U: Any, x: Any, mask: Any, count: Any, scale: Any, rule: Any, admm: Any,
    w: Any, r: Any, clean: Any, desk: Any,
) -> Any:  # fmt: skip
    """Fit a sample, and reject what lies beyond the limit of the rule.

    A scale of 0 is not known yet, and is taken from the sample itself. Where only few entries
    were seen, all are kept or none. Return the scale, a median and a low residual before anything
    is rejected, how many more entries were kept than there are codes, and whether the convex
    problem was solved.
    """
    K, ridge = w.size, _RIDGE * np.finfo(U.dtype).eps
    known = scale > 0.0
    w[:] = 0.0
    solved = True
    if _few(count, K):
        _refit(U, x, mask, mask, ridge, w, r, desk)
    else:
        knee = U.dtype.type(rule[0] * scale if known else 1e-2 * _quantiles(x, count, 0)[0])
        if admm.size > 0:
            solved = _admm(U, x, mask, knee, ridge, admm, w, r)
        else:
            _sketch(U, x, mask, knee, ridge, w, desk)
            solved = _huber(U, x, mask, knee, ridge, _CAP, w, r, desk)
    middle, low = _quantiles(r, count, K)
    if not known:
        scale = 1.4826 * middle
    limit = rule[1] * scale
    if not _few(count, K):
        least = max(K + 1, int(_BELIEVED * count))
        kept = _reject(U, x, mask, U.dtype.type(limit), least, ridge, w, r, clean, desk)
    elif _squares(r, mask) <= limit * limit * (count - K):
        clean[:] = mask
        kept = count
    else:
        clean[:] = 0.0
        kept = 0
    return scale, middle, low, kept - K, solved


@njit(cache=True, nogil=True, error_model="numpy")
def _size(w: Any) -> Any:
    total = 0.0
    for k in range(w.size):
        total += w[k] * w[k]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _listen(noise: Any, scale: Any, spare: Any) -> Any:
    """Keep the scale that one of the first samples has by itself; their median is the level."""
    heard = int(noise[2])
    noise[_MEMORY + heard] = scale
    noise[0] = np.median(noise[_MEMORY : _MEMORY + heard + 1]) ** 2
    noise[1] += max(spare, 1)


@njit(cache=True, nogil=True, error_model="numpy")
def _hear(noise: Any, squares: Any, low: Any, spare: Any, rule: Any) -> Any:
    """Let the noise level follow the residual of what was kept, ``spare`` entries beyond codes.

    Logarithms are averaged, because one sample that is all outliers would rule a mean of
    variances for long. A sample that nothing fits says that the level is too low, and so does
    one whose ``low`` residuals are above it: else a level that leaves out much would go on to
    leave out more. With an infinite weight the level stays.
    """
    level = noise[0]
    if spare > 0 and squares > 0.0:
        # the mean logarithm of chi^2 / spare, to the second order
        bias = 1.0 / spare + 1.0 / (3.0 * spare * spare)
        level = squares / (spare * rule[2]) * exp(bias)
    elif spare <= 0:
        level = 4.0 * noise[0]
    level = max(level, low * low)
    weight = max(spare, 1)
    noise[1] = rule[3] * noise[1] + weight
    if level > 0.0 and noise[0] > 0.0:
        noise[0] *= exp(log(level / noise[0]) * (weight / noise[1]))


@njit(cache=True, nogil=True, error_model="numpy")
def _believe(noise: Any, spare: Any, count: Any, w: Any, rule: Any) -> Any:
    """Return whether the basis may learn from a sample that kept ``spare`` entries beyond codes.

    It may not while the noise level is not known, and not from one that keeps less than half of
    what is usual: that is a wrong fit of a few entries.
    """
    listening = noise[2] < LISTEN and noise[1] != np.inf
    noise[2] += 1.0
    rate = max(1.0 / noise[2], 1.0 - rule[3])
    share = max(spare, 0) / (count - w.size)
    usual = share >= _USUAL * noise[4]
    size = _size(w)
    if usual and size > 0.0:
        noise[3] = size if noise[3] == 0.0 else noise[3] * exp(log(size / noise[3]) * rate)
    noise[4] += (share - noise[4]) * rate
    return spare > 0 and usual and not listening


@njit(cache=True, nogil=True, error_model="numpy")
def _scatter(index: Any, count: Any, x: Any, clean: Any, whole: Any, kept: Any) -> Any:
    """Put x and the clean marks of the listed places where they belong, zero elsewhere."""
    whole[:] = 0.0
    kept[:] = 0.0
    for place in range(count):
        whole[index[place]] = x[place]
        kept[index[place]] = clean[place]


@njit(cache=True, nogil=True, error_model="numpy")
def _learn(
    U: Any, D: Any, L: Any, w: Any, x: Any, clean: Any, squares: Any, typical: Any, motion: Any
) -> Any:
    """Take a sample into the basis: recursive least squares with the step of the motion.

    ``motion`` holds the forgetting factor, the first weight of the basis in samples, and the
    sine above which the adaptive step is 1 (0: it always is). A sample has the ``typical``
    |w|^2, or its own if that is 0.
    """
    size = _size(w)
    if not size > 0.0:
        return
    if D[0, 0, 0] == 0.0:
        D[:] = motion[1] * (typical if typical > 0.0 else size) / w.size
    sine = sqrt(squares / (squares + size))  # [T] (26)
    step = sine if sine <= motion[2] else 1.0
    kind = U.dtype.type
    _recurse(U, D, L, w, x, clean, kind(motion[0]), kind(_FLOOR * size), kind(step))


@njit(cache=True, nogil=True, error_model="numpy")
def track_least_squares(
    X: Any, seen: Any, U: Any, D: Any, L: Any, motion: Any, H: Any, error: Any
) -> Any:
    """Follow the rows of X in order, with codes by least squares on the entries seen.

    U, D and L are changed; codes and median residuals, with the basis before each row, go to H
    and ``error``.
    """
    K, n = U.shape[1], U.shape[0] * LANES
    ridge = _RIDGE * np.finfo(U.dtype).eps
    index, room, w = np.empty(n, np.intp), np.empty_like(U), np.empty(K, U.dtype)
    x, mask, r, whole, kept = np.empty((5, n), U.dtype)
    desk = np.empty((1, n), U.dtype)
    for t in range(X.shape[0]):
        count = _seen(seen[t], index)
        if count == 0:
            H[t] = 0.0
            error[t] = np.nan
            continue
        atoms = _gather(X[t], U, index, count, x, mask, room)
        m = atoms.shape[0] * LANES
        _refit(atoms, x[:m], mask[:m], mask[:m], ridge, w, r[:m], desk)
        H[t] = w
        error[t] = _quantiles(r, count, K)[0] if count > K else np.nan
        _scatter(index, count, x, mask, whole, kept)
        _learn(U, D, L, w, whole, kept, _squares(r[:m], mask), 0.0, motion)


@njit(cache=True, nogil=True, error_model="numpy")
def track_rejecting(
    X: Any, seen: Any, U: Any, D: Any, L: Any, noise: Any, motion: Any, rule: Any, admm: Any,
    H: Any, R: Any, error: Any,
) -> Any:  # fmt: skip
    """Follow the rows of X in order, leaving out the entries that do not fit.

    ``rule`` holds the knee and the limit in units of the noise level, the variance of a normal
    number of variance 1 that is cut at the limit, and what a row keeps of the noise level's
    weight. ``noise`` holds the variance and the weight behind it, the number of samples, the
    geometric mean of |w|^2, the mean share kept, and the scales of the first samples. U, D, L
    and ``noise`` are changed.
    """
    K, n = U.shape[1], U.shape[0] * LANES
    index, room, w = np.empty(n, np.intp), np.empty_like(U), np.empty(K, U.dtype)
    x, mask, r, clean, whole, kept = np.empty((6, n), U.dtype)
    desk = np.empty((3, n), U.dtype)
    for t in range(X.shape[0]):
        count = _seen(seen[t], index)
        if count == 0:
            H[t] = 0.0
            R[t] = 0.0
            error[t] = np.nan
            continue
        atoms = _gather(X[t], U, index, count, x, mask, room)
        m = atoms.shape[0] * LANES
        listening = noise[2] < LISTEN and noise[1] != np.inf
        known = 0.0 if listening else sqrt(noise[0])
        scale, middle, low, spare, _ = _fit(
            atoms, x[:m], mask[:m], count, known, rule, admm, w, r[:m], clean[:m], desk
        )
        H[t] = w
        R[t] = 0.0
        for place in range(count):
            R[t, index[place]] = r[place] * (mask[place] - clean[place])
        error[t] = middle if count > K else np.nan
        if count <= K:
            continue
        squares = _squares(r[:m], clean)
        if listening:
            _listen(noise, scale, spare)
        else:
            _hear(noise, squares, low, spare, rule)
        if _believe(noise, spare, count, w, rule):
            _scatter(index, count, x, clean, whole, kept)
            _learn(U, D, L, w, whole, kept, squares, noise[3], motion)


@njit(cache=True, nogil=True, error_model="numpy")
def least_squares_codes(X: Any, seen: Any, U: Any, H: Any) -> Any:
    """Set the rows of H to the least-squares codes of the rows of X on the entries seen."""
    n = U.shape[0] * LANES
    ridge = _RIDGE * np.finfo(U.dtype).eps
    index, room, w = np.empty(n, np.intp), np.empty_like(U), np.empty(U.shape[1], U.dtype)
    x, mask, r = np.empty((3, n), U.dtype)
    desk = np.empty((3, n), U.dtype)
    for t in range(X.shape[0]):
        count = _seen(seen[t], index)
        w[:] = 0.0
        if count > 0:
            atoms = _gather(X[t], U, index, count, x, mask, room)
            m = atoms.shape[0] * LANES
            _refit(atoms, x[:m], mask[:m], mask[:m], ridge, w, r[:m], desk)
        H[t] = w


@njit(cache=True, nogil=True, error_model="numpy")
def huber_codes(X: Any, seen: Any, U: Any, knee: Any, cap: Any, H: Any, solved: Any) -> Any:
    """Take the rows of H to the minimum of the sum of huber(x_i - u_i' h; knee) over i seen.

    Where only few entries were seen it is that of the sum of squares.
    """
    n = U.shape[0] * LANES
    ridge = _RIDGE * np.finfo(U.dtype).eps
    index, room, w = np.empty(n, np.intp), np.empty_like(U), np.empty(U.shape[1], U.dtype)
    x, mask, r = np.empty((3, n), U.dtype)
    desk = np.empty((3, n), U.dtype)
    for t in range(X.shape[0]):
        count = _seen(seen[t], index)
        w[:] = 0.0
        solved[t] = True
        if count > 0:
            w[:] = H[t]
            atoms = _gather(X[t], U, index, count, x, mask, room)
            m = atoms.shape[0] * LANES
            bend = np.inf if _few(count, w.size) else knee
            solved[t] = _huber(
                atoms, x[:m], mask[:m], U.dtype.type(bend), ridge, cap, w, r[:m], desk
            )
        H[t] = w


@njit(cache=True, nogil=True, error_model="numpy")
def rejecting_codes(
    X: Any, seen: Any, U: Any, scale: Any, rule: Any, admm: Any, H: Any, R: Any, solved: Any
) -> Any:
    """Set H and R to codes and outliers of the rows of X, as :func:`track_rejecting` finds them.

    With a scale of 0 each row has one of its own.
    """
    n = U.shape[0] * LANES
    index, room, w = np.empty(n, np.intp), np.empty_like(U), np.empty(U.shape[1], U.dtype)
    x, mask, r, clean = np.empty((4, n), U.dtype)
    desk = np.empty((3, n), U.dtype)
    for t in range(X.shape[0]):
        count = _seen(seen[t], index)
        w[:] = 0.0
        R[t] = 0.0
        solved[t] = True
        if count > 0:
            atoms = _gather(X[t], U, index, count, x, mask, room)
            m = atoms.shape[0] * LANES
            _, _, _, _, solved[t] = _fit(
                atoms, x[:m], mask[:m], count, scale, rule, admm, w, r[:m], clean[:m], desk
            )
        for place in range(count):
            R[t, index[place]] = r[place] * (mask[place] - clean[place])
        H[t] = w
