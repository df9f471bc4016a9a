"""Compiled recursive least squares and robust codes, against references and CVXPY."""

from math import inf
from typing import Any

import numpy as np
import pytest

import reference
from pairwise import all_pairs
from thalweg import _native
from thalweg._linalg import pack_rows, unpack_rows
from thalweg.trackers.noise_scale import truncated_variance

Array = Any
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
# One block of lanes that is not full, one that is, more than one; one code, and more.
SIZES = pytest.mark.parametrize(("F", "K"), [(12, 1), (30, 3), (64, 2), (150, 5)])
RULE = (0.5, 2.5, truncated_variance(2.5), 1 - 1 / 200)
REJECTION = _native.RejectionSettings(
    huber_threshold=RULE[0], threshold=RULE[1], truncated_variance=RULE[2], decay=RULE[3]
)
LEVELS = [level for level in (4, 3, 2) if level <= _native.target_level()] or [0]


@pytest.fixture(params=LEVELS, autouse=True)
def level(request: Any) -> Any:
    """Run each test with every instruction set of the processor: packs of all widths."""
    highest = _native.target_level()
    _native.set_target_level(request.param)
    yield request.param
    _native.set_target_level(highest)


def row_update(motion: Any) -> Any:
    """Return settings of the recursion, from a tuple of the reference implementation."""
    forgetting, ridge, sine, scaled = motion
    return _native.RowUpdate(
        forgetting=forgetting, ridge=ridge, adaptive_sine=sine, scales_forgetting=bool(scaled)
    )


