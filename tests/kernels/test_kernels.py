"""Every compiled loop against its naive twin, and where twins are too slow, against KKT."""

import inspect
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls as scipy_nnls

import reference
from thalweg import _kernels
from thalweg.encoders import Codes, fast
from thalweg.prox.elastic_net import ElasticNet
from thalweg.prox.l1 import L1
from thalweg.solvers.nnls import nnls, prepare

Array = Any
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def public_kernels() -> list[str]:
    return [
        name
        for name, item in vars(_kernels).items()
        if not name.startswith("_") and hasattr(item, "py_func")
    ]


def test_every_kernel_has_a_twin() -> None:
    assert len(public_kernels()) >= 3
    for name in public_kernels():
        assert inspect.isfunction(getattr(reference, name, None)), f"{name} has no naive twin"


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


def dictionaries() -> dict[str, Array]:
    rng = np.random.default_rng(5)
    W = rng.random((8, 5))
    zero = W.copy()
    zero[:, [1, 3]] = 0.0
    rows = np.arange(6.0)
    return {
        "random": W,
        "signed": rng.normal(size=(8, 5)),
        "wide": rng.random((3, 6)),
        "one-row": rng.random((1, 6)),
        "one-column": W[:, :1],
        "zero-columns": zero,
        "all-zero": np.zeros((4, 3)),
        "duplicates": W[:, [0, 1, 0, 2, 1, 0]],
        "nearly-duplicates": np.hstack([W[:, :3], W[:, :2] + 1e-7 * W[:, 3:]]),
        "low-rank": rng.random((8, 2)) @ rng.random((2, 6)),
        "ones": np.ones((5, 4)),
        "hilbert": 1.0 / (1.0 + rows[:, None] + rows),
        "sparse": W * (rng.random(W.shape) < 0.4),
    }


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
    status = np.full(30, -1)
    support = np.ones(C.shape, bool)
    _kernels.nonnegative_codes(tuple(prepare(G)), C, True, H, support, status, 0)
    assert np.all(status == _kernels.SOLVED)
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
    _kernels.envelope_l1(Z, *map(dtype, (weight, bound, lower)), E, values)
    rest, totals = reference.envelope_l1(Z.astype(np.float64), weight, bound, lower)
    eps = float(np.finfo(dtype).eps)
    # With a large weight the outlier is a difference of numbers of its size.
    np.testing.assert_allclose(E, rest, rtol=4 * eps, atol=8 * eps)
    np.testing.assert_allclose(values, totals, rtol=64 * eps, atol=64 * eps)


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_envelope_at_extreme_scales(size: float) -> None:
    Z = np.random.default_rng(12).normal(size=(3, 20))
    E, values = np.empty_like(Z), np.empty(3)
    _kernels.envelope_l1(Z * size, 0.3 * size, 0.5 * size, -0.5 * size, E, values)
    rest, totals = reference.envelope_l1(Z, 0.3, 0.5, -0.5)
    np.testing.assert_allclose(E / size, rest, rtol=0, atol=1e-15)
    np.testing.assert_allclose(values / size / size, totals, rtol=1e-14)


def test_envelope_of_nothing() -> None:
    E, values = np.empty((0, 4)), np.empty(0)
    _kernels.envelope_l1(np.empty((0, 4)), 1.0, inf, -inf, E, values)
    values = np.ones(2)
    _kernels.envelope_l1(np.empty((2, 0)), 1.0, inf, -inf, np.empty((2, 0)), values)
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
    """What is told of the loss belongs to the outliers that are returned."""
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
        value, fall = _kernels.sweep_atoms(A, linear, rows, dtype(radius), free)
        expected = reference.sweep_atoms(*wide, expected, radius, free)
        after = reference.dictionary_objective(*wide, expected)
        np.testing.assert_allclose(rows.T, expected, rtol=1e-12 * scale, atol=1e-13 * scale)
        assert value == pytest.approx(before, rel=1e-13 * scale)
        assert value - fall == pytest.approx(after, rel=1e-13 * scale)
    assert np.array_equal(rows[[2, 3]], W.T[[2, 3]])


