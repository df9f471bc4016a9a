"""Reference implementations of the fast code: one sample, support or entry at a time.

The first part has a function for every kernel of ``thalweg._native``, under its name.
The second part is paper [O] transcribed line by line, for a single sample or a whole batch.
Nothing here imports the library.
"""

from collections.abc import Callable
from itertools import combinations, pairwise, product
from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np

Array = Any
Project = Callable[[Array], Array]
Motion = tuple[float, float, float, float]

MAD_TO_STANDARD_DEVIATION = 1.482602218505602  # 1 / Phi^-1(3/4)


# --- kernels -----------------------------------------------------------------------------------


def nonnegative_codes(G: Array, C: Array) -> Array:
    """Return for each row c of C the best point of h'Gh/2 - c'h over all 2^K supports.

    A minimum is attained where the columns of the support are independent, so the least
    squares solution of each support is candidate enough when G is singular.
    """
    return np.array([_best_support(G if np.ndim(G) == 2 else G[s], c) for s, c in enumerate(C)])


def smooth_local(Y: Array, weights: Array, steps: Array, parameters: Any) -> tuple[Array, ...]:
    """Return means, variances and log-likelihoods of l in y = l + e, from the joint normal."""
    times = np.append(0.0, np.cumsum(steps))
    found = []
    for y, w, phi, variance, noise, initial in zip(Y, weights, *parameters, strict=True):
        C = variance * phi ** np.abs(times[:, None] - times)
        if phi == 1.0:
            C = initial + variance * np.minimum(times[:, None], times)
        seen = w > 0
        found.append(_conditional(C, seen, y[seen], noise / w[seen]))
    return tuple(np.array(part) for part in zip(*found, strict=True))


def filter_local(Y: Array, weights: Array, steps: Array, parameters: Any) -> tuple[Array, ...]:
    """Return the same given the entries up to each time: one joint normal for each."""
    upto = [
        smooth_local(Y[:, :t], weights[:, :t], steps[: t - 1], parameters)
        for t in range(1, Y.shape[1] + 1)
    ]
    mean, variance = (np.stack([part[i][:, -1] for part in upto], axis=1) for i in (0, 1))
    return mean, variance, upto[-1][2]


def factor_codes(
    Y: Array, weights: Array, steps: Array, W: Array, noise: Array, phi: Array
) -> tuple[Array, Array, Array, float]:
    """Return means, covariances, E h_t h_t+1 and the log-likelihood, from the joint normal."""
    N, K = len(Y), W.shape[1]
    times = np.append(0.0, np.cumsum(steps))
    C = np.zeros((N, K, N, K))
    for k in range(K):
        C[:, k, :, k] = phi[k] ** np.abs(times[:, None] - times)
    C = C.reshape(N * K, N * K)
    A, seen = np.kron(np.eye(N), W), weights.ravel() > 0
    errors = (noise / np.where(weights > 0, weights, 1.0)).ravel()[seen]
    S = A[seen] @ C @ A[seen].T + np.diag(errors)
    gain, y = np.linalg.solve(S, A[seen] @ C).T, Y.ravel()[seen]
    mean, posterior = (gain @ y).reshape(N, K), C - gain @ A[seen] @ C
    blocks = posterior.reshape(N, K, N, K)
    lagged = [
        [blocks[t, k, t + 1, k] + mean[t, k] * mean[t + 1, k] for k in range(K)]
        for t in range(N - 1)
    ]
    return mean, np.array([blocks[t, :, t] for t in range(N)]), np.array(lagged), _log_normal(y, S)


def filter_rows(
    Y: Array, weights: Array, steps: Array, factors: Any, local: Any, threshold: float
) -> tuple[Array, Array, Array]:
    """Return low-rank parts, deviations and variances of rows, from stationary processes on."""
    (W, noise, phi), (rho, size, error, initial) = factors, local
    m, P = np.zeros(len(phi)), np.eye(len(phi))
    mean, spread = np.zeros(len(W)), np.where(rho < 1.0, size, initial)
    found = []
    for y, w, step in zip(Y, weights, steps, strict=True):
        a, b = phi**step, rho**step
        m, P = a * m, np.outer(a, a) * P + np.diag(1.0 - a**2)
        mean, spread = b * mean, b**2 * spread + np.where(rho < 1.0, 1.0 - b**2, step) * size
        used = w.copy()
        for _ in range(3):
            C = np.linalg.inv(np.linalg.inv(P) + (W.T * (used / noise)) @ W)
            h = C @ (np.linalg.inv(P) @ m + W.T @ (used / noise * y))
            v = np.einsum("fk,kl,fl->f", W, C, W)
            kept = 1.0 - used * v / noise
            before = used
            used = w * _outlier_weight(((y - W @ h) / kept) ** 2 / (v / kept + noise), threshold)
            if (used == before).all():
                break
        m, P = h, C
        innovation = y - W @ h - mean
        precision = w * _outlier_weight(innovation**2 / (spread + error), threshold) / error
        after = 1.0 / (1.0 / spread + precision)
        mean, spread = mean + after * precision * innovation, after
        found.append((W @ h, mean, v + spread))
    return tuple(np.array(part) for part in zip(*found, strict=True))


def _outlier_weight(square: Array, threshold: float) -> Array:
    return np.minimum(1.0, threshold**2 / np.maximum(square, 1e-300)) ** 2


def learn_local(y: Array, weights: Array, steps: Array) -> float:
    """Return the largest log-likelihood of a series over a grid of phi and noise / variance."""
    times, seen = np.append(0.0, np.cumsum(steps)), weights > 0
    lags, best = np.abs(times[:, None] - times), -inf
    for phi, ratio in product(np.linspace(0.02, 0.98, 25), np.geomspace(1e-2, 1e2, 25)):
        S = (phi**lags)[np.ix_(seen, seen)] + np.diag(ratio / weights[seen])
        variance = y[seen] @ np.linalg.solve(S, y[seen]) / seen.sum()
        best = max(best, _log_normal(y[seen], variance * S))
    return best


def learn_phi(mean: Array, covariance: Array, lagged: Array, steps: Array) -> Array:
    """Return the phi of each code with the largest expected log-likelihood, out of a grid."""
    grid = np.linspace(0.001, 0.999, 999)
    second = np.square(mean) + np.diagonal(covariance, axis1=1, axis2=2)
    found = []
    for x, xy in zip(second.T, lagged.T, strict=True):
        a = grid[:, None] ** steps
        squares = (x[1:] - 2 * a * xy + a**2 * x[:-1]) / (1 - a**2)
        found.append(grid[np.argmin((squares + np.log(1 - a**2)).sum(axis=1))])
    return np.array(found)


def _conditional(C: Array, seen: Array, y: Array, noise: Array) -> tuple[Array, Array, float]:
    """Return the moments of x ~ N(0, C) given y = x[seen] + noise, and the log density of y."""
    S = C[np.ix_(seen, seen)] + np.diag(noise)
    gain = np.linalg.solve(S, C[seen]).T
    return gain @ y, np.diag(C - gain @ C[seen]), _log_normal(y, S)


def _log_normal(y: Array, S: Array) -> float:
    return float(-0.5 * (np.linalg.slogdet(2.0 * np.pi * S)[1] + y @ np.linalg.solve(S, y)))


