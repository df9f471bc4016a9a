"""ROSETA: its proximal step against a conic solver, and the subspaces it finds."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from thalweg.metrics import subspace_error
from thalweg.trackers.roseta import RosetaTracker

Array = Any
SEEDS = pytest.mark.parametrize("seed", range(4))


def sample(seed: int, F: int = 20, K: int = 2) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.normal(size=(F, K)))[0]
    v = U @ rng.normal(size=(K, 1)) + 0.3 * rng.normal(size=(F, 1))
    v[rng.random(F) < 0.2] -= 10.0
    return U, v, rng.random((F, 1)) < 0.8


def fit(U: Array, v: Array, observed: Array) -> tuple[float, Array, Array]:
    """Return the least |s|_1 with P(v - U h - s) = 0, the codes, and the multipliers."""
    there = observed[:, 0]
    h, s = cp.Variable(U.shape[1]), cp.Variable(int(there.sum()))
    fits = v[there, 0] == U[there] @ h + s
    value = cp.Problem(cp.Minimize(cp.norm1(s)), [fits]).solve(solver=cp.CLARABEL)
    y = np.zeros(len(U))
    y[there] = fits.dual_value
    return float(value), h.value, y * np.sign(y @ np.where(there, v[:, 0] - U @ h.value, 0.0))


@SEEDS
def test_codes_have_the_least_absolute_residual(seed: int) -> None:
    U, v, observed = sample(seed)
    best, h, _ = fit(U, v, observed)
    _, track = RosetaTracker(tol=1e-9, max_inner_iter=20000).step(
        RosetaTracker().init(U), v, observed
    )
    assert np.abs(track.R).sum() == pytest.approx(best, rel=1e-6)
    np.testing.assert_allclose(track.H[:, 0], h, rtol=0, atol=1e-4)
    np.testing.assert_allclose(track.R[observed], (v - U @ track.H)[observed], rtol=0, atol=1e-12)


@SEEDS
def test_a_step_is_the_proximal_point_of_the_augmented_lagrangian(seed: int) -> None:
    """Minimise y'(v - W h - s) + mu |v - W h - s|^2 / 2 + |W - U|^2 / 2 over W numerically."""
    U, v, observed = sample(seed)
    _, h, y = fit(U, v, observed)
    # Lengths relative to their means, of which there is but one; eta starts at 6 in level 0.
    h, y, mu = h / np.linalg.norm(h), y / np.sqrt(observed.sum()), 3.0 / (1 + 6)
    W = cp.Variable(U.shape)
    moved = (U - W) @ h  # v - W h - s, as v = U h + s
    lagrangian = y @ moved + mu / 2 * cp.sum_squares(moved) + cp.sum_squares(W - U) / 2
    cp.Problem(cp.Minimize(lagrangian)).solve(solver=cp.CLARABEL)
    state, _ = RosetaTracker(3.0, tol=1e-9, max_inner_iter=20000).step(
        RosetaTracker().init(U), v, observed
    )
    assert subspace_error(state.U.T, W.value.T) < 1e-5
    assert subspace_error(state.U.T, U.T) > 0.1, "nothing has moved: the test shows nothing"


def planted(seed: int, n: int, noise: float, size: float = 5.0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.normal(size=(50, 2)))[0]
    V = U @ rng.normal(size=(2, n))
    level = V.std()
    V += noise * level * rng.normal(size=V.shape)
    V += (rng.random(V.shape) < 0.1) * rng.uniform(-size, size, size=V.shape) * level
    return U, V, rng.random(V.shape) < 0.8


@SEEDS
@pytest.mark.parametrize(("noise", "bound"), [(0.0, 3e-3), (0.1, 0.15)])
def test_a_subspace_is_found_through_gaps_and_outliers(
    seed: int, noise: float, bound: float
) -> None:
    U, V, observed = planted(seed, 3000, noise)
    start = np.linalg.qr(np.random.default_rng(seed + 50).normal(size=U.shape))[0]
    for dtype in (np.float64, np.float32):
        state, _ = RosetaTracker().step(
            RosetaTracker().init(start.astype(dtype)), V.astype(dtype), observed
        )
        assert subspace_error(state.U.T, U.T) < bound


@SEEDS
def test_a_subspace_that_jumps_is_found_again(seed: int) -> None:
    first, second = planted(seed, 1500, 0.05), planted(seed + 10, 1500, 0.05)
    V, observed = np.hstack([first[1], second[1]]), np.hstack([first[2], second[2]])
    state, _ = RosetaTracker().step(RosetaTracker().init(first[0]), V, observed)
    assert subspace_error(state.U.T, second[0].T) < 0.15


def test_samples_with_large_codes_turn_the_basis_less() -> None:
    """The angle is atan(y h / (1 + mu h^2)): past h = mu^-1/2 it falls."""
    U, v, observed = sample(0)
    tracker = RosetaTracker(70.0, tol=1e-9, max_inner_iter=20000)
    start, _ = tracker.step(tracker.init(U), v, observed)
    once, _ = tracker.step(start, v, observed)
    far, _ = tracker.step(start, v + 3 * start.U @ (start.U.T @ v), observed)
    short, long = subspace_error(far.U.T, start.U.T), subspace_error(once.U.T, start.U.T)
    assert 0.0 < short < long
