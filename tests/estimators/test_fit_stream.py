"""Learning from streams, for every estimator that has partial_fit."""

import copy

import numpy as np
import pytest
from scipy import sparse

import thalweg
from thalweg import OnlineNMF, RobustOnlineNMF, streams, synthetic
from thalweg.errors import InputError, ParameterError
from thalweg.estimators import Position

PUBLIC = [getattr(thalweg, name) for name in thalweg.__all__ if name[0].isupper()]
CLASSES = [cls for cls in PUBLIC if hasattr(cls, "partial_fit")]


@pytest.fixture(scope="module")
def data():
    """Nonnegative rows of rank 2, with noise and, for those who can, gaps."""
    X = synthetic.nmf_with_outliers(120, 8, 2, random_state=0).X
    X[np.random.default_rng(1).random(X.shape) < 0.05] = np.nan
    return X


@pytest.fixture(params=CLASSES, ids=lambda cls: cls.__name__)
def model(request):
    return request.param(n_components=2, random_state=0)


def state(model, n_features):
    return model.components_, model.n_samples_seen_, model.transform(np.ones((1, n_features)))


def assert_same(one, other, n_features=8):
    for a, b in zip(state(one, n_features), state(other, n_features), strict=True):
        assert np.array_equal(a, b)


def test_whoever_has_partial_fit_has_fit_stream():
    assert len(CLASSES) >= 10
    assert [cls for cls in CLASSES if not hasattr(cls, "fit_stream")] == []


def test_it_is_the_loop_around_partial_fit(model, data):
    other = copy.deepcopy(model)
    assert model.fit_stream(streams.open(data), batch_size=25) is model
    for begin in range(0, 120, 25):
        other.partial_fit(data[begin : begin + 25])
    assert_same(model, other)


def test_it_forgets_what_was_learned(model, data):
    once = copy.deepcopy(model).fit_stream(streams.open(data), batch_size=30)
    model.fit(data[:, :5] + 1.0)
    assert_same(model.fit_stream(streams.open(data), batch_size=30), once)


def test_it_goes_on_from_a_position_as_if_nothing_had_happened(model, data):
    kept = {}
    whole = copy.deepcopy(model)

    def keep(progress):
        kept[progress.position] = copy.deepcopy(whole)

    stream = streams.open(data)
    whole.fit_stream(stream, epochs=2, batch_size=50, callback=keep)
    assert list(kept) == [(0, 50), (0, 100), (0, 120), (1, 50), (1, 100), (1, 120)]
    for position, saved in kept.items():
        assert saved.n_samples_seen_ == 120 * position.epoch + position.sample
        resumed = saved.fit_stream(stream, epochs=2, batch_size=50, start=position)
        assert_same(resumed, whole)


def test_it_needs_nothing_but_a_stream(model, data):
    positions = []
    model.fit_stream(streams.open(data), callback=positions.append)
    assert model.n_samples_seen_ == 120
    half = copy.deepcopy(model)
    again = []
    half.fit_stream(streams.open(data), start=positions[0], callback=again.append)
    assert [p.position for p in again] == [
        p.position for p in positions[1:]
    ]  # the size does not depend on what was learned


@pytest.mark.parametrize("as_sparse", [False, True])
def test_sparse_counts_get_the_batches_of_fit(as_sparse):
    X = np.random.default_rng(0).poisson(0.05, (600, 30)).astype(float)
    stream = streams.open(sparse.csr_array(X) if as_sparse else X)
    model = OnlineNMF(2, loss="kl", shuffle=False, random_state=0)
    assert_same(copy.deepcopy(model).fit(X), model.fit_stream(stream), n_features=30)
    assert model.sparse_
    assert model.n_batches_seen_ == 17  # of 600 // 16 samples


def test_without_a_batch_size_it_takes_that_of_fit(data):
    model = RobustOnlineNMF(2, shuffle=False, random_state=0)
    assert_same(copy.deepcopy(model).fit(data), model.fit_stream(streams.open(data)))
    model = RobustOnlineNMF(2, shuffle=False, batch_size=13, random_state=0)
    assert_same(copy.deepcopy(model).fit(data), model.fit_stream(streams.open(data)))


def test_a_length_that_is_not_known_is_no_hindrance(tmp_path, data):
    path = tmp_path / "x.csv"
    path.write_text("\n".join(",".join(map(repr, row)) for row in data.tolist()))
    stream, positions = streams.open(path), []
    assert stream.n_samples is None
    RobustOnlineNMF(2, random_state=0).fit_stream(stream, callback=positions.append)
    assert [p.position for p in positions] == [Position(0, 64), Position(0, 120)]


def test_sparse_batches_give_what_dense_ones_give(data):
    X = np.nan_to_num(data)
    dense = RobustOnlineNMF(2, random_state=0).fit_stream(streams.open(X))
    assert_same(
        RobustOnlineNMF(2, random_state=0).fit_stream(streams.open(sparse.csr_array(X))), dense
    )


def test_float32_stays(data):
    stream = streams.open(data, dtype="float32")
    assert RobustOnlineNMF(2).fit_stream(stream).components_.dtype == np.float32


def test_any_object_with_batches_will_do(data):
    class Halves:
        def batches(self, size, start=0):
            yield 0, data[:60]
            yield 60, data[60:]

    model = RobustOnlineNMF(2, random_state=0).fit_stream(Halves())
    assert (model.n_samples_seen_, model.n_batches_seen_) == (120, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs must be an integer >= 1"),
        ({"batch_size": 0}, "batch_size must be an integer >= 1"),
        ({"batch_size": 2.5}, "batch_size must be an integer >= 1"),
        ({"start": (0, -1)}, "sample must be an integer >= 0"),
    ],
)
def test_parameters_that_mean_nothing(data, options, message):
    with pytest.raises(ParameterError, match=message):
        RobustOnlineNMF(2).fit_stream(streams.open(data), **options)


def test_an_array_is_no_stream(data):
    with pytest.raises(ParameterError, match=r"got ndarray.*streams\.open"):
        RobustOnlineNMF(2).fit_stream(data)


def test_a_stream_without_samples():
    for estimator in (RobustOnlineNMF(2), OnlineNMF(2)):
        with pytest.raises(InputError, match="must have samples, got none"):
            estimator.fit_stream(streams.open(np.empty((0, 4))))
