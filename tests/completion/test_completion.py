"""Completion methods: geometry, estimators, and recovery of known matrices."""

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.exceptions import ConvergenceWarning

from thalweg import RobustMatrixCompletion
from thalweg._rooms import members
from thalweg.completion import Completed, Completion, _fixed_rank_manifold as manifold
from thalweg.completion._fixed_rank_manifold import Point, Tangent
from thalweg.completion.factored_gradient_descent import FactoredGradientDescent, largest
from thalweg.completion.riemannian_cg import RiemannianCG, _Entries
from thalweg.errors import ParameterError
from thalweg.estimators import lr_geom_cg as cg_estimator, rpca_gd as gd_estimator
from thalweg.synthetic import subspace_stream

METHODS = [RiemannianCG, FactoredGradientDescent]
Array = Any


def low_rank(seed: int, F: int = 60, N: int = 80, K: int = 3) -> Array:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(F, K)) @ rng.normal(size=(K, N))


def gaps(seed: int, shape: tuple[int, int], share: float) -> Array:
    return np.random.default_rng([seed, 1]).random(shape) >= share


def error(found: Completed, truth: Array) -> float:
    return float(np.linalg.norm(found.U @ found.H - truth) / np.linalg.norm(truth))


# --- the contract ----------------------------------------------------------------------------


def test_the_room_is_discovered() -> None:
    assert members("thalweg.completion") == {
        "riemannian-cg": RiemannianCG,
        "factored-gradient-descent": FactoredGradientDescent,
    }


@pytest.mark.parametrize("method", METHODS)
def test_members_keep_the_contract(method: Any) -> None:
    made = method()
    assert isinstance(made, Completion)
    assert hash(made) == hash(method())
    V, observed = low_rank(0), gaps(0, (60, 80), 0.3)
    before = V.copy()
    found = made.complete(V, observed, 3, 0)
    assert np.array_equal(V, before)
    assert [part.shape for part in found[:3]] == [(60, 3), (3, 80), (60, 80)]
    np.testing.assert_allclose(found.U.T @ found.U, np.eye(3), atol=1e-12)
    assert not found.R[~observed].any()
    assert found.converged
    assert 1 <= found.n_iter < made.max_iter


@pytest.mark.parametrize("method", METHODS)
def test_values_at_missing_entries_have_no_effect(method: Any) -> None:
    V, observed = low_rank(1), gaps(1, (60, 80), 0.3)
    first = method().complete(V, observed, 3, 0)
    second = method().complete(np.where(observed, V, 1e30), observed, 3, 0)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("power", [-400, -7, 9, 400])
def test_results_do_not_depend_on_units(method: Any, power: int) -> None:
    V, observed = low_rank(2) + 0.01, gaps(2, (60, 80), 0.3)
    one, other = (method().complete(V * unit, observed, 3, 0) for unit in (1.0, 2.0**power))
    assert one.n_iter == other.n_iter
    assert np.array_equal(one.U, other.U)
    np.testing.assert_allclose(other.H, one.H * 2.0**power, rtol=1e-12)
    np.testing.assert_allclose(other.R, one.R * 2.0**power, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_float32_stays(method: Any) -> None:
    V, observed = low_rank(3).astype(np.float32), gaps(3, (60, 80), 0.3)
    found = method().complete(V, observed, 3, 0)
    assert {part.dtype for part in found[:3]} == {np.dtype(np.float32)}
    assert error(found, V) < 1e-5


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(5, 1), (1, 5), (3, 3), (100, 90)])
def test_more_components_than_there_is_room_for(method: Any, shape: tuple[int, int]) -> None:
    V = np.random.default_rng(4).normal(size=shape)
    K = min(shape) + 2 if min(shape) < 50 else 3
    found = method().complete(V, np.ones(shape, dtype=bool), K, 0)
    assert found.U.shape == (shape[0], K)
    assert all(np.isfinite(part).all() for part in found[:3])
    if min(shape) < 50:  # of full rank, so that nothing is left; outliers may take their share
        np.testing.assert_allclose(found.U @ found.H + found.R, V, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(6, 4), (100, 90)])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_empty_data_give_an_empty_result(method: Any, shape: tuple[int, int], share: float) -> None:
    found = method().complete(np.zeros(shape), gaps(5, shape, share), 2, 0)
    assert not (found.U @ found.H).any()
    assert not found.R.any()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_invalid_limits_are_rejected(method: Any, value: float) -> None:
    with pytest.raises(ParameterError, match="tol must be a finite number >= 0"):
        method(tol=value)
    for max_iter in (0, value):
        with pytest.raises(ParameterError, match="max_iter must be a positive finite"):
            method(max_iter=max_iter)