def test_sweep_of_one_entry() -> None:
    rows = np.zeros((1, 1))
    _kernels.sweep_atoms(np.array([[2.0]]), np.array([[1.0]]), rows, 1.0, np.array([True]))
    assert rows[0, 0] == 0.5


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150])
def test_sweep_at_extreme_scales(size: float) -> None:
    """The statistics of data scaled by s scale with s^2; the dictionary does not change."""
    rng = np.random.default_rng(16)
    H = rng.random((3, 20))
    A, B, W = H @ H.T, rng.random((4, 20)) @ H.T, rng.random((4, 3))
    rows = W.T.copy()
    free = np.ones(3, bool)
    _kernels.sweep_atoms(A * size, B.T * size, rows, 1.0, free)
    np.testing.assert_allclose(rows.T, reference.sweep_atoms(A, B, W, 1.0, free), rtol=1e-12)


@DTYPES
def test_sweep_leaves_out_atoms_of_no_weight(dtype: Any) -> None:
    """An energy so small that its inverse overflows must not poison the other atoms."""
    A = np.diag([1.0, 1e-39 if dtype == np.float32 else 1e-310]).astype(dtype)
    rows = np.full((2, 3), 0.5, dtype)
    linear = A @ rows + np.array([[0.125, 0.0, -0.125], [0.0, 0.0, 0.0]], dtype)
    value, fall = _kernels.sweep_atoms(A, linear, rows, dtype(1.0), np.ones(2, bool))
    np.testing.assert_allclose(rows[0], [0.625, 0.5, 0.375], rtol=1e-6)
    np.testing.assert_array_equal(rows[1], 0.5)
    np.testing.assert_allclose([value, fall], [-0.375, 0.015625], rtol=1e-6)


# --- weighted Gram matrices, rows with a matrix of their own -------------------------------------


