"""NaN means that nothing was observed: a gap pulls neither codes nor components."""

from typing import Any

import numpy as np
import pytest

from thalweg import RobustNMF, RobustOnlineNMF, SparseArchetypalNMF
from thalweg._typing import Array
from thalweg.errors import ParameterError
from thalweg.metrics import psnr
from thalweg.synthetic import nmf_with_outliers


def test_a_gap_hides_what_is_behind_it(make: Any, X: Array) -> None:
    """The same gaps over other numbers give the same bits, since no number enters."""
    gaps = np.random.default_rng(3).random(X.shape) < 0.2
    garbage = np.random.default_rng(4).random(X.shape) * 1e6
    one = np.where(gaps, np.nan, X)
    two = np.where(gaps, garbage, X)
    two[gaps] = np.nan
    assert np.array_equal(make().fit(one).components_, make().fit(two).components_)


def test_encoders_do_not_look_behind_gaps(make: Any, X: Array, gappy: Array) -> None:
    """The estimator's own encoder and update, given garbage at gaps and the mask."""
    model = make().fit(gappy)
    observed = ~np.isnan(gappy).T
    encoder = model._encoder()
    W = model.components_.T
    fills = (0.0, 1e3, np.random.default_rng(0).random(observed.shape) * 10)
    codes = [encoder.encode(np.where(observed, X.T, fill), W, observed=observed) for fill in fills]
    assert np.array_equal(codes[0].H.T, model.transform(gappy))
    for other in codes[1:]:
        assert np.array_equal(other.H, codes[0].H)
        assert np.array_equal(other.loss, codes[0].loss)
        assert np.array_equal(other.R * observed, codes[0].R * observed)


def test_a_column_never_seen_changes_nothing_else(make_fast: Any, X: Array) -> None:
    """All of the loss comes from the other columns, so they are learned as without it."""
    wide = np.insert(X, 5, np.nan, axis=1)
    init = np.random.default_rng(0).random((3, X.shape[1] + 1))
    init[:, 5] = 0.0
    with_gap = make_fast(init=init, outlier_weight=0.1).fit(wide)
    without = make_fast(init=np.delete(init, 5, axis=1), outlier_weight=0.1).fit(X)
    assert np.allclose(np.delete(with_gap.components_, 5, axis=1), without.components_, atol=1e-6)
    assert np.all(with_gap.components_[:, 5] >= 0)
    assert np.all(np.isfinite(with_gap.decompose(wide).low_rank))


def test_a_row_never_seen(make: Any, gappy: Array) -> None:
    X = gappy.copy()
    X[::9] = np.nan
    model = make().fit(X)
    found = model.decompose(X)
    assert all(np.all(np.isfinite(part)) for part in (*found, model.components_))
    assert not found.outliers[::9].any()
    assert np.array_equal(model.score_samples(X)[::9], np.zeros(len(X[::9])))


def test_a_column_never_seen(make: Any, gappy: Array) -> None:
    X = gappy.copy()
    X[:, 4] = np.nan
    model = make().fit(X)
    found = model.decompose(X)
    assert all(np.all(np.isfinite(part)) for part in (*found, model.components_))
    assert not found.outliers[:, 4].any()
    assert model.signed or np.all(model.components_ >= 0)
    # what was never observed in learning is not trusted in use either: finite, whatever comes
    assert np.all(np.isfinite(model.transform(np.nan_to_num(X, nan=0.5))))


def test_nothing_seen_at_all(make: Any) -> None:
    X = np.full((12, 5), np.nan)
    with pytest.warns(UserWarning, match="X should have observed entries"):
        model = make().fit(X)
    assert np.all(np.isfinite(model.components_))
    found = model.decompose(X)
    assert np.all(np.isfinite(found.codes))
    assert not found.outliers.any()
    assert model.outlier_share_ == 0.0
    assert model.score(X) == 0.0


@pytest.mark.parametrize("shape", [(20, 4), (4, 20)])
def test_more_components_than_the_data_determine(make_class: Any, shape: Any) -> None:
    """A warning or an error, but for archetypes, of which there may be any number."""
    X = np.random.default_rng(0).random(shape)
    model = make_class(n_components=6)
    hull = isinstance(model, SparseArchetypalNMF)
    if hull and shape[0] > 6:
        assert model.fit(X).components_.shape == (6, 4)
        return
    tracks = model.signed and hasattr(model, "partial_fit") and shape[1] < 6
    with (
        pytest.raises(ParameterError, match="n_components must be at most")
        if hull or tracks
        else pytest.warns(UserWarning, match="n_components should be at most .* = 4, got 6")
    ):
        model.fit(X)


def test_nothing_seen_costs_nothing(make_nmf: Any) -> None:
    assert make_nmf().fit(np.full((12, 5), np.nan)).objective_ == 0.0


def test_a_stream_that_begins_blind_learns_later(make_streaming: Any, planted: Any) -> None:
    robust = "outlier_weight" in make_streaming().get_params()
    options = {"outlier_weight": 0.1} if robust else {}
    scores = []
    for begin in (np.full((10, 20), np.nan), planted.X[:10]):
        model = make_streaming(**options).partial_fit(begin)
        for start in [*range(0, 240, 24)] * 3:
            model.partial_fit(planted.X[start : start + 24])
        scores.append(model.score(planted.X))
    blind, sighted = scores
    assert blind > 1.2 * sighted  # scores are negative


@pytest.mark.parametrize("solver", ["fast", "pgd", "admm"])
def test_an_automatic_weight_survives_a_blind_start(solver: str, planted: Any) -> None:
    model = RobustOnlineNMF(3, solver=solver, random_state=0)
    model.partial_fit(np.full((10, 20), np.nan))
    for start in [*range(0, 240, 24)] * 4:
        model.partial_fit(planted.X[start : start + 24])
    assert 0.003 < model.outlier_weight_ < 0.3  # noise 0.01, data in [0, 1]


@pytest.mark.parametrize("cls", [RobustOnlineNMF, RobustNMF])
def test_a_third_missing_costs_little(cls: Any) -> None:
    """Recovery of the clean matrix, observed and unseen entries alike.

    With a share s of the entries observed, the mean squared error of codes estimated from noise is
    1 / s times as large, which is 1.5 dB for 0.7; the components add about as much again.
    """
    found = []
    for missing in (0.0, 0.3):
        data = nmf_with_outliers(1000, 60, 10, missing=missing, random_state=5)
        model = cls(10, random_state=0).fit(data.X)
        found.append(psnr(data.clean, model.decompose(data.X).low_rank))
    full, gappy = found
    assert full > 27
    assert gappy > full - 3.0


def test_gaps_are_filled_better_than_by_the_mean(
    make_fast: Any, planted: Any, gappy: Array
) -> None:
    model = make_fast(epochs=5) if hasattr(make_fast.cls, "partial_fit") else make_fast()
    low_rank = model.fit(gappy).decompose(gappy).low_rank
    gaps = np.isnan(gappy)
    mean = np.broadcast_to(np.nanmean(gappy, axis=0), gappy.shape)
    assert psnr(planted.clean[gaps], low_rank[gaps]) > psnr(planted.clean[gaps], mean[gaps]) + 10
