"""Naive twins of the fast code: one sample, one support, one entry, one loop at a time.

The first part has a function for every public kernel of ``thalweg._kernels``, under its name.
The second part is paper [O] transcribed line by line, for a single sample or a whole batch.
Nothing here imports the library.
"""

from collections.abc import Callable
from itertools import combinations, pairwise
from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np

Array = Any
Project = Callable[[Array], Array]


# --- kernels -----------------------------------------------------------------------------------


def nonnegative_codes(G: Array, C: Array) -> Array:
    """Return for each row c of C the best point of h'Gh/2 - c'h over all 2^K supports.

    A minimum is attained where the columns of the support are independent, so the least
    squares solution of each support is candidate enough when G is singular.
    """
    return np.array([_best_support(G if np.ndim(G) == 2 else G[s], c) for s, c in enumerate(C)])


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
    seen: Array | None = None,
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
    kept = np.ones(len(v), dtype=bool) if seen is None else seen
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


def sweep_atoms(A: Array, B: Array, W: Array, radius: float, free: Array) -> Array:
    """Return W after each free column has been minimised over in turn, from scratch."""
    W = W.copy()
    for k in range(W.shape[1]):
        if free[k] and A[k, k] > 0:
            others = sum((W[:, j] * A[j, k] for j in range(W.shape[1]) if j != k), 0.0)
            W[:, k] = project_ball((B[:, k] - others) / A[k, k], radius)
    return W


# --- the paper's operators ---------------------------------------------------------------------


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


def products_at(rows: Array, columns: Array, W: Array, H: Array) -> Array:
    """Return the entries of H W' at some places."""
    return (H @ W.T)[rows, columns]


def count_codes(v: Array, W: Array, mass: Array, h: Array, steps: int) -> Array:
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


def offer_entries(curves: Array, S: Array, H: Array) -> tuple[list[Any], list[Any]]:
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


def sample_loss(v: Array, W: Array, h: Array, r: Array, weight: float, seen: Array) -> float:
    """Return l~ of (6), where gaps cost nothing."""
    error = v - W @ h - r
    return sum(error[i] ** 2 / 2 + weight * abs(r[i]) for i in range(len(v)) if seen[i])


def opgd_encode(
    v: Array, W: Array, weight: float, M: float, kappa: float, n: int, seen: Array
) -> list[tuple[Array, Array]]:
    """Return (h, r) at the start and after each of n rounds of OPGD."""
    F, K = W.shape
    eta = kappa / np.linalg.norm(W, 2) ** 2

    def outliers(h: Array) -> Array:  # (14), (17); all that is left over a gap
        left = [v[i] - sum(W[i, k] * h[k] for k in range(K)) for i in range(F)]
        return np.array([bounded_soft(x, weight, M) if seen[i] else x for i, x in enumerate(left)])

    h = np.zeros(K)
    r = outliers(h)
    track = [(h, r)]
    for _ in range(n):
        gradient = W.T @ (W @ h + r - v)
        h = np.array([max(h[k] - eta * gradient[k], 0.0) for k in range(K)])  # (13), (15)
        r = outliers(h)
        track.append((h, r))
    return track


def oadmm_encode(
    v: Array, W: Array, weight: float, M: float, rho: float, n: int, seen: Array
) -> list[Array]:
    """Return the feasible copy u at the start and after each of n rounds of OADMM."""
    F, K = W.shape
    h, u, alpha = np.zeros(K), np.zeros(K), np.zeros(K)
    r, q, beta = np.where(seen, 0.0, v), np.zeros(F), np.zeros(F)
    track = [u]
    for _ in range(n):
        h = np.linalg.inv(W.T @ W + rho * np.eye(K)) @ (W.T @ (v - r) + rho * u - alpha)  # (25)
        Wh = W @ h
        u = np.array([max(h[k] + alpha[k] / rho, 0.0) for k in range(K)])  # (27)
        alpha = alpha + rho * (h - u)  # (29)
        r, q, beta = r.copy(), q.copy(), beta.copy()
        for i in range(F):
            if seen[i]:
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
    V: Array, W: Array, H: Array, R: Array, weight: float, M: float, kappa: float, seen: Array
) -> tuple[Array, Array, Array]:
    """Return W, H and R after one round of BPGD."""
    gradient = W.T @ (W @ H + R - V)
    H = np.maximum(H - kappa / np.linalg.norm(W, 2) ** 2 * gradient, 0)  # (S-8)
    left = V - W @ H
    R = np.empty_like(V)
    for i, j in np.ndindex(V.shape):
        R[i, j] = bounded_soft(left[i, j], weight, M) if seen[i, j] else left[i, j]  # (S-9)
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


def badmm_start(V: Array, W: Array, seen: Array) -> BadmmState:
    """Return zeros; over gaps the outliers are all of V."""
    H, R = np.zeros((W.shape[1], V.shape[1])), np.where(seen, 0.0, V)
    return BadmmState(H, R, W, H, R, W, 0 * H, 0 * R, 0 * W)


def badmm_round(
    V: Array, state: BadmmState, weight: float, M: float, rho: float, seen: Array
) -> BadmmState:
    """Return the variables after one round of BADMM.

    The third weight is relative to the mean diagonal entry of H H' (a documented deviation).
    """
    H, R, W, U, Q, Psi, A, B, D = state
    K = len(H)
    eye = np.eye(K)
    H = np.linalg.inv(W.T @ W + rho * eye) @ (W.T @ (V - R) + rho * U - A)  # (S-12)
    left = V - W @ H
    R = np.empty_like(V)
    for i, j in np.ndindex(V.shape):
        total = rho * Q[i, j] + left[i, j] - B[i, j]
        R[i, j] = soft(total, weight) / (1 + rho) if seen[i, j] else left[i, j]  # (S-13)
    rho_w = rho * np.trace(H @ H.T) / K
    W = ((V - R) @ H.T - D + rho_w * Psi) @ np.linalg.inv(H @ H.T + rho_w * eye)  # (S-14)
    U = np.maximum(H + A / rho, 0)  # (S-15)
    Q = np.clip(R + B / rho, -M, M)  # (S-16)
    Psi = project_columns(W + D / rho_w)  # (S-17)
    A = A + rho * (H - U)  # (S-18)
    B = np.where(seen, B + rho * (R - Q), 0.0)  # (S-19)
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
    """Return f~_t of (11) at W as the weighted mean over all samples that were ever seen."""
    total = 0.0
    for (v, h, r, cost), weight in zip(samples, weights, strict=True):
        error = v - W @ h - r
        total += weight * (error @ error / 2 + cost)
    return float(total / weights.sum())