@pytest.mark.parametrize("parameter", ["slack", "incoherence"])
def test_parameters_below_one_are_rejected(parameter: str) -> None:
    with pytest.raises(ParameterError, match=f"{parameter} must be at least 1"):
        FactoredGradientDescent(**{parameter: 0.5})


@pytest.mark.parametrize("share", [-0.1, 1.0, np.nan])
def test_an_invalid_outlier_share_is_rejected(share: float) -> None:
    with pytest.raises(ParameterError, match="at least 0 and below 1"):
        FactoredGradientDescent(outlier_share=share)


# --- the manifold of RiemannianCG ----------------------------------------------------------------


def a_point(seed: int, F: int = 12, N: int = 9, K: int = 3) -> Point:
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.normal(size=(n, K)))[0] for n in (F, N))
    return Point(U, np.sort(rng.uniform(1.0, 3.0, K))[::-1], V)


def dense(at: Point, vector: Tangent | None = None) -> Array:
    if vector is None:
        return at.U * at.s @ at.V.T
    return at.U @ vector.M @ at.V.T + vector.Up @ at.V.T + at.U @ vector.Vp.T


def projected(at: Point, Z: Array) -> Tangent:
    return manifold.project(at, Z @ at.V, Z.T @ at.U)


def test_projection_is_the_orthogonal_one() -> None:
    at, rng = a_point(0), np.random.default_rng(1)
    Y, Z = rng.normal(size=(2, 12, 9))
    PY, PZ = projected(at, Y), projected(at, Z)
    assert np.abs(at.U.T @ PZ.Up).max() < 1e-14
    assert np.abs(at.V.T @ PZ.Vp).max() < 1e-14
    again = projected(at, dense(at, PZ))
    np.testing.assert_allclose(dense(at, again), dense(at, PZ), atol=1e-13)  # idempotent
    mixed = [np.vdot(dense(at, PY), Z), np.vdot(Y, dense(at, PZ)), manifold.inner(PY, PZ)]
    np.testing.assert_allclose(mixed, mixed[0], rtol=1e-12)  # self-adjoint
    left, right = manifold.embed(at, PZ)
    np.testing.assert_allclose(left @ right.T, dense(at, PZ), atol=1e-13)


def test_transport_is_the_projection_at_the_other_point() -> None:
    before, to, rng = a_point(2), a_point(3), np.random.default_rng(4)
    vector = projected(before, rng.normal(size=(12, 9)))
    moved = manifold.transport(before, vector, to)
    np.testing.assert_allclose(
        dense(to, moved), dense(to, projected(to, dense(before, vector))), atol=1e-13
    )


@pytest.mark.parametrize("zero", [False, True])
def test_retraction_is_the_closest_matrix_of_the_rank(zero: bool) -> None:
    at, rng = a_point(5), np.random.default_rng(6)
    vector = projected(at, rng.normal(size=(12, 9)))
    if zero:  # then the QR factors of the parts alone would be undetermined
        vector = vector._replace(Up=np.zeros_like(vector.Up))
    to = manifold.retract(at, vector, 0.7)
    U, s, Vt = np.linalg.svd(dense(at) + 0.7 * dense(at, vector))
    np.testing.assert_allclose(dense(to), U[:, :3] * s[:3] @ Vt[:3], atol=1e-12)
    np.testing.assert_allclose(to.U.T @ to.U, np.eye(3), atol=1e-13)
    np.testing.assert_allclose(to.V.T @ to.V, np.eye(3), atol=1e-13)


def test_retraction_keeps_the_first_order() -> None:
    at, rng = a_point(7), np.random.default_rng(8)
    vector = projected(at, rng.normal(size=(12, 9)))
    apart = [
        np.linalg.norm(dense(manifold.retract(at, vector, t)) - dense(at) - t * dense(at, vector))
        for t in (1e-3, 1e-4)
    ]
    assert apart[1] < 0.011 * apart[0]  # of the second order


