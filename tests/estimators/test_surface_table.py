"""One name, one meaning and one default for each parameter and attribute of all estimators."""

import inspect
import re
from typing import Any

import numpy as np
import pytest

import thalweg
from thalweg import baselines
from thalweg.learning.progress import Progress

ESTIMATORS = {
    name: cls
    for home in (thalweg, baselines)
    for name in home.__all__
    if inspect.isclass(cls := getattr(home, name)) and hasattr(cls, "transform")
    if name != "SignSplitter"  # it learns nothing
}
PAPERS = set(baselines.__all__)  # with the defaults of their papers
TRACKERS = {name for name, cls in ESTIMATORS.items() if hasattr(cls, "drift_")}
COMPLETIONS = {"LRGeomCG", "RPCAGD", "RobustMatrixCompletion"}
SIGNED = TRACKERS | COMPLETIONS

# The default of each parameter that several estimators have. Estimators of a subspace begin with
# two components, those of parts with ten.
DEFAULTS: dict[str, Any] = {
    "batch_size": "auto",
    "callback": None,
    "code_penalty": None,
    "dictionary_penalty": None,
    "epochs": 1,
    "frozen_components": None,
    "init_samples": "auto",
    "keep_history": False,
    "n_jobs": None,
    "orthonormal": False,
    "outlier_bound": None,
    "outlier_sign": "any",
    "outlier_structure": "entries",
    "outlier_weight": "auto",
    "random_state": None,
    "shuffle": True,
}
# Words that name a concept of the table by another word.
FORBIDDEN = {
    "start": "init",
    "starts": "init",
    "n_iter": "max_iter",
    "max_rounds": "max_iter",
    "rounds": "max_iter",
    "passes": "epochs",
    "knee": "huber_threshold",
    "levels": "threshold",
    "limit": "threshold",
    "level": "noise_scale",
    "seen": "observed",
    "step": "step_size, step_rule or step_schedule",
    "seed": "random_state",
}
# Attributes with one meaning: name, and the type that a fitted estimator has.
ATTRIBUTES = {
    "components_": np.ndarray,
    "n_samples_seen_": int,
    "n_features_in_": int,
    "n_iter_": int,
    "outlier_share_": float,
    "objective_": float,
    "noise_scale_": (float, np.ndarray),  # an array with noise="per-feature"
    "history_": list,
}

every_estimator = pytest.mark.parametrize("name", sorted(ESTIMATORS))


def parameters(name: str) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(ESTIMATORS[name]).parameters)


def those_with(*names: str) -> list[str]:
    """Return the estimators that have all of these parameters."""
    return [name for name in sorted(ESTIMATORS) if {*names} <= parameters(name).keys()]


def test_all_estimators_are_walked() -> None:
    assert len(ESTIMATORS) >= 20
    assert len(TRACKERS) >= 8
    assert len(PAPERS) >= 10


@every_estimator
def test_defaults_are_those_of_the_table(name: str) -> None:
    own = parameters(name)
    for parameter, default in DEFAULTS.items():
        if parameter in own and not (name in PAPERS and parameter == "batch_size"):
            assert own[parameter].default == default, parameter
    assert own["n_components"].default == (2 if name in SIGNED else 10)
    if "init" in own:
        assert own["init"].default == ("robust" if name in TRACKERS else "auto")


@every_estimator
def test_no_concept_has_a_second_name(name: str) -> None:
    for parameter in parameters(name):
        assert parameter not in FORBIDDEN, f"say {FORBIDDEN[parameter]}"


@every_estimator
def test_parameters_are_keywords_but_for_the_number_of_components(name: str) -> None:
    own = list(parameters(name).values())
    assert own[0].name == "n_components"
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in own[1:])


@every_estimator
def test_parameters_are_documented_with_their_defaults(name: str) -> None:
    text = inspect.getdoc(ESTIMATORS[name]) or ""
    for parameter in parameters(name).values():
        entry = re.search(rf"^(?:\w+, )*{parameter.name}(?:, \w+)* : (.*)$", text, flags=re.M)
        assert entry, f"{parameter.name} is not documented"
        if parameter.default is None:
            assert "optional" in entry[1] or "default=None" in entry[1], parameter.name


def data(name: str) -> Any:
    rng = np.random.default_rng(0)
    return rng.random((60, 2)) @ rng.random((2, 9)) + 0.05 * rng.random((60, 9))


@every_estimator
def test_fitted_attributes_have_the_types_of_the_table(name: str) -> None:
    model = ESTIMATORS[name](2, random_state=0)
    if "keep_history" in parameters(name):
        model.set_params(keep_history=True)
    model.fit(data(name))
    for attribute, kind in ATTRIBUTES.items():
        if hasattr(model, attribute):
            assert isinstance(getattr(model, attribute), kind), attribute
    for progress in getattr(model, "history_", ()):
        assert isinstance(progress, Progress)
    if "max_iter" in parameters(name):
        assert 1 <= model.n_iter_ <= model.max_iter


@pytest.mark.parametrize("name", those_with("callback"))
def test_callbacks_get_one_record(name: str) -> None:
    records: list[Any] = []
    ESTIMATORS[name](2, random_state=0, callback=records.append).fit(data(name))
    assert records
    assert {type(record) for record in records} == {Progress}


@pytest.mark.parametrize("name", those_with("tol", "max_iter"))
def test_a_tolerance_of_zero_runs_to_the_limit(name: str) -> None:
    model = ESTIMATORS[name](2, random_state=0, tol=0.0, max_iter=7).fit(data(name))
    assert model.n_iter_ == 7 or name == "SparseArchetypalNMF"  # which counts all of its starts


def test_all_but_the_methods_of_the_papers_have_threads() -> None:
    assert set(those_with("n_jobs")) == ESTIMATORS.keys() - PAPERS


@pytest.mark.parametrize("value", [0, 1.5, "all", True])
@pytest.mark.parametrize("name", those_with("n_jobs"))
def test_a_wrong_number_of_threads_is_an_error(name: str, value: Any) -> None:
    with pytest.raises(thalweg.errors.ParameterError, match="n_jobs must be"):
        ESTIMATORS[name](2, n_jobs=value).fit(data(name))


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, "small", None])
@pytest.mark.parametrize("name", those_with("tol"))
def test_a_wrong_tolerance_is_an_error(name: str, value: Any) -> None:
    with pytest.raises(thalweg.errors.ParameterError, match="tol must be"):
        ESTIMATORS[name](2, tol=value).fit(data(name))
