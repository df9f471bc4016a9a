"""The initial basis of samples with outliers."""

from typing import Any

import numpy as np
import pytest

from thalweg._linalg import orthonormal
from thalweg.metrics import sep
from thalweg.synthetic import subspace_stream
from thalweg.trackers import _robust_factors as module
from thalweg.trackers._least_absolute_residuals import least_absolute_residuals
from thalweg.trackers._probabilistic_pca import probable_codes
from thalweg.trackers.robust_init import robust_basis

Array = Any
SEEDS = pytest.mark.parametrize("seed", range(2))


def columns(data: Any) -> tuple[Array, Array]:
    return np.nan_to_num(data.X).T, ~np.isnan(data.X).T


def error(data: Any, K: int, **how: Any) -> float:
    V, observed = columns(data)
    U = robust_basis(V, K, observed, **how)
    np.testing.assert_allclose(U.T @ U, np.eye(K), atol=1e-12)
    return sep(U.T, data.basis_at(0).T)


@SEEDS
@pytest.mark.parametrize("intensity", [1.0, 10.0, 1e4])
@pytest.mark.parametrize("density", [0.05, 0.2, 0.4])
def test_outliers_and_gaps_do_not_matter(seed: int, density: float, intensity: float) -> None:
    """As good as principal components of clean data, except for the entries lost to outliers."""
    how = {"outlier_density": density, "outlier_intensity": intensity, "random_state": seed}
    data = subspace_stream(200, 50, 2, **how)
    clean = data.X - data.outliers
    oracle = np.linalg.svd(np.where(np.isnan(clean), data.clean, clean), full_matrices=False)[2][:2]
    assert error(data, 2) < 5 * sep(oracle, data.basis_at(0).T)


@SEEDS
@pytest.mark.parametrize("sign", ["nonnegative", "any"])
def test_without_noise_it_is_exact(seed: int, sign: Any) -> None:
    data = subspace_stream(
        150, 30, 3, outlier_density=0.2, outlier_sign=sign, snr=np.inf, random_state=seed
    )
    assert error(data, 3) < 1e-7


@SEEDS
def test_samples_with_hardly_more_entries_than_codes(seed: int) -> None:
    data = subspace_stream(1500, 30, 2, outlier_density=0.0, missing=0.85, random_state=seed)
    assert np.median((~np.isnan(data.X)).sum(axis=1)) < 8
    assert error(data, 2) < 1e-2


@SEEDS
def test_more_features_than_the_first_subsample(seed: int) -> None:
    data = subspace_stream(60, 1500, 2, outlier_density=0.2, random_state=seed)
    assert error(data, 2) < 1e-3


@SEEDS
@pytest.mark.parametrize("power", [-200, 200])
def test_units_do_not_matter(seed: int, power: int) -> None:
    V, observed = columns(subspace_stream(100, 20, 2, outlier_density=0.2, random_state=seed))
    one, other = robust_basis(V, 2, observed), robust_basis(V * 2.0**power, 2, observed)
    assert sep(one.T, other.T) < 1e-15


def test_values_at_gaps_have_no_effect() -> None:
    V, observed = columns(subspace_stream(100, 20, 2, random_state=0))
    other = robust_basis(np.where(observed, V, 1e12), 2, observed)
    assert np.array_equal(robust_basis(V, 2, observed), other)


def test_no_mask_is_a_mask_without_gaps() -> None:
    V = subspace_stream(100, 20, 2, missing=0.0, random_state=0).X.T
    assert np.array_equal(robust_basis(V, 2), robust_basis(V, 2, np.ones(V.shape, bool)))


