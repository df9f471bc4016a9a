"""The methods that [R] compares with, each against its own equations, sample by sample."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime, nnls

from thalweg import ORNMF, baselines
from thalweg._typing import Array
from thalweg.encoders import Codes
from thalweg.prox.simplex import Simplex
from thalweg.solvers.diagonal_newton import DiagonalNewton
from thalweg.updates.cao_onmf import CaoONMF
from thalweg.updates.incremental import Incremental

F, K, N = 7, 3, 25
every_baseline = pytest.mark.parametrize(
    "cls",
    [
        baselines.ONMF,
        baselines.INMF,
        baselines.INMFVC,
        baselines.OMF,
        baselines.OMFDA,
        baselines.OLGuan,
    ],
)


def data(n: int = N, seed: int = 0, n_features: int = F) -> Array:
    rng = np.random.default_rng(seed)
    X = rng.gamma(1.0, 1.0, (n, K)) @ rng.gamma(0.7, 1.0, (K, n_features))
    return X * rng.gamma(50.0, 0.02, X.shape) + 0.01


def start(n_features: int = F, n: int = K) -> Array:
    W = np.random.default_rng(9).random((n_features, n)) + 0.1
    return W / W.sum(axis=0)


def fitted(model: Any, X: Array, W: Array) -> Array:
    return model.set_params(init=W.T, shuffle=False).fit(X).components_.T


def seeded(X: Array, share: float, axis: int | None = 0) -> Array:
    return np.maximum(X, share * X.mean(axis=axis))


# --- surrogates --------------------------------------------------------------------------------


def surrogate(X: Array, W: Array, rho: float, move: Callable[..., Array]) -> Array:
    """Return the dictionary after [R] (44), with sums, and Mairal's forgetting."""
    A, B, square, weight = np.zeros((K, K)), np.zeros((F, K)), 0.0, 0.0

    def value(W: Array) -> float:
        return float(np.trace(W.T @ W @ A) / 2 - np.trace(W.T @ B) + square)

    for t, v in enumerate(X, start=1):
        h, beta = nnls(W, v)[0], (1 - 1 / t) ** rho
        A, B = beta * A + np.outer(h, h), beta * B + np.outer(v, h)
        square, weight = beta * square + v @ v / 2, beta * weight + 1
        memory: dict[str, float] = {}
        for _ in range(200):
            before = value(W)
            W = move(A, B, W, memory)
            if before - value(W) <= 1e-4 * before:
                break
    return W


def one_by_one(A: Array, B: Array, W: Array, memory: Any) -> Array:
    W = W.copy()
    for j in range(K):
        if A[j, j] > 0:
            W[:, j] = Simplex().prox(W[:, j] - (W @ A[:, j] - B[:, j]) / A[j, j])  # (45)
    return W


def all_at_once(A: Array, B: Array, W: Array, memory: dict[str, float]) -> Array:
    used = np.diag(A) > 0
    scale = np.where(used, np.diag(A), 1.0)
    while True:
        s = memory.setdefault("s", 1.0)
        new = Simplex().prox(W - s * (W @ A - B) / scale)  # IV-F
        new[:, ~used] = W[:, ~used]
        D = new - W
        if s * K <= 1 or s * np.trace(D @ A @ D.T) <= np.sum(D**2 * scale):
            return new
        memory["s"] = s / 2


@pytest.mark.parametrize("rho", [0.0, 2.5])
def test_omf_is_its_equations(rho: float) -> None:
    X, W = data(), start()
    expected = surrogate(X, W, rho, one_by_one)
    np.testing.assert_allclose(fitted(baselines.OMF(K, fade=rho), X, W), expected, atol=1e-9)


def test_omf_da_is_its_equations() -> None:
    X, W = data(), start()
    expected = surrogate(X, W, 0.0, all_at_once)
    np.testing.assert_allclose(fitted(baselines.OMFDA(K), X, W), expected, atol=1e-9)