def _best_support(G: Array, c: Array) -> Array:
    K = len(c)
    best, least = np.zeros(K), 0.0
    for size in range(1, K + 1):
        for chosen in map(list, combinations(range(K), size)):
            x = np.linalg.lstsq(G[np.ix_(chosen, chosen)], c[chosen], rcond=None)[0]
            value = x @ G[np.ix_(chosen, chosen)] @ x / 2 - c[chosen] @ x
            if np.all(x >= 0) and value < least:
                best, least = np.zeros(K), value
                best[chosen] = x
    return best


def envelope_l1(Z: Array, weight: float, bound: float, lower: float) -> tuple[Array, Array]:
    """Return z - r and the sum of (z - r)^2/2 + weight |r|, r found entry by entry."""
    E, values = np.empty(Z.shape), np.zeros(len(Z))
    for s in range(Z.shape[0]):
        for i in range(Z.shape[1]):
            r = best_outlier(float(Z[s, i]), weight, bound, lower)
            E[s, i] = Z[s, i] - r
            values[s] += E[s, i] ** 2 / 2 + weight * abs(r)
    return E, values


def best_outlier(z: float, weight: float, bound: float, lower: float) -> float:
    """Return the best of the points where a minimum of a piecewise parabola can be."""
    candidates = [lower, bound, 0.0, z - weight, z + weight]
    allowed = [r for r in candidates if lower <= r <= bound and abs(r) < inf]
    return min(allowed, key=lambda r: (z - r) ** 2 / 2 + weight * abs(r))


def alternate_l1(
    v: Array,
    W: Array,
    h: Array,
    weight: float,
    bound: float = inf,
    lower: float = -inf,
    observed: Array | None = None,
    l1: float = 0.0,
    l2: float = 0.0,
    relax: float = 1.0,
    n: int = 1,
) -> list[tuple[Array, float]]:
    """Return codes and loss of one sample at the start and after each of n alternations.

    With ``relax`` = 1 the codes are the best for the last outliers. Otherwise the smooth part is
    replaced by gradient'd + d'W'W d / (2 relax) around the last codes, which lies above the loss
    along the way for relax < 2 and makes longer steps.
    """
    kept = np.ones(len(v), dtype=bool) if observed is None else observed
    v, W = v[kept], W[kept]
    K = W.shape[1]
    track = []
    for step in range(n + 1):
        E, values = envelope_l1((v - W @ h)[None], weight, bound, lower)
        track.append((h, float(values[0] + l1 * h.sum() + l2 / 2 * h @ h)))
        if step < n:
            # h + d with gradient -W'e: the linear term collects what multiplies the new codes.
            G = W.T @ W / relax
            linear = G @ h + W.T @ E[0] - l1
            h = nonnegative_codes(G + l2 * np.eye(K), linear[None])[0]
    return track


def count_missing_and_tiny(values: Array, bound: float) -> tuple[int, int]:
    """Return the numbers of gaps, and of entries between zero and the bound."""
    small = [x for x in values if 0.0 < abs(x) < bound]
    return sum(1 for x in values if np.isnan(x)), len(small)


def count_residuals(
    X: Array,
    observed: Array | None,
    predicted: Array,
    H: Array,
    R: Array,
    prediction_variance: Array,
    first: Array,
    counts: Array,
    weight: float,
) -> None:
    """Add the standardised residuals to counts, each by its logarithm."""
    resolution = 4.0 * float(np.finfo(X.dtype).eps)
    for b, f in np.ndindex(X.shape):
        seen = np.ones(X.shape[1], bool) if observed is None else observed[b]
        n_codes, n_fitted = np.count_nonzero(H[b]), np.count_nonzero(seen & (R[b] == 0))
        if not seen[f]:
            continue
        size = 0.0
        if n_fitted > n_codes:
            factor = n_codes / H.shape[1] * X.shape[1] / n_fitted
            deviation = (1.0 + prediction_variance[f] * factor) ** 0.5
            size = abs(float(X[b, f] - predicted[b, f]))
            size = size * deviation if R[b, f] == 0 else size / deviation
        size = max(size, resolution * abs(float(X[b, f])))
        if size == 0.0:
            continue
        place = int(np.floor(4.0 * np.log2(size)))
        if first[f] == np.iinfo(np.int64).min:
            first[f] = place - 24
        counts[f, min(max(place - first[f], 0), 47)] += weight


def huber_threshold(sizes: Array, thresholds: Array, bandwidth: float, tolerance: float) -> float:
    """Return the threshold of least variance; of nearly equal ones the largest, by degrees."""
    cut = np.array([np.mean(np.minimum(sizes, c) ** 2) for c in thresholds])
    window = 2.0 * bandwidth
    within = np.array([np.mean(np.clip((c - sizes) / window + 0.5, 0.0, 1.0)) for c in thresholds])
    variance = cut / np.maximum(within, 1.0 / len(sizes)) ** 2
    best = int(np.argmin(variance))
    too_large = sum(min((v / variance[best] - 1.0) / tolerance, 1.0) for v in variance[best:])
    return float(thresholds[-1] - too_large * (thresholds[1] - thresholds[0]))


def add_samples(
    samples: tuple[Array, Array, Array], share: float, before: tuple[Array, Array]
) -> tuple[Array, Array, float]:
    """Return the running means of h h' and h (v - r)', and the mean of |v - r|^2."""
    A, B, square = (1.0 - share) * before[0], (1.0 - share) * before[1], 0.0
    weight = 1.0 / len(samples[0])
    for v, r, h in zip(*samples, strict=True):
        A = A + share * weight * np.outer(h, h)
        B = B + share * weight * np.outer(h, v - r)
        square += weight * float(np.sum((v - r) ** 2))
    return A, B, square


def descend_atoms(A: Array, B: Array, W: Array, radius: float, free: Array) -> Array:
    """Return W after each free column has been minimised over in turn, from scratch."""
    W = W.copy()
    for k in range(W.shape[1]):
        if free[k] and A[k, k] > 0:
            others = sum((W[:, j] * A[j, k] for j in range(W.shape[1]) if j != k), 0.0)
            W[:, k] = project_ball((B[:, k] - others) / A[k, k], radius)
    return W


def sweep_elastic_net_atoms(A: Array, B: Array, W: Array, project: Project, free: Array) -> Array:
    """Return W after each free column has been minimised over in turn, from scratch."""
    W = W.copy()
    for k in range(W.shape[1]):
        if free[k] and A[k, k] > 0:
            others = sum((W[:, j] * A[j, k] for j in range(W.shape[1]) if j != k), 0.0)
            W[:, k] = project((B[:, k] - others) / A[k, k])
    return W


def random_permutation(n: int, seed: int) -> tuple[list[int], int]:
    """Return a permutation by Fisher and Yates with splitmix64, and the generator's new state."""
    order, wrap = list(range(n)), 2**64 - 1
    for i in range(n - 1, 0, -1):
        seed = (seed + 0x9E3779B97F4A7C15) & wrap
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & wrap
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & wrap
        j = (z ^ (z >> 31)) % (i + 1)
        order[i], order[j] = order[j], order[i]
    return order, seed