@SEEDS
def test_an_initial_guess_is_not_worse(seed: int) -> None:
    data = subspace_stream(100, 30, 3, outlier_density=0.3, random_state=seed)
    alone, right = error(data, 3), error(data, 3, guess=data.basis_at(0))
    wrong = error(data, 3, guess=np.linalg.qr(np.random.default_rng(0).normal(size=(30, 3)))[0])
    assert max(right, wrong) < 1.2 * alone


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("F", "N", "K"), [(5, 1, 3), (5, 2, 5), (1, 4, 1), (6, 40, 6)])
def test_any_size_has_a_basis(F: int, N: int, K: int, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    V = rng.normal(size=(F, N)).astype(dtype)
    for observed in (None, rng.random(V.shape) < 0.5, np.zeros(V.shape, bool)):
        U = robust_basis(V, K, observed)
        assert U.shape == (F, K)
        assert U.dtype == dtype
        np.testing.assert_allclose(U.T @ U, np.eye(K), atol=1e-5)


def test_zeros_and_constants_are_accepted() -> None:
    for V in (np.zeros((6, 10)), np.ones((6, 10)), np.eye(6), np.eye(30)):
        U = robust_basis(V, 2)
        np.testing.assert_allclose(U.T @ U, np.eye(2), atol=1e-12)


def test_the_same_seed_gives_the_same_basis() -> None:
    V, observed = columns(subspace_stream(100, 20, 2, random_state=0))
    assert np.array_equal(
        robust_basis(V, 2, observed, seed=3), robust_basis(V, 2, observed, seed=3)
    )


def test_counts_that_are_mostly_zeros_have_a_start() -> None:
    """Entries far from the model are left out; all that remain may be zeros."""
    X = np.zeros((12, 2))
    X[[2, 10], 0], X[3, 1], X[4, 0], X[5, 1] = 2.0, 2.0, 1.0, 1.0
    for seed in range(3):
        codes = probable_codes(X, np.ones(X.shape, bool), 1, np.random.default_rng(seed))
        assert np.isfinite(codes).all()


# --- the minimum -----------------------------------------------------------------------------


def exact_alternation(data: Any, factors: Any, iterations: int) -> Any:
    """Fit codes and basis alternately by least absolute values, each by Newton's method."""
    mask, threshold = module._unsuspicious(data), module.huber_threshold_of(data)
    for _ in range(iterations):
        factors = module._alternate(data, mask, factors, threshold)
    return factors


def exact_basis(data: Any, factors: Any) -> Array:
    """Fit codes and basis alternately on the inliers until convergence."""
    factors = exact_alternation(data, factors, 6)
    for _ in range(40):
        inliers, noise_scale = module.inliers_of(data.X, data.observed, factors)
        factors = module._alternate(data, inliers, factors, noise_scale)
    inliers, _ = module.inliers_of(data.X, data.observed, factors)
    rows = [
        np.linalg.lstsq(factors.H[kept], x[kept], rcond=None)[0]
        for x, kept in zip(data.X.T, inliers.T, strict=True)
    ]
    return orthonormal(np.array(rows))


def prepared(stream: Any) -> tuple[Any, Array, Array]:
    """Return the samples as the initialisation sees them, and their basis and codes."""
    V, observed = columns(stream)
    X, mask = np.ascontiguousarray(V.T), np.ascontiguousarray(observed.T)
    U = stream.basis_at(0)
    H = np.linalg.lstsq(U, stream.clean.T, rcond=None)[0].T
    return module.Data(X, mask, module.typical_sizes(X, mask)), U, H


def l1_loss(data: Any, factors: Any) -> float:
    residual = np.abs(data.X - factors.H @ factors.U.T)
    return float(residual[module._unsuspicious(data)].sum())


@SEEDS
@pytest.mark.parametrize("density", [0.1, 0.3])
def test_admm_ends_at_the_minimum_of_alternating_fits(seed: int, density: float) -> None:
    """Exact alternating fits of least absolute values, from there on, or from the true basis."""
    stream = subspace_stream(200, 50, 2, outlier_density=density, random_state=seed)
    data, U, H = prepared(stream)
    guess = np.random.default_rng(seed).normal(size=U.shape)
    size = float(data.typical.mean())
    found = module.Factors(
        *least_absolute_residuals(data.X, module._unsuspicious(data), guess, size)
    )
    np.testing.assert_allclose(found.H.T @ found.H, np.eye(2), atol=1e-12)
    for start in (found, module.Factors(U, H)):
        exact = l1_loss(data, exact_alternation(data, start, 10))
        assert l1_loss(data, found) == pytest.approx(exact, rel=1e-3)


@SEEDS
@pytest.mark.parametrize("density", [0.0, 0.2, 0.4])
def test_basis_is_that_of_exact_iterations(seed: int, density: float) -> None:
    """The distance between the two is small compared with their error due to noise."""
    stream = subspace_stream(200, 50, 2, outlier_density=density, random_state=seed)
    data, U, H = prepared(stream)
    exact = exact_basis(data, module.Factors(U, H))
    found = robust_basis(data.X.T, 2, data.observed.T)
    assert sep(found.T, exact.T) < 0.05 * sep(exact.T, U.T)


def test_low_quantiles_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    sizes, observed = rng.random((20, 13)), rng.random((20, 13)) < 0.5
    observed[3], observed[4] = False, True
    wanted = [
        np.quantile(s[o], 0.25) if o.any() else 0.0 for s, o in zip(sizes, observed, strict=True)
    ]
    found = module._robust_medians(sizes, observed) / module._MEDIAN_TO_LOW_QUANTILE
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