def stream(dtype: Any, F: int, K: int, B: int = 25, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return a good basis, dirty samples as rows, and masks: nothing, some, all observed."""
    rng = np.random.default_rng([seed, F, K])
    U = rng.normal(size=(F, K))
    X = rng.normal(size=(B, K)) @ U.T + 0.1 * rng.normal(size=(B, F))
    X += (rng.random(X.shape) < 0.2) * rng.uniform(-9, 9, size=X.shape)
    observed = rng.random(X.shape) < 0.8
    observed[3], observed[11], observed[::5] = False, False, True
    observed[11, 1 : 2 * K + 2] = True  # one short of those among which outliers can be told
    U = np.linalg.qr(U + 0.2 * rng.normal(size=U.shape))[0]
    return U.astype(dtype), X.astype(dtype), observed


def room(X: Array, K: int) -> tuple[Array, Array, Array]:
    """Return room for codes, outliers and errors, filled with what must not stay."""
    return np.full((len(X), K), 7, X.dtype), np.full(X.shape, 7, X.dtype), np.full(len(X), 7.0)


def wide(*arrays: Array) -> list[Array]:
    return [np.asarray(array, dtype=float) for array in arrays]


def agree(found: Array, wanted: Array, dtype: Any) -> None:
    size = max(np.nanmax(np.abs(wanted)), 1.0)
    atol = size * (1e-9 if dtype == np.float64 else 2e-4)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=atol)


def moments(D: Array, L: Array, F: int) -> Array:
    """Return the rows' matrices, put together from their factors."""
    d, K = unpack_rows(D, F).astype(float), D.shape[1]
    triangle = np.tile(np.eye(K), (F, 1, 1))
    if K > 1:  # row by row, as they are packed
        triangle[:, *np.tril_indices(K, -1)] = unpack_rows(L, F)
    return np.einsum("fij,fj,fkj->fik", triangle, d, triangle)


def first(U: Array) -> tuple[Array, Array, Array]:
    """Return a packed basis with nothing learned."""
    blocks, K = pack_rows(U), U.shape[1]
    lower = np.zeros((len(blocks), K * (K - 1) // 2, blocks.shape[2]), U.dtype)
    return blocks, np.zeros_like(blocks), lower


# --- codes ---------------------------------------------------------------------------------------


@DTYPES
@SIZES
def test_least_squares_codes(dtype: Any, F: int, K: int) -> None:
    U, X, observed = stream(dtype, F, K)
    H = room(X, K)[0]
    _native.least_squares_codes(X, observed, pack_rows(U), H)
    W, V = wide(U, X)
    agree(H, reference.least_squares_codes(V, observed, W), dtype)
    assert not H[3].any()


@DTYPES
@pytest.mark.parametrize("K", [1, 2, 5])
def test_with_fewer_entries_than_codes_they_are_of_least_norm(dtype: Any, K: int) -> None:
    U, X, observed = stream(dtype, 40, K)
    observed[:] = np.arange(40) < np.arange(25)[:, None] % (K + 1)
    H, solved = room(X, K)[0], np.zeros(len(X), bool)
    _native.least_squares_codes(X, observed, pack_rows(U), H)
    same = np.zeros_like(H)
    _native.huber_codes(X, observed, pack_rows(U), 0.1, 60, same, solved)
    for h, other, x, there in zip(H, same, *wide(X), observed, strict=True):
        rows = U[there].astype(float)
        least = np.linalg.pinv(rows) @ x[there]
        # Their Gram matrix is singular: what is left of 1e4 rounding errors in it is a thousandth.
        spread = np.linalg.cond(rows) if there.any() else 1.0
        bound = 1e-3 * spread**2 * np.linalg.norm(least) + 1e-12
        assert np.linalg.norm(h - least) < bound
        assert np.linalg.norm(other - least) < bound


@all_pairs(
    DTYPES,
    SIZES,
    pytest.mark.parametrize("delta", [0.05, 0.5, 5.0, inf]),
)
def test_huber_codes(dtype: Any, F: int, K: int, delta: float) -> None:
    U, X, observed = stream(dtype, F, K)
    H, solved = np.zeros((len(X), K), dtype), np.zeros(len(X), bool)
    _native.huber_codes(X, observed, pack_rows(U), delta, 60, H, solved)
    wanted = reference.huber_codes(*wide(X), observed, *wide(U), delta)
    assert solved.all()
    agree(H, wanted, dtype)


@all_pairs(
    DTYPES,
    SIZES,
    pytest.mark.parametrize(("scale", "prior"), [(0.0, 0.0), (0.1, 0.0), (0.4, 0.0), (0.1, 0.3)]),
)
def test_rejecting_codes(dtype: Any, F: int, K: int, scale: float, prior: float) -> None:
    U, X, observed = stream(dtype, F, K, seed=1)
    if prior > 0.0:
        U[:, -1] *= 0.2  # so that the entries tell it less well
    (H, R, _), solved = room(X, K), np.zeros(len(X), bool)
    codes = (H, R, solved)
    _native.codes_with_rejection(X, observed, pack_rows(U), scale, prior, REJECTION, codes)
    wanted = reference.codes_with_rejection(*wide(X), observed, *wide(U), scale, prior, *RULE[:2])
    assert solved.all()
    agree(H, wanted[0], dtype)
    agree(R, wanted[1], dtype)
    assert not R[~observed].any()


@DTYPES
def test_codes_of_so_many_entries_that_a_few_of_them_are_fitted_first(dtype: Any) -> None:
    """The first fit may be rough, but rejection ends where it does from an exact one."""
    F, K = 20_000, 3
    U, X, observed = stream(dtype, F, K, B=12)
    U *= dtype(np.sqrt(F))  # so that codes are as large as noise and outliers are made for
    (H, R, _), solved = room(X, K), np.zeros(len(X), bool)
    codes = (H, R, solved)
    _native.codes_with_rejection(X, observed, pack_rows(U), 0.4, 0.0, REJECTION, codes)
    assert solved.all()
    wanted, outliers = reference.codes_with_rejection(
        *wide(X), observed, *wide(U), 0.4, 0.0, *RULE[:2]
    )
    noise = 0.4 * np.sqrt(K / F)  # of a fit of all
    assert np.abs(H - wanted).max() < 0.01 * noise
    assert np.mean((R == 0.0) != (outliers == 0.0)) < 1e-4


@DTYPES
def test_the_fit_before_rejection_is_as_good_as_noise_lets_it_be(dtype: Any) -> None:
    F, K, delta, limit = 20_000, 3, 0.2, 1.0
    U, X, _ = stream(dtype, F, K, B=12)
    U *= dtype(np.sqrt(F))
    W, residuals = np.full((len(X), K), 7, dtype), np.empty(X.shape, dtype)
    steps, grams, close = np.empty((len(X), K)), np.empty((len(X), K, K)), np.zeros(len(X), bool)
    fits = (W, residuals, steps, grams, close)
    _native.approximate_huber_codes(X, pack_rows(U), delta, limit, fits)
    assert close.all()
    for x, w, r, step, G in zip(X, W, residuals, steps, grams, strict=True):
        exact = reference.exact_huber_fit(*wide(x, U), delta)
        within = np.count_nonzero(np.abs(x - U @ exact) <= delta)
        assert np.abs(U @ (w - exact)).max() <= 0.1 * delta * np.sqrt(K / within)
        left = x - U @ (w - step)
        agree(r, left, dtype)
        agree(np.tril(G), np.tril((U.T * (np.abs(left) <= limit)) @ U), dtype)


def test_a_step_so_short_that_its_slope_is_rounding_goes_somewhere() -> None:
    """If delta is far below the residuals, the slope may be the same at both ends of a step."""
    U = np.array([[-7e-5, 1.0, 0.76, 1.3, 2.02]]).T
    x = np.array([[2e-8, 0.0, 1.0, 0.0, 1.0]])
    H, solved = np.zeros((1, 1)), np.zeros(1, dtype=bool)
    for delta in np.geomspace(1e-12, 1e-6, 200):
        H[:] = 0.0
        _native.huber_codes(x, np.ones(x.shape, dtype=bool), pack_rows(U), delta, 60, H, solved)
        assert np.isfinite(H).all()
        assert abs(H[0, 0]) <= 1.0


@pytest.mark.parametrize("K", [1, 2, 4])
def test_codes_of_few_entries_that_do_not_fit(K: int) -> None:
    rng = np.random.default_rng(K)
    U = np.linalg.qr(rng.normal(size=(20, K)))[0]
    X = rng.normal(size=(60, K)) @ U.T + 0.05 * rng.normal(size=(60, 20))
    observed = np.array([rng.permutation(20) < 1 + t % (2 * K + 1) for t in range(60)])
    X[observed.cumsum(axis=1) == 1] += 9.0  # one outlier each
    (H, R, _), solved = room(X, K), np.empty(60, dtype=bool)
    prior, found = 0.05**2, (H, R, solved)
    _native.codes_with_rejection(X, observed, pack_rows(U), 0.05, prior, REJECTION, found)
    codes, outliers = reference.codes_with_rejection(X, observed, U, 0.05, prior, *RULE[:2])
    agree(H, codes, np.float64)
    agree(R, outliers, np.float64)
    least_squares = reference.least_squares_codes(X, observed, U)
    assert np.linalg.norm(H) < 0.7 * np.linalg.norm(least_squares)


@DTYPES
@pytest.mark.parametrize("length", [0.0, 1e-3, 1.0])
def test_rows_that_are_rounding_tell_nothing(dtype: Any, length: float) -> None:
    """A row whose entries are rounding errors has no larger codes than an ordinary row."""
    U = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 3)))[0].astype(dtype)
    U[4] = length * np.finfo(dtype).eps
    X, observed, usual = np.ones((1, 30), dtype), np.zeros((1, 30), dtype=bool), (30 / 3) ** 0.5
    observed[0, 4] = True
    (H, R, _), solved = room(X, 3), np.empty(1, dtype=bool)
    _native.least_squares_codes(X, observed, pack_rows(U), H)
    assert np.linalg.norm(H) < usual
    H[:] = 7
    codes = (H, R, solved)
    _native.codes_with_rejection(X, observed, pack_rows(U), 0.1, 0.01, REJECTION, codes)
    assert np.linalg.norm(H) < usual