def test_gradient_is_the_slope_along_retractions() -> None:
    at, rng = a_point(9), np.random.default_rng(10)
    entries = _Entries.of(rng.normal(size=(12, 9)), rng.random((12, 9)) < 0.5)

    def value(point: Point) -> float:
        return 0.5 * float(np.sum(entries.misfit(point) ** 2))

    gradient = entries.gradient(at, entries.misfit(at))
    for _ in range(5):
        way = projected(at, rng.normal(size=(12, 9)))
        ends = [value(manifold.retract(at, way, t)) for t in (1e-5, -1e-5)]
        slope = (ends[0] - ends[1]) / 2e-5
        assert slope == pytest.approx(manifold.inner(gradient, way), rel=1e-7, abs=1e-8)


# --- RiemannianCG --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_planted_matrix_is_found_from_a_third(seed: int) -> None:
    V, observed = low_rank(seed, 100, 120, 4), gaps(seed, (100, 120), 0.7)
    found = RiemannianCG().complete(V * observed, observed, 4, seed)
    assert found.converged
    assert error(found, V) < 1e-6
    assert found.n_iter < 100


def test_matrix_with_unequal_singular_values_is_found() -> None:
    rng = np.random.default_rng(11)
    U, W = (np.linalg.qr(rng.normal(size=(n, 3)))[0] for n in (100, 120))
    V, observed = U * [10.0, 3.0, 1.0] @ W.T, gaps(11, (100, 120), 0.5)
    assert error(RiemannianCG().complete(V, observed, 3), V) < 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_minimum_is_stationary_in_both_factors(seed: int) -> None:
    V = low_rank(seed) + 0.3 * np.random.default_rng(seed).normal(size=(60, 80))
    observed = gaps(seed, V.shape, 0.4)
    found = RiemannianCG(tol=1e-9).complete(V, observed, 3, seed)
    assert found.converged
    E = np.where(observed, found.U @ found.H - V, 0.0)
    scale = np.linalg.norm(V[observed])
    assert np.linalg.norm(E @ found.H.T) < 1e-7 * scale * np.linalg.norm(found.H, 2)
    assert np.linalg.norm(found.U.T @ E) < 1e-7 * scale
    nearby = np.random.default_rng(seed)
    for _ in range(20):  # and no point nearby is better
        U = found.U + 1e-3 * nearby.normal(size=found.U.shape)
        H = found.H + 1e-3 * nearby.normal(size=found.H.shape)
        assert np.sum(np.where(observed, U @ H - V, 0.0) ** 2) > np.sum(E**2)


def test_without_gaps_it_is_the_singular_value_decomposition() -> None:
    V = np.random.default_rng(12).normal(size=(90, 70))
    found = RiemannianCG().complete(V, None, 3)
    U, s, Vt = np.linalg.svd(V)
    np.testing.assert_allclose(found.U @ found.H, U[:, :3] * s[:3] @ Vt[:3], atol=1e-7)


def test_max_iter_is_kept_and_reported() -> None:
    V, observed = low_rank(13), gaps(13, (60, 80), 0.6)
    found = RiemannianCG(max_iter=3).complete(V, observed, 3)
    assert (found.n_iter, found.converged) == (3, False)


def test_features_and_samples_without_observed_entries() -> None:
    V, observed = low_rank(14), gaps(14, (60, 80), 0.5)
    observed[7], observed[:, 11] = False, False
    found = RiemannianCG().complete(V, observed, 3)
    rest = np.ix_(np.arange(60) != 7, np.arange(80) != 11)
    assert np.isfinite(found.U @ found.H).all()
    np.testing.assert_allclose((found.U @ found.H)[rest], V[rest], atol=1e-5)


# --- RPCA-GD ---------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(1, 9), st.integers(1, 9), st.floats(0.0, 1.0))
def test_sparse_estimator_is_what_it_is_defined_to_be(
    seed: int, F: int, N: int, share: float
) -> None:
    E = np.random.default_rng(seed).normal(size=(F, N))
    found = largest(E, share)
    for i in range(F):
        for j in range(N):
            row = sorted(np.abs(E[i]), reverse=True)[: int(share * N + 1e-9)]
            column = sorted(np.abs(E[:, j]), reverse=True)[: int(share * F + 1e-9)]
            kept = abs(E[i, j]) in row and abs(E[i, j]) in column
            assert found[i, j] == (E[i, j] if kept else 0.0)


