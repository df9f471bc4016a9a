"""Online robust PCA: codes against a conic solver, the basis against its KKT condition."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from thalweg.metrics import subspace_error
from thalweg.trackers.online_robust_pca import OnlineRobustPCATracker, SurrogateState

Array = Any
SEEDS = pytest.mark.parametrize("seed", range(4))


def planted(
    seed: int, n: int, noise: float = 0.05, F: int = 50, K: int = 2
) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.normal(size=(F, K)))[0]
    V = U @ rng.normal(size=(K, n))
    level = V.std()
    V += noise * level * rng.normal(size=V.shape)
    V += (rng.random(V.shape) < 0.1) * rng.uniform(-10, 10, size=V.shape) * level
    return U, V, rng.random(V.shape) < 0.8


def start(U: Array, seed: int = 77) -> Array:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=U.shape))[0]


def ridge_of_basis(tracker: OnlineRobustPCATracker, state: SurrogateState) -> float:
    """Return lambda1 times the squared length that samples are divided by."""
    return float(tracker.lambda1 or len(state.U) ** -0.5) * state.sample_norm**2


@SEEDS
@pytest.mark.parametrize("weights", [(None, None), (0.5, 0.05), (0.0, 0.4)], ids=str)
def test_codes_and_outliers_are_the_minimum(seed: int, weights: Any) -> None:
    U, V, observed = planted(seed, 1, noise=0.3, F=20, K=3)
    U = U @ np.random.default_rng(seed).normal(size=(3, 3))  # not orthonormal
    tracker = OnlineRobustPCATracker(*weights, tol=1e-10, max_inner_iter=20000)
    state, track = tracker.step(tracker.init(U), V, observed)
    there, length = observed[:, 0], np.sqrt(20) * np.median(np.abs(V[observed]))
    lambda1, lambda2 = (20**-0.5 if weight is None else weight for weight in weights)
    h, r = cp.Variable(3), cp.Variable(int(there.sum()))
    fit = cp.sum_squares(V[there, 0] - U[there] @ h - r) / 2 + lambda1 / 2 * cp.sum_squares(h)
    best = cp.Problem(cp.Minimize(fit + lambda2 * length * cp.norm1(r))).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(track.H[:, 0], h.value, rtol=0, atol=1e-4)
    np.testing.assert_allclose(track.R[there, 0], r.value, rtol=0, atol=1e-4)
    assert state.sample_norm == pytest.approx(length, rel=1e-12)
    codes = tracker.encoder(state).encode(V, U, observed=observed)
    assert codes.loss[0] == pytest.approx(best, rel=1e-6)
    price = lambda1 / 2 * np.sum(codes.H**2) + lambda2 * length * np.abs(codes.R[there]).sum()
    assert codes.cost[0] == pytest.approx(price, rel=1e-9)


@SEEDS
def test_block_coordinate_descent_ends_where_the_gradient_is_zero(seed: int) -> None:
    U, V, observed = planted(seed, 30)
    tracker = OnlineRobustPCATracker(sweeps=3000)
    state, _ = tracker.step(tracker.init(start(U)), V, observed)
    gradient = state.U @ (state.A + ridge_of_basis(tracker, state) * np.eye(2)) - state.B
    assert np.abs(gradient).max() < 1e-9 * np.abs(state.B).max()


@SEEDS
def test_a_sweep_lowers_the_surrogate(seed: int) -> None:
    U, V, observed = planted(seed, 60)
    tracker = OnlineRobustPCATracker()
    state, _ = tracker.step(tracker.init(start(U)), V[:, :40], observed[:, :40])
    for b in range(40, 60):
        before = state.U
        state, _ = tracker.step(state, V[:, b : b + 1], observed[:, b : b + 1])
        curve = state.A + ridge_of_basis(tracker, state) * np.eye(2)

        def surrogate(W: Array, curve: Array = curve, B: Array = state.B) -> float:
            return float(np.sum((W @ curve) * W) / 2 - np.sum(W * B))

        assert surrogate(state.U) < surrogate(before)


@SEEDS
def test_statistics_are_sums_over_samples(seed: int) -> None:
    U, V, observed = planted(seed, 25)
    tracker, A, B = OnlineRobustPCATracker(forgetting=0.9), np.zeros((2, 2)), np.zeros((50, 2))
    state = tracker.init(start(U))
    for b in range(25):
        before = state.U
        state, track = tracker.step(state, V[:, b : b + 1], observed[:, b : b + 1])
        h = track.H[:, 0]
        clean = np.where(observed[:, b], V[:, b] - track.R[:, 0], before @ h)
        A, B = 0.9 * A + np.outer(h, h), 0.9 * B + np.outer(clean, h)
    np.testing.assert_allclose(state.A, A, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(state.B, B, rtol=1e-10, atol=1e-10)


@SEEDS
def test_a_subspace_is_found_through_gaps_and_outliers(seed: int) -> None:
    """The error falls with the number of samples: nothing is forgotten, and noise averages."""
    U, V, observed = planted(seed, 4000)
    for dtype in (np.float64, np.float32):
        tracker, errors = OnlineRobustPCATracker(), []
        state = tracker.init(start(U, seed + 70).astype(dtype))
        for part in (slice(0, 400), slice(400, 4000)):
            state, _ = tracker.step(state, V[:, part].astype(dtype), observed[:, part])
            errors.append(subspace_error(state.U.T, U.T))
        assert errors[0] < 0.2
        assert errors[1] < 0.05
        assert errors[1] < errors[0] / 2


def test_with_forgetting_a_jump_is_survived() -> None:
    first, second = planted(0, 1500), planted(1, 1500)
    V, observed = np.hstack([first[1], second[1]]), np.hstack([first[2], second[2]])
    errors = {}
    for forgetting in (1.0, 0.99):
        tracker = OnlineRobustPCATracker(forgetting=forgetting)
        state, _ = tracker.step(tracker.init(first[0]), V, observed)
        errors[forgetting] = subspace_error(state.U.T, second[0].T)
    assert errors[0.99] < 0.08 < errors[1.0]


def test_a_column_that_no_sample_uses_is_kept() -> None:
    U = np.eye(4, 2)
    V = np.array([[1.0, 2.0, 0.0, 0.5]]).T * np.array([[1.0, -1.0]])
    V[1] = 0.0
    tracker = OnlineRobustPCATracker()
    state, track = tracker.step(tracker.init(U), V)
    assert not track.H[1].any()
    np.testing.assert_array_equal(state.U[:, 1], U[:, 1])
    assert np.abs(state.U[:, 0]).max() > 0.0
