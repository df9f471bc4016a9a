"""The automatic outlier weight: its Huber threshold against brute force, theory and simulations."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import reference
from thalweg import RobustOnlineNMF, synthetic
from thalweg.learning.batches import Batch
from thalweg.learning.noise import NoiseEstimate, estimate_noise

THRESHOLDS = np.linspace(0.5, 1.75, 26)


def look(residual, size=1.0):
    """Return what is measured when the model leaves this residual."""
    V = np.asfortranarray(np.asarray(residual, dtype=np.float64)[:, None] + size)
    return estimate_noise(Batch(V, None), np.full((len(V), 1), size), np.ones((1, 1)))


def variance(density, delta):
    """Return the variance of a mean fitted by Huber's loss to many values of this density."""
    inner = integrate.quad(lambda e: e * e * density(e), 0.0, delta)[0]
    near = 2.0 * integrate.quad(density, 0.0, delta)[0]
    return (2.0 * inner + delta**2 * (1.0 - near)) / near**2


def contaminated(share, width):
    """Return the density of a normal mixture; a share of it has the standard deviation width."""
    return lambda e: (1.0 - share) * stats.norm.pdf(e) + share * stats.norm.pdf(e, scale=width)


@pytest.mark.parametrize(("share", "width"), [(0.0, 1.0), (0.05, 10.0), (0.2, 10.0), (0.4, 5.0)])
def test_the_knee_is_nearly_the_best_in_theory(share, width):
    rng = np.random.default_rng(0)
    wide = rng.random(1000) < share
    found = look(rng.standard_normal(1000) * np.where(wide, width, 1.0), size=100.0)
    density = contaminated(share, width)
    best = min(variance(density, delta) for delta in THRESHOLDS)
    assert variance(density, found.outlier_weight) <= 1.15 * best


def test_theory_tells_how_much_a_simulated_fit_varies():
    rng = np.random.default_rng(1)
    samples = rng.standard_normal((600, 100)) * np.where(rng.random((600, 100)) < 0.2, 10.0, 1.0)
    for delta in (0.5, 1.0, 1.75):
        means = [
            optimize.brentq(lambda m, s=s, c=delta: np.clip(s - m, -c, c).sum(), -50.0, 50.0)
            for s in samples
        ]
        expected = variance(contaminated(0.2, 10.0), delta) / samples.shape[1]
        assert np.var(means) == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize("freedom", [2.0, 3.0, 5.0, 50.0])
def test_the_knee_is_the_largest_of_those_that_are_not_worse(freedom):
    residual = np.abs(np.random.default_rng(2).standard_t(freedom, size=900))
    found = look(residual, size=100.0)
    thresholds = THRESHOLDS * found.scale
    within = [np.mean(residual <= c) for c in thresholds]
    cut = [np.mean(np.minimum(residual, c) ** 2) for c in thresholds]
    worth = np.array(cut) / np.square(within)
    assert min(worth) <= np.interp(found.huber_threshold, thresholds, worth) < 1.1 * min(worth)
    assert found.huber_threshold >= thresholds[np.argmin(worth)] - 0.1 * found.scale
    expected = reference.huber_threshold(residual, thresholds, 0.05 * found.scale, 0.07)
    assert found.huber_threshold == pytest.approx(expected)


def test_the_knee_does_not_hang_on_a_hair():
    rng = np.random.default_rng(5)
    changes = []
    for _ in range(50):
        residual = rng.standard_normal(600) * np.where(rng.random(600) < 0.1, 10.0, 1.0)
        shaken = residual + 1e-3 * rng.standard_normal(600)
        changes.append(
            np.log(
                look(shaken, size=100.0).huber_threshold
                / look(residual, size=100.0).huber_threshold
            )
        )
    assert np.median(np.abs(changes)) < 0.01
    assert np.abs(changes).max() < 0.15


def test_long_tails_and_many_outliers_make_the_knee_small():
    rng = np.random.default_rng(3)
    normal = rng.standard_normal(1000)
    few, many = (np.where(rng.random(1000) < share, 20.0, normal) for share in (0.02, 0.3))
    thresholds = [
        look(e, size=100.0).huber_threshold for e in (normal, few, rng.laplace(size=1000), many)
    ]
    assert thresholds[0] > thresholds[1] > thresholds[3]
    assert thresholds[0] > 1.5 * thresholds[2]


@pytest.mark.parametrize("unit", [1e-150, 1e-6, 1e6, 1e150])
def test_the_knee_has_the_unit_of_the_data(unit):
    residual = np.random.default_rng(4).laplace(size=500)
    assert look(unit * residual, size=100.0 * unit).outlier_weight == pytest.approx(
        unit * look(residual, size=100.0).outlier_weight
    )


@pytest.mark.parametrize("residual", [[0.0], [0.0, 0.0, 5.0], [3.0], [2.0] * 50])
def test_a_residual_without_spread_leaves_a_weight(residual):
    assert 0.0 < look(residual, size=4.0).outlier_weight < np.inf


def test_the_level_follows_a_change_of_the_noise():
    noise = NoiseEstimate()
    for scale in [1.0] * 30 + [5.0] * 20:
        noise = noise.averaged(NoiseEstimate(scale, 2.0 * scale, 1.0, 1))
    assert noise.positive_scale == pytest.approx(5.0, rel=0.02)
    assert noise.outlier_weight == pytest.approx(10.0, rel=0.02)


def test_not_every_batch_is_looked_at():
    X = synthetic.nmf_with_outliers(240, 20, 2, random_state=0).X
    model = RobustOnlineNMF(2, random_state=0)
    batches = [X[start : start + 4] for start in range(0, 240, 4)]
    counts = [model.partial_fit(batch).noise_estimate_.n_batches for batch in batches]
    assert counts[:20] == list(range(1, 21))
    assert counts[-1] == 30