def test_ties_are_not_kept() -> None:
    assert not largest(np.ones((6, 5)), 0.5).any()
    assert np.array_equal(largest(np.ones((6, 5)), 1.0), np.ones((6, 5)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("share", "missing", "slack"),
    [(0.1, 0.0, 2.0), (0.2, 0.0, 1.5), (0.1, 0.3, 2.0), (0.15, 0.3, 2.0)],
)
def test_planted_matrix_is_found_under_outliers(
    seed: int, share: float, missing: float, slack: float
) -> None:
    rng = np.random.default_rng([seed, 3])
    V = low_rank(seed, 150, 150, 2)
    R = np.where(rng.random(V.shape) < share, rng.uniform(-10.0, 10.0, V.shape), 0.0)
    observed = gaps(seed, V.shape, missing) if missing else None
    # the largest share of a row or column is above the mean one
    found = FactoredGradientDescent(outlier_share=share + 0.03, slack=slack).complete(
        V + R, observed, 2, seed
    )
    assert found.converged
    assert error(found, V) < 1e-4
    there = np.abs(R) > 0.1 if observed is None else (np.abs(R) > 0.1) & observed
    np.testing.assert_allclose(found.R[there], R[there], atol=0.01)


def test_outliers_are_no_more_than_they_may_be() -> None:
    V = np.random.default_rng(15).standard_cauchy((50, 40))
    found = FactoredGradientDescent(outlier_share=0.1, slack=1.5).complete(V, None, 2)
    taken = found.R != 0.0
    assert 0 < taken.sum(axis=0).max() <= int(0.15 * 50)
    assert 0 < taken.sum(axis=1).max() <= int(0.15 * 40)


def test_without_outliers_it_is_least_squares() -> None:
    V = low_rank(16) + 0.1 * np.random.default_rng(16).normal(size=(60, 80))
    observed = gaps(16, V.shape, 0.3)
    found = FactoredGradientDescent(outlier_share=0.0, tol=1e-10, max_iter=20_000).complete(
        V, observed, 3
    )
    best = RiemannianCG().complete(V, observed, 3)
    np.testing.assert_allclose(found.U @ found.H, best.U @ best.H, atol=1e-6)


def test_rows_are_kept_incoherent() -> None:
    V = 0.01 * low_rank(17)
    V[0] *= 1000.0  # one feature that is all
    loose, tight = (
        FactoredGradientDescent(0.0, incoherence=mu).complete(V, None, 1) for mu in (1e6, 1.0)
    )
    size = np.linalg.norm(V, 2)
    assert np.linalg.norm(loose.H) == pytest.approx(size, rel=1e-3)
    # the row has at most sqrt(2 / 60) of the size that it has in the data, if not its codes
    assert np.linalg.norm(tight.U[0] * tight.H) < 2.0 * np.sqrt(2.0 / 60) * size


# --- estimators ------------------------------------------------------------------------------

ESTIMATORS = [cg_estimator.LRGeomCG, gd_estimator.RPCAGD]


@pytest.mark.parametrize(("estimator", "atol"), list(zip(ESTIMATORS, (1e-6, 1e-3), strict=True)))
def test_gaps_are_filled(estimator: Any, atol: float) -> None:
    clean = low_rank(18).T
    X = np.where(gaps(18, clean.shape, 0.4), clean, np.nan)
    model = estimator(3, random_state=0)
    there = ~np.isnan(X)
    for filled in (model.complete(X), model.fill(X)):
        assert np.array_equal(filled[there], X[there])
        np.testing.assert_allclose(filled, clean, atol=atol)
    assert model.n_samples_seen_ == len(X)
    assert model.converged_
    np.testing.assert_allclose(model.decompose(X).low_rank, clean, atol=atol)
    assert np.array_equal(estimator(3, random_state=0).fit(X).components_, model.components_)
    assert model.score(X) > -1e-6


def test_least_squares_codes_are_those_of_lstsq() -> None:
    X = low_rank(19).T + 0.1 * np.random.default_rng(19).normal(size=(80, 60))
    X[~gaps(19, X.shape, 0.3)] = np.nan
    model = cg_estimator.LRGeomCG(3, random_state=0).fit(X)
    codes = model.transform(X)
    for row, code in zip(X, codes, strict=True):
        there = ~np.isnan(row)
        best = np.linalg.lstsq(model.components_[:, there].T, row[there], rcond=None)[0]
        np.testing.assert_allclose(code, best, rtol=1e-7, atol=1e-7)


def test_outliers_of_new_samples_are_found() -> None:
    rng = np.random.default_rng(20)
    clean = low_rank(20, 100, 300, 2).T
    R = np.where(rng.random(clean.shape) < 0.1, 8.0, 0.0)
    X = clean + R + 0.01 * rng.normal(size=clean.shape)
    model = gd_estimator.RPCAGD(2, outlier_share=0.2, random_state=0).fit(X[:200])
    found = model.decompose(X[200:])
    np.testing.assert_allclose(found.low_rank, clean[200:], atol=0.1)
    assert ((found.outliers != 0.0) | (R[200:] == 0.0)).all()
    assert model.noise_scale_ == pytest.approx(0.01, rel=0.3)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, RobustMatrixCompletion])
