"""Trackers and completion: data of any sign, samples in order, a basis to begin with."""

from typing import Any

import numpy as np
import pytest

from thalweg._typing import Array
from thalweg.errors import ParameterError
from thalweg.estimators import Progress
from thalweg.metrics import sep
from thalweg.synthetic import OutlierData


@pytest.fixture(scope="module")
def centred(gappy: Array) -> Array:
    """The data with gaps, of both signs."""
    return gappy - np.nanmean(gappy, axis=0)


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(other[name], value, err_msg=name)


def test_the_sign_of_the_data_does_not_matter(make_signed: Any, centred: Array) -> None:
    X = centred
    assert np.nanmin(X) < -0.1
    one, other = make_signed().fit(X).decompose(X), make_signed().fit(-X).decompose(-X)
    assert np.abs(one.low_rank).max() > 0.1
    np.testing.assert_allclose(other.low_rank, -one.low_rank, atol=1e-9)
    np.testing.assert_allclose(other.outliers, -one.outliers, atol=1e-9)


def test_the_seed_of_a_robust_start_hardly_matters(make_tracking: Any, gappy: Array) -> None:
    one, other = (make_tracking(random_state=seed).fit(gappy) for seed in (0, 99))
    assert sep(one.components_, other.components_) < 1e-2


def test_the_seed_of_a_completion_hardly_matters(make_completing: Any, gappy: Array) -> None:
    one, other = (make_completing(random_state=seed).fit(gappy) for seed in (0, 99))
    assert sep(one.components_, other.components_) < 1e-2


def test_complete_fills_gaps_only(make_signed: Any, planted: OutlierData, gappy: Array) -> None:
    found = make_signed().complete(gappy)
    gaps = np.isnan(gappy)
    assert np.array_equal(found[~gaps], gappy[~gaps])
    mean = np.broadcast_to(np.nanmean(gappy, axis=0), gappy.shape)
    error, simple = (np.median(np.abs(Y - planted.clean)[gaps]) for Y in (found, mean))
    assert error < 0.5 * simple


@pytest.mark.parametrize("shape", [(6, 2), (2, 6), (1, 1)])
def test_components_beyond_the_shape_are_zero(make_completing: Any, shape: Any) -> None:
    X = np.random.default_rng(0).normal(size=shape)
    model = make_completing(4).fit(X)
    found = model.decompose(X)
    assert model.components_.shape == (4, shape[1])
    assert np.linalg.matrix_rank(model.components_) <= min(shape)
    assert not model.components_[min(shape) :].any()
    assert found.codes.shape == (shape[0], 4)
    assert all(np.all(np.isfinite(part)) for part in found)


def test_a_tracker_has_room_for_as_many_components_as_features(make_tracking: Any) -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    assert np.linalg.matrix_rank(make_tracking(3).fit(X).components_) == 3
    for call in (make_tracking(4).fit, make_tracking(4).partial_fit):
        with pytest.raises(
            ParameterError, match=r"at most.*n_features=3.*got n_components=4.*fewer"
        ):
            call(X)


# Any cut of 240 samples; a start is made within the first of them.
@pytest.mark.parametrize("cuts", [[1, 2, 9], [100, 101, 239], range(7, 240, 7)], ids=str)
def test_partial_fit_is_fit_however_samples_are_cut(
    make_tracking: Any, state_of: Any, gappy: Array, cuts: Any
) -> None:
    pieces = make_tracking()
    for batch in np.split(gappy, cuts):
        pieces.partial_fit(batch)
    assert_same(state_of(make_tracking().fit(gappy)), state_of(pieces))


def test_epochs_are_passes_in_order(make_tracking: Any, state_of: Any, gappy: Array) -> None:
    twice = make_tracking(epochs=2).fit(gappy)
    assert twice.n_samples_seen_ == 480
    assert_same(state_of(twice), state_of(make_tracking().fit(gappy).partial_fit(gappy)))


@pytest.mark.parametrize("n", [3, 100, 240])
def test_memory_of_a_blind_stream_is_that_of_no_sample(
    make_tracking: Any, state_of: Any, n: int
) -> None:
    sizes = []
    for count in (1, n):
        model = make_tracking().fit(np.full((count, 20), np.nan))
        sizes.append(sum(np.asarray(v).nbytes for k, v in state_of(model).items() if k != "drift_"))
    assert sizes[0] == sizes[1]


