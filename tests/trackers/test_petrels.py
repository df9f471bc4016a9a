"""PETRELS and PETRELS-ADMM: recursive least squares, alternating directions, what [T] claims."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import reference
from thalweg import _native
from thalweg._linalg import aligned_copy, pack_rows, unpack_rows, without_rounding_rows
from thalweg.errors import ParameterError
from thalweg.metrics import sep
from thalweg.synthetic import subspace_stream
from thalweg.trackers.petrels import PetrelsTracker
from thalweg.trackers.petrels_admm import PetrelsADMMTracker

Array = Any
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
SEEDS = pytest.mark.parametrize("seed", range(3))


def basis(seed: int, F: int, K: int) -> Array:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(F, K)))[0]


def columns(data: Any) -> tuple[Array, Array]:
    return np.nan_to_num(data.X).T, ~np.isnan(data.X).T


def moments(state: Any) -> Array:
    """Return the matrices L diag(d) L' of the rows, in double precision."""
    F, K = state.U.shape
    d, triangle = unpack_rows(state.D, F).astype(float), np.tile(np.eye(K), (F, 1, 1))
    if K > 1:
        triangle[:, *np.tril_indices(K, -1)] = unpack_rows(state.L, F)
    return np.einsum("fij,fj,fkj->fik", triangle, d, triangle)


# --- recursive least squares ---------------------------------------------------------------------


