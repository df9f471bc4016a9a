"""Noise scales of features, adaptive memory, and stuck sensors in PETRELS-ADMM."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from thalweg.metrics import sep
from thalweg.noise.feature_scales import (
    FeatureScales,
    log_density,
    normal_median,
    observed_medians,
    shrunken_scales,
    unfitted_shares,
)
from thalweg.synthetic import subspace_stream
from thalweg.trackers.adaptive_memory import AdaptiveMemory
from thalweg.trackers.petrels_admm import PetrelsADMMTracker
from thalweg.trackers.robust_init import robust_init

Array = Any
SEEDS = pytest.mark.parametrize("seed", range(3))


def counted(scales: FeatureScales, residuals: Array) -> FeatureScales:
    """Return the scales with the counts of residuals, all of them kept within 2.5 scales."""
    sizes = np.abs(residuals) / scales.scale
    kept = sizes <= 2.5
    counts = [np.full(len(scales.scale), len(residuals)), kept.sum(axis=0)]
    counts.append((kept & (sizes > scales.limits)).sum(axis=0))
    return scales._replace(counts=np.array(counts, float))


def streamed(residuals: Array, scales: FeatureScales | None = None) -> FeatureScales:
    W = np.ones((residuals.shape[1], 1))
    scales = FeatureScales.equal(len(W), np.float64) if scales is None else scales
    for start in range(0, len(residuals), 32):
        scales = counted(scales, residuals[start : start + 32]).updated(W, 2.5, 32.0)
    return scales


@pytest.mark.parametrize("threshold", [1.5, 2.5, np.inf])
def test_median_and_density_are_those_of_the_normal_law(threshold: float) -> None:
    law = stats.truncnorm(-threshold, threshold)
    median = normal_median(threshold)
    assert law.cdf(median) - law.cdf(-median) == pytest.approx(0.5, abs=1e-9)
    assert log_density(threshold) == pytest.approx(2.0 * median * law.pdf(median), rel=1e-9)


@SEEDS
def test_scales_of_unequal_noise_are_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true = np.exp(rng.uniform(-1.6, 1.6, size=40))
    true /= np.median(true)  # a common noise scale of 1
    found = streamed(true * rng.normal(size=(3000, 40))).scale
    ratio = found / true
    assert np.std(np.log(ratio)) < 0.15
    dirty = true * rng.normal(size=(3000, 40))
    dirty[rng.random(dirty.shape) < 0.2] *= 50.0
    ratio = streamed(dirty).scale / true
    assert np.std(np.log(ratio)) < 0.15


def test_scales_of_equal_noise_are_equal() -> None:
    found = streamed(np.random.default_rng(0).normal(size=(640, 40))).scale
    assert np.abs(np.log(found)).max() < 0.15
    raw = streamed(np.random.default_rng(0).normal(size=(640, 40))).log_scale
    assert np.std(np.log(found)) < 0.8 * np.std(raw), "nothing was shrunk: the test shows nothing"


def test_a_failing_sensor_hardly_changes_its_scale() -> None:
    rng = np.random.default_rng(0)
    residuals = rng.normal(size=(2500, 20))
    residuals[1500:2000, 3] += 100.0
    found = streamed(residuals[:2000]).scale
    assert found[3] < 1.5 * np.median(found)
    assert streamed(residuals).scale[3] < 1.2 * np.median(found)


def test_a_scale_that_is_far_too_large_is_corrected_soon() -> None:
    rng = np.random.default_rng(0)
    first = FeatureScales.estimated(
        np.where(np.arange(20) == 5, 50.0, 1.0), np.full(20, 500.0), np.float64
    )
    assert first.scale[5] > 25.0
    assert streamed(rng.normal(size=(640, 20)), first).scale[5] < 1.5


def test_unfitted_shares_are_what_the_hat_matrix_leaves() -> None:
    W = np.random.default_rng(0).normal(size=(30, 3))
    lever = np.diag(W @ np.linalg.pinv(W))
    np.testing.assert_allclose(unfitted_shares(W), 1 - lever, rtol=1e-10)
    np.testing.assert_allclose(unfitted_shares(W, 0.5), np.maximum(1 - 2 * lever, 0.1), rtol=1e-10)
    assert np.array_equal(unfitted_shares(np.zeros((4, 2))), np.ones(4))


def test_medians_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    sizes, observed = rng.random((11, 8)), rng.random((11, 8)) < 0.6
    observed[:, 2] = False
    wanted = [
        1.482602218505602 * np.median(sizes[there, f]) if there.any() else 0.0
        for f, there in enumerate(observed.T)
    ]
    np.testing.assert_allclose(observed_medians(sizes, observed), wanted)


def test_shrinkage_is_the_posterior_mean() -> None:
    rng = np.random.default_rng(0)
    true, weight = rng.normal(0.0, 0.3, size=20_000), np.full(20_000, 20.0)
    error = 0.25 / log_density(np.inf) ** 2 / 20.0
    noisy = true + np.sqrt(error) * rng.normal(size=true.size)
    found = np.log(shrunken_scales(noisy, weight))
    np.testing.assert_allclose(found, noisy * 0.09 / (0.09 + error), atol=0.02)
    assert np.array_equal(shrunken_scales(noisy, 0.0 * weight), np.ones(20_000))


# --- robust initialisation -----------------------------------------------------------------------


@SEEDS
def test_initialisation_survives_features_that_are_bad_throughout(seed: int) -> None:
    data = subspace_stream(150, 50, 2, outlier_density=0.0, missing=0.1, random_state=seed)
    observed, rng = ~np.isnan(data.X.T), np.random.default_rng(seed)
    V = np.where(observed, data.X.T, 0.0)
    bad = rng.choice(50, 10, replace=False)
    good = np.setdiff1d(np.arange(50), bad)
    V[bad] += 20.0 * rng.random((10, 150))
    found = robust_init(V, 2, observed, per_feature=True)
    assert sep(found.U[good].T, data.basis_at(0)[good].T) < 1e-3
    assert found.scales is not None
    assert found.scales.scale[bad].min() > 5.0 * found.scales.scale[good].max()


@SEEDS
def test_initialisation_survives_samples_that_are_bad(seed: int) -> None:
    data = subspace_stream(150, 50, 2, outlier_density=0.0, missing=0.0, random_state=seed)
    V, rng = data.X.T.copy(), np.random.default_rng(seed)
    V[:, :35] += 30.0 * rng.random((50, 35))
    assert sep(robust_init(V, 2, per_feature=True).U.T, data.basis_at(0).T) < 5e-3


# --- adaptive memory -----------------------------------------------------------------------------


def memory_after(rotation: float, noise: Array | None = None) -> float:
    data = subspace_stream(
        2500, 30, 2, outlier_density=0.1, rotation=rotation, missing=0.0, random_state=0
    )
    tracker = PetrelsADMMTracker()
    X = data.X if noise is None else data.X + noise
    state, _ = tracker.step(tracker.init(data.basis_at(0)), np.ascontiguousarray(X.T))
    return float(state.memory.length)


def test_memory_follows_the_drift() -> None:
    still, slow, fast = (memory_after(rotation) for rotation in (0.0, 1e-3, 5e-3))
    assert still == 1e4
    assert 10.0 < slow < 80.0
    assert 5.0 <= fast < 0.6 * slow


def test_noise_that_is_correlated_in_time_is_no_fast_drift() -> None:
    rng, noise = np.random.default_rng(1), np.zeros((2500, 30))
    for t in range(1, 2500):
        noise[t] = 0.9 * noise[t - 1] + 0.05 * rng.normal(size=30)
    assert memory_after(0.0, noise) > 60.0


def test_memory_forgets_what_it_has_and_not_more() -> None:
    memory = AdaptiveMemory.longest(np.eye(4, 2))
    for _ in range(10):
        memory = memory.updated(np.eye(4, 2), 32)
    assert memory.length == 1e4
    assert memory.n_samples == pytest.approx(sum(0.9999**k * 1.0 for k in range(320)), rel=0.01)


# --- streams as sensors make them ----------------------------------------------------------------


def faulty(kind: str, seed: int) -> tuple[Array, Array, Array]:
    """Return 3000 samples with faults, the mask of the faults, and the true basis."""
    data = subspace_stream(3000, 40, 2, outlier_density=0.0, missing=0.0, random_state=seed)
    rng, X = np.random.default_rng(seed), data.X.copy()
    bad, size = np.zeros(X.shape, bool), 5 * np.abs(data.clean).max()
    if kind == "bursts":
        bad[np.arange(3000) % 200 >= 160] = True
        X[bad] += size * rng.random(bad.sum())
    elif kind == "unequal noise":
        X = data.clean + (X - data.clean) * np.exp(rng.uniform(-1.6, 1.6, size=40))
    else:
        for start in range(0, 3000, 500):
            block, which = slice(start, start + 500), rng.choice(40, 8, replace=False)
            bad[block, which] = True
            X[block, which] = X[start, which] if kind == "stuck" else size * rng.random((500, 8))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, bad, data.basis_at(0)


@SEEDS
@pytest.mark.parametrize("kind", ["bursts", "unequal noise", "stuck", "bad sensors"])
def test_faults_cost_little_against_an_oracle(kind: str, seed: int) -> None:
    """The oracle is PETRELS without the faulty entries."""
    from thalweg import Petrels, PetrelsADMM

    X, bad, basis = faulty(kind, seed)
    model = PetrelsADMM(2, random_state=0).fit(X)
    oracle = Petrels(2, forgetting=0.9999, random_state=0).fit(np.where(bad, np.nan, X))
    assert sep(model.components_, basis.T) < 4.0 * sep(oracle.components_, basis.T)
    assert model.jumps_.size == 0


def test_noise_scales_are_those_of_the_features() -> None:
    from thalweg import PetrelsADMM

    rng = np.random.default_rng(0)
    true = np.exp(rng.uniform(-1.6, 1.6, size=40))
    X = rng.normal(size=(2000, 2)) @ rng.normal(size=(2, 40)) * 5.0
    model = PetrelsADMM(2, random_state=0).fit(X + true * rng.normal(size=X.shape))
    assert np.abs(np.log(model.noise_scale_ / true)).max() < 0.3
    assert model.outlier_share_ < 0.03
    common = PetrelsADMM(2, noise="common", random_state=0).fit(X + rng.normal(size=X.shape))
    assert common.noise_scale_ == pytest.approx(1.0, rel=0.03)


def test_stuck_sensors_are_reported() -> None:
    X, bad, _ = faulty("stuck", 0)
    tracker, known = PetrelsADMMTracker(), ~np.isnan(X)
    data = np.where(known, X, 0.0).T
    state, _ = tracker.step(
        tracker.init(robust_init(data[:, :200], 2, known.T[:, :200]).U), data, known.T
    )
    _, track = tracker.step(state, data[:, 2500:], known.T[:, 2500:])
    assert (track.R != 0).T[bad[2500:] & known[2500:]].mean() > 0.7
    assert (track.R != 0).T[~bad[2500:] & known[2500:]].mean() < 0.03


# --- streams that begin in another way than they go on --------------------------------------------


def error_after(X: Array, source: Any, **settings: Any) -> float:
    from thalweg import PetrelsADMM

    return sep(PetrelsADMM(2, random_state=0, **settings).fit(X).components_, source.basis_at(0).T)


@pytest.fixture(scope="module")
def still() -> Any:
    return subspace_stream(2500, 40, 2, missing=0.1, outlier_density=0.1, snr=20.0, random_state=0)


@pytest.mark.parametrize("n_dead", [10, 16, 20, 32])
def test_features_that_are_zero_at_first_are_learned_when_they_begin(
    still: Any, n_dead: int
) -> None:
    """Zeros of dead features must not make the noise scale vanish."""
    X = still.X.copy()
    X[:800, :n_dead] = 0.0
    assert error_after(X, still) < 1e-3
    plain = error_after(still.X, still)
    assert plain < 5e-5


@pytest.mark.parametrize("noise", ["per-feature", "common"])
def test_noise_after_an_exact_start_is_no_drift(still: Any, noise: str) -> None:
    """Errors of rounding agree with one another, which is no evidence of a drift."""
    X = np.where(np.isnan(still.X), np.nan, still.clean)
    X[600:] = still.X[600:]
    assert error_after(X[:600], still, noise=noise) < 1e-20
    assert error_after(X, still, noise=noise) < 1e-4


@pytest.mark.parametrize("start", ["zeros", "constant", "garbage", "bad sensors"])
def test_a_start_that_is_all_bad_is_overcome(still: Any, start: str) -> None:
    rng, X = np.random.default_rng(0), still.X.copy()
    bad = {
        "zeros": np.zeros((300, 40)),
        "constant": np.full((300, 40), 7.0),
        "garbage": 5.0 * rng.normal(size=(300, 40)),
        "bad sensors": np.where(np.arange(40) < 16, 20.0 * rng.random((300, 40)), X[:300]),
    }
    X[:300] = bad[start]
    assert error_after(X, still) < 1e-3


def test_evidence_below_that_of_a_drift_keeps_the_memory() -> None:
    memory = AdaptiveMemory.longest(np.eye(3, 1))._replace(length=500.0, n_samples=5000.0)
    lengths = []
    for correlation in (0.0, 0.3, 0.9):  # 0, 1.7 and 5.1 standard errors of 32 pairs
        memory.pair_sums[:] = 32.0, 0.0, 0.0, 32.0 * correlation, 32.0, 32.0
        lengths.append(memory.updated(np.eye(3, 1), 32).length)
    assert lengths[0] > 500.0
    assert lengths[1] == 500.0
    assert lengths[2] < 500.0
