"""GROUSE against the geodesic of the Grassmannian, and the subspaces it finds."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from thalweg.metrics import subspace_error
from thalweg.trackers.grouse import GrouseTracker

Array = Any
SEEDS = pytest.mark.parametrize("seed", range(5))


def sample(seed: int, F: int = 12, K: int = 3) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.normal(size=(F, K)))[0]
    return U, rng.normal(size=(F, 1)), rng.random((F, 1)) < 0.7


def parts(U: Array, v: Array, observed: Array) -> tuple[Array, Array]:
    """Return the codes of least squares, and the residual, zero over gaps."""
    there = observed[:, 0]
    h = np.linalg.lstsq(U[there], v[there, 0], rcond=None)[0]
    return h, np.where(there, v[:, 0] - U @ h, 0.0)


def geodesic(U: Array, direction: Array, h: Array, angle: float) -> Array:
    """Return exp(D U' - U D') U for the tangent D = angle direction h' of length angle."""
    D = angle * np.outer(direction / np.linalg.norm(direction), h / np.linalg.norm(h))
    return expm(D @ U.T - U @ D.T) @ U


@SEEDS
@pytest.mark.parametrize(
    "tracker", [GrouseTracker(), GrouseTracker("constant", 0.4), GrouseTracker("diminishing", 2.0)]
)
def test_a_step_follows_the_geodesic(tracker: GrouseTracker, seed: int) -> None:
    U, v, observed = sample(seed)
    h, r = parts(U, v, observed)
    short, long = np.linalg.norm(r), np.linalg.norm(h)
    angle = {
        "greedy": np.arctan(short / long),
        "constant": 0.4 * short * long / (short**2 + long**2),
        "diminishing": 2.0 * 3 / 4 * short * long / (short**2 + long**2),
    }[tracker.step_size]
    state, track = tracker.step(tracker.init(U), v, observed)
    np.testing.assert_allclose(track.H[:, 0], h, rtol=0, atol=1e-11)
    np.testing.assert_allclose(state.U, geodesic(U, r, h, angle), rtol=0, atol=1e-11)


@SEEDS
def test_the_tangent_is_the_steepest_descent(seed: int) -> None:
    """The squared residual, minimised over the codes, decreases at the rate of the geodesic."""
    U, v, observed = sample(seed)
    h, r = parts(U, v, observed)
    tiny = 1e-6

    def loss(basis: Array) -> float:
        return float(np.sum(parts(basis, v, observed)[1] ** 2))

    slope = (loss(geodesic(U, r, h, tiny)) - loss(U)) / tiny
    steepest = -2 * np.linalg.norm(r) * np.linalg.norm(h)
    assert slope == pytest.approx(steepest, rel=1e-4)
    other = np.random.default_rng(seed).normal(size=U.shape)
    other -= U @ (U.T @ other)
    other *= tiny / np.linalg.norm(other)
    changed = expm(other @ U.T - U @ other.T) @ U
    assert (loss(changed) - loss(U)) / tiny >= steepest * 1.001


@SEEDS
def test_after_the_greedy_step_the_basis_contains_the_filled_sample(seed: int) -> None:
    U, v, observed = sample(seed)
    h, r = parts(U, v, observed)
    state, _ = GrouseTracker().step(GrouseTracker().init(U), v, observed)
    filled = U @ h + r
    rest = filled - state.U @ (state.U.T @ filled)
    assert np.linalg.norm(rest) < 1e-12 * np.linalg.norm(filled)
    np.testing.assert_allclose(filled[observed[:, 0]], v[observed], rtol=1e-12)


def planted(seed: int, n: int, noise: float, observed: float = 0.5) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.normal(size=(40, 3)))[0]
    V = U @ rng.normal(size=(3, n))
    V += noise * V.std() * rng.normal(size=V.shape)
    return U, V, rng.random(V.shape) < observed


@SEEDS
def test_a_subspace_without_noise_is_found_exactly(seed: int) -> None:
    U, V, observed = planted(seed, 1000, 0.0)
    start = np.linalg.qr(np.random.default_rng(seed + 100).normal(size=U.shape))[0]
    state, _ = GrouseTracker().step(GrouseTracker().init(start), V, observed)
    assert subspace_error(state.U.T, U.T) < 1e-12


@SEEDS
def test_shorter_steps_average_noise_out(seed: int) -> None:
    U, V, observed = planted(seed, 4000, 0.1)
    errors = {}
    for tracker in (
        GrouseTracker(),
        GrouseTracker("constant", 0.05),
        GrouseTracker("diminishing", 2.0),
    ):
        state, _ = tracker.step(tracker.init(U), V, observed)
        errors[tracker.step_size] = subspace_error(state.U.T, U.T)
    assert errors["greedy"] < 0.7
    assert errors["constant"] < 0.12
    assert errors["diminishing"] < 0.03
    assert errors["diminishing"] < errors["constant"] < errors["greedy"]


def test_single_precision_finds_it_as_closely_as_it_can() -> None:
    U, V, observed = planted(0, 2000, 0.0)
    start = np.linalg.qr(np.random.default_rng(9).normal(size=U.shape))[0].astype(np.float32)
    state, _ = GrouseTracker().step(GrouseTracker().init(start), V.astype(np.float32), observed)
    assert state.U.dtype == np.float32
    assert subspace_error(state.U.T, U.T) < 2e-6
