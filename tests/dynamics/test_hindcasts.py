"""Forecasts from rows of the past, and the calibration of forecasts by them."""

import numpy as np
import pytest

from thalweg import RobustMatrixCompletion
from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors


def series(N: int, phi: float, n: int, rng: np.random.Generator) -> np.ndarray:
    x = rng.normal(size=(N, n))
    for t in range(1, N):
        x[t] = phi * x[t - 1] + np.sqrt(1 - phi**2) * x[t]
    return x


@pytest.mark.parametrize("walk", [False, True])
def test_a_hindcast_is_the_smoothed_end_of_a_shorter_table(walk: bool) -> None:
    rng = np.random.default_rng(0)
    X = series(120, 0.9, 3, rng) + 0.2 * rng.normal(size=(120, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    times = np.cumsum(rng.uniform(0.5, 2.0, 120))
    local = "random-walk" if walk else "autoregression"
    model = AutoregressiveFactors(local=local, threshold=np.inf)
    state = model.fit(X, times, 0)
    for ahead, (rows, found) in zip(
        (1, 5), model.hindcast(state, X, times, (1, 5), 7), strict=True
    ):
        for i, row in enumerate(rows):
            shorter = X[: row + 1].copy()
            shorter[row + 1 - ahead :] = np.nan
            expected = model.smooth(state, shorter, times[: row + 1])
            np.testing.assert_allclose(found.mean[i], expected.mean[-1], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(found.std[i], expected.std[-1], rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
def test_intervals_of_forecasts_have_their_level() -> None:
    """Over many futures of the last row, at several numbers of steps."""
    inside = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = series(1024, 0.97, 2, rng) @ rng.normal(size=(2, 6)) + 0.5 * series(1024, 0.9, 6, rng)
        X += 0.2 * rng.normal(size=X.shape)
        model = RobustMatrixCompletion("auto", dynamics="auto", random_state=0).fit(X[:1000])
        _, lower, upper = model.forecast(24, interval=0.9)
        inside.append(((lower <= X[1000:]) & (upper >= X[1000:])).mean())
    assert 0.8 < np.mean(inside) < 0.97


def test_a_warm_start_reaches_the_same_fills() -> None:
    rng = np.random.default_rng(1)
    X = series(800, 0.95, 2, rng) @ rng.normal(size=(2, 6)) + 0.3 * series(800, 0.8, 6, rng)
    X[rng.random(X.shape) < 0.1] = np.nan
    model, times = AutoregressiveFactors(), np.arange(800.0)
    cold = model.fit(X, times, 2)
    part = model.fit(10.0 * X[200:600], 3.0 * times[200:600], 2)  # other units
    warm = model.fit(X, times, 2, part)
    one, two = (model.smooth(state, X, times).mean for state in (cold, warm))
    gaps = np.isnan(X)
    assert np.std((one - two)[gaps]) < 0.03 * np.nanstd(X)
