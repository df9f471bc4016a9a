"""Row-wise recursive least squares, and codes of a sample with and without outliers.

Rows of the basis stand in blocks as long as a :class:`~thalweg._kernels.lanes.Vector`, entry by
entry: ``U[b, k, lane]`` is entry k of row ``lanes * b + lane``. The innermost loops are over
vectors, and do the same for all rows of a block. Rows beyond the last are zero, and so are their
values; they take part, and change nothing. Each row has a symmetric matrix H = L diag(d) L' of
its own, of which the factors are kept, packed: the entry (r, j), r > j, of the unit triangle L is
``L[b, r (r - 1) / 2 + j, lane]``. Adding w w' to H through its factors keeps it positive definite
whatever the rounding.
"""

from math import exp, log, sqrt
from typing import Any

import numpy as np
from numba import njit

from thalweg._kernels.lanes import above, fill, larger, load, store, total

# Share of the mean diagonal, in units of the rounding error, that is added to it, so that fewer
# entries than codes still have one answer, close to that of least norm.
_RIDGE = 1e4
# The same of what so many rows usually tell of a code: rows that are rounding tell nothing.
_ROUNDING = 1e2
_CORRECTED = 3  # solutions with it, each of what the ones before have left
_TEAM = 8  # blocks whose products are added up in lanes before they are summed
_FEW = 16  # one entry of so many is few enough to correct a matrix instead of making it anew
_CAP = 60  # steps of the exact fit; a few are the rule
_WEIGHTED = 3  # of which the first are of reweighted least squares
_HALVINGS = 30  # of a step that is too long, or doublings
_FLAT = 0.1  # of the slope may be left at the end of a step
_STILL = 1e-9  # of the knee that is no way to go
_ROUGH = 0.1  # of the error of codes by noise that may be added to it
_THIN = 16  # blocks of which one is looked at first, where there are many
_MANY = 32  # blocks of these that are worth it
_ROUNDS = 10  # of rejection
_SMALL = 1e-16  # of a squared limit that a step by the prior has to be worth
# Share of what so many rows usually tell of a code that the prior is at most: codes that entries
# tell better are theirs.
_HARDLY = 0.1
_LIKELY = 16.0  # times the usual |w|^2 that codes of entries have at most that do not fit
_BELIEVED = 0.3  # share of the entries that a fit has to keep
LISTEN = 16  # samples that only tell the noise level, before any changes the basis
_MEMORY = 5  # place in the state of the noise level from where on theirs are kept
# Share of residuals that are below the noise level at least: of normal noise a third, and of the
# clean ones among many outliers nearly all.
_LOW = 0.3
_USUAL = 0.5  # share of the usual number of kept entries below which a fit is not believed
_FLOOR = 1e-8  # share of |w|^2 below which no pivot falls, however long nothing came its way


@njit(cache=True, nogil=True, error_model="numpy")
def _seen(observed: Any, index: Any) -> Any:
    """Return how many places were observed; list them, unless all were."""
    count = 0
    for i in range(observed.size):
        count += observed[i]
    if count == observed.size:
        return count
    place = 0
    for i in range(observed.size):
        index[place] = i
        place += observed[i]
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def _gather(values: Any, U: Any, index: Any, count: Any, x: Any, room: Any) -> Any:
    """Return the rows of U that are listed, in blocks, and set x to the values there.

    Without gaps that is U itself.
    """
    lanes = U.shape[2]
    blocks = (count + lanes - 1) // lanes
    x[count : blocks * lanes] = 0.0
    if count == values.size:
        x[:count] = values
        return U
    atoms = room[:blocks]
    atoms[blocks - 1] = 0.0
    for place in range(count):
        i = index[place]
        x[place] = values[i]
        b, lane, source, target = i // lanes, i % lanes, place // lanes, place % lanes
        for k in range(U.shape[1]):
            atoms[source, k, target] = U[b, k, lane]
    return atoms


@njit(cache=True, nogil=True, error_model="numpy")
def _advance_team(
    U: Any, first: Any, size: Any, delta: Any, r: Any, knee: Any, edge: Any,
    trial: Any, side: Any, psi: Any, g: Any,
) -> Any:  # fmt: skip
    """Do what :func:`_advance` does for a few blocks, and add to g."""
    K, lanes = U.shape[1], U.shape[2]
    elsewhere, beyond = fill(0.0, U), fill(0.0, U)
    for b in range(size):
        start, row = (first + b) * lanes, (first + b) * K * lanes
        value = load(r, start)
        for k in range(K):
            value -= delta[k] * load(U, row + k * lanes)
        now = above(value, knee) - above(-knee, value)
        moved, out = now - load(side, start), now * now
        elsewhere += moved * moved
        beyond += out
        store(side, start, now)
        store(trial, start, value)
        store(psi, b * lanes, (1.0 - out) * value + edge * now)
    for k in range(K):
        products = fill(0.0, U)
        for b in range(size):
            products += load(psi, b * lanes) * load(U, ((first + b) * K + k) * lanes)
        g[k] += total(products)
    return total(elsewhere), total(beyond)


