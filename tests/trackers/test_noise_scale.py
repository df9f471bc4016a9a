"""The noise level of residuals with outliers."""

from typing import Any

import numpy as np
import pytest

from thalweg.trackers.noise_scale import truncated_noise_scale, truncated_variance

LIMIT = 2.5
Array = Any


def mixture(seed: int, share: float, size: float, n: int = 20_000) -> Array:
    """Return noise of standard deviation 0.01, with outliers uniform on [0, size]."""
    rng = np.random.default_rng(seed)
    outliers = np.where(rng.random(n) < share, rng.uniform(0.0, size, n), 0.0)
    return 0.01 * rng.normal(size=n) + outliers


def least_level(residual: Array) -> float:
    """Return the smallest self-consistent level on a fine grid above the quantile."""
    sizes = np.abs(residual)
    for level in np.geomspace(np.quantile(sizes, 0.3), sizes.max(), 4000):
        within = sizes[sizes <= LIMIT * level]
        if np.mean(within**2) <= level**2 * truncated_variance(LIMIT):
            return float(level)
    raise AssertionError


@pytest.mark.parametrize("size", [1.0, 100.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6])
def test_outliers_that_are_the_majority_are_not_taken_for_noise(share: float, size: float) -> None:
    residual = mixture(0, share, size)
    assert truncated_noise_scale(residual, LIMIT) == pytest.approx(0.01, rel=0.2)
    assert truncated_noise_scale(residual, LIMIT) == pytest.approx(least_level(residual), rel=5e-3)


def test_it_is_consistent_with_itself() -> None:
    residual = mixture(1, 0.2, 0.05)
    level = truncated_noise_scale(residual, LIMIT)
    within = residual[np.abs(residual) <= LIMIT * level]
    assert np.mean(within**2) == pytest.approx(level**2 * truncated_variance(LIMIT), rel=1e-12)


def test_parameters_of_the_fit_do_not_make_it_smaller() -> None:
    """Four codes of ten entries each: least squares leaves 0.6 of the variance."""
    rng = np.random.default_rng(2)
    U, noise = rng.normal(size=(10, 4)), rng.normal(size=(10, 2000))
    residual = noise - U @ np.linalg.lstsq(U, noise, rcond=None)[0]
    assert truncated_noise_scale(residual, LIMIT, 4 * 2000) == pytest.approx(1.0, rel=0.05)
    assert truncated_noise_scale(residual, LIMIT) < 0.8


@pytest.mark.parametrize("power", [-500, -3, 5, 500])
def test_units_do_not_matter(power: int) -> None:
    residual = mixture(3, 0.4, 1.0, 500)
    unit = 2.0**power
    assert truncated_noise_scale(unit * residual, LIMIT) == unit * truncated_noise_scale(
        residual, LIMIT
    )


def test_no_residuals_have_no_level() -> None:
    assert truncated_noise_scale(np.zeros(0), LIMIT) == 0.0
    assert truncated_noise_scale(np.zeros(7), LIMIT) == 0.0
    assert truncated_noise_scale(np.ones(3), LIMIT, n_fitted=9) == pytest.approx(1.0, rel=0.1)