def project_elastic_net(x: Array, l1: float, l2: float, full: bool) -> Array:
    """Return the nearest u >= 0 with l1 sum(u) + l2/2 |u|^2 = 1 (or <= 1), by bisection."""

    def point(mu: float) -> Array:
        return np.maximum(x - mu * l1, 0) / (1 + mu * l2)

    def cost(u: Array) -> float:
        return float(l1 * u.sum() + l2 / 2 * (u @ u))

    if not full and cost(point(0.0)) <= 1:
        return point(0.0)
    low, high = 0.0, 1.0
    if full:
        low = (min(x) - 1 / l1) / l1
    while cost(point(high)) > 1:
        high *= 2
    for _ in range(300):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(point(middle)) > 1 else (low, middle)
    return point(high)


def robust_approximation(
    V: Array,
    H: Array,
    W: Array,
    order: list[int],
    bound: float,
    pace: float,
    gradient: Callable[[Array, Array, Array], Array],
    project: Project,
    steps: int,
) -> tuple[list[Array], float]:
    """Return the averages after each step of [R] Algorithm 2, and the largest gradient.

    Columns of V are samples; ``gradient(W, v, h)`` is a whole matrix here.
    """
    top, bottom, averages = np.zeros_like(W), 0.0, [W]
    for k in range(1, steps + 1):
        i = order[(k - 1) % len(order)]  # statement 4
        G = gradient(W, V[:, i], H[:, i])
        bound = max(bound, float(np.linalg.norm(G)))
        r = pace / (bound * sqrt(k))  # statement 2
        top, bottom = top + r * W, bottom + r  # statement 3
        W = project(W - r * G)  # statement 5
        averages.append(top / bottom)  # statement 6
    return averages, bound


# --- the paper's operators ---------------------------------------------------------------------


def definite_inverses(grams: Array, limit: float) -> list[Array | None]:
    """Return the inverses, by their eigenvalues; None for one that is not to be trusted."""
    found: list[Array | None] = []
    for gram in grams:
        values, vectors = np.linalg.eigh(np.nan_to_num(gram))
        inverse = (vectors / values) @ vectors.T if values[0] > 0.0 else gram
        conditioned = np.linalg.norm(gram) * np.linalg.norm(inverse) < limit
        found.append(inverse if values[0] > 0.0 and conditioned else None)
    return found


def subset_grams(W: Array, kept: Array) -> Array:
    """Return the Gram matrix of the rows of W that each row of ``kept`` has flags for."""
    return np.array([W[flags].T @ W[flags] for flags in kept])


def weighted_grams(weights: Array, X: Array) -> Array:
    """Return sum_j weights[i, j] x_j x_j' for each i, x_j the rows of X."""
    return np.array(
        [sum(w * np.outer(x, x) for w, x in zip(row, X, strict=True)) for row in weights]
    )


def sweep_rows(A: Array, B: Array, W: Array, lower: Array, free: Array, sweeps: int) -> Array:
    """Return W after exact minimisation over each entry of each row in turn, ``sweeps`` times."""
    W = W.copy()
    for f in range(len(W)):
        for k in list(np.flatnonzero(free)) * sweeps:
            if A[f, k, k] > 0:
                rest = B[f, k] - sum(A[f, k, j] * W[f, j] for j in range(W.shape[1]) if j != k)
                W[f, k] = max(rest / A[f, k, k], lower[k])
    return W


def sampled_products(rows: Array, columns: Array, W: Array, H: Array) -> Array:
    """Return the entries of H W' at some places."""
    return (H @ W.T)[rows, columns]


def sparse_kl_codes(v: Array, W: Array, mass: Array, h: Array, steps: int) -> Array:
    """Return h after steps of Richardson and Lucy: h <- h (W' (v / W h)) / mass."""
    for _ in range(steps):
        h = h * (W.T @ (v / np.maximum(W @ h, 1e-300))) / mass
    return h


def simplex_codes(G: Array, C: Array) -> Array:
    """Return for each row c of C the best point of w'Gw/2 - c'w on the simplex, of all supports."""
    return np.array([_best_face(G if np.ndim(G) == 2 else G[s], c) for s, c in enumerate(C)])


def _best_face(G: Array, c: Array) -> Array:
    K = len(c)
    best, least = np.zeros(K), inf
    for size in range(1, K + 1):
        for chosen in map(list, combinations(range(K), size)):
            border = np.ones((size, 1))
            system = np.block([[G[np.ix_(chosen, chosen)], border], [border.T, np.zeros((1, 1))]])
            x = np.linalg.lstsq(system, np.append(c[chosen], 1.0), rcond=None)[0][:size]
            value = x @ G[np.ix_(chosen, chosen)] @ x / 2 - c[chosen] @ x
            if np.all(x >= -1e-12) and abs(x.sum() - 1) < 1e-9 and value < least:
                best, least = np.zeros(K), value
                best[chosen] = x
    return best


def propose_swaps(curves: Array, S: Array, H: Array) -> tuple[list[Any], list[Any]]:
    """Return (cost, row) of the cheapest entry to leave, and (gain, row) of the best to enter."""
    leave, enter = [], []
    for j in range(H.shape[1]):
        rows = range(len(H))
        costs = [(curves[k] * H[k, j] ** 2 - 2 * H[k, j] * S[k, j], k) for k in rows if H[k, j] > 0]
        gains = [(S[k, j] ** 2 / curves[k], -k) for k in rows if H[k, j] <= 0 and S[k, j] < 0]
        leave.append(min(costs, default=(inf, 0)))
        best = max(gains, default=(0.0, 0))
        enter.append((best[0], -best[1]))
    return leave, enter


def swap_best_pairs(Q: Array, P: Array, H: Array, busy: Array, least: float) -> Array:
    """Return H after the best exchange in each column, found by the objective h'Qh - 2 p'h."""
    H = np.array(H)
    for j in np.flatnonzero(~busy):
        here, best = H[:, j] @ Q @ H[:, j] - 2 * P[:, j] @ H[:, j], None
        lowest = here - least
        for a, b in product(range(len(H)), repeat=2):
            if H[a, j] > 0 and H[b, j] == 0 and Q[b, b] > 0:
                h = np.array(H[:, j])
                h[a] = 0.0
                h[b] = max((P[b, j] - Q[b] @ h) / Q[b, b], 0.0)
                value = h @ Q @ h - 2 * P[:, j] @ h
                if h[b] > 0 and value < lowest:
                    lowest, best = value, h
        if best is not None:
            H[:, j] = best
    return H


def sweep_supports(Q: Array, P: Array, H: Array, sweeps: int) -> Array:
    """Return H after exact minimisation over one positive entry after the other."""
    H = np.array(H)
    for j in range(H.shape[1]):
        for _ in range(sweeps):
            for k in range(len(H)):
                if H[k, j] > 0 and Q[k, k] > 0:
                    others = Q[k] @ H[:, j] - Q[k, k] * H[k, j]
                    H[k, j] = max((P[k, j] - others) / Q[k, k], 0.0)
    return H


def soft(x: float, threshold: float) -> float:
    """Return S_lambda of (16)."""
    if abs(x) < threshold:
        return 0.0
    return x - threshold if x > 0 else x + threshold


