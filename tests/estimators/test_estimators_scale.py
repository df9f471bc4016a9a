"""Results do not depend on units, and the automatic weight is at least as good as the paper's."""

import pickle
from typing import Any

import numpy as np
import pytest

from thalweg import OnlineFactorization, RobustOnlineNMF, baselines
from thalweg._typing import Array
from thalweg.encoders.fast import Fast
from thalweg.metrics import psnr
from thalweg.prox.l1 import L1
from thalweg.synthetic import nmf_with_outliers

BASELINES = [getattr(baselines, name) for name in baselines.__all__]


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_do_not_matter(make_robust: Any, gappy: Array, factor: float) -> None:
    one, other = make_robust().fit(gappy), make_robust().fit(factor * gappy)
    assert np.allclose(other.components_, one.components_, atol=1e-9)
    assert other.outlier_weight_ == pytest.approx(factor * one.outlier_weight_, rel=1e-9)
    assert other.objective_ == pytest.approx(factor**2 * one.objective_, rel=1e-9)
    assert other.outlier_share_ == one.outlier_share_
    mine, theirs = one.decompose(gappy), other.decompose(factor * gappy)
    for part in range(3):
        assert np.allclose(theirs[part], factor * mine[part], rtol=1e-9, atol=1e-9 * factor)


@pytest.mark.parametrize("power", [-20, 20])
def test_a_power_of_two_changes_no_bit(make_robust: Any, gappy: Array, power: int) -> None:
    factor = 2.0**power
    one, other = make_robust().fit(gappy), make_robust().fit(factor * gappy)
    assert np.array_equal(other.components_, one.components_)
    assert other.outlier_weight_ == factor * one.outlier_weight_
    mine, theirs = one.decompose(gappy), other.decompose(factor * gappy)
    for part in range(3):
        assert np.array_equal(theirs[part], factor * mine[part])


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_do_not_matter_in_single_precision(make_robust: Any, X: Array, factor: float) -> None:
    """Rounding decides when a sample of "pgd" or "admm" stops, and with that a little of all."""
    narrow = X.astype(np.float32)
    one = make_robust().fit(narrow)
    other = make_robust().fit((factor * X).astype(np.float32))
    components, weight = (1e-4, 1e-3) if one.solver == "fast" else (5e-3, 5e-2)
    assert np.allclose(other.components_, one.components_, atol=components)
    assert other.outlier_weight_ == pytest.approx(factor * one.outlier_weight_, rel=weight)


def test_units_do_not_matter_to_other_starts(make_fast: Any, X: Array) -> None:
    one, other = (make_fast(init="samples").fit(c * X) for c in (1.0, 1e6))
    assert np.allclose(other.components_, one.components_, atol=1e-9)


@pytest.mark.parametrize("solver", ["fast", "pgd", "admm"])
def test_the_automatic_weight_follows_the_noise(plant: Any, solver: str) -> None:
    weights = [
        RobustOnlineNMF(3, solver=solver, epochs=3, random_state=0)
        .fit(plant(600, 30, 3, 0, noise=noise).X)
        .outlier_weight_
        for noise in (0.01, 0.04)
    ]
    assert weights[0] < 0.08
    assert weights[1] > 1.5 * weights[0]


def test_a_settled_weight_is_looked_at_now_and_then(plant: Any) -> None:
    """Every batch counts at first, one in four later; a model that was stored goes on alike."""
    X = plant(600, 30, 3, 0, noise=0.02).X
    model, weights = RobustOnlineNMF(3, random_state=0), []
    for batch in np.split(X, 40):
        stored = pickle.loads(pickle.dumps(model))
        weights.append(model.partial_fit(batch).outlier_weight_)
        assert stored.partial_fit(batch).outlier_weight_ == weights[-1]
    changed = np.flatnonzero(np.diff(weights)) + 1
    assert np.array_equal(changed, [*range(1, 20), *range(20, 40, 4)])


def test_a_number_is_taken_as_it_is(make_robust: Any, X: Array) -> None:
    assert make_robust(outlier_weight=0.37).fit(X).outlier_weight_ == 0.37


@pytest.mark.parametrize("contamination", [(0.7, 0.1), (0.8, 0.2), (0.9, 0.3)], ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_auto_is_at_least_as_good_as_the_paper(contamination: Any, seed: int) -> None:
    """The three settings of [O] Table I, half of the paper's size.

    With few components the paper's data are clipped at 1 so often that they are no longer of
    low rank, and tell nothing of weights: 25 components are about the least.
    """
    F, K, N = 196, 25, 3000
    contaminated, density = contamination
    data = nmf_with_outliers(
        N, F, K, contaminated=contaminated, density=density, noise=0.01, random_state=seed
    )
    auto, paper = (
        psnr(
            data.clean,
            RobustOnlineNMF(K, outlier_weight=weight, random_state=seed)
            .fit(data.X)
            .decompose(data.X)
            .low_rank,
        )
        for weight in ("auto", F**-0.5)
    )
    assert auto > paper
    assert auto > 32


# 2 to the -20 and 20: about 1e-6 and 1e6, and nothing is rounded on the way
FACTORS = [2.0**-20, 2.0**20]


def test_no_estimator_depends_on_units(make: Any, gappy: Array) -> None:
    """Parameters in the units of the data follow them; no other parameter does."""
    one = make().fit(gappy)
    for factor in FACTORS:
        other = make()
        if isinstance(other, OnlineFactorization):
            other.set_params(encoder=Fast(outliers=L1(factor)))
        same_but_for_units(one, other.fit(factor * gappy), gappy, factor)


def test_no_robust_start_depends_on_units(make_tracking: Any, gappy: Array) -> None:
    one = make_tracking().fit(gappy)
    for factor in FACTORS:
        same_but_for_units(one, make_tracking().fit(factor * gappy), gappy, factor)


@pytest.mark.parametrize("power", [-20, 20])
@pytest.mark.parametrize("cls", BASELINES)
def test_no_baseline_depends_on_units(cls: Any, X: Array, power: int) -> None:
    factor = 2.0**power
    one, other = (cls(3, random_state=0) for _ in range(2))
    if hasattr(one, "max_iter"):
        one, other = (model.set_params(max_iter=20) for model in (one, other))
    if cls is baselines.OLWang:
        other.set_params(huber_threshold=factor)
    if cls is baselines.KimParkNMF:  # half of the units is in the codes
        other.set_params(penalty=0.1 * factor, ridge=0.1 * factor)
    one, other = one.fit(X), other.fit(factor * X)
    mine, theirs = one.decompose(X).low_rank, other.decompose(factor * X).low_rank
    np.testing.assert_allclose(theirs, factor * mine, rtol=1e-9, atol=1e-9 * factor)


def same_but_for_units(one: Any, other: Any, X: Array, factor: float) -> None:
    """Assert that two fits split their data alike, to the last bit."""
    assert other.outlier_share_ == one.outlier_share_
    mine, theirs = one.decompose(X), other.decompose(factor * X)
    assert np.array_equal(theirs.low_rank, factor * mine.low_rank)
    assert np.array_equal(theirs.outliers, factor * mine.outliers)