# --- tracking ------------------------------------------------------------------------------------


@all_pairs(
    DTYPES,
    SIZES,
    pytest.mark.parametrize(
        "motion",
        [(1.0, 0.5, 0.0, 0.0), (0.9, 0.01, 0.0, 0.0), (0.98, 0.1, 0.5, 0.0), (0.98, 0.1, 0.5, 1.0)],
        ids=str,
    ),
)
def test_track_least_squares(dtype: Any, F: int, K: int, motion: Any) -> None:
    U, X, observed = stream(dtype, F, K, seed=2)
    blocks, D, L = first(U)
    H, _, error = room(X, K)
    _native.track_least_squares(X, observed, (blocks, D, L), row_update(motion), H, error)
    basis, second, codes, errors = reference.track_least_squares(
        *wide(X), observed, *wide(U), motion
    )
    agree(unpack_rows(blocks, F), basis, dtype)
    agree(moments(D, L, F), second, dtype)
    agree(H, codes, dtype)
    agree(error, errors, dtype)


@DTYPES
@pytest.mark.parametrize("K", [9, 10, 11, 16])
def test_tracking_with_more_codes(dtype: Any, K: int) -> None:
    """Up to 10 codes have compiled loops of their own, and more share one."""
    F, motion = 150, (1.0, 0.5, 0.0, 0.0)
    U, X, observed = stream(dtype, F, K, seed=2)
    blocks, D, L = first(U)
    H, _, error = room(X, K)
    _native.track_least_squares(X, observed, (blocks, D, L), row_update(motion), H, error)
    basis, second, codes, errors = reference.track_least_squares(
        *wide(X), observed, *wide(U), motion
    )
    agree(unpack_rows(blocks, F), basis, dtype)
    agree(moments(D, L, F), second, dtype)
    agree(H, codes, dtype)
    agree(error, errors, dtype)