@SEEDS
@pytest.mark.parametrize(("forgetting", "ridge"), [(1.0, 0.01), (0.97, 0.5), (0.99, 10.0)])
@pytest.mark.parametrize("K", [1, 3])
def test_rows_are_the_batch_solution(seed: int, forgetting: float, ridge: float, K: int) -> None:
    """With the same codes, a row is the solution of weighted ridge regression."""
    data = subspace_stream(300, 10, K, outlier_density=0.0, missing=0.3, random_state=seed)
    V, observed = columns(data)
    observed[0, 100:] = False
    U0, tracker = basis(seed, 10, K), PetrelsTracker(forgetting, ridge=ridge)
    state, track = tracker.step(tracker.init(U0), V, observed)
    age = np.arange(300)[::-1]
    first = ridge * np.sum(track.H[:, 0] ** 2) / K  # the weight of the first basis
    for m in range(10):
        weight = np.sqrt(forgetting**age * observed[m])
        A = np.vstack([weight[:, None] * track.H.T, np.sqrt(first * forgetting**300) * np.eye(K)])
        b = np.append(weight * V[m], np.sqrt(first * forgetting**300) * U0[m])
        best = np.linalg.lstsq(A, b, rcond=None)[0]
        np.testing.assert_allclose(state.U[m], best, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(moments(state)[m], A.T @ A, rtol=0, atol=1e-10 * np.sum(A**2))


@SEEDS
def test_outliers_are_left_out_of_the_batch_solution(seed: int) -> None:
    data = subspace_stream(400, 40, 2, outlier_density=0.1, random_state=seed)
    V, observed = columns(data)
    U0, tracker = (
        data.basis_at(0),
        PetrelsADMMTracker(forgetting=0.99, noise="common", noise_scale=0.3),
    )
    state, track = tracker.step(tracker.init(U0), V, observed)
    kept = observed & (track.R == 0.0)
    assert np.mean(kept) < 0.95 * np.mean(observed)
    assert kept.sum(axis=0).min() > 20, "a sample that is not believed would not be learned from"
    rows = U0[kept[:, 0]]  # of |w|^2 what they tell
    first = np.sum((rows @ track.H[:, 0]) ** 2) / np.sum(rows**2)
    weight = 0.99 ** np.arange(400)[::-1]
    for m in range(40):
        H = track.H[:, kept[m]]
        A = (H * weight[kept[m]]) @ H.T + first * 0.99**400 * np.eye(2)
        b = (H * weight[kept[m]]) @ V[m, kept[m]] + first * 0.99**400 * U0[m]
        np.testing.assert_allclose(state.U[m], np.linalg.solve(A, b), rtol=0, atol=1e-8)


def test_an_adaptive_step_is_a_share_of_the_full_one() -> None:
    """[T] (26): the sine of the angle between sample and subspace, and 1 above a half."""
    U, rng = basis(0, 12, 2), np.random.default_rng(1)
    for size in (0.01, 0.1, 5.0):
        v = U @ [3.0, 4.0] + size * rng.normal(size=12)
        full, adaptive = (
            tracker.step(tracker.init(U), v[:, None])[0].U - U
            for tracker in (PetrelsTracker(), PetrelsTracker(step_size="adaptive"))
        )
        off = np.linalg.norm(v - U @ (U.T @ v))
        sine = off / np.hypot(off, np.linalg.norm(U.T @ v))
        share = 1.0 if sine > 0.5 else sine
        np.testing.assert_allclose(adaptive, share * full, rtol=1e-9, atol=1e-12)


def test_variable_forgetting_minimises_its_weighted_sum() -> None:
    """[T] II-B: f_t = lambda_t f_{t-1} + l_t, with lambda_t = eta_t lambda."""
    data = subspace_stream(12, 20, 2, outlier_density=0.0, snr=20.0, random_state=0)
    V, observed = columns(data)
    near = data.basis_at(0) + 0.02 * basis(3, 20, 2)
    U, tracker, factors = near, PetrelsTracker(0.9, "forgetting"), []
    A, b = np.zeros((20, 2, 2)), np.zeros((20, 2))
    for t, (v, there) in enumerate(zip(V.T, observed.T, strict=True)):
        w = np.linalg.lstsq(U[there], v[there], rcond=None)[0]
        if t == 0:
            A += 0.01 * (w @ w) / 2 * np.eye(2)
            b += np.einsum("fkl,fl->fk", A, U)
        off = np.linalg.norm(v[there] - U[there] @ w)
        sine = off / np.hypot(off, np.linalg.norm(w))
        factor = 0.9 * (1.0 if sine > 0.5 else sine)
        factors.append(factor)
        A, b = factor * A, factor * b
        A[there] += np.outer(w, w)
        b[there] += np.outer(v[there], w)
        U = np.linalg.solve(A, b[:, :, None])[:, :, 0]
    assert np.median(factors) < 0.3, "samples near the basis take most of the past off"
    state, _ = tracker.step(tracker.init(near), V, observed)
    np.testing.assert_allclose(state.U, U, rtol=1e-6, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "forgetting"), [(np.float32, 0.98), (np.float64, 0.98), (np.float32, 1.0)]
)
def test_a_million_samples_do_no_harm(dtype: Any, forgetting: float) -> None:
    """Factors stay positive and close to their sum; the basis stays bounded."""
    rng, U0 = np.random.default_rng(0), basis(0, 6, 2)
    tracker = PetrelsTracker(forgetting)
    state = tracker.init(basis(1, 6, 2).astype(dtype))
    sizes, total, lengths = {part.nbytes for part in state}, 0.0, []
    for _ in range(20):
        V = 3.0 * U0 @ rng.normal(size=(2, 50_000)) + 0.05 * rng.normal(size=(6, 50_000))
        observed = rng.random(V.shape) < 0.8
        state, track = tracker.step(state, V.astype(dtype), observed)
        H = track.H.astype(float)
        weight = forgetting ** np.arange(50_000)[::-1]
        new = np.einsum("kt,lt,ft,t->fkl", H, H, observed, weight, optimize=True)
        total = weight[0] * forgetting * total + new
        assert (unpack_rows(state.D, 6) > 0.0).all()
        lengths.append(np.linalg.norm(state.U))
    error = np.abs(moments(state) - total).max(axis=(1, 2)) / np.abs(total).max(axis=(1, 2))
    assert error.max() < (1e-3 if dtype == np.float32 else 1e-6)
    assert np.linalg.eigvalsh(moments(state)).min() > 0.0
    assert lengths[-1] < 1.5 * lengths[0], "codes that are too small make the basis grow"
    assert sep(state.U.T, U0.T) < (1e-6 if forgetting == 1.0 else 1e-3)
    assert {part.nbytes for part in state} == sizes