@njit(cache=True, nogil=True, error_model="numpy")
def _gram_team(U: Any, first: Any, size: Any, weight: Any, even: Any, odd: Any, G: Any) -> Any:
    """Do what :func:`_gram` does for a few blocks, and add to G."""
    K, lanes = U.shape[1], U.shape[2]
    for k in range(0, K, 2):
        k1 = min(k + 1, K - 1)
        for b in range(size):
            row, scale = (first + b) * K, load(weight, (first + b) * lanes)
            store(even, b * lanes, scale * load(U, (row + k) * lanes))
            store(odd, b * lanes, scale * load(U, (row + k1) * lanes))
        for m in range(0, k + 1, 2):
            m1 = min(m + 1, K - 1)
            aa, ab, ba, bb = fill(0.0, U), fill(0.0, U), fill(0.0, U), fill(0.0, U)
            for b in range(size):
                row, x, y = (first + b) * K, load(even, b * lanes), load(odd, b * lanes)
                u, v = load(U, (row + m) * lanes), load(U, (row + m1) * lanes)
                aa += x * u
                ab += x * v
                ba += y * u
                bb += y * v
            G[k, m] += total(aa)
            if m1 > m:
                G[k, m1] += total(ab)
            if k1 > k:
                G[k1, m] += total(ba)
                if m1 > m:
                    G[k1, m1] += total(bb)


@njit(cache=True, nogil=True, error_model="numpy")
def _advance(
    U: Any, delta: Any, r: Any, knee: Any, edge: Any, trial: Any, side: Any, g: Any
) -> Any:
    """Set trial = r - U delta, and g = U' psi(trial); return how many are elsewhere, and beyond.

    psi is the value within the knees, and +-edge beyond them: the derivative of Huber's function
    with the edge at the knee, and that of the sum of squares of what is within with the edge 0.
    ``side`` is -1, 0 or 1, and is compared with what it was.
    """
    psi = np.empty(_TEAM * U.shape[2], U.dtype)
    elsewhere = beyond = 0.0
    g[:] = 0.0
    for first in range(0, U.shape[0], _TEAM):
        size = min(_TEAM, U.shape[0] - first)
        moved, out = _advance_team(U, first, size, delta, r, knee, edge, trial, side, psi, g)
        elsewhere += moved
        beyond += out
    return elsewhere, int(beyond)


@njit(cache=True, nogil=True, error_model="numpy")
def _gram(U: Any, weight: Any, G: Any) -> Any:
    """Set G = sum_i weight_i u_i u_i', its lower half; two times two entries at a time."""
    even, odd = np.empty(_TEAM * U.shape[2], U.dtype), np.empty(_TEAM * U.shape[2], U.dtype)
    G[:] = 0.0
    for first in range(0, U.shape[0], _TEAM):
        _gram_team(U, first, min(_TEAM, U.shape[0] - first), weight, even, odd, G)


@njit(cache=True, nogil=True, error_model="numpy")
def _arrive(
    U: Any, w: Any, x: Any, knee: Any, edge: Any, limit: Any, r: Any, side: Any, weight: Any,
    g: Any, G: Any,
) -> Any:  # fmt: skip
    """Do :func:`_advance` from x by w, and :func:`_gram` within the limit, in one pass over U.

    Return how many are elsewhere, beyond the knees, and beyond the limit, which the sides are of.
    """
    lanes = U.shape[2]
    psi, even = np.empty(_TEAM * lanes, U.dtype), np.empty(_TEAM * lanes, U.dtype)
    odd = np.empty(_TEAM * lanes, U.dtype)
    elsewhere, beyond, far = 0.0, 0.0, fill(0.0, U)
    g[:] = 0.0
    G[:] = 0.0
    for first in range(0, U.shape[0], _TEAM):
        size = min(_TEAM, U.shape[0] - first)
        moved, out = _advance_team(U, first, size, w, x, knee, edge, r, side, psi, g)
        elsewhere += moved
        beyond += out
        for start in range(first * lanes, (first + size) * lanes, lanes):
            value = load(r, start)
            now = above(value, limit) - above(-limit, value)
            store(side, start, now)
            store(weight, start, 1.0 - now * now)
            far += now * now
        _gram_team(U, first, size, weight, even, odd, G)
    return elsewhere, int(beyond), int(total(far))


@njit(cache=True, nogil=True, error_model="numpy")
def _exchange(U: Any, side: Any, weight: Any, G: Any) -> Any:
    """Correct G and its weights of 0 and 1 by the entries that came or went beyond the knees."""
    B, K, lanes = U.shape
    for b in range(B):
        start = b * lanes
        out = load(side, start)
        moved = 1.0 - out * out - load(weight, start)
        if total(moved * moved) == 0.0:
            continue
        for lane in range(lanes):
            now = 1.0 if side[start + lane] == 0.0 else 0.0
            change = now - weight[start + lane]
            if change != 0.0:
                weight[start + lane] = now
                for k in range(K):
                    scaled = change * U[b, k, lane]
                    for m in range(k + 1):
                        G[k, m] += scaled * U[b, m, lane]


@njit(cache=True, nogil=True, error_model="numpy")
def _within(side: Any, weight: Any) -> Any:
    """Set the weight to 1 within the knees, and to 0 beyond."""
    for i in range(side.size):
        weight[i] = 1.0 if side[i] == 0.0 else 0.0


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
def _solve(gram: Any, right: Any, ridge: Any, prior: Any, x: Any) -> Any:
    """Solve G x = g, of which G has its lower half; if it is singular close to least norm.

    It is done with a ridge, a share of the mean diagonal or the ``prior`` if that is more, whose
    effect on x is then taken off as far as G allows: a bias, however small, would add up in a
    basis that codes are found with again and again. An eigenvalue e of G is left with a share of
    1 - (ridge / (ridge + e))^3 of its solution.
    """
    G, g = gram.copy(), right.copy()
    K = g.size
    x[:] = 0.0
    mean = 0.0
    for k in range(K):
        mean += G[k, k] / K
    if not mean > 0.0:
        return
    added = max(ridge * mean, prior)
    for k in range(K):
        G[k, k] += added
    for j in range(K):
        for k in range(j):
            G[j, j] -= G[j, k] * G[j, k] * G[k, k]
        G[j, j] = max(G[j, j], 0.5 * added)
        for i in range(j + 1, K):
            for k in range(j):
                G[i, j] -= G[i, k] * G[j, k] * G[k, k]
            G[i, j] /= G[j, j]
    for _ in range(_CORRECTED):
        _substitute(G, g)
        for k in range(K):
            x[k] += g[k]
            g[k] *= added  # what the ridge has left of g


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
def _good_share(r: Any, trial: Any, knee: Any, first: Any, last: Any) -> Any:
    """Return how much of the way from r to trial to go, so that Huber's function falls well.

    All of it, if the slope at the end is much less steep than at the beginning; else less or
    more, until it is.
    """
    low, high, below, above = 0.0, 1.0, first, last
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
        # the slope rises by straight pieces: a secant has its zero, once both ends are on one; if
        # it does not rise, that is rounding
        even, rise = 0.5 * (low + high), above - below
        share = even if k % 2 or rise <= 0.0 else low - below * (high - low) / rise
        slope = _slope(r, trial, share, knee)
        if slope < 0.0:
            low, below = share, slope
        else:
            high, above = share, slope
    return share


