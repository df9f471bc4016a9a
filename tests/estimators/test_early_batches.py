"""The first batches of an automatic weight: smaller, and farther, without harm."""

import numpy as np
import pytest

from thalweg import RobustOnlineNMF, metrics, synthetic
from thalweg.encoders import Codes
from thalweg.estimators._input import Batch
from thalweg.estimators._noise import Noise

EARLY = 20


def ready(n_batches, **parameters):
    """Return a model that has a weight and a noise level, after so many batches."""
    model = RobustOnlineNMF(3, **parameters)
    model.n_features_in_, model.n_batches_seen_ = 8, n_batches
    model.outlier_weight_, model.noise_ = 0.1, Noise(0.1, 0.1, 1.0, n_batches)
    return model


def test_the_first_batches_have_a_smaller_weight():
    assert ready(EARLY - 1)._tune(None).outliers.weight == pytest.approx(0.06)
    assert ready(EARLY)._tune(None).outliers.weight == 0.1


@pytest.mark.parametrize(
    "parameters",
    [{"outlier_weight": 0.1}, {"solver": "pgd"}, {"outlier_structure": "samples"}],
    ids=str,
)
def test_a_given_weight_and_the_papers_solvers_stay_as_they_are(parameters):
    model = ready(0, **parameters)
    assert model._tune(None).outliers.weight == 0.1
    codes = object()
    assert model._lesson(None, codes, None) is codes


def huber(E, knee):
    size = np.abs(E)
    return np.sum(np.where(size <= knee, 0.5 * E**2, knee * (size - 0.5 * knee)))


@pytest.mark.parametrize("scale", [0.01, 0.08, 0.3])
def test_going_farther_still_lowers_the_loss(scale):
    rng = np.random.default_rng(0)
    model = ready(1)
    model.noise_ = model.noise_._replace(scale=scale)
    knee = 0.06
    for _ in range(20):
        H, W = rng.random((3, 40)), rng.random((8, 3))
        V = rng.random((8, 3)) @ H + 0.1 * rng.standard_t(2.0, size=(8, 40))
        E = V - W @ H
        R = E - np.clip(E, -knee, knee)
        nothing = np.zeros(40)
        codes = Codes(H, R, nothing, nothing, np.ones(40, np.bool_))
        lesson = model._lesson(Batch(V, None), codes, W)
        factor = float(np.clip(1.7 * scale / 0.1, 1.0, 2.0))
        np.testing.assert_allclose(V - W @ H - lesson.R, factor * (E - R), atol=1e-12)
        moved = np.linalg.lstsq(H.T, (V - lesson.R).T, rcond=None)[0].T
        assert huber(V - moved @ H, knee) < huber(E, knee)


def test_gaps_teach_nothing():
    rng = np.random.default_rng(1)
    V, W, H, observed = (
        rng.random((8, 5)),
        rng.random((8, 3)),
        rng.random((3, 5)),
        rng.random((8, 5)),
    )
    observed = observed < 0.6
    V = np.where(observed, V, 0.0)
    E = V - W @ H
    R = np.where(observed, E - np.clip(E, -0.06, 0.06), E)
    nothing = np.zeros(5)
    codes = Codes(H, R, nothing, nothing, np.ones(5, np.bool_))
    model = ready(1)
    lesson = model._lesson(Batch(V, observed), codes, W)
    assert np.array_equal(lesson.R[~observed], R[~observed])
    assert not np.array_equal(lesson.R[observed], R[observed])


@pytest.mark.parametrize("n", [150, 250])
def test_no_start_of_a_short_film_is_a_bad_one(n):
    for seed in range(5):
        scene = synthetic.moving_scene(n, (60, 80), random_state=seed)
        model = RobustOnlineNMF(3, random_state=seed, epochs=5).fit(scene.frames)
        found = np.clip(model.decompose(scene.frames).low_rank, 0.0, 1.0)
        assert metrics.psnr(scene.background, found) > 40.0