def no_features(U: Array) -> Any:
    """Return limits, and room for the statistics of features and of successive samples."""
    F, K = U.shape
    limits = np.full(F, reference.LIMIT, U.dtype)
    arrays = np.zeros((3, F), U.dtype), np.zeros(F, U.dtype), np.zeros(K, U.dtype), np.zeros(6)
    return limits, *arrays


@all_pairs(
    DTYPES,
    SIZES,
    pytest.mark.parametrize(
        "motion", [(1.0, 1.0, 0.0, 0.0), (0.95, 1.0, 0.5, 0.0), (0.95, 1.0, 0.5, 1.0)], ids=str
    ),
)
def test_track_rejecting(dtype: Any, F: int, K: int, motion: Any) -> None:
    # A threshold is a cliff: with single precision not all entries fall on the same side for long,
    # and a memory of a sample or two makes little of rounding into much.
    B = 60 if dtype == np.float64 and not motion[3] else 24
    U, X, observed = stream(dtype, F, K, B, seed=3)
    (blocks, D, L), scales = first(U), np.zeros(_native.WARM_UP_SAMPLES)
    H, R, error = room(X, K)
    noise = _native.track_with_rejection(
        X,
        observed,
        (blocks, D, L),
        (0.0, 0.0, 0.0, 0.0, 0.0, scales),
        row_update(motion),
        REJECTION,
        (H, R, error),
        (limits := no_features(U)),
    )
    basis, second, statistics, codes, outliers, errors, features = reference.track_with_rejection(
        *wide(X), observed, *wide(U), motion, RULE, _native.WARM_UP_SAMPLES
    )
    if dtype == np.float64:  # a residual at its limit may be on either side after rounding
        np.testing.assert_array_equal(limits[1], features.counts)
    for found, wanted in zip(limits[2:], features[1:], strict=True):
        agree(found, wanted, dtype)
    agree(unpack_rows(blocks, F), basis, dtype)
    agree(moments(D, L, F), second, dtype)
    agree(noise, statistics[:5], dtype)
    agree(scales, statistics.first, dtype)
    for found, wanted in zip((H, R, error), (codes, outliers, errors), strict=True):
        agree(found, wanted, dtype)
    assert np.isnan(error[3])
    assert np.abs(basis - U).max() > 0.01, "nothing was learned: the test shows nothing"


# --- the convex problem, exactly -----------------------------------------------------------------


def problems(seed: int, count: int = 40) -> Any:
    """Return a basis, samples with gross outliers, ties, or nothing but zeros, and gaps."""
    rng = np.random.default_rng(seed)
    F, K = int(rng.integers(15, 90)), int(rng.integers(1, 6))
    U = rng.normal(size=(F, K)) * rng.choice([1.0, 1e-3, 50.0])
    X = rng.normal(size=(count, K)) @ U.T + 0.1 * rng.normal(size=(count, F))
    gross = rng.choice([0.0, 0.2, 0.4])
    X += (rng.random(X.shape) < gross) * rng.uniform(0, 20, size=X.shape)
    X[:5] = np.round(X[:5])  # ties
    X[5] = 0.0
    return U, X, rng.random(X.shape) < 0.9


