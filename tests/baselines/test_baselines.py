"""The papers' baselines are what their own papers say."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from thalweg import OnlineNMF, baselines
from thalweg._typing import Array
from thalweg.divergences.huber import Huber
from thalweg.errors import ParameterError
from thalweg.prox.l1 import L1


def data() -> Array:
    rng = np.random.default_rng(0)
    return rng.gamma(1.0, 1.0, (400, 3)) @ rng.gamma(0.5, 1.0, (3, 12)) * rng.gamma(
        20.0, 0.05, (400, 12)
    ) + 0.01  # fmt: skip


def test_lefevre_learns_spectra() -> None:
    X = data()
    model = baselines.OLLef(3, random_state=0, batch_size=20, epochs=5).fit(X)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0, rtol=1e-9)
    mean = X.mean(axis=0)
    flat = np.mean(np.sum(X / mean - np.log(X / mean) - 1, axis=1))
    assert -model.score(X) < 0.5 * flat
    ours = OnlineNMF(3, loss="is", random_state=0, batch_size=20, epochs=5).fit(X)
    assert -ours.score(X) < -model.score(X)


def test_wang_goes_on_moving() -> None:
    """Steps of one size do not settle; falling ones do."""
    X = data()
    threshold = 0.5 * float(X.mean())
    moves = []
    for model in (
        baselines.OLWang(3, huber_threshold=threshold, step_size=0.5, random_state=0),
        OnlineNMF(
            3,
            loss=Huber(threshold),
            solver="spsgd",
            constraint=None,
            step_schedule=(0.5, 50.0),
            random_state=0,
        ),
    ):
        rng = np.random.default_rng(1)
        for _ in range(300):
            model.partial_fit(X[rng.integers(0, 400, 10)])
        before = model.components_
        model.partial_fit(X[rng.integers(0, 400, 10)])
        moves.append(np.linalg.norm(model.components_ - before) / np.linalg.norm(before))
    assert moves[0] > 5 * moves[1]
    dense = baselines.OLWang(3, huber_threshold=threshold, random_state=0)
    sparse = clone(dense).set_params(code_penalty=L1(2.0)).fit(X)
    dense.fit(X)
    assert np.mean(sparse.transform(X) == 0.0) > np.mean(dense.transform(X) == 0.0)


def test_lefevre_raises_zeros() -> None:
    """The Itakura-Saito divergence is infinite at 0."""
    X = data()
    X[::7, 3], X[:, 5] = 0.0, 0.0
    model = baselines.OLLef(3, random_state=0).fit(X).partial_fit(X[:20])
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.score(X))
    positive = np.maximum(X, model.form_.floor)
    assert np.array_equal(model.transform(positive), model.transform(X))


@pytest.mark.parametrize(
    ("cls", "parameters"),
    [
        (baselines.INMF, {"forgetting": 0.0}),
        (baselines.INMFVC, {"volume_weight": -1.0}),
        (baselines.INMFVC, {"volume_decay": "slow"}),
        (baselines.INMFVC, {"fade": -1.0}),
        (baselines.OMF, {"fade": -1.0}),
        (baselines.OLLef, {"forgetting": 2.0}),
        (baselines.OLWang, {"huber_threshold": 0.0}),
        (baselines.OLWang, {"step_size": -0.1}),
        (baselines.OLWang, {"code_penalty": "l7"}),
        (baselines.OLGuan, {"window": 0}),
        (baselines.ONMF, {"batch_size": "all"}),
        (baselines.OMFDA, {"init": "pca"}),
        (baselines.OMFDA, {"n_components": 0}),
    ],
)
def test_parameters_are_checked(cls: Any, parameters: dict[str, Any]) -> None:
    (name,) = parameters
    with pytest.raises(ParameterError, match=rf"{name} must be .*, got"):
        cls(**parameters).fit(data())