def test_the_printed_step_of_omf_da_overshoots() -> None:
    """Codes that go together: every column takes the whole error for its own."""
    A = np.full((4, 4), 1.0) + 1e-3 * np.eye(4)
    best = Simplex().prox(np.random.default_rng(0).random((6, 4)))
    W, B = Simplex().prox(np.random.default_rng(1).random((6, 4))), best @ A

    def value(W: Array) -> float:
        return float(np.trace(W.T @ W @ A) / 2 - np.trace(W.T @ B))

    printed = Simplex().prox(W - (W @ A - B) / np.diag(A))
    ours, _ = DiagonalNewton(max_iter=1).solve(A, B, W, Simplex(), np.ones(4, bool))
    assert value(printed) > value(W) > value(ours)


# --- multiplicative updates --------------------------------------------------------------------


def incremental(X: Array, W: Array, delta: Callable[[int], float], L: int = 1) -> Array:
    """Return W after [R] (40), or (41) and (42) for a square W, with all samples kept."""
    samples: list[tuple[Array, Array, float]] = []  # with their codes and weights
    for t, v in enumerate(X, start=1):
        h, W = seeded(nnls(W, v)[0], 1e-6), seeded(W, 1e-6)
        samples = [(a, b, w * ((t - 1) / t) ** (L - 1)) for a, b, w in samples]
        total = sum(w for _, _, w in samples) + 1

        def sums(h: Array, v: Array = v, old: Any = samples, total: float = total) -> Any:
            both = [*old, (v, h, 1.0)]
            return (
                sum(w * np.outer(b, b) for _, b, w in both) / total,
                sum(w * np.outer(a, b) for a, b, w in both) / total,
                sum(w * a @ a / 2 for a, _, w in both) / total,
            )

        mu = delta(t) * weakest(W @ sums(h)[0] @ W.T) if t >= K else 0.0

        def value(W: Array, h: Array, mu: float = mu, sums: Any = sums) -> float:
            A, B, square = sums(h)
            volume = mu * np.log(abs(np.linalg.det(W))) if mu else 0.0
            return float(np.trace(W.T @ W @ A) / 2 - np.trace(W.T @ B) + square + volume)

        now = value(W, h)
        for _ in range(200):
            h = h * (W.T @ v) / (W.T @ W @ h)
            A, B, _ = sums(h)
            slope = mu * np.linalg.inv(W).T if mu else np.zeros_like(W)
            ratio = (B + np.maximum(-slope, 0)) / (W @ A + np.maximum(slope, 0))
            tried = (W * ratio**0.5**i for i in range(8))
            lower = (x for x in tried if not mu or value(x, h) <= value(W, h))
            W = next(lower, W)
            before, now = now, value(W, h)
            if before - now <= 1e-4 * abs(before):
                break
        size = W.sum(axis=0)
        W = W / size
        samples = [(a, b * size, w) for a, b, w in [*samples, (v, h, 1.0)]]
    return W


def weakest(square: Array) -> float:
    """Return the mean square of the model in its weakest direction."""
    return float(np.linalg.eigvals(square).real.min())


def test_inmf_is_its_equations() -> None:
    X, W = data(), start()
    expected = incremental(X, W, lambda t: 0.0)
    np.testing.assert_allclose(fitted(baselines.INMF(K), X, W), expected, atol=1e-8)


def test_inmf_with_a_volume_is_its_equations() -> None:
    X, W = data(7, n_features=K), start(K)
    model = baselines.INMFVC(K, volume_weight=0.05, volume_decay=0.1, fade=1.0)
    expected = incremental(X, W, lambda t: 0.05 * np.exp(-0.1 * t), L=2)
    np.testing.assert_allclose(fitted(model, X, W), expected, atol=1e-8)


def corners(n: int) -> Array:
    """Return samples in a triangle with wide corners, hardly noisy."""
    rng = np.random.default_rng(0)
    mixtures = (0.05 + 0.85 * np.eye(K)) @ rng.dirichlet(np.full(K, 0.5), n).T
    return (mixtures * rng.gamma(20.0, 0.05, n)).T + 0.002 * rng.random((n, K))


def test_inmf_with_a_volume_is_its_equations_for_many_samples() -> None:
    X, W = corners(60), 0.15 + 0.55 * np.eye(K)
    found = fitted(baselines.INMFVC(K), X, W)
    expected = incremental(X, W, lambda t: 0.1 * np.exp(-0.01 * t), L=2)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.abs(found - incremental(X, W, lambda t: 0.0, L=2)).max() > 0.01


