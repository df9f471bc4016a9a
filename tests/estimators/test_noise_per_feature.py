"""Noise scales of the features in factorisations: against the true scales, units, and blocks."""

from typing import Any

import numpy as np
import pytest

from thalweg import RobustNMF, RobustOnlineNMF, checkpoint, distributed
from thalweg.encoders.fast import LEAST_SQUARES, Fast
from thalweg.errors import ParameterError
from thalweg.learning.whitened_encoder import WhitenedEncoder
from thalweg.prox.l1 import L1

Array = Any
F, K, N = 60, 4, 2000
MODELS = pytest.mark.parametrize("cls", [RobustOnlineNMF, RobustNMF])


def stream(seed: int = 0, *, equal: bool = False, outliers: float = 0.05) -> tuple[Array, ...]:
    """Return data, the part without noise, and the noise scales."""
    rng = np.random.default_rng(seed)
    clean = rng.gamma(1.0, 1.0, (N, K)) @ rng.gamma(1.0, 1.0, (K, F)) / K
    scales = 0.15 * (np.ones(F) if equal else np.exp(rng.uniform(-np.log(5), np.log(5), F)))
    X = clean + scales * rng.normal(size=clean.shape)
    hit = rng.random(X.shape) < outliers
    X[hit] = rng.random(hit.sum()) * clean.max()
    return np.maximum(X, 0.0), clean, scales


def fitted(cls: Any, X: Array, **options: Any) -> Any:
    options = {"epochs": 3} | options if cls is RobustOnlineNMF else options
    return cls(K, random_state=0, **options).fit(X)


def error(model: Any, X: Array, clean: Array, scales: Array) -> float:
    """Return the root mean square error in units of the noise of each feature."""
    return float(np.sqrt(np.mean(np.square((model.decompose(X).low_rank - clean) / scales))))


@MODELS
def test_scales_are_found_and_weighing_by_them_pays(cls: Any) -> None:
    X, clean, scales = stream()
    model, common = fitted(cls, X, noise="per-feature"), fitted(cls, X)
    ratio = model.noise_scale_ / scales
    assert np.std(np.log(ratio)) < 0.25
    assert np.median(ratio) == pytest.approx(1.0, abs=0.25)
    assert error(model, X, clean, scales) < 0.7 * error(common, X, clean, scales)


@MODELS
def test_equal_noise_loses_hardly_anything(cls: Any) -> None:
    X, clean, scales = stream(equal=True)
    model, common = fitted(cls, X, noise="per-feature"), fitted(cls, X)
    assert np.ptp(model.noise_scale_) < 0.5 * np.median(model.noise_scale_)
    assert error(model, X, clean, scales) < 1.03 * error(common, X, clean, scales)


def test_the_dictionary_is_nearly_as_good_as_with_the_true_scales() -> None:
    X, clean, scales = stream(outliers=0.0)
    model = fitted(RobustOnlineNMF, X, noise="per-feature")
    exact = WhitenedEncoder(LEAST_SQUARES, scales)
    true = np.linalg.lstsq(clean.T, clean.T, rcond=None)[0] @ clean  # of rank K
    _, _, rows = np.linalg.svd(true, full_matrices=False)
    whitened = rows[:K] / scales
    best = (np.linalg.lstsq(whitened.T, (X / scales).T, rcond=None)[0].T @ whitened) * scales
    told = np.sqrt(np.mean(np.square((best - clean) / scales)))
    found = (model.components_.T @ exact.encode(X.T, model.components_.T).H).T
    assert np.sqrt(np.mean(np.square((found - clean) / scales))) < 1.15 * told


@pytest.mark.parametrize("gaps", [False, True])
def test_whitened_codes_are_those_of_the_weighted_problem(gaps: bool) -> None:
    """Against coordinate descent on the weighted loss, entry by entry."""
    rng = np.random.default_rng(0)
    W, scales = rng.random((12, 3)), np.exp(rng.normal(size=12))
    V = W @ rng.random((3, 6)) + 0.1 * scales[:, None] * rng.normal(size=(12, 6))
    V[rng.random(V.shape) < 0.1] += 3.0
    observed = rng.random(V.shape) < 0.8 if gaps else None
    encoder = WhitenedEncoder(Fast(outliers=L1(0.2), tol=1e-12, exit="gap"), scales)
    codes = encoder.encode(V, W, observed=observed)
    mask = np.ones(V.shape, bool) if observed is None else observed

    def loss(h: Array, n: int) -> float:
        z = ((V[:, n] - W @ h) / scales)[mask[:, n]]
        return float(np.where(np.abs(z) <= 0.2, 0.5 * z**2, 0.2 * (np.abs(z) - 0.1)).sum())

    for n in range(6):
        assert codes.loss[n] == pytest.approx(loss(codes.H[:, n], n), rel=1e-9)
        slope = [
            (loss(codes.H[:, n] + step, n) - loss(codes.H[:, n] - step, n)) / 2e-5
            for step in 1e-5 * np.eye(3)
        ]
        active = codes.H[:, n] > 1e-4
        np.testing.assert_allclose(np.array(slope)[active], 0.0, atol=1e-3)
        assert np.all(np.array(slope)[~active] > -1e-3)
    rest = V - W @ codes.H - codes.R
    assert np.abs(rest / scales[:, None]).max() <= 0.2 * (1 + 1e-9)
    if gaps:
        np.testing.assert_allclose(rest[~mask], 0.0, atol=1e-12)


