"""RobustMatrixCompletion with dynamics: fills, errors, intervals, bounds, times, forecasts."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thalweg import RobustMatrixCompletion, checkpoint
from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors
from thalweg.errors import InputError, ParameterError


def table(N: int = 800, F: int = 8, *, time: bool = True, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)

    def series(phi: float, n: int) -> Any:
        x = rng.normal(size=(N, n))
        for t in range(1, N if time else 0):
            x[t] = phi * x[t - 1] + np.sqrt(1 - phi**2) * x[t]
        return x

    X = series(0.95, 2) @ rng.normal(size=(2, F)) + 0.5 * series(0.9, F)
    return X + 0.1 * rng.normal(size=(N, F))


def with_gaps(X: Any, kind: str, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    hidden = rng.random(X.shape) < 0.1
    if kind == "blocks":
        hidden[:] = False
        for _ in range(X.size // 200):
            start = int(rng.integers(len(X) - 20))
            hidden[start : start + 20, rng.integers(X.shape[1])] = True
    return np.where(hidden, np.nan, X), hidden


def completion(n_components: Any = "auto", **settings: Any) -> RobustMatrixCompletion:
    settings = {"dynamics": "auto", "random_state": 0, **settings}
    return RobustMatrixCompletion(n_components, **settings)


def error(filled: Any, X: Any, hidden: Any) -> float:
    return float(np.sqrt(np.mean(np.square((filled - X)[hidden]))))


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
@pytest.mark.parametrize("kind", ["scattered", "blocks"])
@pytest.mark.parametrize("time", [False, True])
def test_automatic_fills_are_as_good_as_the_better(time: bool, kind: str) -> None:
    """With and without time, at the same rank."""
    X = table(time=time)
    gaps, hidden = with_gaps(X, kind)
    with_time = completion(2, dynamics=AutoregressiveFactors()).complete(gaps)
    without = completion(2, dynamics=None).complete(gaps)
    best = min(error(with_time, X, hidden), error(without, X, hidden))
    assert error(completion(2).complete(gaps), X, hidden) < 1.03 * best
    assert error(completion().complete(gaps), X, hidden) < 1.03 * best


@pytest.mark.parametrize("kind", ["single entries", "a day of one sensor"])
def test_fills_are_as_good_as_lines_and_as_the_fit_without_time(kind: str) -> None:
    """Lines are good at single entries, and other sensors at an outage: time has both."""
    X = table(1200)
    rng, hidden = np.random.default_rng(3), np.zeros(X.shape, bool)
    if kind == "single entries":
        hidden[rng.random(X.shape) < 0.03] = True
    else:
        hidden[600:624, 2] = hidden[300:324, 5] = hidden[900:924, 0] = True
    gaps = np.where(hidden, np.nan, X)
    lines, rows = gaps.copy(), np.arange(len(X))
    for f in range(X.shape[1]):
        known = ~hidden[:, f]
        lines[:, f] = np.interp(rows, rows[known], X[known, f])
    without = completion(2, dynamics=None).complete(gaps)
    best = min(error(lines, X, hidden), error(without, X, hidden))
    assert error(completion().complete(gaps), X, hidden) <= best


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
@pytest.mark.parametrize("kind", ["scattered", "blocks"])
def test_intervals_and_standard_errors_are_true(kind: str) -> None:
    X = table(2000)
    gaps, hidden = with_gaps(X, kind)
    values, std, lower, upper = completion(2).fit(gaps).fill(gaps, return_std=True, interval=0.9)
    inside = ((lower <= X) & (upper >= X))[hidden]
    assert 0.85 < inside.mean() < 0.95
    assert 0.85 < np.mean(np.abs((X - values) / np.where(hidden, std, 1.0))[hidden] < 1.645) < 0.95
    for part in (values, lower, upper):
        np.testing.assert_array_equal(part[~hidden], X[~hidden])
    assert (std[~hidden] == 0.0).all()
    assert (std[hidden] > 0.0).all()


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
def test_intervals_of_a_model_without_time() -> None:
    X = table(1500, time=False)
    gaps, hidden = with_gaps(X, "scattered")
    model = completion(2).fit(gaps)
    _, lower, upper = model.fill(gaps, interval=0.9)
    assert 0.85 < ((lower <= X) & (upper >= X))[hidden].mean() < 0.95


def test_a_season_is_found_and_continued() -> None:
    rng, rows = np.random.default_rng(0), np.arange(24 * 40)
    X = np.outer(np.sin(2 * np.pi * rows / 24), rng.uniform(1, 2, 6)) + np.cumsum(
        0.05 * rng.normal(size=(len(rows), 6)), axis=0
    )
    X += 0.1 * rng.normal(size=X.shape)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[100:130] = X[300:340] = np.nan
    model = completion().fit(X[:-48])
    assert model.dynamics_.periods[:1] == (24.0,)
    ahead = model.forecast(24)
    truth = X[-48:-24]
    known = ~np.isnan(truth)
    persistence = np.broadcast_to(X[-49], truth.shape)
    assert error(ahead, truth, known) < 0.6 * np.sqrt(np.nanmean((persistence - truth) ** 2))


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
def test_bounds() -> None:
    X = np.exp(table(400))
    gaps, hidden = with_gaps(X, "scattered")
    free = completion(1, bounds=None).fit(gaps)
    bounded = completion(1, bounds="auto").fit(gaps)
    values, lower, upper = bounded.fill(gaps, interval=0.9)
    assert (values >= 0).all()
    assert (lower >= 0).all()
    assert (upper >= lower).all()
    assert (bounded.forecast(5, interval=0.99)[1] >= 0).all()
    np.testing.assert_array_equal(values, np.where(hidden, np.maximum(free.fill(gaps), 0), gaps))
    given = RobustMatrixCompletion(1, random_state=0, bounds=(2.0, 3.0)).fit(gaps).fill(gaps)
    assert ((given[hidden] >= 2.0) & (given[hidden] <= 3.0)).all()
    np.testing.assert_array_equal(given[~hidden], X[~hidden])


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
def test_times() -> None:
    X = table(300, 4)
    gaps, _ = with_gaps(X, "scattered")
    kept = np.sort(np.random.default_rng(0).permutation(300)[:250])
    dates = np.datetime64("2024-01-01") + kept * np.timedelta64(1, "h")
    model = completion(1, dynamics=AutoregressiveFactors())
    by_date = model.fit(gaps[kept], times=dates).fill(gaps[kept], times=dates)
    by_number = model.fit(gaps[kept], times=kept).fill(gaps[kept], times=kept)
    by_row = model.fit(gaps[kept]).fill(gaps[kept])
    np.testing.assert_allclose(by_date, by_number, rtol=1e-6)
    assert not np.allclose(by_number, by_row, rtol=1e-3)
    later = model.fit(gaps[kept], times=kept).forecast(kept[-1] + np.array([1.5, 4.0]))
    assert later.shape == (2, 4)


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
def test_checkpoints_carry_time(tmp_path: Path) -> None:
    gaps, _ = with_gaps(table(300, 5), "blocks")
    model = completion(1, bounds="auto").fit(gaps)
    checkpoint.save(tmp_path / "model", model)
    again = checkpoint.load(tmp_path / "model").estimator
    for one, two in zip(
        model.fill(gaps, return_std=True, interval=0.8),
        again.fill(gaps, return_std=True, interval=0.8),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(model.forecast(3), again.forecast(3))


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
def test_single_precision_and_threads() -> None:
    gaps, _ = with_gaps(table(300, 5), "blocks")
    values, std = (
        completion(1).fit(gaps.astype(np.float32)).fill(gaps.astype(np.float32), return_std=True)
    )
    assert values.dtype == std.dtype == np.float32
    one = completion(1).fit(gaps).fill(gaps)
    two = completion(1, n_jobs=2).fit(gaps).fill(gaps)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(values, one, atol=0.05)


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
def test_the_rank_is_chosen_without_time_as_well() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 12)) + 0.1 * rng.normal(size=(300, 12))
    gaps, _ = with_gaps(X, "scattered")
    model = completion("auto", dynamics=None).fit(gaps)
    assert len(model.components_) == 4
    assert not hasattr(model, "dynamics_")


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
def test_wrong_arguments_are_errors() -> None:
    X = table(60, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, plain = completion(1).fit(X), completion(1, dynamics=None).fit(X)
    for wrong, name in (
        ({"n_components": "many"}, "n_components"),
        ({"dynamics": "slow"}, "dynamics"),
        ({"dynamics": 3}, "dynamics"),
        ({"bounds": "some"}, "bounds"),
        ({"bounds": (1.0, 0.0)}, "bounds"),
        ({"bounds": 3.0}, "bounds"),
    ):
        with pytest.raises(ParameterError, match=f"{name} must be"):
            completion(**{"n_components": 1, **wrong}).fit(X)
    for times in ([1.0], np.zeros(60), ["a"] * 60, np.full(60, np.nan)):
        with pytest.raises(InputError, match="times must"):
            completion(1).fit(X, times=times)
    with pytest.raises(ParameterError, match="interval must be"):
        model.fill(X, interval=90)
    with pytest.raises(ParameterError, match="steps must be"):
        model.forecast(0)
    with pytest.raises(ParameterError, match="steps must be times after"):
        model.forecast([3.0, 4.0])
    with pytest.raises(ParameterError, match="dynamics='auto'"):
        plain.fill(X, return_std=True)
    with pytest.raises(ParameterError, match="dynamics='auto'"):
        plain.forecast(3)


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
@pytest.mark.parametrize("zone", [None, "Europe/Rome"])
def test_the_index_of_a_frame_has_the_times(zone: str | None) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X = table(200, 3)
    gaps, _ = with_gaps(X, "scattered")
    hours = np.sort(np.random.default_rng(0).permutation(260)[:200])
    index = pandas.Timestamp("2024-03-30", tz="UTC") + pandas.to_timedelta(hours, unit="h")
    index = index.tz_localize(None) if zone is None else index.tz_convert(zone)
    frame = pandas.DataFrame(gaps, index=index)
    model = completion(1, dynamics=AutoregressiveFactors())
    np.testing.assert_allclose(model.complete(frame), model.complete(gaps, times=hours), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
def test_a_season_is_found_although_rows_are_left_out() -> None:
    rng, rows = np.random.default_rng(0), np.arange(24 * 30)
    X = np.outer(np.sin(2 * np.pi * rows / 24), rng.uniform(1, 2, 4))
    X += 0.2 * rng.normal(size=X.shape)
    X[100:124, 0] = X[300:324, 1] = np.nan
    kept = rng.random(len(rows)) < 0.9
    model = completion().fit(X[kept], times=3600.0 * rows[kept])
    assert model.dynamics_.periods[:1] == pytest.approx((24 * 3600.0,))


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
def test_concentrations_are_not_filled_below_zero(shared_data: Any) -> None:
    with np.load(shared_data("airquality_uci.npz"), allow_pickle=False) as data:
        X = data["X"][:1500].astype(np.float64)
    model = completion(2, bounds="auto").fit(X)
    values, lower, _ = model.fill(X, interval=0.9)
    positive = np.nanmin(X, axis=0) >= 0
    assert positive.sum() > 8
    assert np.isnan(X[:, positive]).any()
    assert (values[:, positive] >= 0).all()
    assert (lower[:, positive] >= 0).all()
    assert (model.forecast(48)[:, positive] >= 0).all()