def bounded_soft(x: float, weight: float, M: float) -> float:
    """Return the operator of (17), case by case."""
    if abs(x) < weight:
        return 0.0
    sign = 1.0 if x > 0 else -1.0
    return x - sign * weight if abs(x) <= weight + M else sign * M


def project_ball(w: Array, radius: float = 1.0) -> Array:
    """Return the nearest point of the nonnegative ball, Lemma S-4."""
    positive = np.array([max(x, 0.0) for x in w])
    length = sqrt(sum(x * x for x in positive))
    return positive if length <= radius else positive * (radius / length)


def project_columns(W: Array, project: Project = project_ball) -> Array:
    """Return W with each column projected."""
    return np.column_stack([project(w) for w in W.T])


# --- one sample: (13)-(17) and (25)-(30) -------------------------------------------------------


def sample_loss(v: Array, W: Array, h: Array, r: Array, weight: float, observed: Array) -> float:
    """Return l~ of (6), where gaps cost nothing."""
    error = v - W @ h - r
    return sum(error[i] ** 2 / 2 + weight * abs(r[i]) for i in range(len(v)) if observed[i])


def ridge_start(v: Array, W: Array, observed: Array) -> Array:
    """Return the codes at which PGD begins here, where VII-B1 draws them at random."""
    G, rows = W.T @ W, np.flatnonzero(observed)
    K = len(G)
    ridge = 0.01 * sum(G[k, k] for k in range(K)) / K
    h = np.linalg.inv(G + ridge * np.eye(K)) @ W[rows].T @ v[rows]
    h = np.array([max(x, 0.0) for x in h])
    fit = W[rows] @ h
    return h * max(fit @ v[rows], 0.0) / (fit @ fit) if fit @ fit > 0 else 0 * h


def opgd_encode(
    v: Array, W: Array, weight: float, M: float, kappa: float, n: int, observed: Array
) -> list[tuple[Array, Array]]:
    """Return (h, r) at the start and after each of n rounds of OPGD."""
    F, K = W.shape
    eta = kappa / np.linalg.norm(W, 2) ** 2

    def outliers(h: Array) -> Array:  # (14), (17); all that is left over a gap
        left = [v[i] - sum(W[i, k] * h[k] for k in range(K)) for i in range(F)]
        return np.array(
            [bounded_soft(x, weight, M) if observed[i] else x for i, x in enumerate(left)]
        )

    h = ridge_start(v, W, observed)
    r = outliers(h)
    track = [(h, r)]
    for _ in range(n):
        gradient = W.T @ (W @ h + r - v)
        h = np.array([max(h[k] - eta * gradient[k], 0.0) for k in range(K)])  # (13), (15)
        r = outliers(h)
        track.append((h, r))
    return track


def oadmm_encode(
    v: Array, W: Array, weight: float, M: float, rho: float, n: int, observed: Array
) -> list[Array]:
    """Return the feasible copy u at the start and after each of n rounds of OADMM.

    rho_1 is relative to the mean squared norm of an atom (a documented deviation).
    """
    F, K = W.shape
    rho1 = rho * sum(W[i, k] ** 2 for i in range(F) for k in range(K)) / K
    h, u, alpha = np.zeros(K), np.zeros(K), np.zeros(K)
    r, q, beta = np.where(observed, 0.0, v), np.zeros(F), np.zeros(F)
    track = [u]
    for _ in range(n):
        h = np.linalg.inv(W.T @ W + rho1 * np.eye(K)) @ (W.T @ (v - r) + rho1 * u - alpha)  # (25)
        Wh = W @ h
        u = np.array([max(h[k] + alpha[k] / rho1, 0.0) for k in range(K)])  # (27)
        alpha = alpha + rho1 * (h - u)  # (29)
        r, q, beta = r.copy(), q.copy(), beta.copy()
        for i in range(F):
            if observed[i]:
                r[i] = soft(rho * q[i] + v[i] - beta[i] - Wh[i], weight) / (1 + rho)  # (26)
                q[i] = min(max(r[i] + beta[i] / rho, -M), M)  # (28)
                beta[i] += rho * (r[i] - q[i])  # (30)
            else:
                r[i] = v[i] - Wh[i]
        track.append(u)
    return track


def stops(losses: list[float], tol: float) -> int:
    """Return the first iteration at which the rule of VII-B2 holds, or the last one."""
    for k, (previous, current) in enumerate(pairwise(losses), start=1):
        if abs(current - previous) / previous < tol:
            return k
    return len(losses) - 1


# --- the dictionary: (21)-(22) and (33)-(35) ---------------------------------------------------


def dictionary_objective(A: Array, B: Array, W: Array) -> float:
    """Return p_t of (18)."""
    return float(np.trace(W.T @ W @ A) / 2 - np.trace(W.T @ B))


def dictionary_pgd(A: Array, B: Array, W: Array, kappa: float, n: int) -> list[Array]:
    """Return W after each of n steps; the step is kappa over the norm of A (see ERRATA)."""
    track = [W]
    for _ in range(n):
        W = project_columns(W - kappa / np.linalg.norm(A) * (W @ A - B))  # (21), (22)
        track.append(W)
    return track


def dictionary_admm(A: Array, B: Array, W: Array, rho: float, n: int) -> list[Array]:
    """Return the feasible copy after each of n rounds; rho is absolute here, as in (32)."""
    Q, D = W, np.zeros_like(W)
    track = [Q]
    for _ in range(n):
        W = (B - D + rho * Q) @ np.linalg.inv(A + rho * np.eye(len(A)))  # (33)
        Q = project_columns(W + D / rho)  # (34)
        D = D + rho * (W - Q)  # (35)
        track.append(Q)
    return track


# --- all samples: (S-8)-(S-10) and (S-12)-(S-20) -----------------------------------------------


def bpgd_round(
    V: Array, W: Array, H: Array, R: Array, weight: float, M: float, kappa: float, observed: Array
) -> tuple[Array, Array, Array]:
    """Return W, H and R after one round of BPGD."""
    gradient = W.T @ (W @ H + R - V)
    H = np.maximum(H - kappa / np.linalg.norm(W, 2) ** 2 * gradient, 0)  # (S-8)
    left = V - W @ H
    R = np.empty_like(V)
    for i, j in np.ndindex(V.shape):
        R[i, j] = bounded_soft(left[i, j], weight, M) if observed[i, j] else left[i, j]  # (S-9)
    slope = (W @ H + R - V) @ H.T
    W = project_columns(W - kappa / np.linalg.norm(H @ H.T) * slope)  # (S-10)
    return W, H, R


class BadmmState(NamedTuple):
    """The variables of (S-11)."""

    H: Array
    R: Array
    W: Array
    U: Array
    Q: Array
    Psi: Array
    A: Array
    B: Array
    D: Array


def badmm_start(V: Array, W: Array, observed: Array) -> BadmmState:
    """Return zeros; over gaps the outliers are all of V."""
    H, R = np.zeros((W.shape[1], V.shape[1])), np.where(observed, 0.0, V)
    return BadmmState(H, R, W, H, R, W, 0 * H, 0 * R, 0 * W)


