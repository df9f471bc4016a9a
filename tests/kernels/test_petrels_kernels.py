"""Compiled recursive least squares and robust codes, against their twins and against CVXPY."""

from math import inf
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import reference
from thalweg import _kernels
from thalweg._kernels import petrels
from thalweg._linalg import pack_rows, unpack_rows
from thalweg.trackers.noise_scale import truncated_variance

Array = Any
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
# One block of lanes that is not full, one that is, more than one; one code, and more.
SIZES = pytest.mark.parametrize(("F", "K"), [(12, 1), (30, 3), (64, 2), (150, 5)])
RULE = (0.5, 2.5, truncated_variance(2.5), 1 - 1 / 200)


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
    _kernels.least_squares_codes(X, observed, pack_rows(U), H)
    W, V = wide(U, X)
    agree(H, reference.least_squares_codes(V, observed, W), dtype)
    assert not H[3].any()


@DTYPES
@pytest.mark.parametrize("K", [1, 2, 5])
def test_with_fewer_entries_than_codes_they_are_of_least_norm(dtype: Any, K: int) -> None:
    U, X, observed = stream(dtype, 40, K)
    observed[:] = np.arange(40) < np.arange(25)[:, None] % (K + 1)
    H, solved = room(X, K)[0], np.zeros(len(X), bool)
    _kernels.least_squares_codes(X, observed, pack_rows(U), H)
    same = np.zeros_like(H)
    _kernels.huber_codes(X, observed, pack_rows(U), 0.1, 60, same, solved)
    for h, other, x, there in zip(H, same, *wide(X), observed, strict=True):
        rows = U[there].astype(float)
        least = np.linalg.pinv(rows) @ x[there]
        # Their Gram matrix is singular: what is left of 1e4 rounding errors in it is a thousandth.
        spread = np.linalg.cond(rows) if there.any() else 1.0
        bound = 1e-3 * spread**2 * np.linalg.norm(least) + 1e-12
        assert np.linalg.norm(h - least) < bound
        assert np.linalg.norm(other - least) < bound


@DTYPES
@SIZES
@pytest.mark.parametrize("knee", [0.05, 0.5, 5.0, inf])
def test_huber_codes(dtype: Any, F: int, K: int, knee: float) -> None:
    U, X, observed = stream(dtype, F, K)
    H, solved = np.zeros((len(X), K), dtype), np.zeros(len(X), bool)
    _kernels.huber_codes(X, observed, pack_rows(U), knee, 60, H, solved)
    wanted = reference.huber_codes(*wide(X), observed, *wide(U), knee)
    assert solved.all()
    agree(H, wanted, dtype)


@DTYPES
@SIZES
@pytest.mark.parametrize(("scale", "prior"), [(0.0, 0.0), (0.1, 0.0), (0.4, 0.0), (0.1, 0.3)])
def test_rejecting_codes(dtype: Any, F: int, K: int, scale: float, prior: float) -> None:
    U, X, observed = stream(dtype, F, K, seed=1)
    if prior > 0.0:
        U[:, -1] *= 0.2  # so that the entries tell it less well
    (H, R, _), solved = room(X, K), np.zeros(len(X), bool)
    rule, none = np.array(RULE), np.array(())
    _kernels.rejecting_codes(X, observed, pack_rows(U), scale, prior, rule, none, H, R, solved)
    wanted = reference.rejecting_codes(*wide(X), observed, *wide(U), scale, prior, *RULE[:2])
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
    rule, none = np.array(RULE), np.array(())
    _kernels.rejecting_codes(X, observed, pack_rows(U), 0.4, 0.0, rule, none, H, R, solved)
    assert solved.all()
    wanted, outliers = reference.rejecting_codes(*wide(X), observed, *wide(U), 0.4, 0.0, *RULE[:2])
    noise = 0.4 * np.sqrt(K / F)  # of a fit of all
    assert np.abs(H - wanted).max() < 0.01 * noise
    assert np.mean((R == 0.0) != (outliers == 0.0)) < 1e-4