def test_the_volume_counts_once_the_samples_bound_it() -> None:
    """With fewer samples than components W can become singular at no cost in fit."""
    X, W = corners(K), 0.15 + 0.55 * np.eye(K)
    for n in range(1, K + 1):
        found = fitted(baselines.INMFVC(K), X[:n], W)
        plain = fitted(baselines.INMFVC(K, volume_weight=0.0), X[:n], W)
        assert np.array_equal(found, plain) == (n < K)


@pytest.mark.parametrize("n_features", [4, 12])
@pytest.mark.parametrize("unit", [1.0, 2.0**10])
def test_inmf_vc_does_not_collapse(n_features: int, unit: float) -> None:
    rng = np.random.default_rng(1)
    truth = 0.1 + rng.random((4, n_features)) ** 3
    X = unit * rng.dirichlet(np.full(4, 0.5), 60) @ truth
    left = {}
    for volume in (0.0, 0.1):
        model = baselines.INMFVC(4, volume_weight=volume, random_state=0).fit(X)
        rest = X - model.transform(X) @ model.components_
        left[volume] = float(np.sum(rest**2) / np.sum(X**2))
    assert left[0.1] < max(2.0 * left[0.0], 1e-3)


def test_the_volume_has_a_minimum_where_samples_bound_it() -> None:
    """W is a point at which no entry can be moved to lower the objective, and is not singular."""
    rng = np.random.default_rng(4)
    W, H = rng.random((K, K)) + np.eye(K), rng.random((K, 40))
    update = Incremental(volume=0.2, tol=1e-13, max_iter=20_000)
    V = W @ H
    codes = Codes(H, np.zeros_like(V), np.zeros(40), np.zeros(40), np.ones(40, bool))
    state = update.absorb(update.init(W), V, codes)
    mu = 0.2 * weakest(W @ H @ H.T @ W.T / 40)
    found = update.minimise(W, state)

    def value(W: Array) -> float:
        rest = V - W @ H
        return float(np.sum(rest**2) / 80 + mu * np.log(abs(np.linalg.det(W))))

    slope = approx_fprime(found.ravel(), lambda w: value(w.reshape(K, K)), 1e-7)
    assert np.abs(slope).max() < 1e-4 * mu
    assert abs(np.linalg.det(found)) > 0.4 * abs(np.linalg.det(W))


def test_the_amnesic_average_weighs_the_latest_sample_by_about_l_over_t() -> None:
    for L in (1, 2, 3, 4):
        update = Incremental(fade=L - 1.0)
        state, W = update.init(start()), start()
        for t in range(1, 201):
            h = np.full((K, 1), float(t == 200))
            codes = Codes(h, np.zeros((F, 1)), np.zeros(1), np.zeros(1), np.ones(1, bool))
            state = update.absorb(state, np.ones((F, 1)), codes)
        assert state.A[0, 0] == pytest.approx(L / 200, rel=0.03)
        assert W.shape == (F, K)


def test_a_volume_makes_components_narrow() -> None:
    """Mixtures of three corners of a simplex: the smallest triangle around them is the truth."""
    rng = np.random.default_rng(0)
    truth = Simplex().prox(rng.random((K, K)) ** 3)
    X = (truth @ rng.dirichlet(np.full(K, 0.6), 300).T).T
    volumes = []
    for volume in (0.0, 0.1):
        model = baselines.INMFVC(
            K, volume_weight=volume, volume_decay=0.0, random_state=0, epochs=2
        )
        volumes.append(abs(np.linalg.det(model.fit(X).components_)))
    assert volumes[1] < volumes[0]