def solve(U: Array, X: Array, observed: Array, delta: float, H: Array | None = None) -> Array:
    H = np.zeros((len(X), U.shape[1])) if H is None else H.copy()
    solved = np.zeros(len(X), bool)
    _native.huber_codes(X, observed, pack_rows(U), delta, 60, H, solved)
    assert solved.all(), f"{np.flatnonzero(~solved)} not solved with delta = {delta}"
    return H


@pytest.mark.parametrize("delta", [1e-6, 1e-3, 0.05, 0.5, 5.0, 1e3, inf])
@pytest.mark.parametrize("seed", range(6))
def test_huber_codes_meet_their_optimality_condition(seed: int, delta: float) -> None:
    """U' clip(x - U h) = 0 is all that the minimum of a convex function needs."""
    U, X, observed = problems(seed)
    clipped = np.clip(X - solve(U, X, observed, delta) @ U.T, -delta, delta) * observed
    scale = np.abs(clipped) @ np.abs(U) + np.finfo(float).tiny
    rest = np.abs(clipped @ U) / scale
    rounding = np.finfo(float).eps * np.abs(X).max() / delta
    assert rest.max() < 1e-8 + 10 * rounding  # residuals follow the codes step by step


@pytest.mark.parametrize("delta", [1e-3, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("seed", range(3))
def test_huber_codes_are_those_of_cvxpy(seed: int, delta: float) -> None:
    cp = pytest.importorskip("cvxpy", reason="CVXPY is installed for development only")
    U, X, observed = problems(seed, count=8)
    H = solve(U, X, observed, delta)
    for h, x, there in zip(H, X, observed, strict=True):
        w, s = cp.Variable(U.shape[1]), cp.Variable(int(there.sum()))
        loss = cp.sum_squares(x[there] - U[there] @ w - s) / 2 + delta * cp.norm1(s)
        best = cp.Problem(cp.Minimize(loss)).solve(solver="CLARABEL")
        e = x[there] - U[there] @ h
        outliers = reference.soft_threshold(e, delta)
        mine = np.sum((e - outliers) ** 2) / 2 + delta * np.abs(outliers).sum()
        assert mine == pytest.approx(best, rel=1e-6, abs=1e-7 * delta)
        assert mine <= best * (1 + 1e-9) + 1e-7 * delta


@pytest.mark.parametrize("seed", range(4))
def test_huber_codes_do_not_depend_on_where_they_begin(seed: int) -> None:
    U, X, observed = problems(seed)
    H = solve(U, X, observed, 0.3)
    size = np.abs(H).max()
    begin = H + size * np.random.default_rng(seed).normal(size=H.shape)
    np.testing.assert_allclose(solve(U, X, observed, 0.3, begin), H, rtol=0, atol=1e-9 * size)


# --- threads, and arguments that do not fit ------------------------------------------------------


def with_threads(count: int, job: Any) -> Any:
    before = _native.set_thread_count(count)
    try:
        return job()
    finally:
        _native.set_thread_count(before)


def all_codes(U: Array, X: Array, observed: Array) -> list[Array]:
    """Return the results of all kernels of codes."""
    K, blocks, n = U.shape[1], pack_rows(U), len(X)
    found, solved = [np.zeros((n, K), U.dtype) for _ in range(4)], np.zeros((3, n), bool)
    R = np.empty_like(X)
    _native.least_squares_codes(X, observed, blocks, found[0])
    _native.huber_codes(X, observed, blocks, 0.1, 60, found[1], solved[0])
    _native.admm_codes(X, observed, blocks, 0.1, _native.ADMMSettings(), found[2], solved[1])
    codes = (found[3], R, solved[2])
    _native.codes_with_rejection(X, observed, blocks, 0.1, 0.01, REJECTION, codes)
    return [*found, R, solved]


def tracks(U: Array, X: Array, observed: Array) -> list[Array]:
    """Return rows and results of both trackers."""
    K, update, found = U.shape[1], row_update((0.98, 0.1, 0.0, 0.0)), []
    rows, H, error = first(U), np.empty((len(X), K), U.dtype), np.empty(len(X))
    _native.track_least_squares(X, observed, rows, update, H, error)
    found += [*rows, H, error]
    rows, statistics = first(U), (0.01, inf, 0.0, 0.0, 0.0, np.zeros(_native.WARM_UP_SAMPLES))
    track = (H.copy(), np.empty_like(X), error.copy())
    features = no_features(U)
    numbers = _native.track_with_rejection(
        X, observed, rows, statistics, update, REJECTION, track, features
    )
    return [*found, *rows, *track, *features, np.array(numbers)]


@DTYPES
@pytest.mark.parametrize(("F", "K", "B"), [(30, 3, 150), (9_000, 10, 6)])
def test_results_do_not_depend_on_the_number_of_threads(dtype: Any, F: int, K: int, B: int) -> None:
    U, X, observed = stream(dtype, F, K, B=max(B, 12), seed=4)
    for job in (all_codes, tracks):
        alone = with_threads(1, lambda job=job: job(U, X, observed))
        for count in (2, 3):
            together = with_threads(count, lambda job=job: job(U, X, observed))
            for one, other in zip(alone, together, strict=True):
                assert np.array_equal(one, other, equal_nan=True)


def test_arguments_that_do_not_fit_are_refused() -> None:
    U, X, observed = stream(np.float64, 30, 3)
    blocks, H = pack_rows(U), np.zeros((len(X), 3))
    with pytest.raises(TypeError):  # strides
        _native.least_squares_codes(X.repeat(2, axis=1)[:, ::2], observed, blocks, H)
    with pytest.raises(TypeError):  # types
        _native.least_squares_codes(X.astype(np.float32), observed, blocks, H)
    for bad in (blocks[:1].copy(), np.zeros((2, 3, 8)), np.zeros((0, 3, 16))):
        with pytest.raises(ValueError, match="blocks"):
            _native.least_squares_codes(X, observed, bad, H)
    with pytest.raises(ValueError, match="observed"):
        _native.least_squares_codes(X, observed[:, :-1].copy(), blocks, H)
    with pytest.raises(ValueError, match="H must"):
        _native.least_squares_codes(X, observed, blocks, H[:-1])
    rows, update = first(U), row_update((1.0, 1.0, 0.0, 0.0))
    wrong = (*rows[:2], rows[2][:, :2].copy())
    with pytest.raises(ValueError, match="L"):
        _native.track_least_squares(X, observed, wrong, update, H, np.zeros(len(X)))
    statistics = (0.0, 0.0, 0.0, 0.0, 0.0, np.zeros(3))
    track = (H, np.zeros_like(X), np.zeros(len(X)))
    with pytest.raises(ValueError, match="WARM_UP_SAMPLES"):
        _native.track_with_rejection(
            X, observed, rows, statistics, update, REJECTION, track, no_features(U)
        )
    good = (0.0, 0.0, 0.0, 0.0, 0.0, np.zeros(_native.WARM_UP_SAMPLES))
    short = (*no_features(U)[:4], np.zeros(5))
    with pytest.raises(ValueError, match="features must"):
        _native.track_with_rejection(X, observed, rows, good, update, REJECTION, track, short)


# --- stuck features ------------------------------------------------------------------------------


@DTYPES
@pytest.mark.parametrize("seed", range(6))
def test_mask_stuck(dtype: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, F, min_run = 80, 9, 5
    X = rng.integers(0, 40, size=(n, F)).astype(dtype)
    observed = rng.random((n, F)) < 0.8
    X[20:60, :2] = 7.0  # stuck for a time
    X[:30, 2] = 3.0  # constant at first
    X[40:, :8] = np.where(seed % 2, 1.0, X[40:, :8])  # too many to be faults
    X[:, 3] = 5.0  # constant for ever
    mask = observed.copy()
    last, run = np.zeros(F, dtype), np.zeros(F, np.int32)
    variation = np.full(F, -1, np.int8)
    for part in (slice(0, 33), slice(33, 34), slice(34, n)):  # the result is that of one call
        piece = np.ascontiguousarray(mask[part])
        _native.mask_stuck(X[part], piece, last, run, variation, min_run)
        mask[part] = piece
    wanted, released = reference.mask_stuck(X, observed, min_run)
    np.testing.assert_array_equal(mask, wanted)
    np.testing.assert_array_equal(variation == 2, released)
    assert variation[3] == 0
    assert not wanted[30:40, :2][observed[30:40, :2]].any()
    with pytest.raises(ValueError, match="variation"):
        _native.mask_stuck(X, mask, last, run, variation[:2].copy(), min_run)
