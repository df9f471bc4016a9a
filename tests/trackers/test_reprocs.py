"""Trackers by projected compressive sensing: steps, windows, and tracking."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import reference
from thalweg import _native
from thalweg.encoders import Encoder
from thalweg.encoders.projected_cs import NoiseAverage, ProjectedCS, RecoveredSamples
from thalweg.errors import ParameterError
from thalweg.estimators import norst as norst_estimator, reprocs as reprocs_estimator
from thalweg.metrics import sep
from thalweg.synthetic import SubspaceStream, subspace_stream
from thalweg.trackers import Tracker
from thalweg.trackers._sample_window import Window
from thalweg.trackers._singular_directions import (
    are_dense,
    has_new_direction,
    leading_directions,
    new_directions,
)
from thalweg.trackers.norst import NorstTracker
from thalweg.trackers.reprocs import ReProCSTracker

TRACKERS = [NorstTracker, ReProCSTracker]
Array = Any


def samples(seed: int, F: int = 25, K: int = 3, B: int = 6) -> tuple[Array, Array, Array]:
    """Return a basis, samples with outliers as rows, and the mask of observed entries."""
    rng = np.random.default_rng(seed)
    P = np.linalg.qr(rng.normal(size=(F, K)))[0]
    V = 5.0 * rng.normal(size=(B, K)) @ P.T + 0.05 * rng.normal(size=(B, F))
    V += np.where(rng.random((B, F)) < 0.15, rng.uniform(-8.0, 8.0, (B, F)), 0.0)
    return P, V, rng.random((B, F)) < 0.85


def recover(V: Array, observed: Array, P: Array, bound: float, cut: float) -> RecoveredSamples:
    encoder = ProjectedCS(3.0, noise_bound=bound, support_threshold=cut)
    return encoder.recover(V, observed, P, NoiseAverage(), 0.0)[0]


def columns(stream: SubspaceStream, dtype: Any = np.float64) -> tuple[Array, Array]:
    observed = ~np.isnan(stream.X).T
    return np.nan_to_num(stream.X).T.astype(dtype), observed


def random_basis(seed: int, F: int, K: int) -> Array:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(F, K)))[0]


# --- compressive sensing ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bound", [0.03, 0.1, 0.3, 2.0])
def test_sensed_outliers_are_those_of_cvxpy(seed: int, bound: float) -> None:
    P, V, observed = samples(seed)
    Psi = np.eye(len(P)) - P @ P.T
    for v, there in zip(V, observed, strict=True):
        x = cp.Variable(len(v))  # gaps are a known part of the support, which costs nothing
        problem = cp.Problem(
            cp.Minimize(cp.norm1(x[there])), [cp.norm(Psi @ (np.where(there, v, 0.0) - x)) <= bound]
        )
        problem.solve(solver="CLARABEL")
        mine = _sensed(v[there], P[there], bound)
        assert np.abs(mine).sum() == pytest.approx(problem.value, rel=1e-5, abs=1e-5)
        np.testing.assert_allclose(mine, x.value[there], atol=2e-3)


def _sensed(v: Array, P: Array, bound: float) -> Array:
    """Return the outliers of least l1 norm from the kernel, before any threshold."""
    n, K = P.shape
    h, e = np.empty(K), np.empty(n)
    A = np.ascontiguousarray(P.T)
    limit = _native.least_l1_outliers(v, A, bound, h, e)
    np.testing.assert_allclose(e, v - P @ h, atol=1e-12)
    x = np.sign(e) * np.maximum(np.abs(e) - limit, 0.0)
    assert np.linalg.norm(v - P @ h - x) <= bound * (1 + 1e-9)
    return x


@pytest.mark.parametrize("seed", range(60))
def test_sensing_has_no_duality_gap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    F, K = int(rng.choice([12, 40, 60])), int(rng.choice([1, 3, 6]))
    P = np.linalg.qr(rng.normal(size=(F, K)))[0]
    noise = rng.choice([1e-2, 0.1, 0.5])
    v = P @ rng.normal(size=K) * F**0.5 + noise * rng.normal(size=F)
    v += np.where(rng.random(F) < rng.choice([0.05, 0.2, 0.4]), rng.uniform(-10, 10, F), 0.0)
    bound = float(rng.choice([0.1, 1.0, 3.0]) * noise * F**0.5)
    x = _sensed(v, P, bound)
    if not x.any():
        assert np.linalg.norm(v - P @ (P.T @ v)) <= bound * (1 + 1e-9)
        return
    # any y with P'y = 0 and |y_i| <= 1 shows that |x|_1 >= v'y - bound |y|
    h = np.linalg.lstsq(P, v - x, rcond=None)[0]
    y = v - x - P @ h
    y = y - P @ (P.T @ y)
    y /= np.abs(y).max()
    assert np.abs(x).sum() <= (1 + 1e-6) * (v @ y - bound * np.linalg.norm(y))


@pytest.mark.parametrize("seed", range(3))
def test_kernel_is_the_reference(seed: int) -> None:
    P, V, observed = samples(seed, B=3)
    found = recover(V, observed, P, 0.3, 0.2)
    for v, there, h, r in zip(V, observed, found.H, found.R, strict=True):
        codes, outliers = reference.recover_sparse(v[there], P[there], 0.3, 0.2)
        np.testing.assert_allclose(h, codes, atol=1e-7)
        np.testing.assert_allclose(r[there], outliers, atol=1e-7)
        assert not r[~there].any()


def test_codes_are_least_squares_on_inliers() -> None:
    P, V, observed = samples(7, F=60, B=20)
    found = recover(V, observed, P, 0.4, 0.2)
    for v, there, h, r, error in zip(V, observed, *found, strict=True):
        clean = there & (r == 0.0)
        best = np.linalg.lstsq(P[clean], v[clean], rcond=None)[0]
        np.testing.assert_allclose(h, best, atol=1e-10)
        np.testing.assert_allclose(r[there & ~clean], (v - P @ h)[there & ~clean], atol=1e-12)
        assert error == pytest.approx(np.median(np.abs(v - P @ h)[there]), rel=1e-9)


def test_level_follows_the_noise_and_finds_itself() -> None:
    rng = np.random.default_rng(8)
    P = np.linalg.qr(rng.normal(size=(200, 3)))[0]
    V = 20.0 * rng.normal(size=(300, 3)) @ P.T + 0.1 * rng.normal(size=(300, 200))
    V += np.where(rng.random(V.shape) < 0.05, 10.0, 0.0)
    observed = np.ones(V.shape, dtype=bool)
    found, noise = ProjectedCS(3.0).recover(V, observed, P, NoiseAverage(), 60.0)
    assert noise.scale == pytest.approx(0.1, rel=0.1)
    assert noise.n_samples == 60.0
    planted = np.abs(V - V @ P @ P.T) > 5.0
    assert (found.R[planted] != 0.0).all()
    assert np.count_nonzero(found.R) < 1.05 * np.count_nonzero(planted)
    alone, _ = ProjectedCS(3.0).recover(V, observed, P, NoiseAverage(), 0.0)  # a scale each
    assert np.mean((alone.R != 0.0) == (found.R != 0.0)) > 0.995


def test_many_features_have_their_median_from_some() -> None:
    rng = np.random.default_rng(9)
    P = np.linalg.qr(rng.normal(size=(5000, 2)))[0]
    v = P @ [50.0, 70.0] + 0.1 * rng.normal(size=5000)
    found = recover(v[None], np.ones((1, 5000), dtype=bool), P, 10.0, 1.0)
    e = np.abs(v - P @ found.H[0])
    assert found.error[0] == pytest.approx(np.median(e[::4]), rel=1e-9)
    assert found.error[0] == pytest.approx(np.median(e), rel=0.1)


@pytest.mark.parametrize("count", [0, 1, 3, 4])
def test_few_entries_do_no_harm(count: int) -> None:
    P, V, _ = samples(10)
    observed = np.zeros(V.shape, dtype=bool)
    observed[:, :count] = True
    found, noise = ProjectedCS(3.0).recover(V, observed, P, NoiseAverage(0.1, 5.0), 60.0)
    assert np.isfinite(found.H).all()
    assert np.isnan(found.error).all() == (count <= 3)
    assert (noise.n_samples == 5.0) == (count <= 3)
    if 0 < count <= 3:
        np.testing.assert_allclose((found.H @ P.T)[:, :count], V[:, :count], atol=1e-5)
        assert not found.R.any()


# --- windows and subspaces -------------------------------------------------------------------


def test_leading_directions_are_those_of_the_svd() -> None:
    rng = np.random.default_rng(11)
    L, U = rng.normal(size=(20, 30)), random_basis(0, 20, 4)
    best = np.linalg.svd(L)[0][:, :4]
    np.testing.assert_allclose(np.abs(best.T @ leading_directions(L, U)), np.eye(4), atol=1e-7)
    assert leading_directions(np.zeros((20, 30)), U) is U
    kept = leading_directions(np.outer(U[:, 0], np.ones(30)), U)  # of rank one: the rest stays
    np.testing.assert_allclose(U @ (U.T @ kept), kept, atol=1e-7)


def test_new_directions_are_off_the_subspace() -> None:
    rng = np.random.default_rng(12)
    L, U = rng.normal(size=(20, 30)), random_basis(1, 20, 4)
    added = new_directions(L, U, 2)
    rest = L - U @ (U.T @ L)
    best = np.linalg.svd(rest)[0][:, :2]
    np.testing.assert_allclose(U.T @ added, 0.0, atol=1e-13)
    np.testing.assert_allclose(np.abs(best.T @ added), np.eye(2), atol=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_changes_are_distinguished_from_noise(seed: int) -> None:
    rng = np.random.default_rng(seed)
    both = random_basis(seed, 50, 3)
    U, new = both[:, :2], both[:, 2:]
    L = 7.0 * U @ rng.normal(size=(2, 60)) + 0.1 * rng.normal(size=(50, 60))
    moved = L + 0.7 * new @ rng.normal(size=(1, 60))
    assert not has_new_direction(L, U, 1.5, None)
    assert has_new_direction(moved, U, 1.5, None)
    top = np.linalg.svd(L - U @ (U.T @ L), compute_uv=False)[0] ** 2 / 60
    assert has_new_direction(L, U, 1.5, 0.99 * top)  # the published rule
    assert not has_new_direction(L, U, 1.5, 1.01 * top)


def test_window_recovers_and_doubts_a_feature_that_is_all_outliers() -> None:
    rng = np.random.default_rng(13)
    U = random_basis(2, 15, 2)
    H = 5.0 * rng.normal(size=(2, 40))
    V = U @ H
    wrong = U.copy()
    wrong[3] = 0.0
    window = Window.empty(40, (15, 2), np.float64)
    observed = rng.random((40, 15)) < 0.9
    flags = np.zeros((40, 15))
    flags[:, 3], flags[:5, 7] = 1.0, 1.0
    window.put(0, V.T, observed, RecoveredSamples(H.T, flags, np.zeros(40)))
    L = window.low_rank(wrong, ProjectedCS(3.0))
    np.testing.assert_allclose(L, V, atol=1e-6)  # the feature is fitted anew
    window.outliers[3, ::2] = False
    assert not window.low_rank(wrong, ProjectedCS(3.0))[3, 1::2].any()  # half of it is not enough


# --- the contract ----------------------------------------------------------------------------


@pytest.mark.parametrize("tracker", TRACKERS)
def test_trackers_keep_the_contract(tracker: Any) -> None:
    made = tracker()
    assert isinstance(made, Tracker)
    assert hash(made) == hash(tracker())
    state = made.init(random_basis(3, 10, 2))
    assert isinstance(made.encoder(state), Encoder)
    assert np.array_equal(state.U, random_basis(3, 10, 2))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("tracker", TRACKERS)
def test_block_is_its_columns(tracker: Any, trusted: bool, dtype: Any) -> None:
    stream = subspace_stream(330, 20, 2, jumps=[150], outlier_density=0.1, random_state=0)
    V, observed = columns(stream, dtype)
    observed[:, [5, 77]] = False
    observed[2:, 90] = False
    made = tracker(window=20, updates=2, trusted=trusted)
    U = random_basis(4, 20, 2).astype(dtype)
    state, track = made.step(made.init(U), V, observed)
    one, parts = made.init(U), []
    for t in range(V.shape[1]):
        one, part = made.step(one, V[:, [t]], observed[:, [t]])
        parts.append(part)
    for a, b in zip(_arrays(state), _arrays(one), strict=True):
        assert np.array_equal(a, b, equal_nan=True)
    for whole, pieces in zip(track, zip(*parts, strict=True), strict=True):
        assert np.array_equal(whole, np.concatenate(pieces, axis=-1), equal_nan=True)
    assert {state.U.dtype, track.H.dtype, track.R.dtype} == {np.dtype(dtype)}
    assert np.isnan(track.error[[5, 77, 90]]).all()


def _arrays(state: Any) -> list[Array]:
    parts = (part if isinstance(part, tuple) else (part,) for part in state)
    return [np.asarray(leaf) for part in parts for leaf in part]


@pytest.mark.parametrize("tracker", TRACKERS)
def test_states_and_samples_are_not_changed(tracker: Any) -> None:
    V, observed = columns(subspace_stream(100, 20, 2, random_state=1))
    made = tracker(window=30)
    state, _ = made.step(made.init(random_basis(5, 20, 2)), V, observed)
    before = [part.copy() for part in [*_arrays(state), V, observed]]
    made.step(state, V, observed)
    for a, b in zip(before, [*_arrays(state), V, observed], strict=True):
        assert np.array_equal(a, b, equal_nan=True)


@pytest.mark.parametrize("tracker", TRACKERS)
def test_samples_without_information_leave_the_state_alone(tracker: Any) -> None:
    made = tracker(window=5)
    state, _ = made.step(made.init(random_basis(6, 20, 2)), np.ones((20, 3)))
    observed = np.zeros((20, 12), dtype=bool)
    observed[:2, 6:] = True  # no more entries than codes
    after, track = made.step(state, np.ones((20, 12)), observed)
    for a, b in zip(_arrays(state), _arrays(after), strict=True):
        assert np.array_equal(a, b, equal_nan=True)
    assert np.isnan(track.error).all()
    assert not track.R.any()


@pytest.mark.parametrize("tracker", TRACKERS)
def test_values_at_gaps_have_no_effect(tracker: Any) -> None:
    V, observed = columns(subspace_stream(200, 20, 2, random_state=2))
    made = tracker(window=30)
    ends = [
        made.step(made.init(random_basis(7, 20, 2)), data, observed)
        for data in (V, np.where(observed, V, -1e9))
    ]
    assert np.array_equal(ends[0][0].U, ends[1][0].U)
    assert np.array_equal(ends[0][1].R, ends[1][1].R)


@pytest.mark.parametrize("tracker", TRACKERS)
@pytest.mark.parametrize("unit", [1e-6, 1e5])
def test_units_do_not_matter(tracker: Any, unit: float) -> None:
    stream = subspace_stream(400, 30, 2, outlier_density=0.1, random_state=3)
    V, observed = columns(stream)
    made = tracker(trusted=True)
    U = np.linalg.qr(stream.basis_at(0) + 0.05 * random_basis(8, 30, 2))[0]
    (a, first), (b, second) = (
        made.step(made.init(U), V * scale, observed) for scale in (1.0, unit)
    )
    assert sep(a.U.T, b.U.T) < 1e-9
    np.testing.assert_allclose(second.error, first.error * unit, rtol=1e-4)
    assert np.mean((first.R != 0.0) == (second.R != 0.0)) > 0.9999


@pytest.mark.parametrize("tracker", TRACKERS)
def test_memory_is_bounded(tracker: Any) -> None:
    made = tracker(window=30)
    state, sizes = made.init(random_basis(9, 20, 2)), set()
    for seed in range(4):
        state, _ = made.step(state, *columns(subspace_stream(100, 20, 2, random_state=seed)))
        sizes.add(sum(part.nbytes for part in _arrays(state)))
    assert len(sizes) == 1


@pytest.mark.parametrize("tracker", TRACKERS)
def test_empty_and_zero_data_are_accepted(tracker: Any) -> None:
    made, U = tracker(window=10, trusted=True), random_basis(10, 20, 2)
    state, track = made.step(made.init(U), np.zeros((20, 50)))
    assert np.array_equal(state.U, U)
    assert not track.R.any()
    assert not track.error.any()


@pytest.mark.parametrize("tracker", TRACKERS)
def test_invalid_parameters_raise(tracker: Any) -> None:
    for name in ("window", "updates"):
        for value in (0, 1.5, -3):
            with pytest.raises(ParameterError, match=f"{name} must be an integer >= 1"):
                tracker(**{name: value})
    for name in ("threshold", "change", "noise_bound", "support_threshold", "change_threshold"):
        with pytest.raises(ParameterError, match=f"{name} must be a positive finite"):
            tracker(**{name: -1.0})
    with pytest.raises(ParameterError, match="at least the number of codes"):
        tracker(window=3).init(random_basis(11, 20, 4))
    with pytest.raises(ParameterError, match="directions must be"):
        ReProCSTracker(directions=0)


# --- tracking --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("density", "missing"), [(0.05, 0.1), (0.2, 0.1), (0.1, 0.5)])
@pytest.mark.parametrize("tracker", TRACKERS)
def test_planted_subspace_is_found(tracker: Any, density: float, missing: float, seed: int) -> None:
    stream = subspace_stream(
        1000, 50, 2, outlier_density=density, missing=missing, random_state=seed
    )
    V, observed = columns(stream)
    made = tracker()
    state, track = made.step(made.init(random_basis(seed, 50, 2)), V, observed)
    np.testing.assert_allclose(state.U.T @ state.U, np.eye(2), atol=1e-12)
    # 60 samples at 20 dB allow about (F - K) noise^2 / (60 signal^2) = 3e-4 without gaps
    assert sep(state.U.T, stream.basis_at(999).T) < 1.5e-3
    late = np.arange(1000) >= 500
    big = (stream.outliers > 5.0).T & observed & late
    assert np.mean(track.R[big] != 0.0) > 0.98
    none = (stream.outliers == 0.0).T & observed & late
    assert np.mean(track.R[none] != 0.0) < 0.02


@pytest.mark.parametrize(("tracker", "limit"), [(NorstTracker, 1e-10), (ReProCSTracker, 1e-6)])
def test_without_noise_the_subspace_is_exact(tracker: Any, limit: float) -> None:
    stream = subspace_stream(600, 50, 2, outlier_density=0.1, snr=np.inf, random_state=4)
    made = tracker()
    state, _ = made.step(made.init(random_basis(12, 50, 2)), *columns(stream))
    assert sep(state.U.T, stream.basis_at(599).T) < limit


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tracker", TRACKERS)
def test_direction_that_turns_is_followed(tracker: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = random_basis(seed, 50, 3)
    before = A[:, :2]
    after = np.column_stack([A[:, 0], np.cos(0.3) * A[:, 1] + np.sin(0.3) * A[:, 2]])
    H = 7.0 * rng.normal(size=(2, 1500))
    V = np.hstack([before @ H[:, :700], after @ H[:, 700:]]) + 0.1 * rng.normal(size=(50, 1500))
    V += np.where(rng.random(V.shape) < 0.05, rng.uniform(0.0, 30.0, V.shape), 0.0)
    observed = rng.random(V.shape) < 0.9
    made = tracker()
    state, _ = made.step(made.init(random_basis(13, 50, 2)), V[:, :700], observed[:, :700])
    assert sep(state.U.T, before.T) < 1e-3
    assert sep(state.U.T, after.T) > 0.02
    state, _ = made.step(state, V[:, 700:], observed[:, 700:])
    assert sep(state.U.T, after.T) < 1e-3


def test_new_direction_is_in_use_while_it_is_added() -> None:
    rng = np.random.default_rng(14)
    A = random_basis(14, 30, 3)
    made = ReProCSTracker(window=20, updates=3, trusted=True)
    V = A[:, 1:] @ (7.0 * rng.normal(size=(2, 40))) + 0.01 * rng.normal(size=(30, 40))
    state, _ = made.step(made.init(A[:, :2]), V)  # one window to see it, one to add it
    assert state.progress.n_updates == 3
    np.testing.assert_allclose(state.extended.T @ state.extended, np.eye(3), atol=1e-12)
    assert np.linalg.norm(state.extended.T @ A[:, 2]) > 0.99
    assert np.linalg.norm(state.U.T @ A[:, 2]) > 0.99  # the strongest two of the three
    _, track = made.step(state, V[:, :5])
    assert np.linalg.norm(V[:, :5] - state.U @ track.H) < 0.1 * np.linalg.norm(V[:, :5])


def test_direction_of_a_single_feature_is_not_added() -> None:
    rng = np.random.default_rng(17)
    U = random_basis(17, 30, 2)
    made = ReProCSTracker(
        window=20, updates=3, trusted=True, noise_bound=10.0, support_threshold=5.0
    )
    V = U @ (7.0 * rng.normal(size=(2, 40))) + 0.01 * rng.normal(size=(30, 40))
    V[4] += rng.normal(size=40)  # below the threshold, so that it is observed as a change
    state, _ = made.step(made.init(U), V[:, :20])
    assert state.progress.n_updates == 4
    state, _ = made.step(state, V[:, 20:])
    assert not state.extended.any()
    assert state.progress.n_updates == 0
    assert are_dense(U)
    assert not are_dense(np.eye(30, 2))


def test_published_thresholds_are_in_the_units_of_the_data() -> None:
    stream = subspace_stream(1000, 50, 2, outlier_density=0.1, random_state=5)
    V, observed = columns(stream)
    made = NorstTracker(noise_bound=1.0, support_threshold=0.5, change_threshold=0.1)
    state, track = made.step(made.init(random_basis(15, 50, 2)), V, observed)
    assert sep(state.U.T, stream.basis_at(999).T) < 1.5e-3
    assert np.abs(track.R[track.R != 0.0]).min() > 0.3
    tiny, _ = made.step(made.init(random_basis(15, 50, 2)), 1e-3 * V, observed)
    assert sep(tiny.U.T, stream.basis_at(999).T) > sep(state.U.T, stream.basis_at(999).T)


def test_encoder_gives_the_codes_of_the_tracker() -> None:
    stream = subspace_stream(400, 30, 2, outlier_density=0.1, random_state=6)
    V, observed = columns(stream)
    made = NorstTracker(window=30)
    state, _ = made.step(made.init(random_basis(16, 30, 2)), V, observed)
    encoder = made.encoder(state)
    codes = encoder.encode(V, state.U, observed=observed)
    _, track = made.step(state, V[:, :1], observed[:, :1])
    np.testing.assert_allclose(codes.H[:, :1], track.H, rtol=1e-12)
    R = np.where(observed, codes.R, 0.0)
    np.testing.assert_array_equal(R[:, :1], track.R)
    np.testing.assert_allclose((V - codes.R)[~observed], (state.U @ codes.H)[~observed], atol=1e-12)
    inliers = np.where(observed & (R == 0.0), V - state.U @ codes.H, 0.0)
    np.testing.assert_allclose(codes.loss - codes.cost, 0.5 * np.sum(inliers**2, axis=0))
    for t in (0, 17):  # each as if it were alone
        alone = encoder.encode(V[:, [t]], state.U, observed=observed[:, [t]])
        assert np.array_equal(alone.H[:, 0], codes.H[:, t])


# --- estimators ------------------------------------------------------------------------------

ESTIMATORS = [norst_estimator.Norst, reprocs_estimator.ReProCS]


@pytest.mark.parametrize("init", ["robust", "random"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimators_follow_and_fill(estimator: Any, init: str) -> None:
    stream = subspace_stream(1000, 40, 2, outlier_density=0.1, random_state=7)
    model = estimator(2, init=init, random_state=0).fit(stream.X)
    assert sep(model.components_, stream.basis_at(999).T) < 1.5e-3
    found = model.decompose(stream.X)
    relative = np.linalg.norm(found.low_rank - stream.clean) / np.linalg.norm(stream.clean)
    assert relative < 0.05
    assert model.noise_scale_ == pytest.approx(0.14, rel=0.2)
    assert 0.08 < model.outlier_share_ < 0.14


def test_kernel_is_public() -> None:
    assert "recover_sparse" in _native.__all__