def badmm_round(
    V: Array, state: BadmmState, weight: float, M: float, rho: float, observed: Array
) -> BadmmState:
    """Return the variables after one round of BADMM.

    The first and the third weight are relative to the mean diagonal entries of W'W and of H H'
    (a documented deviation).
    """
    H, R, W, U, Q, Psi, A, B, D = state
    K = len(H)
    eye = np.eye(K)
    rho_h = rho * np.trace(W.T @ W) / K
    H = np.linalg.inv(W.T @ W + rho_h * eye) @ (W.T @ (V - R) + rho_h * U - A)  # (S-12)
    left = V - W @ H
    R = np.empty_like(V)
    for i, j in np.ndindex(V.shape):
        total = rho * Q[i, j] + left[i, j] - B[i, j]
        R[i, j] = soft(total, weight) / (1 + rho) if observed[i, j] else left[i, j]  # (S-13)
    rho_w = rho * np.trace(H @ H.T) / K
    W = ((V - R) @ H.T - D + rho_w * Psi) @ np.linalg.inv(H @ H.T + rho_w * eye)  # (S-14)
    U = np.maximum(H + A / rho_h, 0)  # (S-15)
    Q = np.clip(R + B / rho, -M, M)  # (S-16)
    Psi = project_columns(W + D / rho_w)  # (S-17)
    A = A + rho_h * (H - U)  # (S-18)
    B = np.where(observed, B + rho * (R - Q), 0.0)  # (S-19)
    D = D + rho_w * (W - Psi)  # (S-20)
    return BadmmState(H, R, W, U, Q, Psi, A, B, D)


# --- statistics of all samples, none of them forgotten -----------------------------------------


class Sample(NamedTuple):
    """A sample with all that was found for it, kept for ever."""

    v: Array
    h: Array
    r: Array
    cost: float  # g(r) + omega(h)


def sample_weights(sizes: list[int], forgetting: float, fade: float) -> Array:
    """Return the weight of each sample, of batches of these sizes, after the last batch.

    A batch of n brings 1 + f + ... + f^(n-1), the same for each of its samples. Each later
    sample multiplies by f, and each later batch by (samples before / samples after)^fade.
    """
    weights: list[float] = []
    for n in sizes:
        before, after = len(weights), len(weights) + n
        shrink = forgetting**n * (before / after) ** fade if before else 0.0
        fresh = sum(forgetting**i for i in range(n)) / n
        weights = [w * shrink for w in weights] + [fresh] * n
    return np.array(weights)


def surrogate(W: Array, samples: list[Sample], weights: Array) -> float:
    """Return f~_t of (11) at W as the weighted mean over all samples that were ever observed."""
    total = 0.0
    for (v, h, r, cost), weight in zip(samples, weights, strict=True):
        error = v - W @ h - r
        total += weight * (error @ error / 2 + cost)
    return float(total / weights.sum())


# --- rotations of a subspace, and robust codes -------------------------------------------------


