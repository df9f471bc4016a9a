"""The model of a whole table: fills, standard errors, outliers, seasons, forecasts."""

from typing import Any

import numpy as np
import pytest

import thalweg
from thalweg._rooms import members
from thalweg.dynamics import Dynamics, Expected, seasons
from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors
from thalweg.dynamics.dynamic_state import column_units

ROOM = members("thalweg.dynamics")


def autoregression(rng: Any, phi: float, shape: tuple[int, int]) -> Any:
    x = np.empty(shape)
    x[0] = rng.normal(size=shape[1])
    for t in range(1, shape[0]):
        x[t] = phi * x[t - 1] + np.sqrt(1.0 - phi * phi) * rng.normal(size=shape[1])
    return x


def table(N: int = 600, F: int = 8, seed: int = 0) -> tuple[Any, Any]:
    """Return a table with gaps, scattered and in blocks, and the hidden entries."""
    rng = np.random.default_rng(seed)
    X = autoregression(rng, 0.95, (N, 2)) @ rng.normal(size=(2, F))
    X += 0.5 * autoregression(rng, 0.9, (N, F)) + 0.1 * rng.normal(size=(N, F))
    X = X * rng.uniform(0.1, 100.0, F) + 50.0 * rng.normal(size=F)
    hidden = rng.random((N, F)) < 0.1
    for f in range(F):
        start = int(rng.integers(N - 20))
        hidden[start : start + 20, f] = True
    return X, hidden


def error(filled: Any, X: Any, where: Any) -> float:
    return float(np.sqrt(np.mean(np.square(((filled - X) / X.std(axis=0))[where]))))


def interpolated(X: Any) -> Any:
    rows, filled = np.arange(len(X)), X.copy()
    for column in filled.T:
        known = ~np.isnan(column)
        column[:] = np.interp(rows, rows[known], column[known])
    return filled


@pytest.mark.parametrize("name", ROOM)
def test_members_keep_the_contract(name: str) -> None:
    model = ROOM[name]()
    assert isinstance(model, Dynamics)
    X, hidden = table(60, 4)
    times = np.arange(60.0)
    gaps = np.where(hidden, np.nan, X)
    state = model.fit(gaps, times, 1)
    moments = {60: model.smooth(state, gaps, times), 3: model.forecast(state, times[:3] + 60)}
    for n, found in moments.items():
        assert isinstance(found, Expected)
        assert found.mean.shape == found.std.shape == (n, 4)
        assert np.isfinite(found.mean).all()
        assert (found.std > 0).all()


def test_fills_are_better_than_interpolation_and_have_true_errors() -> None:
    X, hidden = table()
    gaps, times = np.where(hidden, np.nan, X), np.arange(len(X)) * 3600.0
    model = AutoregressiveFactors()
    found = model.smooth(model.fit(gaps, times, 2), gaps, times)
    assert error(found.mean, X, hidden) < 0.85 * error(interpolated(gaps), X, hidden)
    z = np.abs((X - found.mean) / found.std)[hidden]
    assert 0.8 < np.mean(z < 1.645) < 0.97


def test_fills_are_close_to_the_best_possible() -> None:
    """Against the conditional mean of the joint normal, with the true parameters."""
    rng, (N, F) = np.random.default_rng(5), (250, 5)
    W = rng.normal(size=(1, F))
    X = autoregression(rng, 0.9, (N, 1)) @ W + autoregression(rng, 0.8, (N, F)) * 0.5
    X += 0.2 * rng.normal(size=(N, F))
    hidden, lags = rng.random((N, F)) < 0.2, np.abs(np.subtract.outer(np.arange(N), np.arange(N)))
    C = np.kron(0.9**lags, W.T @ W) + np.kron(0.25 * 0.8**lags, np.eye(F))
    seen = ~hidden.ravel()
    S = C[np.ix_(seen, seen)] + 0.04 * np.eye(seen.sum())
    best = (C[:, seen] @ np.linalg.solve(S, X.ravel()[seen])).reshape(N, F)
    gaps, times = np.where(hidden, np.nan, X), np.arange(float(N))
    model = AutoregressiveFactors(max_iter=30)
    found = model.smooth(model.fit(gaps, times, 1), gaps, times).mean
    assert error(found, X, hidden) < 1.1 * error(best, X, hidden)


def test_missing_rows_are_interpolated() -> None:
    X, _ = table()
    hidden = np.zeros(X.shape, bool)
    hidden[5:-5:7] = True
    gaps, times = np.where(hidden, np.nan, X), np.arange(len(X)) * 1.0
    model, static = AutoregressiveFactors(), AutoregressiveFactors(local=None, codes=None)
    found, still = (m.smooth(m.fit(gaps, times, 2), gaps, times).mean for m in (model, static))
    assert error(found, X, hidden) < 0.6 < error(still, X, hidden)


