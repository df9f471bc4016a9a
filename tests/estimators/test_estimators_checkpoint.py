"""Every estimator comes back from a checkpoint as it was, and goes on as if nothing was."""

import copy
import inspect
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

import thalweg
from thalweg import RobustOnlineNMF, baselines, checkpoint, streams
from thalweg.checkpoint import _classes
from thalweg.divergences.mahalanobis import Mahalanobis
from thalweg.errors import CheckpointError, ParameterError
from thalweg.estimators import Progress
from thalweg.prox.box import Box
from thalweg.prox.elastic_net import ElasticNet

BASELINES = [getattr(baselines, name) for name in baselines.__all__]


def through_a_file(model, tmp_path, **options):
    return checkpoint.load(checkpoint.save(tmp_path / "model.thalweg", model, **options))


def leaves(value, place=""):
    """Yield all that a value is made of, with its place, type and bits."""
    yield place, type(value).__name__
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        layout = [s for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
        bits = array.tolist() if array.dtype == object else array.tobytes()
        yield place, array.dtype.str, array.shape, np.argsort(layout, stable=True).tolist(), bits
    elif isinstance(value, np.random.Generator):
        yield place, str(value.bit_generator.state)
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from leaves(part, f"{place}.{i}")
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, f"{place}.{name}")
    elif hasattr(value, "__dataclass_fields__"):
        yield from leaves(vars(value), place)
    else:
        yield place, repr(value)


def assert_same(one, other):
    assert type(one) is type(other)
    assert list(leaves(vars(one))) == list(leaves(vars(other)))