@DTYPES
def test_a_direction_may_be_absent_for_long(dtype: Any) -> None:
    """Forgetting alone would take a pivot to zero, and the gain of the next sample to infinity."""
    rng, U0 = np.random.default_rng(0), basis(0, 6, 2)
    tracker = PetrelsTracker(0.98)
    V = 3.0 * U0 @ rng.normal(size=(2, 500))
    state, _ = tracker.step(tracker.init(basis(1, 6, 2).astype(dtype)), V.astype(dtype))
    silent = np.outer(U0[:, 0], rng.normal(size=100_000)).astype(dtype)
    state, _ = tracker.step(state, silent)
    assert (unpack_rows(state.D, 6) > 0.0).all()
    assert np.isfinite(state.U).all()
    assert np.linalg.norm(U0[:, 0] - state.U @ np.linalg.lstsq(state.U, U0[:, 0])[0]) < 1e-3
    V = 3.0 * U0 @ rng.normal(size=(2, 1000))
    state, _ = tracker.step(state, V.astype(dtype))
    assert sep(state.U.T, U0.T) < 1e-9


@DTYPES
def test_a_feature_may_be_missing_for_long(dtype: Any) -> None:
    rng, U0 = np.random.default_rng(0), basis(0, 6, 2)
    tracker, observed = PetrelsTracker(0.9), np.ones((6, 50_000), dtype=bool)
    observed[2, 100:-500] = False
    V = 3.0 * U0 @ rng.normal(size=(2, 50_000))
    state, _ = tracker.step(tracker.init(basis(1, 6, 2).astype(dtype)), V.astype(dtype), observed)
    assert (unpack_rows(state.D, 6) > 0.0).all()
    assert sep(state.U.T, U0.T) < 1e-9


# --- theory --------------------------------------------------------------------------------------


def steps(tracker: Any, U: Array, V: Array, observed: Array) -> list[Array]:
    """Return the bases after each sample."""
    state, found = tracker.init(U), []
    for t in range(V.shape[1]):
        state, _ = tracker.step(state, V[:, [t]], observed[:, [t]])
        found.append(state.U)
    return found


@pytest.mark.parametrize(
    "tracker", [PetrelsTracker(1.0), PetrelsADMMTracker(1.0)], ids=["petrels", "admm"]
)
def test_the_change_of_the_basis_falls_like_one_over_t(tracker: Any) -> None:
    """[T] Lemma 2, (30), for a stationary stream: log change has slope -1 over log t."""
    density = 0.0 if tracker.name == "petrels" else 0.1
    data = subspace_stream(8000, 20, 2, outlier_density=density, random_state=0)
    start = np.linalg.qr(data.basis_at(0) + 0.1 * basis(0, 20, 2))[0]
    found = steps(tracker, start, *columns(data))
    change = np.array([np.linalg.norm(after - before) for before, after in pairwise(found)])
    edges = np.geomspace(100, 7999, 8).astype(int)
    mean = [change[a:b].mean() for a, b in pairwise(edges)]
    slope = np.polyfit(np.log(np.sqrt(edges[1:] * edges[:-1])), np.log(mean), 1)[0]
    assert -1.2 < slope < -0.85


def losses(data: Any, U: Array, H: Array, t: int) -> tuple[float, float, float]:
    """Return surrogate and empirical loss of the first t samples, and the latter's gradient.

    The surrogate has the codes of samples when they arrived, the loss the best codes for U.
    """
    V, observed = columns(data)
    V, observed = V[:, :t], observed[:, :t]
    best = reference.least_squares_codes(V.T, observed.T, U).T
    old, new = ((V - U @ codes) * observed for codes in (H[:, :t], best))
    return np.sum(old**2) / t, np.sum(new**2) / t, float(np.linalg.norm(new @ best.T) / t)