def test_rows_that_are_left_out_are_gaps() -> None:
    X, hidden = table(300)
    gaps = np.where(hidden, np.nan, X)
    gaps[40:45] = np.nan
    kept = np.r_[0:40, 45:300]
    model, times = AutoregressiveFactors(max_iter=5), np.arange(300.0)
    state = model.fit(gaps, times, 2)
    full, short = model.smooth(state, gaps, times), model.smooth(state, gaps[kept], times[kept])
    np.testing.assert_allclose(full.mean[kept], short.mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(full.std[kept], short.std, rtol=1e-8)


def test_outliers_are_not_interpolated() -> None:
    X, hidden = table()
    rng = np.random.default_rng(9)
    dirty = X + (rng.random(X.shape) < 0.05) * 10.0 * X.std(axis=0)
    times = np.arange(len(X)) * 1.0
    errors = {}
    for threshold in (6.0, np.inf):
        model = AutoregressiveFactors(threshold=threshold)
        gaps = np.where(hidden, np.nan, dirty)
        found = model.smooth(model.fit(gaps, times, 2), gaps, times).mean
        errors[threshold] = error(found, X, hidden)
    clean = np.where(hidden, np.nan, X)
    model = AutoregressiveFactors()
    best = error(model.smooth(model.fit(clean, times, 2), clean, times).mean, X, hidden)
    assert errors[6.0] < 1.2 * best
    assert errors[6.0] < 0.6 * errors[np.inf]


def test_results_do_not_depend_on_units() -> None:
    X, hidden = table(200, 5)
    gaps, times = np.where(hidden, np.nan, X), np.arange(200.0)
    model = AutoregressiveFactors(max_iter=5, periods=(24.0,))
    found = model.smooth(model.fit(gaps, times, 2), gaps, times)
    other = AutoregressiveFactors(max_iter=5, periods=(24.0 * 1024,))
    scaled = other.smooth(other.fit(gaps * 4.0, times * 1024, 2), gaps * 4.0, times * 1024)
    np.testing.assert_allclose(scaled.mean, 4.0 * found.mean, rtol=1e-9)
    np.testing.assert_allclose(scaled.std, 4.0 * found.std, rtol=1e-9)


def test_forecasts_revert_and_widen() -> None:
    X, _ = table()
    model, times = AutoregressiveFactors(), np.arange(len(X)) * 1.0
    state = model.fit(X, times, 2)
    found = model.forecast(state, times[-1] + np.array([1.0, 5.0, 1e5]))
    assert (np.diff(found.std, axis=0) > 0).all()
    np.testing.assert_allclose(found.mean[-1], state.centre)
    np.testing.assert_allclose(found.std[-1], X.std(axis=0), rtol=0.5)


@pytest.mark.parametrize("local", ["autoregression", "random-walk", None])
def test_a_forecast_is_the_smoothed_value_of_missing_rows(local: Any) -> None:
    X, _ = table(200, 4)
    model = AutoregressiveFactors(local=local, threshold=np.inf, max_iter=4)
    times = np.arange(203.0)
    state = model.fit(X, times[:200], 1)
    longer = np.vstack([X, np.full((3, 4), np.nan)])
    ahead, within = model.forecast(state, times[200:]), model.smooth(state, longer, times)
    np.testing.assert_allclose(ahead.mean, within.mean[200:], rtol=1e-7)
    np.testing.assert_allclose(ahead.std, within.std[200:], rtol=1e-7)


def test_seasons_continue_in_long_gaps_and_forecasts() -> None:
    rng, times = np.random.default_rng(2), np.arange(960.0)
    X = np.outer(np.sin(2 * np.pi * times / 24), [1.0, -2.0, 3.0]) + 0.2 * rng.normal(size=(960, 3))
    gaps = X.copy()
    gaps[400:500] = np.nan
    model = AutoregressiveFactors(periods=(24.0,))
    state = model.fit(gaps[:900], times[:900], 1)
    assert error(model.smooth(state, gaps[:900], times[:900]).mean, X[:900], slice(400, 500)) < 0.4
    assert error(model.forecast(state, times[900:]).mean, X[900:], slice(None)) < 0.4


@pytest.mark.parametrize(("period", "found"), [(24, 24.0), (7, 7.0), (None, None)])
def test_periods_are_detected(period: int | None, found: float | None) -> None:
    rng, rows = np.random.default_rng(4), np.arange(700)
    Z = autoregression(rng, 0.8, (700, 5))
    if period is not None:
        Z += np.sin(2 * np.pi * rows / period)[:, None]
    observed = rng.random(Z.shape) < 0.8
    assert seasons.detect_period(np.where(observed, Z, 0.0), observed) == found


def test_a_column_without_entries_and_a_constant_one_are_filled() -> None:
    X, _ = table(100, 4)
    X[:, 1], X[:, 2] = np.nan, 7.0
    X[5, 2] = np.nan
    model, times = AutoregressiveFactors(max_iter=3), np.arange(100.0)
    found = model.smooth(model.fit(X, times, 1), X, times)
    assert found.mean[5, 2] == pytest.approx(7.0, abs=1e-3)
    assert np.isfinite(found.mean).all()
    assert column_units(X)[0][1] == 0.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"local": "walk"},
        {"codes": "full"},
        {"periods": (0.0,)},
        {"threshold": 0.0},
        {"max_iter": 0},
    ],
)
def test_wrong_settings_are_errors(wrong: Any) -> None:
    with pytest.raises(thalweg.errors.ParameterError, match=f"{next(iter(wrong))} must be"):
        AutoregressiveFactors(**wrong)