def assert_works_the_same(one, other, X):
    for a, b in zip(one.decompose(X), other.decompose(X), strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(one.transform(X), other.transform(X))
    assert np.array_equal(one.score_samples(X), other.score_samples(X))


def test_every_estimator_comes_back_as_it_was(make, X, tmp_path):
    model = make().fit(X)
    kept = through_a_file(model, tmp_path, position=(1, 50), batch_size=10, extra={"a": [1, None]})
    assert kept[1:] == ((1, 50), 10, {"a": [1, None]}, thalweg.__version__)
    assert_same(model, kept.estimator)
    assert_works_the_same(model, kept.estimator, X[:20])


@pytest.mark.parametrize("baseline", BASELINES, ids=lambda baseline: baseline.__name__)
def test_so_do_the_baselines(baseline, X, tmp_path):
    X = X + 0.01  # some of them take logarithms
    model = baseline(3, random_state=0).fit(X[:60])
    again = through_a_file(model, tmp_path).estimator
    assert_same(model, again)
    assert_works_the_same(model, again, X[:20])
    if hasattr(model, "partial_fit"):
        assert_same(model.partial_fit(X[60:90]), again.partial_fit(X[60:90]))


def test_every_streaming_estimator_goes_on_bit_by_bit(make_streaming, gappy, tmp_path):
    model = make_streaming()
    for begin, end in pairwise([0, 17, 64, 150, 240]):
        again = through_a_file(model, tmp_path).estimator
        assert_same(model, again)
        assert_same(model.partial_fit(gappy[begin:end]), again.partial_fit(gappy[begin:end]))


class StopError(Exception):
    """The run is broken off."""


def test_every_streaming_run_goes_on_bit_by_bit(make_streaming, gappy, tmp_path):
    stream = streams.Shuffled(streams.Repeated(streams.open(gappy), epochs=2), buffer=100)

    def stop(progress):
        if progress.position == (0, 200):
            raise StopError

    with pytest.raises(StopError):
        make_streaming().fit_stream(stream, batch_size=50, checkpoint=tmp_path, callback=stop)
    resumed = make_streaming().fit_stream(stream, checkpoint=tmp_path, resume=True)
    assert_same(make_streaming().fit_stream(stream, batch_size=50), resumed)


def test_a_robust_start_that_is_still_waiting_goes_on(make_tracking, gappy, tmp_path):
    model = make_tracking().partial_fit(gappy[:20])
    again = through_a_file(model, tmp_path).estimator
    assert model.state_.init_samples is not None
    assert_same(model.partial_fit(gappy[20:200]), again.partial_fit(gappy[20:200]))


def test_all_public_estimators_are_known():
    public = {
        name: thing
        for home in (thalweg, baselines)
        for name in home.__all__
        if inspect.isclass(thing := getattr(home, name)) and hasattr(thing, "fit")
    }
    assert len(public) >= 20
    assert public == dict(_classes.estimators())


def test_sign_splitter(X, tmp_path):
    model = thalweg.SignSplitter().fit(X)
    assert_same(model, through_a_file(model, tmp_path).estimator)


@pytest.mark.parametrize(
    "parameters",
    [
        {"random_state": np.random.default_rng(3)},
        {"random_state": np.random.Generator(np.random.MT19937(3))},
        {"random_state": np.random.Generator(np.random.Philox(3))},
        {"random_state": np.random.Generator(np.random.SFC64(3))},
        {"constraint": Box(0.0, np.inf), "code_penalty": ElasticNet(0.1, 0.2)},
        {"init": np.asfortranarray(np.eye(3, 20)), "frozen_components": np.ones((1, 20))},
        {"init": np.eye(3, 20).tolist(), "tol": np.float32(1e-3), "n_components": np.int64(3)},
        {"keep_history": True, "outlier_bound": 1e300, "batch_size": np.int64(20)},
    ],
    ids=lambda parameters: "-".join(parameters),
)
def test_parameters_of_all_kinds(parameters, X, tmp_path):
    model = RobustOnlineNMF(**{"n_components": 3, "random_state": 0, **parameters}).fit(X)
    again = through_a_file(model, tmp_path).estimator
    assert_same(model, again)
    assert_same(copy.deepcopy(model).fit(X), again.fit(X))


def test_a_random_state_of_numpys_old_kind(X, tmp_path):
    old = np.random.RandomState(5)
    old.normal()  # leaves half of a pair behind
    again = through_a_file(RobustOnlineNMF(3, random_state=old), tmp_path).estimator
    assert np.array_equal(again.random_state.normal(size=700), old.normal(size=700))


def test_a_loss_with_a_matrix_of_its_own(X, tmp_path):
    matrix = np.diag(np.linspace(1.0, 2.0, 20)) + 0.1
    model = thalweg.OnlineNMF(3, loss=Mahalanobis(matrix), random_state=0).fit(X)
    again = through_a_file(model, tmp_path).estimator
    assert again.loss == model.loss
    assert_same(model.partial_fit(X), again.partial_fit(X))


def test_names_of_features_and_the_output_that_was_asked_for(X, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"x{i}" for i in range(20)])
    model = RobustOnlineNMF(3, random_state=0).set_output(transform="pandas").fit(frame)
    again = through_a_file(model, tmp_path).estimator
    assert again.feature_names_in_.tolist() == frame.columns.tolist()
    assert again.transform(frame).equals(model.transform(frame))


def test_a_long_history_is_arrays(tmp_path):
    model = RobustOnlineNMF(3, keep_history=True)
    model.history_ = [Progress(i, None, i / 7, float("nan")) for i in range(10**5)]
    path = checkpoint.save(tmp_path / "a.thalweg", model)
    assert path.stat().st_size < 4e6  # 24 bytes for the numbers, 6 for each "null, "
    again = checkpoint.load(path).estimator
    assert list(leaves(again.history_)) == list(leaves(model.history_))


def test_lists_of_numbers_stay_lists(tmp_path):
    lists = [[1.5] * 20, [True] * 20, [2**70] * 20, [-(2**63) + 1] * 20, [1, 2.0] * 10, [3] * 20]
    model = RobustOnlineNMF(3, init=lists)
    again = through_a_file(model, tmp_path).estimator
    assert list(leaves(again.init)) == list(leaves(lists))


class OwnBox(Box):
    """A component that the library does not know."""


