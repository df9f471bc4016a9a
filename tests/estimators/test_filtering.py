"""PetrelsADMM with dynamics: fills and codes from the past, error bars, forecasts."""

from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from thalweg import PetrelsADMM, RobustMatrixCompletion, checkpoint, streams
from thalweg.checkpoint import Keeper
from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors
from thalweg.errors import InputError, ParameterError


def stream(N: int = 1500, F: int = 8, *, time: bool = True, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)

    def series(phi: float, n: int) -> Any:
        x = rng.normal(size=(N, n))
        for t in range(1, N if time else 0):
            x[t] = phi * x[t - 1] + np.sqrt(1 - phi**2) * x[t]
        return x

    X = series(0.98, 2) @ rng.normal(size=(2, F)) + 0.5 * series(0.95, F)
    return X + 0.1 * rng.normal(size=(N, F))


def with_gaps(X: Any, kind: str = "scattered", seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    hidden = rng.random(X.shape) < 0.1
    if kind == "rows":
        hidden[:] = rng.random((len(X), 1)) < 0.1
    if kind == "blocks":
        hidden[:] = False
        for _ in range(X.size // 200):
            start = int(rng.integers(len(X) - 20))
            hidden[start : start + 20, rng.integers(X.shape[1])] = True
    return np.where(hidden, np.nan, X), hidden


def tracker(n_components: Any = 2, **settings: Any) -> PetrelsADMM:
    return PetrelsADMM(n_components, **{"dynamics": "auto", "random_state": 0, **settings})


def ahead(model: PetrelsADMM, X: Any, size: int = 32, **options: Any) -> list[Any]:
    """Fill each batch before it is learned."""
    found = []
    for start in range(0, len(X), size):
        rows = X[start : start + size]
        if hasattr(model, "components_"):
            filled = model.fill(rows, **options)
            found.append(filled if isinstance(filled, tuple) else (filled,))
        model.partial_fit(rows)
    return [np.vstack(part) for part in zip(*found, strict=True)]


def error(filled: Any, X: Any, hidden: Any) -> float:
    return float(np.sqrt(np.mean(np.square((filled - X)[hidden]))))


def assert_equal(one: Any, two: Any) -> None:
    """Compare nested tuples and arrays bit by bit."""
    assert type(one) is type(two)
    if is_dataclass(one):
        assert_equal(tuple(vars(one).values()), tuple(vars(two).values()))
    elif isinstance(one, tuple):
        assert len(one) == len(two)
        for a, b in zip(one, two, strict=True):
            assert_equal(a, b)
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, two)
    else:
        assert one == two


@pytest.mark.parametrize("dynamics", ["auto", AutoregressiveFactors()])
@pytest.mark.parametrize("size", [1, 45, 300])
def test_the_result_does_not_depend_on_how_the_stream_is_cut(size: int, dynamics: Any) -> None:
    X = with_gaps(stream(600))[0]
    whole, cut = tracker(dynamics=dynamics).fit(X[:580]), tracker(dynamics=dynamics)
    for start in range(0, 580, size):
        cut.partial_fit(X[start : min(start + size, 580)])
    assert_equal(cut.filter_, whole.filter_)
    np.testing.assert_array_equal(cut.fill(X[580:]), whole.fill(X[580:]))
    np.testing.assert_array_equal(cut.transform(X[580:]), whole.transform(X[580:]))


def test_runs_resume_bit_by_bit(tmp_path: Path) -> None:
    X = with_gaps(stream(700))[0]
    whole = tracker().fit_stream(streams.open(X), batch_size=50)

    def stop(progress: Any) -> None:
        if progress.n_samples_seen >= 450:
            raise KeyboardInterrupt

    keeper = Keeper(tmp_path, every=100)
    with pytest.raises(KeyboardInterrupt):
        tracker().fit_stream(streams.open(X), batch_size=50, checkpoint=keeper, callback=stop)
    resumed = tracker().fit_stream(streams.open(X), checkpoint=tmp_path, resume=True)
    assert_equal(resumed.filter_, whole.filter_)
    checkpoint.save(tmp_path / "model", resumed)
    loaded: Any = checkpoint.load(tmp_path / "model").estimator
    for one, two in zip(
        loaded.forecast(3, interval=0.9), whole.forecast(3, interval=0.9), strict=True
    ):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(("kind", "most"), [("scattered", 0.8), ("blocks", 1.0), ("rows", 0.8)])
def test_the_past_helps_to_fill(kind: str, most: float) -> None:
    X = stream()
    gaps, hidden = with_gaps(X, kind)
    (with_past,) = ahead(tracker(), gaps)
    (alone,) = ahead(tracker(dynamics=None), gaps)
    later = hidden[32:].copy()
    later[:512] = False
    errors = [error(filled, X[32:], later) for filled in (with_past, alone)]
    assert errors[0] < most * errors[1]


@pytest.mark.parametrize("kind", ["scattered", "blocks"])
def test_of_exchangeable_rows_fills_are_as_good_as_without_the_past(kind: str) -> None:
    X = stream(3000, time=False)
    gaps, hidden = with_gaps(X, kind)
    (with_past,) = ahead(tracker(), gaps)
    (alone,) = ahead(tracker(dynamics=None), gaps)
    assert error(with_past, X[32:], hidden[32:]) < 1.03 * error(alone, X[32:], hidden[32:])


def test_rows_without_any_structure_are_not_filtered() -> None:
    X = np.random.default_rng(0).normal(size=(2500, 6))
    X[::7] = np.nan
    model = tracker().fit(X)
    assert model.filter_.models == ()
    assert model.filter_.pause >= 2048
    np.testing.assert_array_equal(model.transform(X), tracker(dynamics=None).fit(X).transform(X))
    assert model.forecast(3).shape == (3, 6)


@pytest.mark.parametrize("kind", ["scattered", "blocks"])
@pytest.mark.parametrize("time", [False, True])
def test_intervals_and_standard_errors_are_true(time: bool, kind: str) -> None:
    X = stream(3000, time=time)
    gaps, hidden = with_gaps(X, kind)
    values, std, lower, upper = ahead(tracker(), gaps, return_std=True, interval=0.9)
    later = hidden[32:].copy()
    later[:1000] = False
    truth = X[32:]
    inside = ((lower <= truth) & (upper >= truth))[later].mean()
    assert 0.86 < inside < 0.96  # few blocks are hidden at a time, and the level allows for it
    assert (
        0.85 < np.mean(np.abs((truth - values) / np.where(later, std, 1.0))[later] < 1.645) < 0.95
    )
    for part in (values, lower, upper):
        np.testing.assert_array_equal(part[~hidden[32:]], truth[~hidden[32:]])
    assert (std[~hidden[32:]] == 0.0).all()


def test_forecasts() -> None:
    X = stream(4000)
    model, errors, inside = tracker(), [], []
    model.partial_fit(X[:2000])
    for start in range(2000, 3900, 50):
        values, std, lower, upper = model.forecast(16, return_std=True, interval=0.9)
        truth = X[start : start + 16]
        errors.append(
            [error(x, truth, slice(None)) for x in (values, X[start - 1], X.mean(axis=0))]
        )
        inside.append((lower <= truth) & (truth <= upper))
        model.partial_fit(X[start : start + 50])
    forecast, persistence, mean = np.sqrt(np.mean(np.square(errors), axis=0))
    assert forecast < persistence
    assert forecast < mean
    assert 0.85 < np.mean(inside) < 0.95
    assert (np.diff(std, axis=0) > 0.0).mean() > 0.9


def test_codes_of_few_entries_are_better_with_the_past() -> None:
    rng = np.random.default_rng(0)
    h = np.cumsum(rng.normal(size=(1200, 2)), axis=0)
    X = h @ rng.normal(size=(2, 12)) + rng.normal(size=(1200, 12))
    clean = h @ np.linalg.lstsq(h, X, rcond=None)[0]
    gaps = np.where(rng.random(X.shape) < 0.6, np.nan, X)
    model, alone = tracker().fit(gaps[:1000]), tracker(dynamics=None).fit(gaps[:1000])
    one, two = (m.inverse_transform(m.transform(gaps[1000:])) for m in (model, alone))
    assert error(one, clean[1000:], slice(None)) < 0.7 * error(two, clean[1000:], slice(None))


def test_rows_of_another_stream_do_not_follow() -> None:
    X = stream(800)
    X[600:] += 5.0
    model = tracker().fit(X[:600])
    first = np.full((1, 8), np.nan)
    near = np.abs(model.fill(first) - X[599]).mean()
    assert near < np.abs(model.fill(first, past=False) - X[599]).mean()
    gaps, hidden = with_gaps(X[:300])
    filled = tracker().complete(gaps)
    assert error(filled, X[:300], hidden) < 0.7 * X[:300].std()


def test_memory_does_not_grow() -> None:
    X = with_gaps(stream(6000, 20))[0]
    model = tracker()
    sizes = []
    for start in range(0, 6000, 1000):
        model.partial_fit(X[start : start + 1000])
        state = model.filter_
        sizes.append((len(state.window), len(state.errors.ages) <= 2**14))
    assert set(sizes) == {(512, True)}


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_types_and_means(dtype: Any, center: bool) -> None:
    X = (stream(400) + (20.0 if center else 0.0)).astype(dtype)
    gaps, hidden = with_gaps(X)
    model = tracker(center=center).fit(gaps)
    values, std = model.fill(gaps, past=False, return_std=True)
    assert values.dtype == std.dtype == model.transform(gaps).dtype == dtype
    assert error(values, X, hidden) < 0.7 * X.std()
    assert model.forecast(2).dtype == dtype


def test_a_given_model_has_its_season() -> None:
    t = np.arange(900)
    rng = np.random.default_rng(0)
    X = np.outer(np.sin(2 * np.pi * t / 24), [1.0, 2.0, 3.0]) + 0.1 * rng.normal(size=(900, 3))
    model = tracker(1, dynamics=AutoregressiveFactors(periods=(24.0,))).fit(X[:852])
    assert error(model.forecast(48), X[852:], slice(None)) < 0.2 * X.std()


@pytest.mark.parametrize("given", ["yes", 3, object()])
def test_dynamics_must_be_a_model(given: Any) -> None:
    with pytest.raises(ParameterError, match="dynamics"):
        PetrelsADMM(dynamics=given).fit(stream(100))


def test_without_dynamics_there_are_no_error_bars() -> None:
    X = stream(200)
    model = PetrelsADMM(random_state=0).fit(X)
    with pytest.raises(ParameterError, match="dynamics='auto'"):
        model.fill(X, interval=0.9)
    with pytest.raises(ParameterError, match="dynamics='auto'"):
        model.forecast(3)
    with pytest.raises(InputError, match="at least 16 rows, got 5"):
        tracker().partial_fit(X[:5]).forecast(3)


@pytest.mark.parametrize("dynamics", ["auto", AutoregressiveFactors(), None])
def test_fills_are_within_bounds(dynamics: Any) -> None:
    X = np.exp(stream(700))
    X[:, 1] *= -1.0
    X[:, 2] -= X[:, 2].mean()
    gaps = with_gaps(X, "blocks")[0]
    gaps[690:, 0] = np.nan
    free = tracker(dynamics=dynamics).fit(gaps[:600])
    bounded = tracker(dynamics=dynamics, bounds="auto").fit(gaps[:600])
    lower, upper = bounded.bounds_
    np.testing.assert_array_equal(lower, [0, -np.inf, -np.inf, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(upper, [np.inf, 0, *[np.inf] * 6])
    rows = gaps[600:]
    loose, filled = free.fill(rows), bounded.fill(rows)
    clipped = np.where(np.isnan(rows), np.clip(loose, lower, upper), rows)
    assert (clipped != loose).any()
    np.testing.assert_array_equal(filled, clipped)
    given = tracker(dynamics=dynamics, bounds=(0.5, [2.0] * 8)).fit(gaps[:600]).fill(rows)
    assert ((given >= 0.5) & (given <= 2.0))[np.isnan(rows)].all()
    np.testing.assert_array_equal(given[~np.isnan(rows)], rows[~np.isnan(rows)])
    if dynamics is not None:
        _, low, high = bounded.fill(rows, interval=0.99)
        wide = free.fill(rows, interval=0.99)[1:]
        for part, end in zip((low, high), wide, strict=True):
            np.testing.assert_array_equal(
                part, np.where(np.isnan(rows), np.clip(end, lower, upper), rows)
            )
        assert ((lower <= low) & (low <= filled) & (filled <= high) & (high <= upper)).all()
        for part in bounded.forecast(20, interval=0.99):
            assert ((lower <= part) & (part <= upper)).all()


def test_bounds_are_those_of_all_entries_so_far(tmp_path: Path) -> None:
    X = np.abs(stream(120, 4))
    X[:, 3] = np.nan
    X[90:, 0] = -1.0
    X[:, 2] = 0.0
    model = tracker(bounds="auto")
    for start in range(0, 120, 7):
        model.partial_fit(X[start : start + 7])
        if start == 84:
            np.testing.assert_array_equal(model.bounds_[0], [-np.inf, 0, -np.inf, -np.inf])
    np.testing.assert_array_equal(model.bounds_[0], [-np.inf, 0, -np.inf, -np.inf])
    assert_equal(model.extent_, tracker(bounds="auto").fit(X).extent_)
    checkpoint.save(tmp_path / "model", model)
    loaded: Any = checkpoint.load(tmp_path / "model").estimator
    assert_equal(loaded.extent_, model.extent_)
    late = tracker().fit(X).set_params(bounds="auto")
    with pytest.raises(NotFittedError):
        late.fill(X)
    for wrong in ("some", (1.0, 0.0), 3.0, ([0.0, 0.0], 1.0)):
        with pytest.raises(ParameterError, match="bounds must be"):
            tracker(bounds=wrong).fit(X)


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
@pytest.mark.parametrize("kind", [PetrelsADMM, RobustMatrixCompletion])
def test_fills_of_entries_without_weight_are_within_bounds(kind: Any) -> None:
    X = stream(200)
    weights = np.ones(X.shape)
    weights[::3, 1] = 0.0
    model = kind(2, bounds=(-0.1, 0.1), random_state=0).fit(X)
    filled = model.fill(X, weights)
    assert (np.abs(filled[::3, 1]) <= 0.1).all()
    np.testing.assert_array_equal(filled[weights > 0], X[weights > 0])