def test_the_history_of_drift_is_bounded(
    make_tracking: Any, gappy: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = make_tracking(epochs=3).fit(gappy).drift_
    assert len(whole) > 4
    monkeypatch.setattr("thalweg.learning.cusum.MAX_HISTORY", 3)
    assert np.array_equal(make_tracking(epochs=3).fit(gappy).drift_, whole[-3:])


def test_orthonormal_components_of_the_same_subspace(make_tracking: Any, gappy: Array) -> None:
    one, plain = (make_tracking(orthonormal=tidy).fit(gappy) for tidy in (True, False))
    np.testing.assert_allclose(one.components_ @ one.components_.T, np.eye(3), atol=1e-12)
    assert sep(one.components_, plain.components_) < 1e-20


def test_a_given_start_is_where_it_begins(make_tracking: Any, planted: OutlierData) -> None:
    truth = planted.components
    model = make_tracking(init=truth).fit(planted.clean[:8])
    assert sep(model.components_, truth) < 1e-3
    away = np.random.default_rng(0).normal(size=truth.shape)
    assert sep(make_tracking(init=away).fit(planted.clean[:1]).components_, truth) > 0.1


def test_callback_of_a_tracker(make_tracking: Any, state_of: Any, gappy: Array) -> None:
    records: list[Progress] = []
    watched = make_tracking(callback=records.append, epochs=2).fit(gappy)
    assert_same(state_of(make_tracking(epochs=2).fit(gappy)), state_of(watched))
    assert [p.n_samples_seen for p in records] == [240, 480]
    assert [p.n_samples_total for p in records] == [480, 480]
    assert records[-1].outlier_share == watched.outlier_share_
    watched.partial_fit(gappy[:10])
    assert (records[-1].n_samples_seen, records[-1].n_samples_total) == (490, None)


def test_what_a_callback_hears_has_the_units_of_the_data(make_tracking: Any, gappy: Array) -> None:
    levels = []
    for scale in (1.0, 2.0**10):
        records: list[Progress] = []
        model = make_tracking(callback=records.append)
        model.partial_fit(scale * gappy[:10]).partial_fit(scale * gappy[10:])
        levels.append([p.objective for p in records])
    # there are no residuals to speak of before the start is made
    assert np.isnan(levels[0][0])
    assert np.isnan(levels[1][0])
    assert levels[0][1] > 0.0
    # steps that adapt make rounding visible
    assert levels[1][1] == pytest.approx(2.0**10 * levels[0][1], rel=1e-2)


class StoppedError(Exception):
    pass


def test_an_exception_in_a_callback_leaves_a_usable_tracker(
    make_tracking: Any, state_of: Any, gappy: Array
) -> None:
    def stop(progress: Progress) -> None:
        if progress.n_samples_seen == 480:
            raise StoppedError

    model = make_tracking(epochs=3, callback=stop)
    with pytest.raises(StoppedError):
        model.fit(gappy)
    assert_same(state_of(make_tracking(epochs=2).fit(gappy)), state_of(model))
    assert model.partial_fit(gappy).n_samples_seen_ == 720


BAD: list[tuple[str, Any, str]] = [
    ("n_components", 0, "positive integer, got 0"),
    ("n_components", 2.5, "positive integer, got 2.5"),
    ("init", "zeros", "'robust', 'random', got 'zeros'"),
    ("init", None, r"shape \(3, 20\).*shape \(\)"),
    ("init", [["a"] * 20] * 3, r"shape \(3, 20\).*unchanged"),
    ("init", np.ones((20, 3)), r"shape \(3, 20\).*shape \(20, 3\).*unchanged"),
    ("init", np.full((3, 20), np.nan), r"finite.*shape \(3, 20\)"),
    ("init", np.ones((3, 20)), "linearly independent.*fewer components"),
    ("init_samples", 0, "integer >= 1, got 0"),
    ("init_samples", "many", "integer >= 1, got 'many'"),
    ("on_jump", "panic", "'note', 'reset', got 'panic'"),
]


@pytest.mark.parametrize(("parameter", "value", "message"), BAD)
def test_bad_parameters_of_a_tracker(
    make_tracking: Any, gappy: Array, parameter: str, value: Any, message: str
) -> None:
    model = make_tracking(**{parameter: value})
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ParameterError, match=f"(?s){parameter}.*{message}"):
            call(gappy)
        assert not hasattr(model, "components_")


@pytest.mark.parametrize(("parameter", "value", "message"), BAD[-3:])
def test_parameters_of_a_tracker_that_become_bad(
    make_tracking: Any, gappy: Array, parameter: str, value: Any, message: str
) -> None:
    model = make_tracking().fit(gappy).set_params(**{parameter: value})
    with pytest.raises(ParameterError, match=message):
        model.partial_fit(gappy)
    assert model.n_samples_seen_ == len(gappy)


def test_epochs_are_checked(make_tracking: Any, gappy: Array) -> None:
    with pytest.raises(ParameterError, match=r"epochs.*positive integer, got 0"):
        make_tracking(epochs=0).fit(gappy)


def test_a_jump_is_noticed(make_tracking: Any) -> None:
    rng = np.random.default_rng(0)
    codes, bases = rng.normal(size=(2, 480, 2)), rng.normal(size=(2, 2, 20))
    X = np.vstack([H @ W for H, W in zip(codes, bases, strict=True)])
    X += 0.01 * rng.normal(size=X.shape)
    model = make_tracking(2, on_jump="note").fit(X)
    assert np.any((model.jumps_ > 480) & (model.jumps_ <= 576))
    fresh = make_tracking(2, on_jump="reset").fit(X)
    assert sep(fresh.components_, bases[1]) < 1e-2