@DTYPES
def test_the_fit_before_rejection_is_as_good_as_noise_lets_it_be(dtype: Any) -> None:
    F, K, knee, limit, ridge = 20_000, 3, 0.2, 1.0, 1e4 * np.finfo(dtype).eps
    U, X, _ = stream(dtype, F, K, B=12)
    U *= dtype(np.sqrt(F))
    blocks, bounds = pack_rows(U), (dtype(knee), dtype(limit))
    extent, desk, r = petrels._extent(blocks), np.empty((4, F), dtype), np.empty(F, dtype)
    G, delta = np.empty((K, K)), np.empty(K)
    for x in X:
        w = np.zeros(K, dtype)
        assert petrels._approach(blocks, x, *bounds, ridge, extent, F, F, w, r, G, delta, desk)
        exact = reference.exact_huber_fit(*wide(x, U), knee)
        within = np.count_nonzero(np.abs(x - U @ exact) <= knee)
        assert np.abs(U @ (w - exact)).max() <= 0.1 * knee * np.sqrt(K / within)
        left = x - U @ (w - delta)
        agree(r, left, dtype)
        agree(np.tril(G), np.tril((U.T * (np.abs(left) <= limit)) @ U), dtype)


def test_a_step_so_short_that_its_slope_is_rounding_goes_somewhere() -> None:
    """With knees far below the residuals the slope at both ends of a step may be the same."""
    U = np.array([[-7e-5, 1.0, 0.76, 1.3, 2.02]]).T
    x = np.array([[2e-8, 0.0, 1.0, 0.0, 1.0]])
    H, solved = np.zeros((1, 1)), np.zeros(1, dtype=bool)
    for knee in np.geomspace(1e-12, 1e-6, 200):
        H[:] = 0.0
        _kernels.huber_codes(x, np.ones(x.shape, dtype=bool), pack_rows(U), knee, 60, H, solved)
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
    rule, none, prior = np.array(RULE), np.array(()), 0.05**2
    _kernels.rejecting_codes(X, observed, pack_rows(U), 0.05, prior, rule, none, H, R, solved)
    codes, outliers = reference.rejecting_codes(X, observed, U, 0.05, prior, *RULE[:2])
    agree(H, codes, np.float64)
    agree(R, outliers, np.float64)
    least_squares = reference.least_squares_codes(X, observed, U)
    assert np.linalg.norm(H) < 0.7 * np.linalg.norm(least_squares)


@DTYPES
@pytest.mark.parametrize("length", [0.0, 1e-3, 1.0])
def test_rows_that_are_rounding_tell_nothing(dtype: Any, length: float) -> None:
    """A row of so many rounding errors has no larger codes than one of the usual length."""
    U = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 3)))[0].astype(dtype)
    U[4] = length * np.finfo(dtype).eps
    X, observed, usual = np.ones((1, 30), dtype), np.zeros((1, 30), dtype=bool), (30 / 3) ** 0.5
    observed[0, 4] = True
    (H, R, _), solved = room(X, 3), np.empty(1, dtype=bool)
    _kernels.least_squares_codes(X, observed, pack_rows(U), H)
    assert np.linalg.norm(H) < usual
    H[:] = 7
    rule, none = np.array(RULE), np.array(())
    _kernels.rejecting_codes(X, observed, pack_rows(U), 0.1, 0.01, rule, none, H, R, solved)
    assert np.linalg.norm(H) < usual


# --- tracking ------------------------------------------------------------------------------------


@DTYPES
@SIZES
@pytest.mark.parametrize(
    "motion",
    [(1.0, 0.5, 0.0, 0.0), (0.9, 0.01, 0.0, 0.0), (0.98, 0.1, 0.5, 0.0), (0.98, 0.1, 0.5, 1.0)],
    ids=str,
)
def test_track_least_squares(dtype: Any, F: int, K: int, motion: Any) -> None:
    U, X, observed = stream(dtype, F, K, seed=2)
    blocks, D, L = first(U)
    H, _, error = room(X, K)
    _kernels.track_least_squares(X, observed, blocks, D, L, np.array(motion), H, error)
    basis, second, codes, errors = reference.track_least_squares(
        *wide(X), observed, *wide(U), motion
    )
    agree(unpack_rows(blocks, F), basis, dtype)
    agree(moments(D, L, F), second, dtype)
    agree(H, codes, dtype)
    agree(error, errors, dtype)


