"""p-values, anomalies and sample p-values of the estimators."""

import inspect

import numpy as np
import pytest
from scipy import stats

import thalweg
from thalweg import (
    OnlineRobustPCA,
    Petrels,
    PetrelsADMM,
    PetrelsCFAR,
    RobustMatrixCompletion,
    RobustNMF,
    RobustOnlineNMF,
    checkpoint,
    distributed,
)
from thalweg.errors import ParameterError

N_FEATURES = 40
LAWS = {
    "normal": stats.norm(),
    "laplace": stats.laplace(scale=0.5**0.5),
    "t3": stats.t(3, scale=1 / 3**0.5),
}
ALARMED = [
    PetrelsADMM,
    PetrelsCFAR,
    OnlineRobustPCA,
    RobustMatrixCompletion,
    RobustOnlineNMF,
    RobustNMF,
]
each = pytest.mark.parametrize("cls", ALARMED)


def stream(n, *, seed=0, law="normal", equal=True, planted=0.0, missing=0.0, noise=0.1):
    """Return nonnegative samples of rank 3 with noise, planted outliers and their mask."""
    fixed, rng = np.random.default_rng(17), np.random.default_rng(seed)
    basis = fixed.random((3, N_FEATURES)) + 0.2
    scales = noise * (np.ones(N_FEATURES) if equal else np.geomspace(1 / 3, 3, N_FEATURES))
    X = 4.0 * (rng.random((n, 3)) + 0.5) @ basis
    X += scales * LAWS[law].rvs(X.shape, random_state=rng)
    outliers = rng.random(X.shape) < planted
    X += 6.0 * scales * outliers * rng.choice([-1.0, 1.0], X.shape)
    X[rng.random(X.shape) < missing] = np.nan
    return np.maximum(X, 0.0), outliers


def fitted(cls, X):
    extra = {"max_iter": 60, "tol": 1e-3} if cls is RobustNMF else {}
    return cls(3, random_state=0, **extra).fit(X)


@each
def test_shapes_types_and_gaps(cls):
    X, _ = stream(300, missing=0.1)
    model, missing = fitted(cls, X), np.isnan(X)
    p = model.p_values(X)
    assert p.shape == X.shape
    np.testing.assert_array_equal(np.isnan(p), missing)
    assert np.all((p[~missing] >= 0.0) & (p[~missing] <= 1.0))
    found = model.anomalies(X, fdr=0.2)
    assert found.dtype == bool
    assert found.shape == X.shape
    assert not found[missing].any()
    values, parts = model.sample_p_values(X, return_contributions=True)
    np.testing.assert_array_equal(values, model.sample_p_values(X))
    np.testing.assert_allclose(parts[~missing], -np.log(p[~missing]), atol=1e-12)
    assert not parts[missing].any()
    number = (~missing).sum(axis=1)
    fisher = stats.gamma.sf(parts.sum(axis=1), number)
    tippett = stats.beta.cdf(np.nanmin(p, axis=1), 1, number)  # the law of the least of m
    expected = np.minimum(2.0 * np.minimum(fisher, tippett), 1.0)
    np.testing.assert_allclose(values, expected, rtol=1e-6)


@each
def test_an_entry_that_is_wrong_is_found_with_its_feature(cls):
    X, _ = stream(600)
    model = fitted(cls, X)
    later, _ = stream(20, seed=1)
    before = model.sample_p_values(later)
    later[4, 7] += 5.0
    found = model.anomalies(later, fdr=0.01)
    assert found[4, 7]
    assert found.sum() <= 2
    assert model.anomalies(later, fdr=0.01, by="sample")[4, 7]
    after, parts = model.sample_p_values(later, return_contributions=True)
    assert after[4] < min(1e-3, before[4])
    assert parts[4].argmax() == 7
    assert model.p_values(later)[4, 7] < 1e-4


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("law", LAWS)
def test_clean_streams_are_calibrated(law, equal):
    model = PetrelsADMM(3, random_state=0).fit(stream(1000, law=law, equal=equal)[0])
    p = model.p_values(stream(4000, seed=1, law=law, equal=equal)[0])
    assert 0.007 <= np.mean(p < 0.01) <= 0.015
    if law == "normal" or equal:
        shares = np.mean(p < 0.01, axis=0)
        assert shares.min() >= 0.004
        assert shares.max() <= 0.025


@pytest.mark.parametrize("cls", [PetrelsADMM, PetrelsCFAR, RobustOnlineNMF])
def test_clean_normal_samples_are_calibrated(cls):
    model = fitted(cls, stream(1000)[0])
    p = model.sample_p_values(stream(4000, seed=1)[0])
    assert 0.015 < np.mean(p < 0.05) < 0.08


@pytest.mark.parametrize("equal", [True, False])
def test_outliers_in_a_stream_are_found(equal):
    """Each batch is searched before it is learned, after 1000 samples."""
    X, planted = stream(3000, planted=0.02, equal=equal)
    model = PetrelsADMM(3, random_state=0).fit(X[:1000])
    found = []
    for start in range(1000, 3000, 200):
        found.append(model.anomalies(X[start : start + 200]))
        model.partial_fit(X[start : start + 200])
    found, planted = np.vstack(found), planted[1000:]
    assert np.sum(found & ~planted) <= 0.07 * found.sum()
    assert found[planted].mean() >= (0.95 if equal else 0.85)


