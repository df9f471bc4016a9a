"""GRASTA: the fit against a conic solver, the step against the geodesic, and tracking."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import expm

from thalweg.metrics import subspace_error
from thalweg.trackers.grasta import GrastaTracker

Array = Any
SEEDS = pytest.mark.parametrize("seed", range(4))


def sample(seed: int, F: int = 25, K: int = 3) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.normal(size=(F, K)))[0]
    v = U @ rng.normal(size=(K, 1)) + 0.3 * rng.normal(size=(F, 1))
    v[rng.random(F) < 0.2] += 10.0
    return U, v, rng.random((F, 1)) < 0.8


def least_absolute(U: Array, v: Array, observed: Array) -> tuple[float, Array]:
    """Return min |v - U h|_1 over the observed entries, and its multipliers (0 over gaps)."""
    there = observed[:, 0]
    h, s = cp.Variable(U.shape[1]), cp.Variable(int(there.sum()))
    fits = v[there, 0] == U[there] @ h + s
    value = cp.Problem(cp.Minimize(cp.norm1(s)), [fits]).solve(solver=cp.CLARABEL)
    slope = np.zeros(len(U))
    slope[there] = fits.dual_value
    return float(value), slope * np.sign(slope @ np.where(there, v[:, 0] - U @ h.value, 0.0))


@SEEDS
def test_codes_have_the_least_absolute_residual(seed: int) -> None:
    U, v, observed = sample(seed)
    best, _ = least_absolute(U, v, observed)
    exact = GrastaTracker(tol=1e-9, max_inner_iter=5000)
    codes = exact.encoder(exact.init(U)).encode(v, U, observed=observed)
    assert codes.solved.all()
    assert codes.loss[0] == pytest.approx(best, rel=1e-6)
    rest = np.where(observed, v - U @ codes.H, 0.0)
    assert np.abs(rest).sum() == pytest.approx(best, rel=1e-6)
    usual = GrastaTracker()
    codes = usual.encoder(usual.init(U)).encode(v, U, observed=observed)
    assert codes.solved.all()
    assert best <= codes.loss[0] * (1 + 1e-9) <= best * (1 + 2e-3), "tol is not a relative gap"


@SEEDS
def test_a_step_follows_the_geodesic_of_the_multipliers(seed: int) -> None:
    U, v, observed = sample(seed)
    _, slope = least_absolute(U, v, observed)
    tracker = GrastaTracker("constant", 0.2, tol=1e-9, max_inner_iter=5000)
    state, track = tracker.step(tracker.init(U), v, observed)
    # the first sample has the mean length, and the slope is relative to its largest norm
    angle = 0.2 * np.linalg.norm(slope) / np.sqrt(observed.sum())
    h = track.H[:, 0]
    D = angle * np.outer(slope / np.linalg.norm(slope), h / np.linalg.norm(h))
    assert np.abs(U.T @ slope).max() < 1e-6
    np.testing.assert_allclose(state.U, expm(D @ U.T - U @ D.T) @ U, rtol=0, atol=1e-5)


@SEEDS
def test_a_small_step_lowers_the_absolute_residual(seed: int) -> None:
    U, v, observed = sample(seed)
    tracker = GrastaTracker("constant", 0.01)
    state, _ = tracker.step(tracker.init(U), v, observed)
    assert least_absolute(state.U, v, observed)[0] < least_absolute(U, v, observed)[0]


def planted(
    seed: int, n: int, noise: float, share: float = 0.1, F: int = 50, K: int = 2
) -> tuple[Array, Array, Array]:
    """Return a basis, samples with outliers of ten times their size, and the observed entries."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.normal(size=(F, K)))[0]
    V = U @ rng.normal(size=(K, n))
    size = V.std()
    V += noise * size * rng.normal(size=V.shape)
    V += (rng.random(V.shape) < share) * rng.uniform(-10, 10, size=V.shape) * size
    return U, V, rng.random(V.shape) < 0.8


@SEEDS
@pytest.mark.parametrize(("noise", "bound"), [(0.0, 2e-3), (0.1, 0.06)])
def test_a_subspace_is_found_through_gaps_and_outliers(
    seed: int, noise: float, bound: float
) -> None:
    U, V, observed = planted(seed, 3000, noise)
    start = np.linalg.qr(np.random.default_rng(seed + 50).normal(size=U.shape))[0]
    for dtype in (np.float64, np.float32):
        state, _ = GrastaTracker().step(
            GrastaTracker().init(start.astype(dtype)), V.astype(dtype), observed
        )
        assert subspace_error(state.U.T, U.T) < bound


@SEEDS
def test_outliers_are_found_in_place_and_size(seed: int) -> None:
    U, V, observed = planted(seed, 500, 0.0)
    clean = planted(seed, 500, 0.0, share=0.0)[1]
    _, track = GrastaTracker(tol=1e-6, max_inner_iter=500).step(
        GrastaTracker().init(U), V, observed
    )
    wrong = np.where(observed, np.abs(track.R - (V - clean)), 0.0)[:, -100:]
    assert wrong.max() < 1e-3 * np.abs(V - clean).max()


@SEEDS
def test_a_subspace_that_jumps_is_found_again(seed: int) -> None:
    first, second = planted(seed, 1500, 0.05), planted(seed + 10, 1500, 0.05)
    V, observed = np.hstack([first[1], second[1]]), np.hstack([first[2], second[2]])
    state, _ = GrastaTracker().step(GrastaTracker().init(first[0]), V, observed)
    assert subspace_error(state.U.T, second[0].T) < 0.04


@SEEDS
@pytest.mark.parametrize(
    ("tracker", "bound"),
    [(GrastaTracker("constant", 0.01), 0.06), (GrastaTracker("diminishing", 2.0), 0.04)],
)
def test_other_steps_keep_the_subspace(tracker: GrastaTracker, bound: float, seed: int) -> None:
    U, V, observed = planted(seed, 1000, 0.1)
    state, _ = tracker.step(tracker.init(U), V, observed)
    assert 0.0 < subspace_error(state.U.T, U.T) < bound