@njit(cache=True, nogil=True, error_model="numpy")
def _size(w: Any) -> Any:
    total = 0.0
    for k in range(w.size):
        total += w[k] * w[k]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _most(vector: Any, like: Any) -> Any:
    """Return the largest of the lanes."""
    lanes = np.empty(like.shape[2], like.dtype)
    store(lanes, 0, vector)
    return lanes.max()


@njit(cache=True, nogil=True, error_model="numpy")
def _closest(r: Any, knee: Any, like: Any) -> Any:
    """Return how near the entry of r that is nearest to a knee is to it."""
    nearest = fill(-knee, like)
    for start in range(0, r.size, like.shape[2]):
        value = load(r, start)
        beyond = larger(value, -1.0 * value) - knee
        nearest = larger(nearest, -1.0 * larger(beyond, -1.0 * beyond))
    return -_most(nearest, like)


@njit(cache=True, nogil=True, error_model="numpy")
def _extent(U: Any) -> Any:
    """Return the norm of the longest row, and the sum of squares of all."""
    B, K, lanes = U.shape
    longest, energy = fill(0.0, U), 0.0
    for b in range(B):
        square = fill(0.0, U)
        for k in range(K - 1, -1, -1):  # as in the recursion, to the last bit
            entry = load(U, (b * K + k) * lanes)
            square += entry * entry
        longest = larger(longest, square)
        energy += total(square)
    return sqrt(_most(longest, U)), energy


@njit(cache=True, nogil=True, error_model="numpy")
def _bounded(prior: Any, extent: Any, count: Any, F: Any, U: Any) -> Any:
    """Return the prior within shares of what ``count`` of F rows usually tell of a code."""
    usual = extent[1] * count / (F * U.shape[1])
    return max(min(prior, _HARDLY * usual), _ROUNDING * np.finfo(U.dtype).eps * usual)


@njit(cache=True, nogil=True, error_model="numpy")
def _near(r: Any, trial: Any, distance: Any) -> Any:
    """Tell whether no entry of r moves by more than a distance."""
    farthest = 0.0
    for i in range(r.size):
        farthest = max(farthest, abs(trial[i] - r[i]))
    return farthest <= distance


@njit(cache=True, nogil=True, error_model="numpy")
def _huber(
    U: Any, x: Any, knee: Any, ridge: Any, reach: Any, cap: Any, count: Any,
    w: Any, G: Any, desk: Any,
) -> Any:  # fmt: skip
    """Minimise sum_i huber(x_i - u_i' w; knee) over the first ``count`` entries, from w.

    It is min_s |x - U w - s|^2 / 2 + knee |s|_1. Newton's step is exact once it leaves every
    entry on its side of the knees, which need not be looked at if it is shorter than any way to
    them, as it is with rows no longer than the ``reach``; before, it is made shorter or longer
    until it descends well. The first steps, and those without an entry within the knees, are of
    reweighted least squares. Return whether the minimum was reached within the cap on steps; G is
    the matrix of the last one.
    """
    K, n = w.size, x.size
    g, delta = np.empty(K), np.empty(K)
    side, weight, r, trial = desk[0, :n], desk[1, :n], desk[2, :n], desk[3, :n]
    begun = bool(np.any(w != 0.0))
    edge = knee if knee < np.inf else U.dtype.type(0.0)
    if begun:
        _, beyond, _ = _arrive(U, w, x, knee, edge, knee, r, side, weight, g, G)
    else:
        _, beyond = _advance(U, w, x, knee, edge, r, side, g)
    known, changes = begun, 0.0
    for step in range(cap):
        careful = step < _WEIGHTED and not begun
        newton = beyond < count and not careful
        if newton and known and changes * _FEW < n:
            _exchange(U, side, weight, G)
        else:
            _within(side, weight)
            if not newton:
                for i in range(n):
                    if side[i] != 0.0:
                        weight[i] = knee / abs(r[i])
            _gram(U, weight, G)
        known = newton
        _solve(G, g, ridge, 0.0, delta)
        if newton and reach * sqrt(_size(delta)) < _closest(r, knee, U):
            for k in range(K):
                w[k] += delta[k]
            return True
        first = -np.dot(delta, g)
        changes, beyond = _advance(U, delta, r, knee, edge, trial, side, g)
        still = changes == 0.0 and (newton or _near(r, trial, _STILL * knee))
        share = 1.0
        if not (careful or still):
            share = _good_share(r, trial, knee, first, -np.dot(delta, g))
        if share != 1.0:
            delta *= share
            _, beyond = _advance(U, delta, r, knee, edge, trial, side, g)
            changes = n
        r, trial = trial, r
        for k in range(K):
            w[k] += delta[k]
        if still and not careful:
            return True
    return False