def test_the_cut_of_a_stream_has_no_effect():
    X, _ = stream(700, missing=0.2)
    whole = PetrelsADMM(3, random_state=0).partial_fit(X)
    parts = PetrelsADMM(3, random_state=0)
    for start in range(0, 700, 23):
        parts.partial_fit(X[start : start + 23])
    for one, other in zip(whole.residual_counts_, parts.residual_counts_, strict=True):
        np.testing.assert_array_equal(one, other)


@each
def test_checkpoints_carry_the_law(cls, tmp_path):
    X, _ = stream(300)
    model = fitted(cls, X)
    checkpoint.save(tmp_path / "model", model)
    again = checkpoint.load(tmp_path / "model").estimator
    np.testing.assert_array_equal(model.p_values(X), again.p_values(X))


@pytest.mark.parametrize("cls", [RobustOnlineNMF, RobustNMF])
def test_blocks_elsewhere_have_the_same_law(cls):
    X, _ = stream(1200)
    extra = {"max_iter": 30} if cls is RobustNMF else {"batch_size": 200, "shuffle": False}
    here = cls(3, random_state=0, tol=1e-3, **extra).fit(X)
    model = cls(3, random_state=0, tol=1e-3, **extra)
    there = distributed.fit(model, X, block_size=200, blocks_per_round=1)
    scales = here.residual_law_.scales, there.residual_law_.scales
    np.testing.assert_allclose(*scales, rtol=0.1)


def test_constant_absent_and_rescaled_features():
    X, _ = stream(3000)
    X[:, 0] = 2.5
    X[:600, 1] = np.nan
    X[600:, 2] *= 100.0
    model = Petrels(3, random_state=0, forgetting=0.99, on_jump="note").partial_fit(X)
    later, _ = stream(2000, seed=1)
    later[:, 0] = 2.5
    later[:, 2] *= 100.0
    p = model.p_values(later)
    assert np.isfinite(p).all()
    assert 0.004 < np.mean(p[:, 1] < 0.01) < 0.03
    assert 0.002 < np.mean(p[:, 2] < 0.01) < 0.05
    later[5, 0] = 9.0
    assert model.p_values(later)[5, 0] < 1e-3


def test_units_have_no_effect():
    X, _ = stream(400)
    model, scaled = (PetrelsADMM(3, random_state=0).fit(c * X) for c in (1.0, 2.0**20))
    np.testing.assert_allclose(model.p_values(X), scaled.p_values(2.0**20 * X), rtol=1e-6)


def test_float32_data_have_p_values():
    X, _ = stream(400)
    model = PetrelsADMM(3, random_state=0).fit(X.astype(np.float32))
    p = model.p_values(X.astype(np.float32))
    assert 0.005 < np.mean(p < 0.01) < 0.02


def test_p_values_of_a_short_stream():
    """Before the robust initialisation is over, the law is that of the samples collected."""
    X, _ = stream(40)
    model = PetrelsADMM(3, random_state=0).fit(X)
    assert model.state_.init_samples is not None
    later, _ = stream(200, seed=1)
    later[3, 3] += 3.0
    p = model.p_values(later)
    assert p[3, 3] < 1e-3
    assert np.mean(p < 0.01) < 0.1


def test_a_change_of_the_subspace_has_a_small_p_value():
    X, _ = stream(1500)
    model = PetrelsADMM(3, random_state=0, on_jump="note").fit(X)
    assert model.change_p_value_ > 1e-4
    rng = np.random.default_rng(5)
    other = 4.0 * rng.random((3, 3)) @ rng.random((3, N_FEATURES))
    model.partial_fit(other + 0.1 * rng.normal(size=other.shape))
    assert model.change_p_value_ < 1e-3


def test_p_values_for_changes_are_not_too_small():
    model = PetrelsADMM(3, random_state=0).fit(stream(400)[0])
    batches = (stream(16, seed=seed)[0] for seed in range(150))
    values = np.array([model.partial_fit(X).change_p_value_ for X in batches])
    assert np.mean(values < 0.05) < 0.1


@pytest.mark.parametrize("value", [0.0, 1.0, -1, "a", None])
def test_a_wrong_rate_is_an_error(value):
    X, _ = stream(60)
    model = RobustOnlineNMF(3, random_state=0).fit(X)
    with pytest.raises(ParameterError, match="fdr must be"):
        model.anomalies(X, fdr=value)
    with pytest.raises(ParameterError, match="by must be"):
        model.anomalies(X, by=value)


def test_every_estimator_with_outliers_has_alarms():
    for name in thalweg.__all__:
        cls = getattr(thalweg, name)
        if inspect.isclass(cls) and hasattr(cls, "residual_law_"):
            assert all(hasattr(cls, m) for m in ("p_values", "anomalies", "sample_p_values"))
    assert all(hasattr(cls, "residual_law_") for cls in ALARMED)
