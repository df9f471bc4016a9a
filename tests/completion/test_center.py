"""Robust completion with a mean of each feature."""

from typing import Any

import numpy as np
import pytest

from thalweg import RobustMatrixCompletion
from thalweg.errors import ParameterError

Array = Any
SEEDS = pytest.mark.parametrize("seed", range(3))


def matrix(seed: int, outliers: float = 0.1) -> tuple[Array, Array, Array]:
    """Return data with gaps, the part without noise, and its mean far from 0."""
    rng = np.random.default_rng(seed)
    mean = 20.0 * rng.normal(size=30)
    clean = mean + rng.normal(size=(400, 2)) @ rng.normal(size=(2, 30))
    X = clean + 0.1 * rng.normal(size=clean.shape)
    X[rng.random(X.shape) < outliers] += 15.0  # of one sign
    X[rng.random(X.shape) < 0.3] = np.nan
    return X, clean, mean


def error(values: Array, clean: Array, X: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values - clean)[np.isnan(X)])))


@SEEDS
def test_fills_are_those_of_a_fit_that_is_told_the_mean(seed: int) -> None:
    X, clean, mean = matrix(seed)
    model = RobustMatrixCompletion(2, center=True, random_state=0)
    values = model.complete(X)
    told = RobustMatrixCompletion(2, random_state=0).complete(X - mean) + mean
    plain = RobustMatrixCompletion(2, random_state=0).complete(X)
    assert error(values, clean, X) < 1.1 * error(told, clean, X)
    assert error(values, clean, X) < 0.2 * error(plain, clean, X)
    outside = model.mean_ - mean
    outside -= model.components_.T @ (model.components_ @ outside)
    assert np.abs(outside).max() < 0.05


def test_rows_and_intercepts_are_least_squares_on_the_entries_kept() -> None:
    X, _, _ = matrix(0)
    model = RobustMatrixCompletion(2, center=True, tol=1e-9, max_iter=50, random_state=0).fit(X)
    parts = model.decompose(X)
    kept = ~np.isnan(X) & (parts.outliers == 0)
    for f in range(X.shape[1]):
        design = np.column_stack([parts.codes, np.ones(len(X))])[kept[:, f]]
        solution = np.linalg.lstsq(design, X[kept[:, f], f], rcond=None)[0]
        np.testing.assert_allclose(solution[:2], model.components_[:, f], atol=2e-4)
        assert solution[2] == pytest.approx(model.mean_[f], abs=2e-3)


def test_all_methods_include_the_mean() -> None:
    X, clean, _ = matrix(1)
    model = RobustMatrixCompletion("auto", center=True, random_state=0).fit(X)
    assert model.n_components_ == 2
    low_rank = model.decompose(X).low_rank
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), low_rank)
    assert error(model.fill(X), clean, X) < 0.15
    assert np.mean((model.p_values(X) < 1e-6)[~np.isnan(X)]) == pytest.approx(0.1, abs=0.02)
    assert not hasattr(model.set_params(center=False).fit(X), "mean_")


def test_units_and_shifts() -> None:
    X, _, _ = matrix(2)
    values = RobustMatrixCompletion(2, center=True, random_state=0).complete(X)
    double = RobustMatrixCompletion(2, center=True, random_state=0).complete(4.0 * X)
    np.testing.assert_allclose(double, 4.0 * values, rtol=1e-9)
    moved = RobustMatrixCompletion(2, center=True, random_state=0).complete(X + 1000.0)
    np.testing.assert_allclose(moved, values + 1000.0, atol=1e-3)


def test_other_values_raise() -> None:
    with pytest.raises(ParameterError, match="center must be"):
        RobustMatrixCompletion(2, center="yes").fit(matrix(0)[0])