@njit(cache=True, nogil=True, error_model="numpy")
def _sketch(U: Any, x: Any, knee: Any, ridge: Any, reach: Any, w: Any, desk: Any) -> Any:
    """Set w to the minimum of Huber's function over a few of many blocks, to begin with.

    Then it makes one step for all blocks, with the matrix of the few. Return how far that takes
    an entry at most: 0 if there are not so many blocks.
    """
    K, blocks, lanes = w.size, U.shape[0] // _THIN, U.shape[2]
    if blocks < _MANY:
        return 0.0
    n = blocks * lanes
    G, g, delta = np.empty((K, K)), np.empty(K), np.empty(K)
    atoms = np.empty((blocks, U.shape[1], lanes), U.dtype)
    values = np.empty(n, U.dtype)
    for b in range(blocks):
        atoms[b] = U[b * _THIN]
        here, source = b * lanes, b * _THIN * lanes
        values[here : here + lanes] = x[source : source + lanes]
    _huber(atoms, values, knee, ridge, reach, _CAP, n, w, G, desk)
    _advance(U, w, x, knee, knee, desk[2, : x.size], desk[0, : x.size], g)
    _solve(G, g, ridge, 0.0, delta)
    delta *= blocks / U.shape[0]
    for k in range(K):
        w[k] += delta[k]
    return reach * sqrt(_size(delta))


@njit(cache=True, nogil=True, error_model="numpy")
def _approach(
    U: Any, x: Any, knee: Any, limit: Any, ridge: Any, extent: Any, F: Any, count: Any,
    w: Any, r: Any, G: Any, delta: Any, desk: Any,
) -> Any:  # fmt: skip
    """Set w close to the minimum of Huber's function, if there are many blocks; tell if it is.

    From :func:`_sketch` it is one step, delta. Its matrix is that of the entries within the limit,
    times the share of them that is within the knees. r, sides and G are of the limit and of the
    codes before the step: :func:`_reject` goes on with them.

    The step has to leave an error far below what noise makes of codes. Entries go on to change
    sides at the rate of the step before, and each that does so adds its share to the error; and
    the matrix is wrong by what chance makes of so many entries.
    """
    K, side, weight, g = w.size, desk[0, : x.size], desk[1, : x.size], np.empty(w.size)
    before = _sketch(U, x, knee, ridge, extent[0], w, desk)
    if before == 0.0:
        return False
    moved, beyond, far = _arrive(U, w, x, knee, knee, limit, r, side, weight, g, G)
    share = 1.0 / max(count - beyond, 1)
    _solve(G, g, ridge, 0.0, delta)
    delta *= share * (count - far)
    size, chance = sqrt(_size(delta)), sqrt(share * K)
    turning = share * moved * extent[0] * size / before
    error = (turning + chance) * size * sqrt(extent[1] / (F * K))
    fine = error < _ROUGH * knee * chance
    if fine:
        for k in range(K):
            w[k] += delta[k]
    return fine


@njit(cache=True, nogil=True, error_model="numpy")
def _told(G: Any, w: Any) -> Any:
    """Return |w|^2 as far as the entries tell it: w'G w over the mean eigenvalue of G.

    Codes that the fit leaves open may be of any size, and have no weight in it.
    """
    K = w.size
    fitted = trace = 0.0
    for k in range(K):
        trace += G[k, k]
        fitted += G[k, k] * w[k] * w[k]
        for m in range(k):
            fitted += 2.0 * G[k, m] * w[k] * w[m]
    return max(fitted, 0.0) * K / trace if trace > 0.0 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _least_squares(U: Any, x: Any, ridge: Any, prior: Any, w: Any, r: Any, desk: Any) -> Any:
    """Set w to the least-squares codes of all entries, and r to their residual; return |w|^2."""
    K, n = w.size, x.size
    G, g = np.empty((K, K)), np.empty(K)
    side, weight = desk[0, :n], desk[1, :n]
    infinite = U.dtype.type(np.inf)
    weight[:] = 1.0
    w[:] = 0.0
    _gram(U, weight, G)
    _advance(U, w, x, infinite, 0.0, r, side, g)
    _solve(G, g, ridge, prior, w)
    _advance(U, w, x, infinite, 0.0, r, side, g)
    return _told(G, w)


