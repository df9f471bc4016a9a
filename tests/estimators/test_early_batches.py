"""The first batches of an automatic weight: smaller, and farther, without harm."""

import numpy as np
import pytest

from thalweg import RobustOnlineNMF, metrics, synthetic
from thalweg.encoders import Codes
from thalweg.learning.batches import Batch
from thalweg.learning.code_prior import empty_prior
from thalweg.learning.noise import NoiseEstimate
from thalweg.learning.online_state import OnlineState

EARLY = 20


def ready(n_batches, W=None, scale=0.1, **parameters):
    """Return a learner, and its state with a weight and a noise scale after ``n_batches``."""
    model = RobustOnlineNMF(3, **parameters)
    model.n_features_in_ = 8
    noise = NoiseEstimate(scale, 0.1, 1.0, n_batches)
    W = np.ones((8, 3)) if W is None else W
    state = OnlineState(W, None, empty_prior(3), noise_estimate=noise, outlier_weight=0.1)
    return model.make_learner(), state._replace(n_batches=n_batches)


def test_the_first_batches_have_a_smaller_weight():
    weights = []
    for n_batches in (EARLY - 1, EARLY):
        learner, state = ready(n_batches)
        weights.append(learner.training_encoder(state).outliers.weight)
    assert weights == pytest.approx([0.06, 0.1])


@pytest.mark.parametrize(
    "parameters",
    [{"outlier_weight": 0.1}, {"solver": "pgd"}, {"outlier_structure": "samples"}],
    ids=str,
)
def test_a_given_weight_and_the_papers_solvers_stay_as_they_are(parameters):
    learner, state = ready(0, **parameters)
    assert learner.training_encoder(state).outliers.weight == 0.1
    codes = object()
    assert learner.update_target(state, None, codes) is codes


def huber(E, threshold):
    size = np.abs(E)
    return np.sum(np.where(size <= threshold, 0.5 * E**2, threshold * (size - 0.5 * threshold)))


@pytest.mark.parametrize("scale", [0.01, 0.08, 0.3])
def test_going_farther_still_lowers_the_loss(scale):
    rng = np.random.default_rng(0)
    threshold = 0.06
    for _ in range(20):
        H, W = rng.random((3, 40)), rng.random((8, 3))
        V = rng.random((8, 3)) @ H + 0.1 * rng.standard_t(2.0, size=(8, 40))
        E = V - W @ H
        R = E - np.clip(E, -threshold, threshold)
        nothing = np.zeros(40)
        codes = Codes(H, R, nothing, nothing, np.ones(40, np.bool_))
        learner, state = ready(1, W, scale)
        target = learner.update_target(state, Batch(V, None), codes)
        factor = float(np.clip(1.7 * scale / 0.1, 1.0, 2.0))
        np.testing.assert_allclose(V - W @ H - target.R, factor * (E - R), atol=1e-12)
        moved = np.linalg.lstsq(H.T, (V - target.R).T, rcond=None)[0].T
        assert huber(V - moved @ H, threshold) < huber(E, threshold)


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
    learner, state = ready(1, W)
    target = learner.update_target(state, Batch(V, observed), codes)
    assert np.array_equal(target.R[~observed], R[~observed])
    assert not np.array_equal(target.R[observed], R[observed])


@pytest.mark.parametrize("n", [150, 250])
def test_no_start_of_a_short_film_is_a_bad_one(n):
    for seed in range(5):
        scene = synthetic.moving_scene(n, (60, 80), random_state=seed)
        model = RobustOnlineNMF(3, random_state=seed, epochs=5).fit(scene.frames)
        found = np.clip(model.decompose(scene.frames).low_rank, 0.0, 1.0)
        assert metrics.psnr(scene.background, found) > 40.0
