"""Noise scales of the features in robust completion and PETRELS-CFAR."""

from typing import Any

import numpy as np
import pytest

from thalweg import PetrelsCFAR, RobustMatrixCompletion
from thalweg.metrics import sep
from thalweg.synthetic import subspace_stream

Array = Any
F, N, K = 40, 800, 3
SEEDS = pytest.mark.parametrize("seed", range(2))


def matrix(seed: int, *, equal: bool = False, outliers: float = 0.1) -> tuple[Array, ...]:
    """Return data with gaps, the part without noise, and the noise scales."""
    rng = np.random.default_rng(seed)
    clean = rng.normal(size=(N, K)) @ rng.normal(size=(K, F))
    scales = 0.3 * (np.ones(F) if equal else np.exp(rng.uniform(-np.log(5), np.log(5), F)))
    X = clean + scales * rng.normal(size=clean.shape)
    hit = rng.random(X.shape) < outliers
    X[hit] += 10.0 * rng.normal(size=hit.sum())
    X[rng.random(X.shape) < 0.3] = np.nan
    return X, clean, scales


def completed(X: Array, **options: Any) -> tuple[Any, Array]:
    model = RobustMatrixCompletion(K, random_state=0, **options)
    return model, model.complete(X)


def error(values: Array, clean: Array, X: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values - clean)[np.isnan(X)])))


@SEEDS
def test_fills_are_nearly_those_of_a_fit_that_is_told_the_scales(seed: int) -> None:
    """Data divided by the true scales have equal noise."""
    X, clean, scales = matrix(seed)
    model, values = completed(X, noise="per-feature")
    assert np.std(np.log(model.noise_scale_ / scales)) < 0.25
    told = error(completed(X / scales)[1] * scales, clean, X)
    assert error(values, clean, X) < 1.15 * told
    assert error(values, clean, X) < 0.7 * error(completed(X)[1], clean, X)


@SEEDS
def test_equal_noise_loses_nothing(seed: int) -> None:
    X, clean, _ = matrix(seed, equal=True)
    model, values = completed(X, noise="per-feature")
    assert np.ptp(model.noise_scale_) < 0.5 * np.median(model.noise_scale_)
    assert error(values, clean, X) < 1.02 * error(completed(X)[1], clean, X)


def test_units_of_the_data_and_of_a_feature() -> None:
    X, _, _ = matrix(0)
    model, values = completed(X, noise="per-feature")
    double, twice = completed(8.0 * X, noise="per-feature")
    assert np.array_equal(double.noise_scale_, 8.0 * model.noise_scale_)
    assert np.array_equal(twice, 8.0 * values)
    units = np.where(np.arange(F) == 5, 20.0, 1.0)
    other, third = completed(X * units, noise="per-feature")
    typical = np.median(model.noise_scale_)
    assert np.sqrt(np.mean(np.square(third / units - values))) < 0.3 * typical
    assert other.noise_scale_[5] / model.noise_scale_[5] == pytest.approx(20.0, rel=0.2)


def test_transform_and_p_values_use_the_scales() -> None:
    X, clean, scales = matrix(1, outliers=0.0)
    model, _ = completed(X, noise="per-feature")
    p = model.p_values(X)
    shares = np.nanmean(p < 0.05, axis=0)
    assert np.all((shares > 0.01) & (shares < 0.12))
    common, _ = completed(X)
    wrong, before = (np.abs(m.decompose(X).low_rank - clean).mean() for m in (model, common))
    assert wrong < 0.8 * before
    assert scales.shape == model.relative_scales_.shape


@SEEDS
def test_petrels_cfar_weighs_by_the_scales(seed: int) -> None:
    data = subspace_stream(
        3000, 50, 2, outlier_density=0.0, missing=0.1, snr=np.inf, random_state=seed
    )
    rng = np.random.default_rng(seed)
    scales = 0.1 * np.exp(rng.uniform(-np.log(5), np.log(5), 50))
    X = data.X + scales * rng.normal(size=data.X.shape)
    hit = rng.random(X.shape) < 0.1
    X[hit] += 5.0 * rng.normal(size=hit.sum())
    found = {}
    for noise in ("common", "per-feature"):
        model = PetrelsCFAR(2, noise=noise, random_state=0).fit(X)
        found[noise] = sep(model.components_, data.basis_at(2999).T)
    assert found["per-feature"] < 0.7 * found["common"]
    assert np.std(np.log(model.noise_scale_ / scales)) < 0.4