def test_a_fit_that_stops_at_max_iter_warns(estimator: Any) -> None:
    rng = np.random.default_rng(24)
    X = low_rank(24).T + 0.3 * rng.normal(size=(80, 60))
    X[~gaps(24, X.shape, 0.3)] = np.nan
    model = estimator(3, max_iter=1, random_state=0)
    message = f"{estimator.__name__} stopped after max_iter=1 iterations before .* less than tol="
    for run in (model.fit, model.complete):
        with pytest.warns(ConvergenceWarning, match=message) as caught:
            run(X)
        assert caught[0].filename == __file__
    assert not model.converged_


@pytest.mark.parametrize("estimator", [*ESTIMATORS, RobustMatrixCompletion])
def test_a_tolerance_of_zero_runs_to_max_iter_without_a_warning(estimator: Any) -> None:
    X = low_rank(25).T + 0.3 * np.random.default_rng(25).normal(size=(80, 60))
    X[~gaps(25, X.shape, 0.3)] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = estimator(3, tol=0, max_iter=4, random_state=0).fit(X)
    assert (model.n_iter_, model.converged_) == (4, False)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters_are_documented_and_checked(estimator: Any) -> None:
    names = set(inspect.signature(estimator).parameters)
    assert all(f"{name} :" in estimator.__doc__ for name in names)
    for name, value in [("n_components", 0), ("tol", -1.0), ("max_iter", 1.5)]:
        with pytest.raises(ParameterError, match=f"{name} must be"):
            estimator(**{name: value}).fit(np.ones((4, 3)))


def test_samples_that_are_mostly_zero_do_not_make_all_codes_zero() -> None:
    """The typical code is tiny then, but codes of well observed samples must be kept."""
    rows = (
        "00002 00210 01000 00000 20000 00002 00000 10010 10001 00000 00010 01100 21010 01023 20010 "
        "00100 00011 10010 01000 01001 10010 11100 00011 00020 20101 02100 00010 00001 02000 00010"
    )
    X = np.array([[float(digit) for digit in row] for row in rows.split()])
    for seed in range(3):
        model = RobustMatrixCompletion(1, random_state=seed).fit(X)
        assert np.abs(model.transform(X)).max() > 1.0


# --- most entries are outliers ---------------------------------------------------------------


def least_absolute(X: Array, K: int, truth: Array, rounds: int = 40) -> Array:
    """Return the low rank of least absolute residuals, by reweighted least squares in turns.

    It begins at the subspace of the truth, so that only the loss is to blame for its error.
    """
    there = ~np.isnan(X)
    Z = np.where(there, X, 0.0)
    H = np.linalg.svd(truth, full_matrices=False)[0][:, :K]
    U = np.zeros((X.shape[1], K))
    for round_ in range(rounds):
        floor = max(1e-3, 0.3 * 0.8**round_)
        for Y, observed, A, B in ((Z.T, there.T, H, U), (Z, there, U, H)):
            for i, (row, mask) in enumerate(zip(Y, observed, strict=True)):
                weight = mask / np.maximum(np.abs(row - A @ B[i]), floor)
                B[i] = np.linalg.lstsq(A.T * weight @ A, A.T @ (weight * row), rcond=None)[0]
    return H @ U.T


@pytest.mark.parametrize("seed", range(3))
def test_most_entries_may_be_outliers_no_larger_than_the_signal(seed: int) -> None:
    data = subspace_stream(
        120, 100, 2, missing=0.1, outlier_density=0.6, outlier_intensity=1.0, snr=40.0,
        noise="absolute", random_state=seed,
    )  # fmt: skip
    model = RobustMatrixCompletion(2, random_state=0).fit(data.X)
    size = np.linalg.norm(data.clean)
    ours = np.linalg.norm(model.decompose(data.X).low_rank - data.clean) / size
    other = np.linalg.norm(least_absolute(data.X, 2, data.clean) - data.clean) / size
    assert ours < min(0.005, other)
    assert model.noise_scale_ == pytest.approx(0.01, rel=0.35)
    assert model.converged_