def condensed(X: Array, W: Array, size: int) -> tuple[Array, Array]:
    """Return W and all codes after [R] (35)-(37), nothing forgotten."""
    H = np.zeros((K, 0))
    for begin in range(0, len(X), size):
        U = X[begin : begin + size].T
        scale = np.sqrt(np.sum(H**2, axis=1))  # norms of rows
        M = np.hstack([W * scale, U])
        new = np.hstack([np.diag(scale), np.array([nnls(W, u)[0] for u in U.T]).T])
        W, new, before = seeded(W, 1e-3, None), seeded(new, 1e-3, None), np.inf
        for _ in range(200):
            new = new * (W.T @ M) / (W.T @ W @ new)
            W = W * (M @ new.T) / (W @ new @ new.T)
            now = np.sum((M - W @ new) ** 2) / 2
            if before - now <= 1e-4 * before:
                break
            before = now
        sums = W.sum(axis=0)
        W, new = W / sums, new * sums[:, None]
        old = new[:, :K] / np.where(scale > 0, scale, 1.0) @ H  # (37)
        H = np.hstack([old, new[:, K:]])
    return W, H


@pytest.mark.parametrize("size", [K, 8])
def test_onmf_is_its_equations(size: int) -> None:
    X, W = data(24), start()
    model = baselines.ONMF(K, batch_size=size)
    expected, H = condensed(X, W, size)
    np.testing.assert_allclose(fitted(model, X, W), expected, atol=1e-8)
    np.testing.assert_allclose(model.statistics_.A, H @ H.T, rtol=1e-7)


def test_onmf_keeps_products_of_codes_only() -> None:
    states = [baselines.ONMF(K, random_state=0).fit(data(n)).statistics_ for n in (30, 300)]
    assert [x.shape for x in states[0]] == [x.shape for x in states[1]]
    model = baselines.ONMF(4, random_state=0).fit(data(30))
    assert model.n_batches_seen_ == 8  # batches of n_components samples, [R] V


def test_onmf_merges_by_adding() -> None:
    update, W = CaoONMF(constraint=Simplex()), start()
    rng = np.random.default_rng(0)
    parts = [rng.random((K, 5)) for _ in range(2)]
    states = [update.init(W)._replace(A=H @ H.T, n_samples=np.asarray(5.0)) for H in parts]
    both = np.hstack(parts)
    np.testing.assert_allclose(update.merge(states).A, both @ both.T)
    assert update.merge(states).n_samples == 10
    assert update.objective(W, update.merge([update.init(W)])) == 0.0


def test_onmf_is_is_the_recursion_of_its_paper() -> None:
    """[R] IV-B, with codes by the same updates and sums that begin at zero."""
    X, W = data(20), start()
    model = baselines.OLLef(K, batch_size=1)
    found = fitted(model, X, W)
    A, B = np.zeros((F, K)), np.zeros((F, K))
    encoder = model.make_learner().code_encoder
    for v in X:
        h = encoder.encode(v[:, None], W).H[:, 0]
        p = W @ h
        A += np.outer(v / p**2, h) * W**2
        B += np.outer(1 / p, h)
        W = np.sqrt(A / B)
        s = W.sum(axis=0)
        W, A, B = W / s, A / s, B * s
    np.testing.assert_allclose(found, W, rtol=1e-6)


# --- all of them -------------------------------------------------------------------------------


@every_baseline
def test_every_baseline_learns_and_keeps_sums_of_one(cls: Any) -> None:
    X = data(200, seed=3)
    model = cls(K, random_state=0).fit(X)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0, rtol=1e-9)
    mean = np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1)) / 2
    assert -model.score(X) < 0.2 * mean


@every_baseline
def test_every_baseline_takes_gaps_and_single_precision(cls: Any) -> None:
    X = data(60, seed=4).astype(np.float32)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    model = cls(K, random_state=0).fit(X)
    assert model.components_.dtype == np.float32
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.decompose(X).low_rank).all()


@every_baseline
def test_zeros_do_not_break_a_fraction(cls: Any) -> None:
    """[R] (40) divides by zero when a feature or an atom has nothing."""
    X = data(40, seed=5)
    X[:, 2] = 0.0
    X[::5] = 0.0
    model = cls(K, random_state=0).fit(X)
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.score(X))


def test_ol_guan_is_or_nmf_with_all_samples() -> None:
    X = data(40)
    one = baselines.OLGuan(K, random_state=0).fit(X)
    two = ORNMF(K, buffer_size=None, random_state=0).fit(X)
    assert np.array_equal(one.components_, two.components_)