@DTYPES
def test_weighted_grams_are_sums(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    weights, X = rng.random((5, 7)).astype(dtype), rng.normal(size=(7, 3)).astype(dtype)
    old = rng.normal(size=(5, 3, 3)).astype(dtype)
    grams = old.copy()
    _kernels.weighted_grams(weights, X, dtype(0.25), dtype(0.5), grams)
    expected = 0.25 * old + 0.5 * reference.weighted_grams(weights, X)
    np.testing.assert_allclose(grams, expected, rtol=0, atol=100 * np.finfo(dtype).eps)
    assert grams.dtype == dtype


@DTYPES
@pytest.mark.parametrize("sweeps", [1, 3])
def test_rows_are_swept_like_the_twin(dtype: Any, sweeps: int) -> None:
    rng = np.random.default_rng(1)
    root = rng.normal(size=(6, 4, 9))
    A = (root @ root.transpose(0, 2, 1)).astype(dtype)
    A[2, 1, :] = A[2, :, 1] = 0.0  # an entry without curvature stays
    B, W = rng.normal(size=(6, 4)).astype(dtype), rng.random((6, 4)).astype(dtype)
    free = np.array([False, True, True, True])
    moved = W.copy()
    lower = np.array([0.0, 1e-3, 0.0, 1e-2], dtype)
    _kernels.sweep_rows(A, B, moved, lower, free, sweeps)
    expected = reference.sweep_rows(A, B, W, lower, free, sweeps)
    np.testing.assert_allclose(moved, expected, rtol=1e3 * np.finfo(dtype).eps)
    assert np.array_equal(moved[:, 0], W[:, 0])
    assert np.array_equal(moved[2, 1], W[2, 1])
    assert np.all(moved >= lower)
    assert np.any(moved[:, [1, 3]] == lower[[1, 3]]), "nothing at a bound: the test shows nothing"


# --- counts --------------------------------------------------------------------------------------


def sparse_counts(dtype: Any = np.float64) -> tuple[Any, Array, Array]:
    rng = np.random.default_rng(2)
    W = (rng.random((30, 4)) + 0.05).astype(dtype)
    V = rng.poisson(0.4 * rng.random((9, 4)) @ W.T).astype(dtype)
    V[3] = 0.0
    return sparse.csr_array(V), V, W


@DTYPES
def test_products_at_places(dtype: Any) -> None:
    rows, V, W = sparse_counts(dtype)
    H = np.random.default_rng(3).random((9, 4)).astype(dtype)
    found = np.empty_like(rows.data)
    _kernels.products_at(rows.indptr, rows.indices, W, H, found)
    expected = reference.products_at(*np.nonzero(V), W, H)
    np.testing.assert_allclose(found, expected, rtol=100 * np.finfo(dtype).eps)


def counts_of(tol: float, max_iter: int) -> tuple[Array, Array, Array, Array]:
    rows, V, W = sparse_counts()
    H, loss = np.full((9, 4), 0.3), np.zeros(9)
    mass = W.sum(axis=0)[None] + 0.1
    _kernels.count_codes(rows.indptr, rows.indices, rows.data, W, mass, 0.0, H, loss, tol, max_iter)
    return V, W, H, loss


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_counts_are_encoded_like_the_twin(steps: int) -> None:
    V, W, H, loss = counts_of(0.0, steps)
    for v, h in zip(V, H, strict=True):
        expected = reference.count_codes(v, W, W.sum(axis=0) + 0.1, np.full(4, 0.3), steps)
        np.testing.assert_allclose(h, expected, rtol=1e-12)
    assert np.all(loss[V.sum(axis=1) > 0] < 0), "the cap is told by the sign"


def test_the_gap_of_counts_is_a_bound() -> None:
    V, W, _, loss = counts_of(1e-2, 10_000)
    _, _, best, _ = counts_of(0.0, 100_000)
    P = np.maximum(best @ W.T, 1e-300)  # a sample without counts has no codes
    least = (V * np.log(np.where(V > 0, V, 1) / P) - V + P).sum(axis=1) + 0.1 * best.sum(axis=1)
    assert np.all(loss >= least * (1 - 1e-12) - 1e-290)
    assert np.all(loss <= least * (1 + 1.02e-2))
    assert np.any(loss > least * (1 + 1e-6)), "the test would pass without a gap"


# --- least squares over the simplex --------------------------------------------------------------


@pytest.mark.parametrize("name", dictionaries())
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_simplex_codes_are_the_best_of_all_supports(name: str, own: bool) -> None:
    W = dictionaries()[name]
    rng = np.random.default_rng(1)
    V = np.hstack([rng.random((len(W), 4)), W @ rng.dirichlet(np.ones(W.shape[1]), 3).T])
    observed = rng.random(V.shape) < 0.8 if own else np.ones(V.shape, bool)
    G = np.stack([(W * s[:, None]).T @ W for s in observed.T]) if own else (W.T @ W)[None]
    C = (V * observed).T @ W
    codes, gaps = np.zeros(C.shape), np.empty(len(C))
    codes[:, 0] = 1.0
    _kernels.simplex_codes(G, C, codes, 100, 1e-13, gaps)
    twin = reference.simplex_codes(G if own else G[0], C)
    assert np.all(codes >= 0)
    np.testing.assert_allclose(codes.sum(axis=1), 1.0, rtol=1e-12)
    grams = G if own else np.broadcast_to(G, (len(C), *G.shape[1:]))
    for w, best, gram, c, gap in zip(codes, twin, grams, C, gaps, strict=True):
        values = [x @ gram @ x / 2 - c @ x for x in (w, best)]
        assert values[0] <= values[1] + 1e-9 * max(1.0, np.abs(gram).max())
        assert values[0] - gap <= values[1] + 1e-12 * max(1.0, np.abs(gram).max())


@DTYPES
def test_sweep_supports_is_its_twin(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    A = rng.random((9, 4))
    Q, P = (A.T @ A).astype(dtype), rng.normal(2.0, 2.0, (4, 600)).astype(dtype)
    H = np.maximum(rng.normal(size=(4, 600)), 0.0).astype(dtype)
    twin = reference.sweep_supports(Q, P, H, 2)
    zeros = H == 0
    _kernels.sweep_supports(Q, P, H, 2)
    np.testing.assert_allclose(H, twin, rtol=1e-9 if dtype == np.float64 else 1e-3, atol=1e-4)
    assert not H[zeros].any()


def test_sweep_supports_leaves_rows_without_weight_alone() -> None:
    Q, H = np.diag([1.0, 0.0]), np.full((2, 3), 0.5)
    _kernels.sweep_supports(Q, np.full((2, 3), 2.0), H, 1)
    np.testing.assert_array_equal(H, [[2.0] * 3, [0.5] * 3])


def test_offers_are_those_of_the_twin() -> None:
    rng = np.random.default_rng(0)
    curves, S = rng.random(5) + 0.1, rng.normal(size=(5, 80))
    H = np.maximum(rng.normal(size=(5, 80)), 0.0)
    H[:, 0], H[:, 1] = 0.0, 1.0
    out, into = np.empty(80, dtype=np.intp), np.empty(80, dtype=np.intp)
    cost, gain = np.empty(80), np.empty(80)
    _kernels.offer_entries(curves, S, H, out, cost, into, gain)
    leave, enter = reference.offer_entries(curves, S, H)
    np.testing.assert_allclose(cost, [c for c, _ in leave])
    np.testing.assert_array_equal(out, [k for _, k in leave])
    np.testing.assert_allclose(gain, [g for g, _ in enter])
    np.testing.assert_array_equal(into, [k for _, k in enter])


def test_exchanges_are_those_of_the_twin() -> None:
    rng = np.random.default_rng(0)
    A = rng.random((9, 5))
    Q, P = A.T @ A, rng.normal(2.0, 2.0, (5, 60))
    Q[4], Q[:, 4] = 0.0, 0.0  # a row that nothing depends on
    H = np.maximum(rng.normal(size=(5, 60)), 0.0)
    H[:, 0], H[:, 1] = 0.0, 1.0
    busy = rng.random(60) < 0.2
    for least in (0.0, 2.0):
        found = H.copy()
        count = _kernels.exchange_entries(Q, Q @ H - P, found, busy, least)
        np.testing.assert_allclose(found, reference.exchange_entries(Q, P, H, busy, least))
        assert count == np.count_nonzero((found != H).any(axis=0)) > 5


# --- a look at the entries ---------------------------------------------------------------------


@DTYPES
def test_odd_entries_are_counted(dtype: Any) -> None:
    rng = np.random.default_rng(16)
    values = rng.choice([0.0, -0.0, 1e-9, -1e-9, 1e-3, -2.0, np.nan], size=200).astype(dtype)
    for bound in (1e-12, 1e-6, 1.0):
        found = _kernels.count_odd(values, dtype(bound))
        assert found == reference.count_odd(values, dtype(bound))
    assert _kernels.count_odd(values[:0], dtype(1.0)) == (0, 0)


# --- the knee of Huber's loss --------------------------------------------------------------------


@DTYPES
@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_knee_against_its_twin(dtype: Any, unit: float) -> None:
    rng = np.random.default_rng(17)
    knees = unit * np.linspace(0.4, 2.0, 17)
    for size in (1, 2, 7, 60, 900):
        for sizes in (rng.exponential(size=size), rng.random(size), np.full(size, 1.3)):
            ordered = np.sort((unit * sizes).astype(dtype))
            expected = reference.huber_knee(ordered.astype(np.float64), knees, 0.03 * unit, 0.1)
            found = _kernels.huber_knee(ordered, knees, 0.03 * unit, 0.1)
            assert found == pytest.approx(expected, rel=1e-9)
