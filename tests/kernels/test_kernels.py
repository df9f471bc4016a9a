"""Compiled loops against reference implementations or, for large problems, KKT conditions."""

from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls as scipy_nnls

import reference
from dictionaries import dictionaries
from thalweg import _native
from thalweg.encoders import Codes, fast
from thalweg.prox.elastic_net import ElasticNet
from thalweg.prox.l1 import L1
from thalweg.solvers.nnls import nnls, prepare

Array = Any
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


# --- nonnegative least squares -----------------------------------------------------------------


def kkt_residual(G: Array, C: Array, H: Array) -> float:
    """Return the largest violation of H >= 0, y = G H - C >= 0 and H y = 0, relative to C."""
    y = (G @ H if G.ndim == 2 else np.einsum("bij,jb->ib", G, H)) - C
    scale = np.maximum(np.abs(C).max(axis=0), np.finfo(float).tiny)
    worst = np.maximum(-y, np.where(H > 0, np.abs(y), 0.0)) / scale
    return float(max(worst.max(initial=0.0), -H.min(initial=0.0)))


def solve(G: Array, C: Array, passive: Array | None = None) -> Array:
    """Return the solutions after the checks that hold for every problem."""
    before = G.copy(), C.copy()
    H, support, solved = nnls(prepare(G), C, passive)
    assert np.array_equal(G, before[0])
    assert np.array_equal(C, before[1])
    assert solved.all()
    assert np.all(np.isfinite(H))
    assert not np.any(H[~support]), "an entry outside of the support is not zero"
    return H


def value(G: Array, C: Array, H: Array) -> Array:
    return 0.5 * np.einsum("kb,kb->b", H, G @ H) - np.einsum("kb,kb->b", C, H)


DICTIONARIES = dictionaries()


@pytest.mark.parametrize("name", DICTIONARIES)
def test_codes_are_the_best_of_all_supports(name: str) -> None:
    W = DICTIONARIES[name]
    rng = np.random.default_rng(1)
    V = rng.normal(size=(len(W), 30)) + rng.choice([0.0, 1.0, -1.0], size=30)
    G, C = W.T @ W, W.T @ V
    H = solve(G, C)
    assert kkt_residual(G, C, H) < 1e-10
    best = value(G, C, reference.nonnegative_codes(G, C.T).T)
    np.testing.assert_allclose(value(G, C, H), best, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["random", "signed", "one-column", "sparse"])