@SEEDS
def test_the_basis_nears_a_stationary_point(seed: int) -> None:
    """[T] Theorem 1 and (32): surrogate and loss meet, and the gradient of the loss vanishes."""
    data = subspace_stream(4000, 15, 2, outlier_density=0.0, missing=0.2, random_state=seed)
    V, observed = columns(data)
    tracker, gaps, slopes = PetrelsTracker(1.0), [], []
    state, H = tracker.init(basis(seed, 15, 2)), np.empty((2, 0))
    for start, stop in pairwise([0, 60, 500, 4000]):
        state, track = tracker.step(state, V[:, start:stop], observed[:, start:stop])
        H = np.hstack([H, track.H])
        surrogate, loss, slope = losses(data, state.U, H, stop)
        assert surrogate >= loss * (1 - 1e-9)
        gaps.append((surrogate - loss) / loss)
        slopes.append(slope / loss)
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < min(0.05, 0.1 * gaps[0])
    assert slopes[0] > slopes[1] > slopes[2]
    assert slopes[2] < 0.35 * slopes[0]


@SEEDS
def test_without_gaps_the_stationary_point_is_that_of_pca(seed: int) -> None:
    data = subspace_stream(6000, 15, 2, outlier_density=0.0, missing=0.0, random_state=seed)
    tracker = PetrelsTracker(1.0)
    state, _ = tracker.step(tracker.init(basis(seed, 15, 2)), data.X.T)
    best = np.linalg.svd(data.X, full_matrices=False)[2][:2]
    assert sep(state.U.T, best) < 1e-2 * sep(best, data.basis_at(0).T)


# --- Algorithm 2 ---------------------------------------------------------------------------------


def dirty(seed: int, density: float = 0.2, intensity: float = 10.0) -> Any:
    """Return samples of setting A of [T] as rows, a basis near the truth, and the noise level."""
    data = subspace_stream(
        40, 50, 2, outlier_density=density, outlier_intensity=intensity, random_state=seed
    )
    U = np.linalg.qr(data.basis_at(0) + 0.01 * basis(seed, 50, 2))[0]
    return data.X, U, float(0.1 * np.sqrt(np.mean(data.clean**2)))


def admm(x: Array, U: Array, delta: float, rounds: int, absolute: float, relative: float) -> Any:
    """Return the result of Algorithm 2 in the kernel, for a complete sample."""
    settings = _native.ADMMSettings(abs_tol=absolute, rel_tol=relative, max_iter=rounds)
    H, solved, observed = np.empty((1, U.shape[1])), np.empty(1, bool), np.ones((1, len(x)), bool)
    _native.admm_codes(x[None], observed, pack_rows(U), delta, settings, H, solved)
    return H[0], solved[0]


@SEEDS
@pytest.mark.parametrize("rounds", [1, 2, 10, 100])
def test_admm_is_the_reference_round_by_round(seed: int, rounds: int) -> None:
    X, U, noise = dirty(seed)
    for x in X[:5]:
        there = ~np.isnan(x)
        w, solved = admm(x[there], U[there], 0.5 * noise, rounds, 0.0, 0.0)
        expected = reference.admm_codes(x[there], U[there], 0.5 * noise, rounds)
        np.testing.assert_allclose(w, expected.w, rtol=0, atol=1e-9 * np.abs(expected.w).max())
        assert not solved


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("density", [0.05, 0.2, 0.4])
@pytest.mark.parametrize("delta", [0.5, 1.0, 3.0])
def test_admm_and_newton_find_the_same_minimum(seed: int, density: float, delta: float) -> None:
    """The codes and s = S_rho(x - U w) of both solvers are those of the convex problem."""
    X, U, noise = dirty(seed, density)
    X, observed = np.nan_to_num(X), ~np.isnan(X)
    H, solved = np.zeros((len(X), 2)), np.zeros(len(X), bool)
    _native.huber_codes(X, observed, pack_rows(U), delta * noise, 60, H, solved)
    assert solved.all()
    for h, x, there in zip(H[:10], X, observed, strict=False):
        w, done = admm(x[there], U[there], delta * noise, 20_000, 1e-11, 0.0)
        assert done
        np.testing.assert_allclose(w, h, rtol=0, atol=1e-7 * np.abs(h).max())
    for h, x, there in zip(H[:2], X, observed, strict=False):
        s = reference.admm_codes(x[there], U[there], delta * noise, 3000).s
        best = reference.soft_threshold(x[there] - U[there] @ h, delta * noise)
        np.testing.assert_allclose(s, best, rtol=0, atol=1e-6 * noise)