def test_what_is_not_the_librarys_own_is_given_again(X, tmp_path):
    observed = []
    model = RobustOnlineNMF(3, constraint=OwnBox(), callback=observed.append, random_state=0).fit(X)
    path = checkpoint.save(tmp_path / "a.thalweg", model)
    with pytest.raises(ParameterError, match=r"the class OwnBox.*load\(path, constraint="):
        checkpoint.load(path)
    again = checkpoint.load(path, constraint=OwnBox()).estimator
    assert again.callback is None
    assert np.array_equal(again.components_, model.components_)
    assert checkpoint.load(path, constraint=OwnBox(), callback=print).estimator.callback is print


def test_a_run_goes_on_with_objects_of_others(X, tmp_path):
    def fit(**options):
        model = RobustOnlineNMF(3, constraint=OwnBox(upper=0.5), random_state=0)
        return model.fit_stream(streams.open(X), batch_size=50, **options)

    def stop(position):
        if position.sample == 100:
            raise StopError

    with pytest.raises(StopError):
        fit(checkpoint=tmp_path, callback=stop)
    assert_same(fit(), fit(checkpoint=tmp_path, resume=True))


def test_a_start_with_gaps_is_the_same_start(X, tmp_path):
    init = np.full((3, 20), np.nan).astype(">f8")
    path = checkpoint.save(tmp_path / "a.thalweg", RobustOnlineNMF(3, init=init))
    checkpoint.restore(path, RobustOnlineNMF(3, init=init))
    with pytest.raises(ParameterError, match=r"init must be .* as in"):
        checkpoint.restore(path, RobustOnlineNMF(3, init=np.nan_to_num(init)))


def test_sparse_counts_go_on_bit_by_bit(tmp_path):
    X = sparse.csr_array(np.random.default_rng(0).poisson(0.05, (400, 30)).astype(float))
    model = thalweg.OnlineNMF(2, loss="kl", random_state=0).partial_fit(X[:200])
    again = through_a_file(model, tmp_path).estimator
    assert model.sparse_
    assert_same(model.partial_fit(X[200:]), again.partial_fit(X[200:]))


class OwnNMF(RobustOnlineNMF):
    """An estimator that the library does not know."""


def test_estimators_of_others_are_refused(tmp_path):
    for stranger in (OwnNMF(), object(), "RobustOnlineNMF"):
        with pytest.raises(ParameterError, match="must be an estimator of the library"):
            checkpoint.save(tmp_path / "a.thalweg", stranger)
    assert list(tmp_path.iterdir()) == []


def test_what_was_put_into_an_estimator_from_outside_is_refused(tmp_path):
    model = RobustOnlineNMF(3)
    model.friend_ = object()
    with pytest.raises(ParameterError, match="got friend_ of type object"):
        checkpoint.save(tmp_path / "a.thalweg", model)
    assert list(tmp_path.iterdir()) == []


def test_a_run_does_not_go_on_with_other_parameters(X, tmp_path):
    stream = streams.open(X)
    folder = tmp_path / "run"
    RobustOnlineNMF(3, random_state=0).fit_stream(stream, checkpoint=folder)
    for other, told in [
        (RobustOnlineNMF(4, random_state=0), "n_components must be 3 as in .*, got 4"),
        (RobustOnlineNMF(3, random_state=0, init=np.eye(3, 20)), "init must be auto .*<array"),
        (thalweg.OnlineNMF(3, random_state=0), "must be RobustOnlineNMF as in .*, got OnlineNMF"),
    ]:
        with pytest.raises(ParameterError, match=told):
            other.fit_stream(stream, checkpoint=folder, resume=True)
    with pytest.raises(ParameterError, match=r"batch_size must be 8 as in .*got batch_size=7"):
        RobustOnlineNMF(3, random_state=0).fit_stream(
            stream, checkpoint=folder, resume=True, batch_size=7
        )


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(CheckpointError, match=r"none\.thalweg.*No such file"):
        checkpoint.load(tmp_path / "none.thalweg")
    with pytest.raises(CheckpointError, match="is not a file"):
        checkpoint.load(tmp_path)