def test_codes_agree_with_scipy(name: str) -> None:
    W = DICTIONARIES[name]
    V = np.random.default_rng(2).normal(size=(len(W), 50))
    H = solve(W.T @ W, W.T @ V)
    expected = np.column_stack([scipy_nnls(W, v)[0] for v in V.T])
    np.testing.assert_allclose(H, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", DICTIONARIES)
def test_any_first_guess_of_the_support_will_do(name: str) -> None:
    W = DICTIONARIES[name]
    rng = np.random.default_rng(3)
    V = rng.normal(size=(len(W), 20))
    G, C = W.T @ W, W.T @ V
    best = value(G, C, solve(G, C))
    K, B = C.shape
    for guess in (np.ones((K, B), bool), np.zeros((K, B), bool), rng.random((K, B)) < 0.5):
        before = guess.copy()
        H = solve(G, C, guess)
        assert np.array_equal(guess, before)
        assert kkt_residual(G, C, H) < 1e-10
        np.testing.assert_allclose(value(G, C, H), best, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", DICTIONARIES)
def test_nothing_to_explain_needs_no_codes(name: str) -> None:
    W = DICTIONARIES[name]
    G = W.T @ W
    assert not solve(G, np.zeros((len(G), 3))).any()
    assert not solve(G, -np.ones((len(G), 3))).any()
    assert solve(G, np.empty((len(G), 0))).shape == (len(G), 0)


@pytest.mark.parametrize("size", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("name", DICTIONARIES)
def test_codes_follow_the_scale_of_the_data(name: str, size: float) -> None:
    """A scale of the data scales the codes; one of the dictionary scales them inversely."""
    W = DICTIONARIES[name]
    power = 2.0 ** np.round(np.log2(size))  # exact in floating point
    C = W.T @ np.random.default_rng(4).normal(size=(len(W), 20))
    G = W.T @ W
    H = solve(G, C)
    np.testing.assert_allclose(solve(G, C * power), H * power, rtol=1e-12, atol=0)
    np.testing.assert_allclose(solve(G * power, C), H / power, rtol=1e-12, atol=0)


def test_codes_of_ill_conditioned_grams() -> None:
    for n in (4, 8, 12, 16):
        rows = np.arange(float(n))
        W = 1.0 / (1.0 + rows[:, None] + rows)
        rng = np.random.default_rng(n)
        V = np.hstack([rng.normal(size=(n, 30)), rng.random((n, 30))])
        G, C = W.T @ W, W.T @ V
        H = solve(G, C)
        assert kkt_residual(G, C, H) < 1e-9
        expected = [scipy_nnls(W, v)[1] for v in V.T]
        np.testing.assert_allclose(np.linalg.norm(V - W @ H, axis=0), expected, rtol=1e-7)


def test_very_sparse_codes_of_a_large_dictionary() -> None:
    rng = np.random.default_rng(6)
    W = rng.random((250, 200))
    H = np.zeros((200, 40))
    for column in H.T:
        column[rng.choice(200, 4, replace=False)] = rng.random(4) + 0.1
    G = W.T @ W
    exact = solve(G, G @ H)
    np.testing.assert_allclose(exact, H, rtol=0, atol=1e-9)
    C = W.T @ (W @ H + 0.1 * rng.normal(size=(250, 40)))
    assert kkt_residual(G, C, solve(G, C)) < 1e-10
    assert kkt_residual(G, C - 40.0, solve(G, C - 40.0)) < 1e-10


def test_more_columns_than_rows_at_size_200() -> None:
    rng = np.random.default_rng(7)
    for W in (rng.random((30, 200)), rng.normal(size=(30, 200))):
        C = W.T @ rng.normal(size=(30, 20))
        G = W.T @ W
        assert kkt_residual(G, C, solve(G, C)) < 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_random_problems_of_all_shapes(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    for _ in range(10):
        F, K = rng.integers(1, 10), rng.integers(1, 7)
        W = rng.normal(size=(F, K)) if rng.random() < 0.5 else rng.random((F, K))
        W *= rng.random((F, K)) < rng.choice([0.4, 1.0])
        W = W[:, rng.integers(0, K, size=K)] if rng.random() < 0.3 else W
        C = W.T @ rng.normal(size=(F, 5))
        G = W.T @ W
        H = solve(G, C)
        assert kkt_residual(G, C, H) < 1e-10
        best = value(G, C, reference.nonnegative_codes(G, C.T).T)
        np.testing.assert_allclose(value(G, C, H), best, rtol=1e-9, atol=1e-11)


def test_each_row_may_have_its_own_gram() -> None:
    rng = np.random.default_rng(8)
    W = rng.random((9, 4))
    kept = rng.random((9, 25)) < 0.5
    V = rng.normal(size=(9, 25))
    grams = np.stack([W[rows].T @ W[rows] for rows in kept.T])
    C = W.T @ (V * kept)
    H = solve(grams, C)
    assert kkt_residual(grams, C, H) < 1e-10
    for b in range(25):
        alone = solve(grams[b], C[:, b : b + 1])
        assert value(grams[b], C[:, [b]], H[:, [b]]) == pytest.approx(
            value(grams[b], C[:, [b]], alone), rel=1e-10, abs=1e-12
        )


@pytest.mark.parametrize("trusted", [True, False])
def test_the_inverse_changes_nothing_but_the_time(trusted: bool) -> None:
    rng = np.random.default_rng(9)
    W = rng.random((12, 6))
    G, C = W.T @ W, W.T @ rng.normal(size=(12, 40))
    gram = prepare(G)
    assert gram.trusted[0]
    gram = gram._replace(trusted=np.array([trusted]))
    H, _, _ = nnls(gram, C)
    expected = reference.nonnegative_codes(G, C.T).T
    np.testing.assert_allclose(H, expected, rtol=0, atol=1e-11)


def test_the_inverse_of_a_singular_gram_is_not_trusted() -> None:
    for name in ("all-zero", "duplicates", "low-rank", "zero-columns", "wide"):
        W = DICTIONARIES[name]
        assert not prepare(W.T @ W).trusted[0]


def test_a_cap_of_no_pivots_leaves_it_to_the_active_set() -> None:
    W = DICTIONARIES["random"]
    C = np.ascontiguousarray((W.T @ np.random.default_rng(10).normal(size=(8, 30))).T)
    G, H = W.T @ W, np.empty_like(C)
    solved = np.zeros(30, bool)
    support = np.ones(C.shape, bool)
    _native.nonnegative_codes(prepare(G), C, True, H, support, solved, 0)
    assert solved.all()
    np.testing.assert_allclose(H, reference.nonnegative_codes(G, C), rtol=0, atol=1e-11)


# --- envelope ----------------------------------------------------------------------------------


@DTYPES
@pytest.mark.parametrize("weight", [0.0, 0.3, 1e6])
@pytest.mark.parametrize(("bound", "lower"), [(inf, -inf), (0.5, -0.5), (0.5, 0.0), (inf, 0.0),
                                              (0.0, 0.0)])  # fmt: skip
def test_envelope(dtype: Any, weight: float, bound: float, lower: float) -> None:
    rng = np.random.default_rng(11)
    Z = (rng.normal(size=(6, 40)) * rng.choice([0.1, 1.0, 5.0], size=(6, 1))).astype(dtype)
    Z[0, :6] = 0.0, weight, -weight, weight + 0.5, -weight - 0.5, -0.0
    E, values = np.full_like(Z, np.nan), np.full(6, np.nan, dtype=dtype)
    penalty = _native.L1Penalty(weight=weight, upper=bound, lower=lower)
    _native.envelope_l1(Z, penalty, E, values)
    rest, totals = reference.envelope_l1(Z.astype(np.float64), weight, bound, lower)
    eps = float(np.finfo(dtype).eps)
    # With a large weight the outlier is a difference of numbers of its size.
    np.testing.assert_allclose(E, rest, rtol=4 * eps, atol=8 * eps)
    np.testing.assert_allclose(values, totals, rtol=64 * eps, atol=64 * eps)


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_envelope_at_extreme_scales(size: float) -> None:
    Z = np.random.default_rng(12).normal(size=(3, 20))
    E, values = np.empty_like(Z), np.empty(3)
    penalty = _native.L1Penalty(weight=0.3 * size, upper=0.5 * size, lower=-0.5 * size)
    _native.envelope_l1(Z * size, penalty, E, values)
    rest, totals = reference.envelope_l1(Z, 0.3, 0.5, -0.5)
    np.testing.assert_allclose(E / size, rest, rtol=0, atol=1e-15)
    np.testing.assert_allclose(values / size / size, totals, rtol=1e-14)


def test_envelope_of_nothing() -> None:
    E, values = np.empty((0, 4)), np.empty(0)
    penalty = _native.L1Penalty(weight=1.0, upper=inf, lower=-inf)
    _native.envelope_l1(np.empty((0, 4)), penalty, E, values)
    values = np.ones(2)
    _native.envelope_l1(np.empty((2, 0)), penalty, np.empty((2, 0)), values)
    assert not values.any()


# --- alternation -------------------------------------------------------------------------------


def alternate(
    V: Array,
    W: Array,
    H: Array,
    limits: Any,
    observed: Any = None,
    penalty: Any = (0.0, 0.0),
    tol: float = 0.0,
    max_iter: int = 1,
) -> Codes:
    """Run the kernel as its only user does, which prepares all that it needs."""
    weight, bound, lower = limits
    encoder = fast.Fast(
        outliers=L1(weight, bound, lower == 0.0),
        penalty=ElasticNet(*penalty, nonnegative=True),
        tol=tol,
        max_iter=max_iter,
    )
    return encoder.encode(V, W, H0=H, observed=observed)


LIMITS = [(0.2, inf, -inf), (0.2, 0.3, -0.3), (0.2, 0.3, 0.0), (0.0, 0.1, -0.1)]


@DTYPES
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("penalty", [(0.0, 0.0), (0.1, 0.0), (0.05, 0.2)], ids=str)
@pytest.mark.parametrize("gaps", [False, True])
def test_alternation(dtype: Any, limits: Any, penalty: Any, gaps: bool) -> None:
    rng = np.random.default_rng(13)
    W = rng.random((8, 3)).astype(dtype)
    V = (W @ rng.random((3, 12)) + rng.normal(size=(8, 12)) ** 3).astype(dtype)
    observed = rng.random(V.shape) < 0.7 if gaps else None
    H = rng.random((3, 12)).astype(dtype)
    tight = {"rtol": 1e-9, "atol": 1e-9} if dtype == np.float64 else {"rtol": 1e-3, "atol": 1e-4}
    tracks = [
        reference.alternate_l1(
            V[:, b].astype(float), W.astype(float), H[:, b].astype(float), *limits,
            None if observed is None else observed[:, b], *penalty, n=4,
            relax=fast._OVER_RELAXATION,
        )
        for b in range(12)
    ]  # fmt: skip
    for n in (0, 1, 2, 4):
        found, R, loss, cost, _ = alternate(V, W, H, limits, observed, penalty, max_iter=n)
        np.testing.assert_allclose(found, np.column_stack([t[n][0] for t in tracks]), **tight)
        np.testing.assert_allclose(loss, [t[n][1] for t in tracks], **tight)
        rest = V - W @ found - R
        kept = np.ones(V.shape, bool) if observed is None else observed
        np.testing.assert_allclose(cost, loss - 0.5 * np.sum(rest**2, axis=0, where=kept), **tight)
        if observed is not None:
            np.testing.assert_allclose((V - R - W @ found)[~observed], 0.0, atol=tight["atol"])


def some_noisy_rows() -> tuple[Array, Array, list[Any], Any]:
    """Return V, W, and the alternation of each column of V from zero with some limits."""
    rng = np.random.default_rng(14)
    W = rng.random((8, 3))
    V = W @ rng.random((3, 20)) + rng.choice([0.01, 1.0], size=20) * rng.normal(size=(8, 20)) ** 3
    limits = (0.2, inf, -inf)
    tracks = [
        reference.alternate_l1(v, W, np.zeros(3), *limits, relax=fast._OVER_RELAXATION, n=100)
        for v in V.T
    ]
    return V, W, tracks, limits


def falls(v: Array, W: Array, track: Any, weight: float) -> list[float]:
    """Return by how much of itself the loss falls as codes move and outliers stay."""
    found = []
    for (h, loss), (new, _) in pairwise(track):
        z = v - W @ h
        r = np.array([reference.best_outlier(float(x), weight, inf, -inf) for x in z])
        stayed = 0.5 * np.sum((v - W @ new - r) ** 2) + weight * np.abs(r).sum()
        found.append((loss - stayed) / loss)
    return found


def test_alternation_stops_each_row_by_itself() -> None:
    V, W, tracks, limits = some_noisy_rows()
    tol = 1e-3
    found, _, loss, _, solved = alternate(
        V, W, np.zeros((3, 20)), limits, tol=3.0 * tol, max_iter=100
    )
    assert solved.all()
    ends = []
    for b, track in enumerate(tracks):
        ends.append(1 + next(k for k, x in enumerate(falls(V[:, b], W, track, 0.2)) if x <= tol))
        np.testing.assert_allclose(found[:, b], track[ends[-1]][0], rtol=0, atol=1e-9)
        assert loss[b] == pytest.approx(track[ends[-1]][1], rel=1e-10)
    assert len(set(ends)) >= 3, "all rows stop together: the test shows nothing"


def test_codes_within_noise_tol_are_those_of_an_alternation_before_with_its_outliers() -> None:
    """The returned loss is that of the returned outliers."""
    V, W, tracks, limits = some_noisy_rows()
    F, K, noise_tol = 8, 3, 0.02
    encoder = fast.Fast(outliers=L1(limits[0]), tol=1e-12, noise_tol=noise_tol)
    found, R, loss, cost, solved = encoder.encode(V, W, H0=np.zeros((3, 20)))
    assert solved.all()
    behind = 0
    for b, track in enumerate(tracks):
        v, gains = V[:, b], falls(V[:, b], W, track, limits[0])
        E = [reference.envelope_l1((v - W @ h)[None], *limits)[0][0] for h, _ in track]
        fair = [noise_tol * K / F * 0.5 * (e @ e) for e in E]
        end = next(k for k, (_, value) in enumerate(track) if gains[k] * value <= fair[k])
        np.testing.assert_allclose(found[:, b], track[end + 1][0], rtol=0, atol=1e-9)
        late = gains[end] * track[end][1] < 0.5 * fair[end]
        own = v - W @ track[end + 1][0] - E[end + 1]
        last = v - W @ track[end][0] - E[end]
        np.testing.assert_allclose(R[:, b], last if late else own, rtol=0, atol=1e-9)
        behind += bool(late and np.abs(last - own).max() > 1e-6)
    rest = V - W @ found - R
    np.testing.assert_allclose(cost, limits[0] * np.abs(R).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(loss, cost + 0.5 * np.sum(rest**2, axis=0), rtol=1e-10)
    assert 0 < behind < 20, "outliers are all of one kind: the test shows nothing"


@DTYPES
def test_alternation_of_exact_data_ends_at_rounding(dtype: Any) -> None:
    rng = np.random.default_rng(15)
    W, H = rng.random((30, 6)), rng.random((6, 50)) * (rng.random((6, 50)) < 0.5)
    W, V = W.astype(dtype), (W @ H).astype(dtype)
    codes = fast.Fast(outliers=L1(0.1), tol=1e-9, max_iter=20).encode(V, W)
    assert codes.solved.all()
    eps = float(np.finfo(dtype).eps)
    assert np.all(codes.loss <= 100 * eps**2 * np.sum(V.astype(float) ** 2, axis=0))


@DTYPES
def test_alternation_of_exact_data_ends_with_collinear_atoms(dtype: Any) -> None:
    """Rounding errors of codes grow with the collinearity, here up to 100 times."""
    for K in (3, 8, 13, 19):
        rng = np.random.default_rng(K)
        W, H = rng.random((30, K)), rng.random((K, 200)) * (rng.random((K, 200)) < 0.5)
        V = (W @ H).astype(dtype)
        codes = fast.Fast(outliers=L1(0.1), tol=1e-9, max_iter=20).encode(V, W.astype(dtype))
        assert codes.solved.all()
        eps = float(np.finfo(dtype).eps)
        assert np.all(codes.loss <= 1e5 * eps**2 * np.sum(V.astype(float) ** 2, axis=0))


def test_alternation_of_no_rows() -> None:
    found, *_ = alternate(np.empty((4, 0)), np.ones((4, 2)), np.empty((2, 0)), (1.0, inf, -inf))
    assert found.shape == (2, 0)


# --- sweep -------------------------------------------------------------------------------------


@DTYPES
@pytest.mark.parametrize("radius", [1.0, 0.05, inf])
@pytest.mark.parametrize("K", [5, 19])
def test_sweep(dtype: Any, radius: float, K: int) -> None:
    rng = np.random.default_rng(15)
    H = rng.random((K, 30))
    H[3] = 0.0  # an atom that nothing uses
    A, B = H @ H.T, rng.normal(size=(7, 30)) @ H.T
    W = rng.random((7, K))
    free = np.arange(K) != 2
    A, B, W = (x.astype(dtype) for x in (A, B, W))
    rows, linear = W.T.copy(), B.T.copy()
    expected = W.astype(np.float64)
    scale = 1.0 if dtype == np.float64 else 1e8
    for _ in range(3):
        wide = [x.astype(float) for x in (A, B)]
        before = reference.dictionary_objective(*wide, expected)
        value, fall, _ = _native.descend_atoms(A, linear, rows, radius, free, 0.0, 0.0, 1)
        expected = reference.descend_atoms(*wide, expected, radius, free)
        after = reference.dictionary_objective(*wide, expected)
        np.testing.assert_allclose(rows.T, expected, rtol=1e-12 * scale, atol=1e-13 * scale)
        assert value == pytest.approx(before, rel=1e-13 * scale)
        assert value - fall == pytest.approx(after, rel=1e-13 * scale)
    assert np.array_equal(rows[[2, 3]], W.T[[2, 3]])


def test_sweep_of_one_entry() -> None:
    rows = np.zeros((1, 1))
    A, B, free = np.array([[2.0]]), np.array([[1.0]]), np.array([True])
    _native.descend_atoms(A, B, rows, 1.0, free, 0.0, 0.0, 1)
    assert rows[0, 0] == 0.5


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150])
def test_sweep_at_extreme_scales(size: float) -> None:
    """The statistics of data scaled by s scale with s^2; the dictionary does not change."""
    rng = np.random.default_rng(16)
    H = rng.random((3, 20))
    A, B, W = H @ H.T, rng.random((4, 20)) @ H.T, rng.random((4, 3))
    rows = W.T.copy()
    free = np.ones(3, bool)
    linear = np.ascontiguousarray(B.T * size)
    _native.descend_atoms(A * size, linear, rows, 1.0, free, 0.0, 0.0, 1)
    np.testing.assert_allclose(rows.T, reference.descend_atoms(A, B, W, 1.0, free), rtol=1e-12)


@DTYPES
def test_sweep_leaves_out_atoms_of_no_weight(dtype: Any) -> None:
    """An energy so small that its inverse overflows must not poison the other atoms."""
    A = np.diag([1.0, 1e-39 if dtype == np.float32 else 1e-310]).astype(dtype)
    rows = np.full((2, 3), 0.5, dtype)
    linear = A @ rows + np.array([[0.125, 0.0, -0.125], [0.0, 0.0, 0.0]], dtype)
    free = np.ones(2, bool)
    value, fall, _ = _native.descend_atoms(A, linear, rows, 1.0, free, 0.0, 0.0, 1)
    np.testing.assert_allclose(rows[0], [0.625, 0.5, 0.375], rtol=1e-6)
    np.testing.assert_array_equal(rows[1], 0.5)
    np.testing.assert_allclose([value, fall], [-0.375, 0.015625], rtol=1e-6)
