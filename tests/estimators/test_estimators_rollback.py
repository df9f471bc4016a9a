"""A call that fails before anything is learned leaves an estimator as it was."""

from typing import Any

import numpy as np
import pytest

from thalweg import RobustOnlineNMF
from thalweg.errors import ParameterError, ThalwegError

X = np.random.default_rng(0).random((40, 6))
NARROW = X[:, :4]


def spoiled(value: float) -> Any:
    found = NARROW.copy()
    found[3, 2] = value
    return found


FAILURES: dict[str, tuple[Any, dict[str, Any]]] = {
    "no components": (NARROW, {"n_components": 0}),
    "infinite": (spoiled(np.inf), {}),
    "too large": (spoiled(1e200), {}),
    "seed": (NARROW, {"random_state": "a"}),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_fitted_model_survives_a_fit_that_fails(make: Any, name: str) -> None:
    data, wrong = FAILURES[name]
    model = make().fit(X)
    before, codes, right = dict(vars(model)), model.transform(X), model.get_params()
    model.set_params(**wrong)
    with pytest.raises(ThalwegError):
        model.fit(data)
    model.set_params(**{key: right[key] for key in wrong})
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[key] is value for key, value in before.items())
    assert np.array_equal(model.transform(X), codes)


def test_a_first_batch_that_fails_leaves_no_trace(make_streaming: Any) -> None:
    model = make_streaming(0)
    before = dict(vars(model))
    with pytest.raises(ThalwegError):
        model.partial_fit(NARROW)
    assert vars(model) == before
    model.set_params(n_components=2).partial_fit(X)
    assert model.components_.shape == (2, 6)


def test_a_history_may_begin_in_the_midst_of_a_stream() -> None:
    model = RobustOnlineNMF(3, random_state=0).partial_fit(X)
    assert not hasattr(model, "history_")
    model.set_params(keep_history=True).partial_fit(X).partial_fit(X)
    assert [progress.n_samples_seen for progress in model.history_] == [80, 120]


def test_frozen_components_are_given_before_the_stream_begins() -> None:
    atoms = np.eye(1, 6)
    model = RobustOnlineNMF(3, random_state=0).partial_fit(X)
    components = model.components_
    with pytest.raises(ParameterError, match="those of the first batch, got others"):
        model.set_params(frozen_components=atoms).partial_fit(X)
    assert model.components_ is components
    assert np.array_equal(model.fit(X).components_[:1], atoms)
    assert np.array_equal(model.partial_fit(X).components_[:1], atoms)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_frozen_components_stay_in_any_precision(dtype: Any) -> None:
    atoms = np.random.default_rng(1).random((2, 6)) / 3.0
    model = RobustOnlineNMF(3, frozen_components=atoms, random_state=0)
    for _ in range(3):
        model.partial_fit(X.astype(dtype))
    assert np.array_equal(model.components_[:2], atoms.astype(dtype))