@pytest.mark.parametrize("intensity", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("density", [0.05, 0.2, 0.4])
def test_outliers_converge_within_the_limit(density: float, intensity: float) -> None:
    """[T] Lemma 1, (28): |s^(k+1) - s^k| goes to zero within the limit of 500 rounds."""
    X, U, noise = dirty(0, density, intensity)
    for x in X[:10]:
        there = ~np.isnan(x)
        found = reference.admm_codes(x[there], U[there], noise, 500)
        assert found.moves[-50:].max() < 1e-6 * noise
        _, solved = admm(x[there], U[there], noise, 500, 1e-5, 1e-3)
        assert solved


def followed(data: Any, start: Array, sign: float) -> tuple[float, float]:
    """Track with Algorithm 2 and (25); return SEP and the share of entries used for learning."""
    U, share = start, []
    moments = np.tile(np.eye(2) * np.mean(data.clean**2), (len(U), 1, 1))
    delta = 0.3 * np.sqrt(np.mean(data.clean**2))  # three noise levels
    for x in data.X:
        observed = ~np.isnan(x)
        s = reference.admm_codes(x[observed], U[observed], delta, 60, sign=sign).s
        kept = observed.copy()
        kept[observed] = s == 0.0
        share.append(kept.sum() / observed.sum())
        if kept.sum() > 2:
            w = reference.least_norm(x[kept], U[kept])
            U, moments = reference.update_rows(U, moments, w, x, kept, 1.0, 1.0)
    return sep(U.T, data.basis_at(0).T), float(np.mean(share))


def test_the_printed_sign_does_not_track() -> None:
    """An erratum of [T]: (15) must add rho_1 (s - r). As printed, no entry is an inlier."""
    data = subspace_stream(300, 20, 2, outlier_density=0.1, outlier_intensity=5.0, random_state=0)
    start = np.linalg.qr(data.basis_at(0) + 0.3 * basis(0, 20, 2))[0]
    begin = sep(start.T, data.basis_at(0).T)
    meant, learned = followed(data, start, 1.0)
    printed, hardly = followed(data, start, -1.0)
    assert meant < 0.01 * begin
    assert learned > 0.8
    assert printed > 0.99 * begin
    assert hardly < 0.01


@pytest.mark.parametrize("density", [0.05, 0.2])
def test_both_solvers_track(density: float) -> None:
    data = subspace_stream(1000, 50, 2, outlier_density=density, random_state=0)
    start = np.linalg.qr(data.basis_at(0) + 0.05 * basis(0, 50, 2))[0]
    found = []
    for solver in ("fast", "admm"):
        tracker = PetrelsADMMTracker(solver=solver, noise="common")
        state, track = tracker.step(tracker.init(start), *columns(data))
        found.append((sep(state.U.T, data.basis_at(0).T), track.R != 0.0))
    (fast, first), (slow, second) = found
    assert max(fast, slow) < 1e-4
    assert slow < 1.2 * fast
    assert np.mean(first == second) > 0.998


# --- parameters ----------------------------------------------------------------------------------


def test_a_known_noise_level_stays() -> None:
    data = subspace_stream(200, 20, 2, random_state=0)
    tracker = PetrelsADMMTracker(noise_scale=0.25)
    state, _ = tracker.step(tracker.init(basis(0, 20, 2)), *columns(data))
    assert state.statistics.variance == 0.25**2


@pytest.mark.parametrize("density", [0.0, 0.2, 0.4])
def test_the_noise_level_is_measured(density: float) -> None:
    data = subspace_stream(2000, 50, 2, outlier_density=density, random_state=0)
    tracker = PetrelsADMMTracker()
    state, _ = tracker.step(tracker.init(data.basis_at(0)), *columns(data))
    rest = np.nan_to_num(data.X - data.clean - data.outliers)
    level = np.sqrt(np.sum(rest**2) / np.sum(~np.isnan(data.X)))
    assert np.sqrt(state.statistics.variance) == pytest.approx(level, rel=0.15)


# --- codes that the data do not determine -------------------------------------------------------


def lonely(seed: int, B: int = 1500) -> tuple[Array, Array, Array]:
    """Return samples as columns, the mask of observed entries, and the noise level.

    The first feature has a component almost to itself, and is out of sight for long.
    """
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(12, 3))
    U[:, 2] *= 1e-3
    U[0, 2] = 4.0
    V = U @ rng.normal(size=(3, B)) + 0.1 * rng.normal(size=(12, B))
    observed = rng.random(V.shape) < 0.8
    observed[0] = np.arange(B) % 300 < 100
    return V, observed, U


