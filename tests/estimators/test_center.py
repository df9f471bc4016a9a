"""A mean of each feature as a part of the trackers' model."""

from typing import Any

import numpy as np
import pytest

from thalweg import (
    Grasta,
    Grouse,
    Norst,
    OnlineRobustPCA,
    Petrels,
    PetrelsADMM,
    PetrelsCFAR,
    ReProCS,
    Roseta,
    metrics,
    synthetic,
)
from thalweg.checkpoint import load, save
from thalweg.errors import ParameterError

TRACKERS = [
    Grasta, Grouse, Norst, OnlineRobustPCA, Petrels, PetrelsADMM, PetrelsCFAR, ReProCS, Roseta,
]  # fmt: skip


def stream(n: int = 1500, density: float = 0.2, seed: int = 0) -> tuple[Any, Any]:
    """Return a stream with gaps and outliers, and a mean of ten times its signal."""
    data = synthetic.subspace_stream(
        n, 30, 2, outlier_density=density, missing=0.1, random_state=seed
    )
    size = 10.0 * float(data.clean.std())
    return data, size * np.random.default_rng(seed).normal(size=30)


def outside(model: Any, data: Any, mean: Any) -> Any:
    """Return the error of the mean that codes cannot absorb."""
    U = data.basis_at(0)
    error = model.mean_ - mean
    return error - U @ (U.T @ error)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_mean_of_ten_times_the_signal_costs_nothing(seed: int) -> None:
    data, mean = stream(seed=seed)
    plain = PetrelsADMM(2, random_state=0).fit(data.X)
    model = PetrelsADMM(2, center=True, random_state=0).fit(data.X + mean)
    truth = data.basis_at(0).T
    assert metrics.sep(model.components_, truth) < 1.3 * metrics.sep(plain.components_, truth)
    # the error of a mean of n kept entries is about noise / sqrt(n)
    expected = np.sqrt(np.mean(model.noise_scale_**2) / (0.7 * len(data.X)))
    assert np.sqrt(np.mean(np.square(outside(model, data, mean)))) < 2.0 * expected


def test_the_mean_is_the_intercept_of_least_squares() -> None:
    """Told the codes, the mean of a feature is the intercept of a regression on them."""
    data, mean = stream(density=0.0)
    model = PetrelsADMM(2, center=True, random_state=0).fit(data.X + mean)
    codes = np.linalg.lstsq(data.basis_at(0), data.clean.T, rcond=None)[0].T
    design = np.column_stack([codes, np.ones(len(codes))])
    X = data.X + mean
    for f in range(5):
        known = ~np.isnan(X[:, f])
        exact = np.linalg.lstsq(design[known], X[known, f], rcond=None)[0]
        # the point of the affine subspace whose other features are those of the true mean
        assert abs(outside(model, data, mean)[f] - (exact[2] - mean[f])) < 0.15 * np.median(
            model.noise_scale_
        )


@pytest.mark.parametrize("estimator", TRACKERS)
def test_every_tracker_can_be_centred(estimator: Any) -> None:
    data, mean = stream(density=0.0 if estimator in (Petrels, Grouse) else 0.05)
    model = estimator(2, center=True, random_state=0).fit(data.X + mean)
    error = np.abs(outside(model, data, mean)).max()
    assert error < 0.2 * float(data.clean.std()), "the mean is ten times the signal"
    assert not hasattr(estimator(2, random_state=0).fit(data.X), "mean_")


def test_methods_agree() -> None:
    data, mean = stream(density=0.05)
    X = data.X + mean
    model = PetrelsADMM(2, center=True, random_state=0).fit(X)
    codes, low_rank, outliers = model.decompose(X)
    np.testing.assert_allclose(low_rank, codes @ model.components_ + model.mean_)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), low_rank)
    gaps = np.isnan(X)
    np.testing.assert_allclose(model.fill(X)[gaps], low_rank[gaps])
    assert np.abs(low_rank - data.clean - mean).max() < 1.5 * float(data.clean.std())
    assert outliers[gaps].max() == 0.0
    clean = synthetic.subspace_stream(10, 30, 2, random_state=0)  # another subspace
    assert np.median(model.p_values(X)[~gaps & (outliers == 0)]) > 0.4
    assert model.sample_p_values(clean.X + mean).max() < 1e-3


def test_cuts_of_the_stream_do_not_matter() -> None:
    data, mean = stream(600)
    X = data.X + mean
    whole = PetrelsADMM(2, center=True, random_state=0).partial_fit(X)
    parts = PetrelsADMM(2, center=True, random_state=0)
    for rows in np.split(X, [1, 40, 41, 300, 455]):
        parts.partial_fit(rows)
    np.testing.assert_array_equal(parts.mean_, whole.mean_)
    np.testing.assert_array_equal(parts.components_, whole.components_)
    np.testing.assert_array_equal(parts.residual_counts_.counts, whole.residual_counts_.counts)


def test_a_checkpoint_keeps_the_mean(tmp_path: Any) -> None:
    data, mean = stream(500)
    X = data.X + mean
    model = PetrelsADMM(2, center=True, random_state=0).partial_fit(X[:310])
    save(tmp_path / "model", model)
    found = load(tmp_path / "model").estimator.partial_fit(X[310:])
    np.testing.assert_array_equal(found.mean_, model.partial_fit(X[310:]).mean_)


def test_features_that_come_late_or_change_their_units() -> None:
    data, mean = stream(4000, density=0.1)
    X = data.X + mean
    X[:1000, 3] = np.nan
    X[1000:, 7] += 5.0 * np.abs(mean).max()  # another offset
    model = PetrelsADMM(2, center=True, random_state=0).fit(X)
    shifted = mean.copy()
    shifted[7] += 5.0 * np.abs(mean).max()
    error = np.abs(outside(model, data, shifted))
    assert error.max() < 0.5 * np.median(model.noise_scale_)
    assert metrics.sep(model.components_, data.basis_at(0).T) < 1e-4


def test_a_constant_stream_and_an_unseen_feature() -> None:
    X = np.full((100, 6), 3.0)
    X[:, 5] = np.nan
    model = PetrelsADMM(2, center=True, random_state=0).fit(X)
    np.testing.assert_allclose(model.mean_, [3, 3, 3, 3, 3, 0])
    np.testing.assert_allclose(model.fill(X)[:, :5], 3.0)


def test_units_do_not_matter() -> None:
    data, mean = stream(400)
    found = [
        PetrelsADMM(2, center=True, random_state=0).fit(unit * (data.X + mean)).mean_ / unit
        for unit in (2.0**-20, 1.0, 2.0**20)
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    np.testing.assert_allclose(found[2], found[1], rtol=1e-12)


def test_center_must_be_a_flag() -> None:
    with pytest.raises(ParameterError, match="center must be True or False, got 'mean'"):
        PetrelsADMM(2, center="mean").fit(np.eye(4))
