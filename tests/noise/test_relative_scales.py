"""Relative noise scales of features from counted residuals."""

from typing import Any

import numpy as np
import pytest

from thalweg.noise import relative_scales as module
from thalweg.noise.feature_scales import log_density
from thalweg.noise.relative_scales import relative_scales
from thalweg.noise.residual_counts import ResidualCounts

Array = Any
F, N = 40, 4000
SEEDS = pytest.mark.parametrize("seed", range(3))


def spread(seed: int, F: int = F) -> Array:
    """Return noise scales from 1/5 to 5, of median 1."""
    scales = np.exp(np.random.default_rng(seed).uniform(-np.log(5.0), np.log(5.0), F))
    return scales / np.median(scales)


def draw(scales: Array, seed: int, N: int = N) -> Array:
    return scales[:, None] * np.random.default_rng(seed + 100).normal(size=(len(scales), N))


def scales_of(counts: ResidualCounts, **options: Any) -> Array:
    n_features = len(counts.first)
    return relative_scales(counts, np.zeros((n_features, 1)), np.eye(1), **options)


@SEEDS
@pytest.mark.parametrize("outliers", [0.0, 0.2, 0.4])
def test_scales_are_those_of_the_noise(seed: int, outliers: float) -> None:
    true = spread(seed)
    residuals = draw(true, seed)
    hit = np.random.default_rng(seed).random(residuals.shape) < outliers
    residuals[hit] += 100.0
    found = scales_of(ResidualCounts.of(residuals))
    assert np.median(found) == pytest.approx(1.0, rel=0.02)
    assert np.std(np.log(found / true)) < 0.05


@SEEDS
def test_few_observations_of_equal_noise_give_nearly_equal_scales(seed: int) -> None:
    residuals = draw(np.ones(400), seed, N=50)
    found = scales_of(ResidualCounts.of(residuals))
    raw = np.median(np.abs(residuals), axis=1)
    assert np.std(np.log(found)) < 0.5 * np.std(np.log(raw))


def test_the_variance_behind_the_shrinkage_is_that_of_the_estimate() -> None:
    counts = ResidualCounts.of(draw(np.ones(4000), 0, 400))
    logs = (counts.first + module._positions(counts.counts)) * np.log(2.0) / 4.0
    of_median = 0.25 / log_density(np.inf) ** 2 / 400
    assert np.var(logs) == pytest.approx(of_median / module._efficiency(), rel=0.1)


def test_a_feature_that_was_hardly_observed_has_nearly_the_common_scale() -> None:
    residuals, observed = draw(spread(0), 0), np.ones((F, N), bool)
    residuals[3] *= 4.0 / np.std(residuals[3])
    observed[3, 3:] = observed[4] = False
    residuals[5] = 0.0  # constant, and fitted exactly
    found = scales_of(ResidualCounts.of(residuals, observed))
    full = scales_of(ResidualCounts.of(residuals))
    assert full[3] > 3.5
    assert abs(np.log(found[3])) < 0.8 * np.log(full[3])
    assert found[4] == 1.0
    assert found[5] == 1.0
    assert np.array_equal(scales_of(ResidualCounts.none(4)), np.ones(4))


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**30])
def test_units_by_powers_of_two_change_no_bit(unit: float) -> None:
    residuals = draw(spread(1), 1)
    found = scales_of(ResidualCounts.of(residuals))
    assert np.array_equal(scales_of(ResidualCounts.of(unit * residuals)), found)


def test_a_feature_in_another_unit_has_its_scale_in_this_unit() -> None:
    """Its dictionary row is in this unit, too, so that its lower bound follows."""
    residuals, W = draw(np.ones(F), 2), np.ones((F, 1))
    before = relative_scales(ResidualCounts.of(residuals), W, 100.0 * np.eye(1))
    residuals[7] *= 1e-4
    W[7] *= 1e-4
    after = relative_scales(ResidualCounts.of(residuals), W, 100.0 * np.eye(1))
    assert after[7] / before[7] == pytest.approx(1e-4, rel=0.05)
    np.testing.assert_allclose(np.delete(after, 7), np.delete(before, 7), rtol=0.1)


def test_counts_of_two_streams_give_the_scales_of_both() -> None:
    residuals = draw(spread(3), 3)
    whole = scales_of(ResidualCounts.of(residuals))
    parts = [ResidualCounts.of(part) for part in np.hsplit(residuals, [1000, 1500])]
    found = scales_of(parts[0].merged(parts[1:]))
    np.testing.assert_allclose(found, whole, rtol=1e-6)


def test_an_atom_of_one_feature_does_not_make_its_scale_vanish() -> None:
    """With the hat matrix L, leaving entry f out gives the error e_f / (1 - L_ff)."""
    rng = np.random.default_rng(4)
    W = np.abs(rng.normal(size=(F, 3)))
    W[:, 2] = 0.02 * W[:, 2]
    W[9, 2] = 1.0
    noise = rng.normal(size=(F, 20_000))
    hat = W @ np.linalg.pinv(W)
    lever = np.diag(hat)
    assert lever[9] > 0.9
    left = noise - hat @ noise
    counts = ResidualCounts.none(F).added(left / np.sqrt(np.maximum(1.0 - lever, 0.05))[:, None])
    found = relative_scales(counts, W, np.eye(3))
    errors = np.std(left / (1.0 - lever)[:, None], axis=1)
    np.testing.assert_allclose(found, errors / np.median(errors), rtol=0.05)
    assert found[9] > 3.0


def test_features_observed_less_are_corrected_for_the_rows_fitted_to_them() -> None:
    """A row of K parameters that is fitted to n entries leaves 1 - K / n of the variance."""
    n, K = np.array([12, 50, 10_000]), 10
    counts = ResidualCounts.none(3)
    rng = np.random.default_rng(5)
    for f, number in enumerate(n):
        size = np.sqrt(1.0 - K / number)
        part = np.zeros((3, 200_000))
        part[f] = size * rng.normal(size=200_000)
        counts = counts.merged([ResidualCounts.none(3).added(part)])
    totals = counts.counts.sum(axis=1)
    thinned = counts._replace(counts=(counts.counts * (n / totals)[:, None]).astype(np.float32))
    corrected = relative_scales(thinned, np.zeros((3, K)), np.eye(K), in_sample=True)
    raw = relative_scales(thinned, np.zeros((3, K)), np.eye(K))
    assert np.ptp(np.log(corrected)) < 0.2 * np.ptp(np.log(raw))