@SEEDS
def test_a_component_whose_only_feature_is_missing_stays_small(seed: int) -> None:
    """Without the prior, codes are up to hundreds of times too large, and so is the basis."""
    V, observed, U = lonely(seed)
    tracker = PetrelsADMMTracker()
    state, track = tracker.step(tracker.init(np.linalg.qr(U)[0]), V, observed)
    size = np.linalg.norm(track.H, axis=0)
    assert size.max() < 10 * np.median(size)
    low_rank = state.U @ tracker.encoder(state).encode(V, state.U, observed=observed).H
    assert np.abs(low_rank).max() < 2 * np.abs(V).max()


@pytest.mark.parametrize(
    ("cls", "parameters"),
    [
        (PetrelsTracker, {"forgetting": 0.0}),
        (PetrelsTracker, {"forgetting": 1.1}),
        (PetrelsTracker, {"forgetting": float("nan")}),
        (PetrelsTracker, {"step_size": "greedy"}),
        (PetrelsTracker, {"ridge": 0.0}),
        (PetrelsADMMTracker, {"forgetting": -1.0}),
        (PetrelsADMMTracker, {"step_size": ""}),
        (PetrelsADMMTracker, {"ridge": -1.0}),
        (PetrelsADMMTracker, {"huber_threshold": 0.0}),
        (PetrelsADMMTracker, {"threshold": float("inf")}),
        (PetrelsADMMTracker, {"noise_scale": -0.1}),
        (PetrelsADMMTracker, {"memory": 0.0}),
        (PetrelsADMMTracker, {"solver": "newton"}),
    ],
)
def test_invalid_parameters_raise(cls: Any, parameters: Any) -> None:
    with pytest.raises(ParameterError, match=f"{next(iter(parameters))} must be"):
        cls(**parameters)


# --- arguments of the kernels --------------------------------------------------------------------


@DTYPES
@pytest.mark.parametrize("shape", [(1, 1), (17, 3), (64, 10)])
def test_blocks_begin_where_vectors_do(dtype: Any, shape: tuple[int, int]) -> None:
    U = np.random.default_rng(0).normal(size=shape).astype(dtype)
    for array in (pack_rows(U), aligned_copy(U), aligned_copy(U.T)):
        assert array.ctypes.data % _native.BLOCK_BYTES == 0
        assert array.flags.c_contiguous
    assert np.array_equal(unpack_rows(pack_rows(U), shape[0]), U)
    assert np.array_equal(aligned_copy(U.T), U.T)


@DTYPES
def test_rows_of_rounding_are_zero_and_short_ones_stay(dtype: Any) -> None:
    U = basis(0, 20, 3).astype(dtype)
    U[4], U[7] = np.finfo(dtype).eps, 1e-3
    wanted = U.copy()
    wanted[4] = 0.0
    assert np.array_equal(without_rounding_rows(U), wanted)
