"""What scikit-learn, pandas and polars expect of an estimator."""

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import has_fit_parameter

import thalweg
import thalweg.estimators as room
from thalweg import baselines
from thalweg._typing import Array
from thalweg.prox.l1 import L1
from thalweg.prox.simplex import Simplex


def test_the_room_is_discovered(request: pytest.FixtureRequest) -> None:
    found = {name for name in room.__all__ if hasattr(getattr(room, name), "fit")}
    assert {"OnlineFactorization", "RobustNMF", "RobustOnlineNMF"} <= found
    assert found <= set(thalweg.__all__)


def not_passed(estimator: Any, **options: Any) -> set[str]:
    """Return the names of the checks that were skipped, or failed as expected."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Skipping check check_array_api_input", SkipTestWarning)
        warnings.filterwarnings("ignore", ".*SCIPY_ARRAY_API", SkipTestWarning)
        results = check_estimator(estimator, on_fail="raise", **options)
    assert len(results) > 40
    return {r["check_name"] for r in results if r["status"] != "passed"}


# Random numbers are drawn for the rows, so that repeated ones get others. The rule itself is tested
# without them: tests/estimators/test_weights.py.
_OF_EQUIVALENCE = {
    f"check_sample_weight_equivalence_on_{kind}_data": "random numbers depend on the rows"
    for kind in ("dense", "sparse")
}


def test_check_estimator_without_expected_failure(make_class: Any) -> None:
    # some checks come with two features
    model = make_class(2)
    weighted = has_fit_parameter(model, "sample_weight")
    expected = {"expected_failed_checks": _OF_EQUIVALENCE} if weighted else {}
    assert not_passed(model, **expected) <= {"check_array_api_input", *_OF_EQUIVALENCE}


@pytest.mark.parametrize("name", baselines.__all__)
def test_check_estimator_of_baselines(name: str) -> None:
    model = getattr(baselines, name)(2, random_state=0)
    expected = _OF_EQUIVALENCE if has_fit_parameter(model, "sample_weight") else {}
    if name == "ArchetypalAnalysis":  # a tag cannot say that transform allows gaps, but not fit
        expected = {"check_estimators_nan_inf": "transform allows missing entries"}
    short = {"max_iter": 20} if "max_iter" in model.get_params() else {}
    missed = not_passed(model.set_params(**short), expected_failed_checks=expected)
    assert missed <= {"check_array_api_input", *expected}


def test_default_construction_has_the_documented_parameters(make_public: Any) -> None:
    parameters, text = make_public.cls().get_params(), make_public.cls.__doc__
    default = f"default={parameters['n_components']}"
    kinds = ("int", 'int or "auto"')
    assert any(f"n_components : {kind}, {default}\n" in text for kind in kinds)
    assert all(f"{name} :" in text or f"{name}," in text for name in parameters)


def test_a_factorisation_has_ten_components(make_nmf: Any) -> None:
    assert make_nmf.cls().n_components == 10


def test_set_params_and_clone(make_public: Any, X: Array) -> None:
    init = {} if make_public.cls.signed else {"init": "samples"}
    model = make_public().set_params(n_components=2, **init)
    assert model.get_params()["n_components"] == 2
    copy = clone(model.fit(X))
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "components_")
    assert np.array_equal(copy.fit(X).components_, model.components_)
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(rank=3)


@pytest.mark.parametrize("name", baselines.__all__)
def test_pickle_round_trip_of_baselines(name: str, X: Array) -> None:
    model = getattr(baselines, name)(3, random_state=0).fit(X)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.get_params() == model.get_params()
    assert np.array_equal(copy.components_, model.components_)
    assert np.array_equal(copy.transform(X), model.transform(X))
    if hasattr(model, "partial_fit"):
        after = [each.partial_fit(X[:50]).components_ for each in (model, copy)]
        assert np.array_equal(*after)


def test_objects_as_parameters_are_cloned_and_pickled(X: Array) -> None:
    model = thalweg.RobustOnlineNMF(
        2, constraint=Simplex(2.0), code_penalty=L1(0.1), random_state=0
    )
    copy = clone(pickle.loads(pickle.dumps(model)))
    assert np.array_equal(copy.fit(X).components_, model.fit(X).components_)


def test_pickle_round_trip(make: Any, state_of: Any, X: Array, gappy: Array) -> None:
    model = make().fit(X)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.components_, model.components_)
    for mine, theirs in zip(model.decompose(gappy), copy.decompose(gappy), strict=True):
        assert np.array_equal(mine, theirs)
    if hasattr(model, "partial_fit"):
        model.partial_fit(gappy)
        copy.partial_fit(gappy)
    mine, theirs = state_of(model), state_of(copy)
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        np.testing.assert_array_equal(theirs[name], value, err_msg=name)


def test_feature_names(make_public: Any, X: Array) -> None:
    names = [f"pixel {i}" for i in range(X.shape[1])]
    model = make_public().fit(pd.DataFrame(X, columns=names))
    prefix = make_public.cls.__name__.lower()
    assert list(model.get_feature_names_out()) == [f"{prefix}{i}" for i in range(3)]
    assert list(model.feature_names_in_) == names
    with pytest.raises(ValueError, match="feature names"):
        model.transform(pd.DataFrame(X, columns=names[::-1]))


@pytest.mark.parametrize(("library", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_output_as_a_frame(make: Any, X: Array, library: str, frame: Any) -> None:
    plain = make().fit(X)
    model = make().set_output(transform=library).fit(X)
    codes = model.transform(X)
    assert isinstance(codes, frame)
    assert list(codes.columns) == list(model.get_feature_names_out())
    assert np.array_equal(codes.to_numpy(), plain.transform(X))
    assert isinstance(make().set_output(transform=library).fit_transform(X), frame)


def test_polars_input_is_that_array(make: Any, X: Array) -> None:
    frame = pl.DataFrame(X, schema=[f"c{i}" for i in range(X.shape[1])])
    assert np.array_equal(make().fit(frame).components_, make().fit(X).components_)


def test_pipeline(make_public: Any, X: Array) -> None:
    pipe = make_pipeline(MinMaxScaler(clip=True), make_public()).fit(X)
    scaled = pipe[0].transform(X)
    assert np.array_equal(pipe.transform(X), make_public().fit(scaled).transform(scaled))
    assert pipe.score(X) == pipe[-1].score(scaled)
    assert len(pipe.get_feature_names_out()) == 3


@pytest.mark.parametrize("name", ["RobustOnlineNMF", "RobustNMF", "OnlineFactorization"])
def test_grid_search_finds_the_rank(name: str) -> None:
    data = thalweg.synthetic.nmf_with_outliers(300, 20, 3, noise=0.05, random_state=0)
    # The weight is fixed: losses under different weights could not be compared.
    options = {} if name == "OnlineFactorization" else {"outlier_weight": 0.2}
    estimator = getattr(thalweg, name)(random_state=0, **options)
    search = GridSearchCV(estimator, {"n_components": [1, 2, 3]}, cv=3).fit(data.X)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_params_ == {"n_components": 3}
    assert np.all(np.diff(scores) > 0)
    assert scores[2] > 0.8 * scores[1]


def test_before_fit_is_a_clear_error(make_public: Any, X: Array) -> None:
    model = make_public()
    for method in ("transform", "decompose", "score", "score_samples"):
        with pytest.raises(NotFittedError, match="not fitted"):
            getattr(model, method)(X)
    with pytest.raises(NotFittedError, match="not fitted"):
        model.inverse_transform(np.ones((2, 3)))
    with pytest.raises(NotFittedError):
        model.get_feature_names_out()


def test_fit_does_not_touch_its_parameters(make_public: Any, X: Array) -> None:
    init = np.random.default_rng(0).random((3, X.shape[1]))
    model = make_public(**({"init": init} if "init" in make_public().get_params() else {}))
    before = {
        name: np.copy(v) if isinstance(v, np.ndarray) else v for name, v in vars(model).items()
    }
    model.fit(X)
    for name, value in before.items():
        assert np.array_equal(getattr(model, name), value), name


def test_fit_begins_anew(make: Any, X: Array, gappy: Array) -> None:
    again = make().fit(gappy[:, :7]).fit(X)
    assert np.array_equal(again.components_, make().fit(X).components_)
    assert again.n_samples_seen_ == len(X)
    assert again.n_features_in_ == X.shape[1]


@pytest.mark.parametrize(
    "seed", [0, np.random.RandomState(3), np.random.default_rng(3)], ids=lambda s: type(s).__name__
)
def test_seeds_of_every_kind(make: Any, X: Array, seed: Any) -> None:
    pair = [make(random_state=pickle.loads(pickle.dumps(seed))).fit(X) for _ in range(2)]
    assert np.array_equal(pair[0].components_, pair[1].components_)


def test_a_seed_is_of_use(make_nmf: Any, X: Array) -> None:
    """The problem is not convex, and there is more than one way down."""
    one, other = (make_nmf(random_state=seed).fit(X) for seed in (0, 99))
    assert not np.array_equal(one.components_, other.components_)