@njit(cache=True, nogil=True, error_model="numpy")
def _temper(G: Any, ridge: Any, prior: Any, small: Any, w: Any, delta: Any) -> Any:
    """Make those codes small that the matrix G of their fit hardly tells, as the prior wants it.

    Return whether w moved by more than a ``small`` square, and by how much in delta.
    """
    K = w.size
    right = np.zeros(K)
    for k in range(K):
        for m in range(K):
            right[k] += G[max(k, m), min(k, m)] * w[m]
    _solve(G, right, ridge, prior, delta)
    far = 0.0
    for k in range(K):
        delta[k] -= w[k]
        far += prior * delta[k] * delta[k]
    for k in range(K):
        for m in range(K):
            far += G[max(k, m), min(k, m)] * delta[k] * delta[m]
    if far <= small:
        return False
    for k in range(K):
        w[k] += delta[k]
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _quantiles(r: Any, count: Any, K: Any) -> Any:
    """Return median and low quantile of |r| without its K smallest, which a fit may make zero.

    Of many entries about 1000, evenly spread, have to do.
    """
    sizes = np.abs(r[: count : max(count // 1024, 1)])
    zeros = min(K, sizes.size - 1)
    rest = sizes.size - zeros
    middle, low = zeros + rest // 2, zeros + int(_LOW * rest)
    parted = np.partition(sizes, middle)
    return parted[middle], np.partition(parted[: middle + 1], low)[low]


@njit(cache=True, nogil=True, error_model="numpy")
def _reject(
    U: Any, x: Any, limit: Any, least: Any, ridge: Any, prior: Any, count: Any, near: Any,
    w: Any, r: Any, G: Any, delta: Any, clean: Any, desk: Any,
) -> Any:  # fmt: skip
    """Fit the entries within the limit, until these stay the same.

    Return their number, :func:`_told` of the codes, and :func:`_quantiles` of the residuals
    before. If it is ``near``, :func:`_approach` has led there.

    If fewer than ``least`` are left, few entries fit one another by chance: then the fit is left
    as it came, which all entries had a say in. Codes that the entries left hardly tell are made
    small at the end, by the prior.
    """
    K, n = w.size, x.size
    g, first = np.empty(K), w.copy()
    side, weight = desk[0, :n], desk[1, :n]
    if near:
        changes, beyond = _advance(U, delta, r, limit, 0.0, r, side, g)
    else:
        changes, beyond = 0.0, _arrive(U, w, x, limit, 0.0, limit, r, side, weight, g, G)[1]
    middle, low = _quantiles(r, count, K)
    for _ in range(_ROUNDS):
        if count - beyond < least:
            w[:] = first
            changes, beyond = n, _advance(U, w, x, limit, 0.0, r, side, g)[1]
            break
        if changes * _FEW < n:
            _exchange(U, side, weight, G)
        else:
            _within(side, weight)
            _gram(U, weight, G)
        _solve(G, g, ridge, 0.0, delta)
        for k in range(K):
            w[k] += delta[k]
        changes, beyond = _advance(U, delta, r, limit, 0.0, r, side, g)
        if changes == 0.0:
            break
    if changes != 0.0:
        _within(side, weight)
        _gram(U, weight, G)
    if _temper(G, ridge, prior, _SMALL * limit * limit, w, delta):
        _, beyond = _advance(U, delta, r, limit, 0.0, r, side, g)
    _within(side, clean)
    return count - beyond, _told(G, w), middle, low


@njit(cache=True, nogil=True, error_model="numpy")
def _squares(r: Any, weight: Any, like: Any) -> Any:
    """Return the weighted sum of squares of as many entries as there are rows in the blocks."""
    lanes = like.shape[2]
    sums = fill(0.0, like)
    for start in range(0, like.shape[0] * lanes, lanes):
        value = load(r, start)
        sums += load(weight, start) * value * value
    return float(total(sums))


@njit(cache=True, nogil=True, error_model="numpy")
def _recurse(
    U: Any, D: Any, L: Any, w: Any, x: Any, clean: Any, forgetting: Any, floor: Any, step: Any
) -> Any:
    """Set H = forgetting H + w w' and u += step (x - w'u) H^-1 w in each row of the clean ones.

    Rows that are not clean forget as well. Return :func:`_extent` of U. The factors follow Gill,
    Golub, Murray and Saunders (1974), method C1, from which the gain H^-1 w is one back
    substitution away: with H+ = L+ D+ L+', the numbers b of that method are D+^-1 L+^-1 w.
    """
    B, K, lanes = U.shape
    triangle = L.shape[1]
    p, gain = np.empty(K * lanes, U.dtype), np.empty(K * lanes, U.dtype)
    longest, energy = fill(0.0, U), 0.0
    for b in range(B):
        mark, error, left = load(clean, b * lanes), load(x, b * lanes), fill(1.0, U)
        for r in range(K):
            atom, column = (b * K + r) * lanes, (b * triangle + r * (r - 1) // 2) * lanes
            error -= w[r] * load(U, atom)
            z = w[r] * mark
            for j in range(r):
                entry = load(L, column + j * lanes)
                z -= load(p, j * lanes) * entry
                store(L, column + j * lanes, entry + load(gain, j * lanes) * z)
            old, weighted = larger(forgetting * load(D, atom), floor), left * z
            new = old + weighted * z
            inverse = 1.0 / new
            store(D, atom, new)
            store(p, r * lanes, z)
            store(gain, r * lanes, weighted * inverse)
            left *= old * inverse
        error *= step * mark
        square = fill(0.0, U)
        for j in range(K - 1, -1, -1):
            z = load(gain, j * lanes)
            for r in range(j + 1, K):
                entry = load(L, (b * triangle + r * (r - 1) // 2 + j) * lanes)
                z -= entry * load(gain, r * lanes)
            store(gain, j * lanes, z)
            atom = (b * K + j) * lanes
            moved = load(U, atom) + error * z
            store(U, atom, moved)
            square += moved * moved
        longest = larger(longest, square)
        energy += total(square)
    return sqrt(_most(longest, U)), energy


@njit(cache=True, nogil=True, error_model="numpy")
def _admm(
    U: Any, x: Any, knee: Any, ridge: Any, count: Any, admm: Any, w: Any, r: Any, desk: Any
) -> Any:
    """Minimise what :func:`_huber` does by Algorithm 2 of [T], as it is meant, from w = 0.

    ``admm`` holds rho1, rho2, Huber's knee in (22), the absolute and the relative tolerance,
    the last two but one in the units of the knee, and the largest number of rounds. Return
    whether the stopping rule was met.
    """
    n, K = x.size, w.size
    rho1, rho2, fit_knee, absolute = admm[0], admm[1], admm[2] * knee, admm[3] * knee
    G, g, nothing = np.empty((K, K)), np.empty(K), np.zeros(K)
    s, dual, e = np.zeros(n), np.zeros(n), np.zeros(n)
    side, weight, target = desk[0, :n], desk[1, :n], desk[2, :n]
    infinite = U.dtype.type(np.inf)
    weight[:] = 1.0
    _gram(U, weight, G)
    w[:] = 0.0
    r[:] = x
    for _ in range(int(admm[5])):
        change = size = 0.0
        for i in range(n):
            u = (r[i] + rho1 * (s[i] - dual[i])) / (1.0 + rho1)  # [T] (15), its sign corrected
            both = u + dual[i]
            shrunk = np.sign(both) * max(abs(both) - knee / rho1, 0.0)  # [T] (16)
            dual[i] = both - shrunk  # [T] Algorithm 2, line 10
            change += (shrunk - s[i]) ** 2
            size += dual[i] ** 2
            s[i] = shrunk
            target[i] = x[i] - s[i] + e[i]
        _advance(U, nothing, target, infinite, 0.0, target, side, g)
        _solve(G, g, ridge, 0.0, w)  # [T] (20)
        _advance(U, w, x, infinite, 0.0, r, side, g)
        for i in range(n):
            z = s[i] - r[i]  # [T] (21)
            shrunk = np.sign(z) * max(abs(z) - fit_knee * (1.0 + 1.0 / rho2), 0.0)
            e[i] = (rho2 * z + shrunk) / (1.0 + rho2)  # [T] (22)
        if sqrt(change) < sqrt(count) * absolute + admm[4] * rho1 * sqrt(size):
            return True
    return False


@njit(cache=True, nogil=True, error_model="numpy")
def _few(count: Any, K: Any) -> Any:
    """Tell whether so few entries were observed that no outlier can be told among them."""
    return count < 2 * K + 2


@njit(cache=True, nogil=True, error_model="numpy")
def _doubt(
    U: Any, x: Any, count: Any, knee: Any, limit: Any, ridge: Any, reach: Any, prior: Any,
    likely: Any, w: Any, r: Any, clean: Any, desk: Any,
) -> Any:  # fmt: skip
    """Change the codes of few entries that do not fit.

    If there are more of them than codes, these are of as many as fit one another, or zero if
    nothing but chance makes them fit. Codes much longer than is likely are made shorter: an
    outlier among so few is not to be told by anything else.
    """
    K, side = w.size, desk[0, : x.size]
    if count > K:
        G, delta = np.empty((K, K)), np.empty(K)
        w[:] = 0.0
        _huber(U, x, knee, ridge, reach, _CAP, count, w, G, desk)
        kept, _, _, _ = _reject(
            U, x, limit, K + 1, ridge, prior, count, False, w, r, G, delta, clean, desk
        )
        if kept <= K:
            w[:] = 0.0
    length = _size(w)
    if not length < np.inf:  # the scales of sample and basis are too far apart
        w[:] = 0.0
    elif length > _LIKELY * likely:
        w *= U.dtype.type(sqrt(_LIKELY * likely / length))
    _advance(U, w, x, limit, 0.0, r, side, np.empty(K))
    _within(side, clean)


@njit(cache=True, nogil=True, error_model="numpy")
def _fit_few(
    U: Any, x: Any, count: Any, scale: Any, prior: Any, likely: Any, rule: Any, ridge: Any,
    reach: Any, w: Any, r: Any, clean: Any, desk: Any,
) -> Any:  # fmt: skip
    """Do what :func:`_fit` does where only few entries were observed: all are kept, or none."""
    K, kind, known = w.size, U.dtype.type, scale > 0.0
    size = _least_squares(U, x, ridge, prior, w, r, desk)
    middle, low = _quantiles(r, count, K)
    scale = scale if known else 1.4826 * middle
    limit = rule[1] * scale
    fits = _squares(r, desk[1], U) <= limit * limit * (count - K)
    clean[:] = 1.0 if fits else 0.0
    if known and not fits:
        knee = kind(rule[0] * scale)
        _doubt(U, x, count, knee, kind(limit), ridge, reach, prior, likely, w, r, clean, desk)
    return scale, middle, low, (count if fits else 0) - K, size, True


@njit(cache=True, nogil=True, error_model="numpy")
def _fit(
    U: Any, x: Any, count: Any, scale: Any, prior: Any, rule: Any, admm: Any, extent: Any,
    F: Any, w: Any, r: Any, clean: Any, desk: Any,
) -> Any:  # fmt: skip
    """Fit a sample, and reject what lies beyond the limit of the rule.

    A scale of 0 is not known yet, and is taken from the sample itself. Where only few entries
    were observed, all are kept or none. Return the scale, a median and a low residual before
    anything is rejected, how many more entries were kept than there are codes, the size of the
    codes as far as the entries tell it, and whether the convex problem was solved.

    ``extent`` is that of the whole basis of F rows: where those observed are much shorter than
    usual, the prior has its say.
    """
    K, ridge, kind = w.size, _RIDGE * np.finfo(U.dtype).eps, U.dtype.type
    known, likely = scale > 0.0, scale * scale * K / prior if prior > 0.0 else np.inf
    prior, reach = _bounded(prior, extent, count, F, U), extent[0]
    w[:] = 0.0
    if _few(count, K):
        return _fit_few(U, x, count, scale, prior, likely, rule, ridge, reach, w, r, clean, desk)
    knee = kind(rule[0] * scale if known else 1e-2 * _quantiles(x, count, 0)[0])
    G, delta, limit, near = np.empty((K, K)), np.empty(K), kind(rule[1] * scale), False
    if admm.size > 0:
        solved = _admm(U, x, knee, ridge, count, admm, w, r, desk)
    else:
        if known:
            near = _approach(U, x, knee, limit, ridge, extent, F, count, w, r, G, delta, desk)
        else:
            _sketch(U, x, knee, ridge, reach, w, desk)
        solved = near or _huber(U, x, knee, ridge, reach, _CAP, count, w, G, desk)
    if not known:
        _advance(U, w, x, kind(np.inf), 0.0, r, desk[0, : x.size], np.empty(K))
        scale = 1.4826 * _quantiles(r, count, K)[0]
        limit = kind(rule[1] * scale)
    least = max(K + 1, int(_BELIEVED * count))
    kept, size, middle, low = _reject(
        U, x, limit, least, ridge, prior, count, near, w, r, G, delta, clean, desk
    )
    return scale, middle, low, kept - K, size, solved


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
def _believe(noise: Any, spare: Any, count: Any, K: Any, size: Any, rule: Any) -> Any:
    """Return whether the basis may learn from a sample that kept ``spare`` entries beyond codes.

    It may not while the noise level is not known, and not from one that keeps less than half of
    what is usual: that is a wrong fit of a few entries.
    """
    listening = noise[2] < LISTEN and noise[1] != np.inf
    noise[2] += 1.0
    rate = max(1.0 / noise[2], 1.0 - rule[3])
    share = max(spare, 0) / (count - K)
    usual = share >= _USUAL * noise[4]
    if usual and size > 0.0:
        noise[3] = size if noise[3] == 0.0 else noise[3] * exp(log(size / noise[3]) * rate)
    noise[4] += (share - noise[4]) * rate
    return spare > 0 and usual and not listening


@njit(cache=True, nogil=True, error_model="numpy")
def _scatter(index: Any, count: Any, x: Any, clean: Any, whole: Any, kept: Any) -> Any:
    """Return x and the clean marks where they belong: themselves, if all places are listed."""
    if count == index.size:
        return x, clean
    whole[:] = 0.0
    kept[:] = 0.0
    for place in range(count):
        whole[index[place]] = x[place]
        kept[index[place]] = clean[place]
    return whole, kept


@njit(cache=True, nogil=True, error_model="numpy")
def _put_outliers(index: Any, count: Any, r: Any, clean: Any, out: Any) -> Any:
    """Set the residuals that are not clean where they belong, and 0 elsewhere."""
    if count == out.size:
        for i in range(count):
            out[i] = r[i] * (1.0 - clean[i])
        return
    out[:] = 0.0
    for place in range(count):
        out[index[place]] = r[place] * (1.0 - clean[place])


@njit(cache=True, nogil=True, error_model="numpy")
def _learn(
    U: Any, D: Any, L: Any, w: Any, x: Any, clean: Any, squares: Any, typical: Any, motion: Any
) -> Any:
    """Take a sample into the basis: recursive least squares with the step of the motion.

    ``motion`` holds the forgetting factor, the first weight of the basis in samples, the sine
    above which eta is 1 (0: it always is), and whether eta multiplies the forgetting factor (1)
    or the step (0). A sample has the ``typical`` |w|^2, or its own if that is 0. Return the
    :func:`_extent` of the basis, or zeros if it stays.
    """
    size = _size(w)
    if not size > 0.0:
        return 0.0, 0.0
    if D[0, 0, 0] == 0.0:
        D[:] = motion[1] * (typical if typical > 0.0 else size) / w.size
    sine = sqrt(squares / (squares + size))  # [T] (26)
    eta = sine if sine <= motion[2] else 1.0
    step, forgetting = eta, motion[0]
    if motion[3] > 0.0:
        step, forgetting = 1.0, eta * motion[0]  # [T] II-B, lambda_t = eta_t lambda
    kind = U.dtype.type
    return _recurse(U, D, L, w, x, clean, kind(forgetting), kind(_FLOOR * size), kind(step))


@njit(cache=True, nogil=True, error_model="numpy")
def track_least_squares(
    X: Any, observed: Any, U: Any, D: Any, L: Any, motion: Any, H: Any, error: Any
) -> Any:
    """Follow the rows of X in order, with codes by least squares on the entries observed.

    U, D and L are changed; codes and median residuals, with the basis before each row, go to H
    and ``error``.
    """
    K, n = U.shape[1], U.shape[0] * U.shape[2]
    ridge = _RIDGE * np.finfo(U.dtype).eps
    index, room, w = np.empty(X.shape[1], np.intp), np.empty_like(U), np.empty(K, U.dtype)
    desk, shelf = np.empty((2, n), U.dtype), np.empty((4, n), U.dtype)
    x, r, whole, kept = shelf[0], shelf[1], shelf[2], shelf[3]
    extent = _extent(U)
    for t in range(X.shape[0]):
        count = _seen(observed[t], index)
        if count == 0:
            H[t] = 0.0
            error[t] = np.nan
            continue
        atoms = _gather(X[t], U, index, count, x, room)
        m = atoms.shape[0] * U.shape[2]
        least = _bounded(0.0, extent, count, X.shape[1], U)
        _least_squares(atoms, x[:m], ridge, least, w, r[:m], desk)
        H[t] = w
        error[t] = _quantiles(r, count, K)[0] if count > K else np.nan
        values, marks = _scatter(index, count, x, desk[1], whole, kept)
        moved = _learn(U, D, L, w, values, marks, _squares(r, desk[1], atoms), 0.0, motion)
        extent = moved if moved[0] > 0.0 else extent


@njit(cache=True, nogil=True, error_model="numpy")
def track_rejecting(
    X: Any, observed: Any, U: Any, D: Any, L: Any, noise: Any, motion: Any, rule: Any, admm: Any,
    H: Any, R: Any, error: Any,
) -> Any:  # fmt: skip
    """Follow the rows of X in order, leaving out the entries that do not fit.

    ``rule`` holds the knee and the limit in units of the noise level, the variance of a normal
    number of variance 1 that is cut at the limit, and what a row keeps of the noise level's
    weight. ``noise`` holds the variance and the weight behind it, the number of samples, the
    geometric mean of |w|^2 as far as entries tell it, the mean share kept, and the scales of the
    first samples. U, D, L and ``noise`` are changed.
    """
    K, n = U.shape[1], U.shape[0] * U.shape[2]
    index, room, w = np.empty(X.shape[1], np.intp), np.empty_like(U), np.empty(K, U.dtype)
    desk, shelf = np.empty((4, n), U.dtype), np.empty((5, n), U.dtype)
    x, r, clean, whole, kept = shelf[0], shelf[1], shelf[2], shelf[3], shelf[4]
    extent = _extent(U)
    for t in range(X.shape[0]):
        count = _seen(observed[t], index)
        if count == 0:
            H[t] = 0.0
            R[t] = 0.0
            error[t] = np.nan
            continue
        atoms = _gather(X[t], U, index, count, x, room)
        m = atoms.shape[0] * U.shape[2]
        listening = noise[2] < LISTEN and noise[1] != np.inf
        known = 0.0 if listening else sqrt(noise[0])
        prior = noise[0] * K / noise[3] if known > 0.0 and noise[3] > 0.0 else 0.0
        scale, middle, low, spare, size, _ = _fit(
            atoms, x[:m], count, known, prior, rule, admm, extent, X.shape[1],
            w, r[:m], clean[:m], desk,
        )  # fmt: skip
        H[t] = w
        _put_outliers(index, count, r, clean, R[t])
        error[t] = middle if count > K else np.nan
        if count <= K:
            continue
        squares = _squares(r, clean, atoms)
        if listening:
            _listen(noise, scale, spare)
        else:
            _hear(noise, squares, low, spare, rule)
        if _believe(noise, spare, count, K, size, rule):
            values, marks = _scatter(index, count, x, clean, whole, kept)
            moved = _learn(U, D, L, w, values, marks, squares, noise[3], motion)
            extent = moved if moved[0] > 0.0 else extent


@njit(cache=True, nogil=True, error_model="numpy")
def least_squares_codes(X: Any, observed: Any, U: Any, H: Any) -> Any:
    """Set the rows of H to the least-squares codes of the rows of X on the entries observed."""
    n = U.shape[0] * U.shape[2]
    ridge = _RIDGE * np.finfo(U.dtype).eps
    index, room, w = np.empty(X.shape[1], np.intp), np.empty_like(U), np.empty(U.shape[1], U.dtype)
    x, r, desk = np.empty(n, U.dtype), np.empty(n, U.dtype), np.empty((2, n), U.dtype)
    extent = _extent(U)
    for t in range(X.shape[0]):
        count = _seen(observed[t], index)
        w[:] = 0.0
        if count > 0:
            atoms = _gather(X[t], U, index, count, x, room)
            m = atoms.shape[0] * U.shape[2]
            least = _bounded(0.0, extent, count, X.shape[1], U)
            _least_squares(atoms, x[:m], ridge, least, w, r[:m], desk)
        H[t] = w


@njit(cache=True, nogil=True, error_model="numpy")
def huber_codes(X: Any, observed: Any, U: Any, knee: Any, cap: Any, H: Any, solved: Any) -> Any:
    """Take the rows of H to the minimum of the sum of huber(x_i - u_i' h; knee) over i observed.

    Where only few entries were observed it is that of the sum of squares.
    """
    n = U.shape[0] * U.shape[2]
    ridge = _RIDGE * np.finfo(U.dtype).eps
    index, room, w = np.empty(X.shape[1], np.intp), np.empty_like(U), np.empty(U.shape[1], U.dtype)
    x, desk, reach = np.empty(n, U.dtype), np.empty((4, n), U.dtype), _extent(U)[0]
    G = np.empty((U.shape[1], U.shape[1]))
    for t in range(X.shape[0]):
        count = _seen(observed[t], index)
        w[:] = 0.0
        solved[t] = True
        if count > 0:
            w[:] = H[t]
            atoms = _gather(X[t], U, index, count, x, room)
            m = atoms.shape[0] * U.shape[2]
            bend = U.dtype.type(np.inf if _few(count, w.size) else knee)
            solved[t] = _huber(atoms, x[:m], bend, ridge, reach, cap, count, w, G, desk)
        H[t] = w


@njit(cache=True, nogil=True, error_model="numpy")
def rejecting_codes(
    X: Any, observed: Any, U: Any, scale: Any, prior: Any, rule: Any, admm: Any,
    H: Any, R: Any, solved: Any,
) -> Any:  # fmt: skip
    """Set H and R to codes and outliers of the rows of X, as :func:`track_rejecting` finds them.

    With a scale of 0 each row has one of its own. The prior is the squared noise level over the
    usual square of a code.
    """
    n = U.shape[0] * U.shape[2]
    index, room, w = np.empty(X.shape[1], np.intp), np.empty_like(U), np.empty(U.shape[1], U.dtype)
    desk, shelf = np.empty((4, n), U.dtype), np.empty((3, n), U.dtype)
    x, r, clean, extent = shelf[0], shelf[1], shelf[2], _extent(U)
    for t in range(X.shape[0]):
        count = _seen(observed[t], index)
        w[:] = 0.0
        R[t] = 0.0
        solved[t] = True
        if count > 0:
            atoms = _gather(X[t], U, index, count, x, room)
            m = atoms.shape[0] * U.shape[2]
            _, _, _, _, _, solved[t] = _fit(
                atoms, x[:m], count, scale, prior, rule, admm, extent, X.shape[1],
                w, r[:m], clean[:m], desk,
            )  # fmt: skip
        _put_outliers(index, count, r, clean, R[t])
        H[t] = w