@DTYPES
@SIZES
@pytest.mark.parametrize(
    "motion", [(1.0, 1.0, 0.0, 0.0), (0.95, 1.0, 0.5, 0.0), (0.95, 1.0, 0.5, 1.0)], ids=str
)
def test_track_rejecting(dtype: Any, F: int, K: int, motion: Any) -> None:
    # A threshold is a cliff: with single precision not all entries fall on the same side for long,
    # and a memory of a sample or two makes little of rounding into much.
    B = 60 if dtype == np.float64 and not motion[3] else 24
    U, X, observed = stream(dtype, F, K, B, seed=3)
    (blocks, D, L), noise = first(U), np.zeros(5 + _kernels.LISTEN)
    H, R, error = room(X, K)
    rule, none = np.array(RULE), np.array(())
    _kernels.track_rejecting(
        X, observed, blocks, D, L, noise, np.array(motion), rule, none, H, R, error
    )
    basis, second, level, codes, outliers, errors = reference.track_rejecting(
        *wide(X), observed, *wide(U), motion, RULE, _kernels.LISTEN
    )
    agree(unpack_rows(blocks, F), basis, dtype)
    agree(moments(D, L, F), second, dtype)
    agree(noise[:5], level[:5], dtype)
    agree(noise[5:], level.first, dtype)
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


def solve(U: Array, X: Array, observed: Array, knee: float, H: Array | None = None) -> Array:
    H = np.zeros((len(X), U.shape[1])) if H is None else H.copy()
    solved = np.zeros(len(X), bool)
    _kernels.huber_codes(X, observed, pack_rows(U), knee, 60, H, solved)
    assert solved.all(), f"{np.flatnonzero(~solved)} not solved with the knee {knee}"
    return H


@pytest.mark.parametrize("knee", [1e-6, 1e-3, 0.05, 0.5, 5.0, 1e3, inf])
@pytest.mark.parametrize("seed", range(12))
def test_huber_codes_meet_their_optimality_condition(seed: int, knee: float) -> None:
    """U' clip(x - U h) = 0 is all that the minimum of a convex function needs."""
    U, X, observed = problems(seed)
    clipped = np.clip(X - solve(U, X, observed, knee) @ U.T, -knee, knee) * observed
    scale = np.abs(clipped) @ np.abs(U) + np.finfo(float).tiny
    rest = np.abs(clipped @ U) / scale
    rounding = np.finfo(float).eps * np.abs(X).max() / knee
    assert rest.max() < 1e-8 + 10 * rounding  # residuals follow the codes step by step


@pytest.mark.parametrize("knee", [1e-3, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("seed", range(3))
def test_huber_codes_are_those_of_cvxpy(seed: int, knee: float) -> None:
    U, X, observed = problems(seed, count=8)
    H = solve(U, X, observed, knee)
    for h, x, there in zip(H, X, observed, strict=True):
        w, s = cp.Variable(U.shape[1]), cp.Variable(int(there.sum()))
        loss = cp.sum_squares(x[there] - U[there] @ w - s) / 2 + knee * cp.norm1(s)
        best = cp.Problem(cp.Minimize(loss)).solve(solver="CLARABEL")
        e = x[there] - U[there] @ h
        outliers = reference.shrunk(e, knee)
        mine = np.sum((e - outliers) ** 2) / 2 + knee * np.abs(outliers).sum()
        assert mine == pytest.approx(best, rel=1e-6, abs=1e-7 * knee)
        assert mine <= best * (1 + 1e-9) + 1e-7 * knee


@pytest.mark.parametrize("seed", range(4))
def test_huber_codes_do_not_depend_on_where_they_begin(seed: int) -> None:
    U, X, observed = problems(seed)
    H = solve(U, X, observed, 0.3)
    size = np.abs(H).max()
    begin = H + size * np.random.default_rng(seed).normal(size=H.shape)
    np.testing.assert_allclose(solve(U, X, observed, 0.3, begin), H, rtol=0, atol=1e-9 * size)
