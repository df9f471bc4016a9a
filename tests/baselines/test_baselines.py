"""The papers' baselines are what their own papers say."""

import numpy as np

from thalweg import OnlineNMF, baselines
from thalweg._typing import Array
from thalweg.divergences.huber import Huber


def data() -> Array:
    rng = np.random.default_rng(0)
    return rng.gamma(1.0, 1.0, (400, 3)) @ rng.gamma(0.5, 1.0, (3, 12)) * rng.gamma(
        20.0, 0.05, (400, 12)
    ) + 0.01  # fmt: skip


def test_lefevre_learns_spectra() -> None:
    X = data()
    model = baselines.ol_lef(3, random_state=0, batch_size=20, epochs=5).fit(X)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0, rtol=1e-9)
    mean = X.mean(axis=0)
    flat = np.mean(np.sum(X / mean - np.log(X / mean) - 1, axis=1))
    assert -model.score(X) < 0.5 * flat
    ours = OnlineNMF(3, loss="is", random_state=0, batch_size=20, epochs=5).fit(X)
    assert -ours.score(X) < -model.score(X)


def test_wang_goes_on_moving() -> None:
    """Steps of one size do not settle; falling ones do."""
    X = data()
    knee = 0.5 * float(X.mean())
    moves = []
    for model in (
        baselines.ol_wang(3, knee=knee, step=0.5, random_state=0),
        OnlineNMF(
            3,
            loss=Huber(knee),
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
    sparse = baselines.ol_wang(3, knee=knee, sparsity=2.0, random_state=0).fit(X)
    dense = baselines.ol_wang(3, knee=knee, random_state=0).fit(X)
    assert np.mean(sparse.transform(X) == 0.0) > np.mean(dense.transform(X) == 0.0)