@MODELS
def test_units_of_the_data_and_of_a_feature(cls: Any) -> None:
    X, _, _ = stream(outliers=0.02)
    model = fitted(cls, X, noise="per-feature")
    double = fitted(cls, 4.0 * X, noise="per-feature")
    assert np.array_equal(double.noise_scale_, 4.0 * model.noise_scale_)
    assert np.array_equal(double.decompose(4.0 * X).outliers, 4.0 * model.decompose(X).outliers)
    units = np.where(np.arange(F) == 7, 30.0, 1.0)
    other = fitted(cls, X * units, noise="per-feature")
    change = other.decompose(X * units).low_rank / units - model.decompose(X).low_rank
    assert np.sqrt(np.mean(np.square(change))) < 0.3 * np.median(model.noise_scale_)


def test_constant_late_and_rescaled_features() -> None:
    X, _, _ = stream(outliers=0.02)
    X[:, 0], X[:, 1] = 0.0, 2.0
    X[:1000, 2] = np.nan
    X[1000:, 3] *= 100.0
    model = RobustOnlineNMF(K, noise="per-feature", forgetting=0.99, random_state=0)
    for start in range(0, 1000, 20):
        model.partial_fit(X[start : start + 20])
    assert model.relative_scales_[2] == 1.0
    before = model.noise_scale_[3]
    for _ in range(3):
        for start in range(1000, N, 20):
            model.partial_fit(X[start : start + 20])
    assert np.isfinite(model.noise_scale_).all()
    assert model.noise_scale_.min() > 0.0
    assert 30.0 < model.noise_scale_[3] / before < 300.0


@pytest.mark.parametrize("noise", ["common", "per-feature"])
def test_a_checkpoint_continues_as_if_uninterrupted(noise: str, tmp_path: Any) -> None:
    X, _, _ = stream()
    model = RobustOnlineNMF(K, noise=noise, random_state=0)
    for start in range(0, 1000, 25):
        model.partial_fit(X[start : start + 25])
    checkpoint.save(tmp_path / "model", model)
    other = checkpoint.load(tmp_path / "model").estimator
    for start in range(1000, 1500, 25):
        model.partial_fit(X[start : start + 25])
        other.partial_fit(X[start : start + 25])
    assert np.array_equal(model.components_, other.components_)
    assert np.array_equal(model.noise_scale_, other.noise_scale_)


def test_blocks_give_the_scales_of_one_process() -> None:
    X, _, _ = stream()
    blocks = [X[start : start + 100] for start in range(0, N, 100)]
    options = {"noise": "per-feature", "random_state": 0}
    online = distributed.fit(RobustOnlineNMF(K, **options), blocks, blocks_per_round=1)
    alone = RobustOnlineNMF(K, batch_size=100, shuffle=False, **options).fit(X)
    np.testing.assert_allclose(online.noise_scale_, alone.noise_scale_, rtol=1e-9)
    rounds = distributed.fit(RobustNMF(K, **options), blocks)
    whole = RobustNMF(K, **options).fit(X)
    np.testing.assert_allclose(rounds.noise_scale_, whole.noise_scale_, rtol=0.05)


def test_gaps_are_filled_and_anomalies_found_in_units_of_the_noise() -> None:
    X, clean, scales = stream(outliers=0.0)
    model = fitted(RobustOnlineNMF, X, noise="per-feature")
    gaps, rng = X.copy(), np.random.default_rng(1)
    hidden = rng.random(X.shape) < 0.2
    gaps[hidden] = np.nan
    filled = model.fill(gaps)
    common = fitted(RobustOnlineNMF, X).fill(gaps)
    wrong, before = (np.abs((part - clean) / scales)[hidden].mean() for part in (filled, common))
    assert wrong < 0.8 * before
    X[::7, ::5] += 8.0 * scales[::5]
    planted = np.zeros(X.shape, bool)
    planted[::7, ::5] = True
    found = model.anomalies(X)
    assert found[planted].mean() > 0.95
    assert found[~planted].mean() < 0.01


def test_other_solvers_and_names_raise() -> None:
    X = stream()[0][:50]
    with pytest.raises(ParameterError, match="noise must be 'common' with solver='pgd'"):
        RobustNMF(2, solver="pgd", noise="per-feature").fit(X)
    with pytest.raises(ParameterError, match="noise must be"):
        RobustOnlineNMF(2, noise="each").fit(X)