def median_size(x: Array) -> float:
    """Return the median of |x|, of every n-th entry if there are n times 1024 or more."""
    return float(np.median(np.abs(x[:: max(len(x) // 1024, 1)])))


def rotated(U: Array, h: Array, direction: Array, angle: float) -> Array:
    """Return U with the vector U h turned by an angle towards an orthogonal direction."""
    code, aim = h / np.linalg.norm(h), direction / np.linalg.norm(direction)
    return U + np.outer((np.cos(angle) - 1) * (U @ code) + np.sin(angle) * aim, code)


def track_grouse(
    U: Array, V: Array, observed: Array, rule: str, rate: float
) -> tuple[Array, Array, Array]:
    """Return the basis after the rows of V, their codes and median residuals; all are observed a
    bit.

    Balzano, Nowak and Recht (2010), Algorithm 1, with the angles of the library.
    """
    K = U.shape[1]
    H, errors = np.zeros((len(V), K)), np.full(len(V), np.nan)
    for t, (v, there) in enumerate(zip(V, observed, strict=True)):
        h = np.linalg.lstsq(U[there], v[there], rcond=1e-7)[0]
        r = np.where(there, v - U @ h, 0.0)
        H[t], errors[t] = h, median_size(r[there]) if there.sum() > K else np.nan
        short, long = np.linalg.norm(r), np.linalg.norm(U @ h)
        if short <= 1e-12 * long:
            continue
        angle = np.arctan(short / long)
        if rule != "greedy":
            share = rate if rule == "constant" else rate * K / (K + t + 1)
            angle = min(share * short * long / (short**2 + long**2), np.pi / 3)
        U = rotated(U, h, r, angle)
    return U, H, errors


def robust_codes(
    U: Array, v: Array, ridge: float, delta: float, rho: float, rounds: int
) -> tuple[Array, Array]:
    """Return codes after some rounds of ADMM, and the multipliers relative to their bound.

    The problem is min sum |q| + ridge |h|^2 / 2 subject to U h + q = v. If delta > 0, the Huber
    function with this threshold replaces |q|. The rounds start from least squares.
    """
    K = U.shape[1]
    h = np.linalg.pinv(U.T @ U + ridge * np.eye(K), rcond=1e-12) @ (U.T @ v)
    rest = v - U @ h
    weight = rho / np.abs(rest).mean()
    bound = 1.0
    if delta > 0:
        weight, bound = min(weight * delta, 1.0), delta
    u = -np.clip(rest / (weight if delta > 0 else 1.0), -bound / weight, bound / weight)
    for _ in range(rounds):
        x = v - U @ h - u
        q = np.array([_prox(float(value), delta, weight) for value in x])
        u = u + U @ h + q - v
        h = np.linalg.solve(U.T @ U + ridge / weight * np.eye(K), U.T @ (v - q - u))
    return h, -u * weight / bound


def _prox(x: float, delta: float, weight: float) -> float:
    """Return argmin over q of |q|, or the Huber function, plus weight (q - x)^2 / 2."""
    if delta == 0:
        return soft(x, 1 / weight)
    inside = weight * x / (1 + weight)
    return inside if abs(inside) <= delta else soft(x, delta / weight)


def track_l1(
    U: Array, V: Array, observed: Array, rule: str, rate: float, rho: float, rounds: int
) -> tuple[Array, Array, Array, Array]:
    """Return the basis after the rows of V, their codes, outliers and median residuals.

    He, Balzano and Szlam (2012), Algorithms 1 and 3, and for the rule "proximal" Mansour and
    Jiang (2015), with lengths relative to their means.
    """
    K = U.shape[1]
    H, R = np.zeros((len(V), K)), np.zeros(V.shape)
    errors, lengths, last = np.full(len(V), np.nan), [], np.zeros(U.shape)
    variable, level = 6.0, 0
    for t, (v, there) in enumerate(zip(V, observed, strict=True)):
        h, y = robust_codes(U[there], v[there], 0.0, 0.0, rho, rounds)
        rest = v[there] - U[there] @ h
        H[t], R[t, there] = h, rest
        errors[t] = median_size(rest) if there.sum() > K else np.nan
        lengths.append(h @ h)
        slope = np.zeros(len(U))
        slope[there] = y
        slope -= U @ (U.T @ slope)
        gradient = np.outer(slope, h) / np.linalg.norm(slope) / np.linalg.norm(h)
        agreement = np.sum(gradient * last)
        size = np.linalg.norm(slope) / sqrt(there.sum())
        length = np.linalg.norm(h) / sqrt(np.mean(lengths))
        if rule in ("adaptive", "proximal"):
            variable += sigmoid(-agreement if rule == "adaptive" else agreement)
            if not 1 < variable < 15:
                level, variable = level + (1 if variable >= 15 else -1), 6.0
        step = rate * 0.5**level / (1 + variable)
        if rule == "proximal":
            angle = np.arctan(size * length / (1 + step * length**2))
        else:
            step = {"constant": rate, "diminishing": rate / (2 + t), "adaptive": step}[rule]
            angle = min(step * size * length, np.pi / 3)
        U, last = rotated(U, h, slope, angle), gradient
    return U, H, R, errors


def sigmoid(x: float) -> float:
    """Return the sigmoid of GRASTA with limits -1 and 1 and width 0.1: 0 at 0."""
    low, high, width = -1.0, 1.0, 0.1
    return float(low + (high - low) / (1 - high / low * np.exp(-x / width)))


def track_surrogate(
    U: Array,
    V: Array,
    observed: Array,
    weights: tuple[float, float],
    forgetting: float,
    sweeps: int,
    rho: float,
    rounds: int,
) -> tuple[Array, Array, Array, Array, Array]:
    """Return the basis after the rows of V, A, B, their codes and outliers.

    Feng, Xu and Yan (2013), Algorithms 1 and 2, on samples of a typical length of one.
    """
    F, K = U.shape
    A, B = np.zeros((K, K)), np.zeros((F, K))
    H, R, lengths = np.zeros((len(V), K)), np.zeros(V.shape), []
    for t, (v, there) in enumerate(zip(V, observed, strict=True)):
        lengths.append(sqrt(F) * median_size(v[there]))
        length = np.mean(lengths)
        ridge, delta = weights[0], weights[1] * length
        h, _ = robust_codes(U[there], v[there], ridge, delta, rho, rounds)
        r = np.array([soft(float(value), delta) for value in v - U @ h])
        H[t], R[t] = h, np.where(there, r, 0.0)
        A = forgetting * A + np.outer(h, h)
        B = forgetting * B + np.outer(np.where(there, v - r, U @ h), h)
        for _ in range(sweeps):
            for k in range(K):
                curve = A[k, k] + ridge * length**2
                others = U @ A[:, k] - U[:, k] * A[k, k]
                U = np.column_stack([*U.T[:k], (B[:, k] - others) / curve, *U.T[k + 1 :]])
    return U, A, B, H, R


# --- projected compressive sensing ---------------------------------------------------------------


def recover_sparse(v: Array, P: Array, bound: float, cut: float) -> tuple[Array, Array]:
    """Return codes and outliers of one sample, all entries of which are observed.

    Outliers x of least l1 norm with |Psi (v - x)| <= bound, Psi = I - P P^+; then the entries
    of x beyond ``cut`` are found by least squares on their columns of Psi.
    """
    Psi = np.eye(len(v)) - P @ np.linalg.pinv(P)
    x = least_l1_outliers(v, P, bound)
    support = np.abs(x) > cut
    r = np.zeros(len(v))
    r[support] = np.linalg.lstsq(Psi[:, support], Psi @ v, rcond=None)[0]
    return np.linalg.lstsq(P, v - r, rcond=None)[0], r


def least_l1_outliers(v: Array, P: Array, bound: float) -> Array:
    """Return the outliers of least l1 norm, by bisection of the limit at which e is clipped."""
    if np.linalg.norm(v - P @ np.linalg.lstsq(P, v, rcond=None)[0]) <= bound:
        return np.zeros(len(v))
    low, high = 0.0, float(np.abs(v).max())
    for _ in range(60):
        limit = (low + high) / 2
        e = v - P @ huber_fit(v, P, limit)
        low, high = (low, limit) if np.linalg.norm(e.clip(-limit, limit)) > bound else (limit, high)
    return np.sign(e) * np.maximum(np.abs(e) - limit, 0.0)


def huber_fit(v: Array, P: Array, delta: float) -> Array:
    """Return argmin over h of the Huber loss of v - P h, by reweighted least squares."""
    h = np.linalg.lstsq(P, v, rcond=None)[0]
    for _ in range(1000):
        weight = 1.0 / np.maximum(np.abs(v - P @ h) / delta, 1.0)
        step = np.linalg.solve(P.T * weight @ P, P.T @ (weight * v)) - h
        h = h + step
        if np.abs(step).max() <= 1e-13 * np.abs(h).max():
            break
    return h


# --- codes with and without outliers, and recursive least squares by rows ------------------------


class Noise(NamedTuple):
    """Running averages: noise variance and its weight, code size and share of inliers."""

    variance: float
    weight: float
    n_samples: int
    size: float
    share: float
    first: list[float]


def upper_quantile(x: Array, spare: int = 0, share: float = 0.5) -> float:
    """Return a quantile (default: the median) of |x|, without the ``spare`` smallest entries."""
    sizes = np.sort(np.abs(x[:: max(len(x) // 1024, 1)]))
    rest = sizes[min(spare, len(sizes) - 1) :]
    return float(rest[int(share * len(rest))])


def least_squares_codes(X: Array, observed: Array, U: Array) -> Array:
    """Return codes of the rows of X on the observed entries, the shortest if not unique."""
    pairs = zip(X, observed, strict=True)
    return np.array([least_norm(x[there], U[there]) for x, there in pairs])


def least_norm(x: Array, U: Array) -> Array:
    """Return the least-squares codes, of least norm if they are not unique."""
    return np.linalg.lstsq(U, x, rcond=1e-7)[0] if len(x) else np.zeros(U.shape[1])


def huber_codes(X: Array, observed: Array, U: Array, delta: float) -> Array:
    """Return codes of least Huber loss; least squares for samples with few observed entries."""
    H = least_squares_codes(X, observed, U)
    for h, x, there in zip(H, X, observed, strict=True):
        if there.sum() >= 2 * U.shape[1] + 2:
            h[:] = exact_huber_fit(x[there], U[there], delta)
    return H


def exact_huber_fit(x: Array, U: Array, delta: float) -> Array:
    """Return argmin over h of the Huber loss of x - U h: reweighted until the signs are right."""
    h = least_norm(x, U)
    for _ in range(5000):
        e = x - U @ h
        inside = np.abs(e) <= delta
        pull = U[~inside].T @ (delta * np.sign(e[~inside]))
        G, g = U[inside].T @ U[inside], U[inside].T @ x[inside] + pull
        best = np.linalg.lstsq(G, g, rcond=1e-12)[0]
        left = np.clip(x - U @ best, -delta, delta)
        if np.all(np.abs(U.T @ left) <= 1e-10 * (np.abs(U).T @ np.abs(left))):
            return best
        h = reweighted_step(h, x, U, delta)
    raise AssertionError(f"no minimum was found with delta = {delta}")


def reweighted_step(h: Array, x: Array, U: Array, delta: float) -> Array:
    """Return the codes after a step of reweighted least squares."""
    weight = 1.0 / np.maximum(np.abs(x - U @ h) / delta, 1.0)
    return np.linalg.solve(U.T * weight @ U, U.T @ (weight * x))


class RejectionFit(NamedTuple):
    """Fit of a sample: codes h, residual e, inliers, noise scale, two quantiles of |e|.

    ``spare`` is the number of inliers minus the number of codes, ``size`` the size of the codes.
    """

    h: Array
    e: Array
    kept: Array
    scale: float
    middle: float
    low: float
    spare: int
    size: float


def fit_with_rejection(
    x: Array, U: Array, scale: float, delta: float, limit: float, prior: float, typical_size: float
) -> RejectionFit:
    """Fit a complete sample; entries with residuals above ``limit * scale`` are outliers.

    If the scale is 0, it is estimated from the residual of the sample. If less than 30 % are
    inliers, the Huber fit is returned. The prior then shrinks codes that the data do not determine.
    """
    n, K = U.shape
    if n < 2 * K + 2:
        return fit_few_entries(x, U, scale, delta, limit, prior, typical_size)
    bend = delta * scale if scale > 0 else 1e-2 * upper_quantile(x)
    e = x - U @ exact_huber_fit(x, U, bend)
    middle, low = upper_quantile(e, K), upper_quantile(e, K, 0.3)
    scale = scale or MAD_TO_STANDARD_DEVIATION * middle
    h, rows = fit_inliers(x, U, bend, limit * scale, max(K + 1, int(0.3 * n)), prior)
    e = x - U @ h
    kept = np.abs(e) <= limit * scale
    return RejectionFit(h, e, kept, scale, middle, low, int(kept.sum()) - K, code_size(h, rows))


def fit_few_entries(
    x: Array, U: Array, scale: float, delta: float, limit: float, prior: float, typical_size: float
) -> RejectionFit:
    """Do the same for few entries: either all are used for learning, or none.

    If they do not fit, codes are those of the inliers, of at most four times the typical norm.
    """
    n, K = U.shape
    known, h = scale > 0, shrink_to_prior(least_norm(x, U), U, prior)
    e, size = x - U @ h, code_size(h, U)
    middle, low = upper_quantile(e, K), upper_quantile(e, K, 0.3)
    scale = scale or MAD_TO_STANDARD_DEVIATION * middle
    bound = limit * scale
    fits = bool(e @ e <= bound**2 * (n - K))
    kept = np.full(n, fits)
    if known and not fits:
        if n > K:
            h, _ = fit_inliers(x, U, delta * scale, bound, K + 1, prior)
            h = h * (np.sum(np.abs(x - U @ h) <= bound) > K)
        h = h * min(1.0, 4 * np.sqrt(typical_size) / max(float(np.linalg.norm(h)), 1e-300))
        e = x - U @ h
        kept = np.abs(e) <= bound
    return RejectionFit(h, e, kept, scale, middle, low, (n if fits else 0) - K, size)


def code_size(h: Array, U: Array) -> float:
    """Return |U h|^2, scaled so that it is |h|^2 if U has orthogonal columns of equal norm."""
    return float(np.sum((U @ h) ** 2) * U.shape[1] / np.sum(U**2)) if U.any() else 0.0


def shrink_to_prior(h: Array, U: Array, prior: float) -> Array:
    """Return h, shrunk in directions in which the data precision U'U is small."""
    precision, Q = np.linalg.eigh(U.T @ U)
    return Q @ ((1 - (prior / (prior + np.maximum(precision, 0.0))) ** 3) * (Q.T @ h))


def bounded_prior(prior: float, U: Array, n: int) -> float:
    """Return the prior precision: at most a tenth of the typical data precision, and not zero."""
    typical = n * float(np.mean(U**2))
    return max(min(prior, 0.1 * typical), 1e2 * float(np.finfo(U.dtype).eps) * typical)


def fit_inliers(
    x: Array, U: Array, delta: float, bound: float, least: int, prior: float
) -> tuple[Array, Array]:
    """Return the codes of the inliers, shrunk by the prior, and the rows of U at the inliers."""
    first = h = exact_huber_fit(x, U, delta)
    kept = np.abs(x - U @ h) <= bound
    for _ in range(10):
        if kept.sum() < least:
            h = first
            kept = np.abs(x - U @ h) <= bound
            break
        h = least_norm(x[kept], U[kept])
        before, kept = kept, np.abs(x - U @ h) <= bound
        if np.array_equal(before, kept):
            break
    return shrink_to_prior(h, U[kept], prior), U[kept]


def codes_with_rejection(
    X: Array, observed: Array, U: Array, scale: float, prior: float, delta: float, limit: float
) -> tuple[Array, Array]:
    """Return codes and outliers of the rows of X."""
    H, R = np.zeros((len(X), U.shape[1])), np.zeros(X.shape)
    for t, (x, there) in enumerate(zip(X, observed, strict=True)):
        if there.any():
            least = bounded_prior(prior, U, int(there.sum()))
            typical_size = scale**2 * U.shape[1] / prior if prior > 0 else np.inf
            found = fit_with_rejection(x[there], U[there], scale, delta, limit, least, typical_size)
            H[t], R[t, there] = found.h, np.where(found.kept, 0.0, found.e)
    return H, R


def update_rows(
    U: Array, moments: Array, w: Array, x: Array, kept: Array, forgetting: float, step: float
) -> tuple[Array, Array]:
    """Return basis and rows' moments after one sample: [T] (25), Algorithm 3 without its ridge."""
    U, moments = U.copy(), forgetting * moments
    for m in np.flatnonzero(kept):
        moments[m] += np.outer(w, w)
        U[m] += step * (x[m] - w @ U[m]) * np.linalg.solve(moments[m], w)
    return U, moments


def adaptive_step(e: Array, w: Array, full: float) -> float:
    """Return eta of [T] (26): the sine of sample and subspace, or 1 beyond ``full``."""
    sine = np.sqrt(e @ e / (e @ e + w @ w))
    return float(sine if sine <= full else 1.0)


def forgetting_and_step(e: Array, w: Array, motion: Motion) -> tuple[float, float]:
    """Return forgetting factor and step: eta of [T] (26) multiplies one of them.

    The factor if the last entry of ``motion`` is true: lambda_t = eta_t lambda, [T] II-B.
    """
    eta = adaptive_step(e, w, motion[2])
    return (motion[0] * eta, 1.0) if motion[3] else (motion[0], eta)


def track_least_squares(
    X: Array, observed: Array, U: Array, motion: Motion
) -> tuple[Array, Array, Array, Array]:
    """Return the basis after the rows of X, the rows' moments, codes and median residuals.

    ``motion``: forgetting factor, ridge, sine above which eta is 1, and whether eta multiplies
    the forgetting factor.
    """
    F, K = U.shape
    H, errors, moments = np.zeros((len(X), K)), np.full(len(X), np.nan), np.zeros((F, K, K))
    for t, (x, there) in enumerate(zip(X, observed, strict=True)):
        if not there.any():
            continue
        w = least_norm(x[there], U[there])
        e = x[there] - U[there] @ w
        H[t], errors[t] = w, upper_quantile(e, K) if there.sum() > K else np.nan
        if not w.any():
            continue
        if not moments.any():
            moments[:] = motion[1] * (w @ w) / K * np.eye(K)
        U, moments = update_rows(U, moments, w, x, there, *forgetting_and_step(e, w, motion))
    return U, moments, H, errors


class Features(NamedTuple):
    """Counts of residuals, the latest sample, and sums over pairs of successive samples."""

    counts: Array
    residual: Array
    codes: Array
    sums: Array


LIMIT = 0.65  # of the residuals that are counted, in noise scales


def with_sample(
    before: Features, there: Array, kept: Array, e: Array, h: Array, scale: float
) -> Features:
    """Return the statistics with a sample; e is its residual at all features."""
    r = np.where(kept, e, 0.0)
    counts = before.counts + np.array([there, kept, np.abs(r) > LIMIT * scale])
    sizes = np.linalg.norm(r) * np.linalg.norm(before.residual)
    code_sizes = np.linalg.norm(h) * np.linalg.norm(before.codes)
    sums = before.sums
    if sizes > 0 and code_sizes > 0:
        a, b = r @ before.residual / sizes, h @ before.codes / code_sizes
        sums = sums + np.array([1.0, a, b, a * b, a * a, b * b])
    return Features(counts, r, h, sums)


def mask_stuck(X: Array, observed: Array, min_run: int) -> tuple[Array, Array]:
    """Return the mask without stuck and dead features, and the ones that were constant and vary."""
    mask, released = observed.copy(), np.zeros(X.shape[1], bool)
    for t, there in enumerate(observed):
        stuck, dead = np.zeros((2, X.shape[1]), bool)
        for f in np.flatnonzero(there):
            values = X[: t + 1, f][observed[: t + 1, f]]
            runs = np.flatnonzero(np.diff(values) != 0)
            run = len(values) - 1 - (runs[-1] + 1 if len(runs) else 0)
            stuck[f] = len(runs) > 0 and run >= min_run
            dead[f] = len(runs) == 0 and run >= min_run and values[0] == 0
            released[f] |= len(runs) == 1 and runs[0] >= min_run
        if dead.sum() < there.sum():
            mask[t] &= ~dead
            if 2 * stuck.sum() < (there & ~dead).sum():
                mask[t] &= ~stuck
    return mask, released


def track_with_rejection(
    X: Array,
    observed: Array,
    U: Array,
    motion: Motion,
    rule: tuple[float, float, float, float],
    warm_up: int,
) -> tuple[Array, Array, Noise, Array, Array, Array, Features]:
    """Return basis, moments and noise after the rows of X, codes, outliers, median residuals.

    ``rule``: Huber threshold and outlier threshold in noise scales, the variance of a normal
    distribution truncated at the latter, and the decay of the weight of the noise scale. The
    first ``warm_up`` samples only estimate the noise scale.
    """
    F, K = U.shape
    H, R, errors = np.zeros((len(X), K)), np.zeros(X.shape), np.full(len(X), np.nan)
    moments, noise = np.zeros((F, K, K)), Noise(0.0, 0.0, 0, 0.0, 0.0, [])
    features = Features(np.zeros((3, F)), np.zeros(F), np.zeros(K), np.zeros(6))
    for t, (x, there) in enumerate(zip(X, observed, strict=True)):
        n = int(there.sum())
        if n == 0:
            continue
        warming_up = noise.n_samples < warm_up
        scale = 0.0 if warming_up else sqrt(noise.variance)
        known = not warming_up and noise.size > 0
        prior = bounded_prior(noise.variance * K / noise.size if known else 0.0, U, n)
        typical_size = noise.size if known else np.inf
        found = fit_with_rejection(x[there], U[there], scale, rule[0], rule[1], prior, typical_size)
        H[t], R[t, there] = found.h, np.where(found.kept, 0.0, found.e)
        if n <= K:
            continue
        errors[t] = found.middle
        spare, clean = found.spare, found.e[found.kept]
        noise = update_noise(noise, found, spare, warming_up, rule)
        noise, typical = update_averages(noise, found.size, max(spare, 0) / (n - K), 1 - rule[3])
        if warming_up or not typical or spare <= 0 or not found.h.any():
            continue
        if not moments.any():
            moments[:] = motion[1] * noise.size / K * np.eye(K)
        kept = np.zeros(F, dtype=bool)
        kept[there] = found.kept
        if spare >= 3 * K:
            e = np.zeros(F)
            e[there] = found.e
            features = with_sample(features, there, kept, e, found.h, scale)
        U, moments = update_rows(
            U, moments, found.h, x, kept, *forgetting_and_step(clean, found.h, motion)
        )
    return U, moments, noise, H, R, errors, features


def update_noise(
    noise: Noise, found: RejectionFit, spare: int, warming_up: bool, rule: Any
) -> Noise:
    """Return the averages after the noise variance of one more sample."""
    weight = max(spare, 1)
    if warming_up:
        first = [*noise.first, found.scale]
        return noise._replace(
            variance=float(np.median(first)) ** 2, weight=noise.weight + weight, first=first
        )
    squares, level = float(np.sum(found.e[found.kept] ** 2)), noise.variance
    if spare <= 0:
        level = 4 * noise.variance
    elif squares > 0:
        level = squares / (spare * rule[2]) * np.exp(1 / spare + 1 / (3 * spare**2))
    level = max(level, found.low**2)
    total = rule[3] * noise.weight + weight
    mean = noise.variance * (level / noise.variance) ** (weight / total)
    return noise._replace(variance=mean, weight=total)


def update_averages(noise: Noise, code: float, share: float, least: float) -> tuple[Noise, bool]:
    """Return the averages after one more sample, and whether its share of inliers is typical."""
    n = noise.n_samples + 1
    rate, typical, size = max(1 / n, least), share >= 0.5 * noise.share, noise.size
    if typical and code > 0:
        size = size ** (1 - rate) * code**rate if size > 0 else code
    mean = noise.share + rate * (share - noise.share)
    return noise._replace(n_samples=n, size=size, share=mean), typical


class ADMMResult(NamedTuple):
    """Codes and outliers after rounds of Algorithm 2 of [T], and the change of s in each."""

    w: Array
    s: Array
    moves: Array


def admm_codes(
    x: Array, U: Array, delta: float, rounds: int, rho: float = 1.5, sign: float = 1.0
) -> ADMMResult:
    """Run Algorithm 2 of [T] on a complete sample; with the sign -1, (15) as printed."""
    w, s, dual, e = np.zeros(U.shape[1]), np.zeros(len(x)), np.zeros(len(x)), np.zeros(len(x))
    moves = np.zeros(rounds)
    for k in range(rounds):
        u = (x - U @ w + sign * rho * (s - dual)) / (1 + rho)  # (15)
        before, s = s, soft_threshold(u + dual, delta / rho)  # (16)
        dual = dual + u - s
        moves[k] = np.linalg.norm(s - before)
        w = np.linalg.lstsq(U, x - s + e, rcond=None)[0]  # (20)
        z = U @ w + s - x  # (21)
        e = rho / (1 + rho) * z + soft_threshold(z, delta * (1 + 1 / rho)) / (1 + rho)  # (22)
    return ADMMResult(w, s, moves)


def soft_threshold(x: Array, threshold: float) -> Array:
    """Return sign(x) max(|x| - threshold, 0)."""
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0.0)
