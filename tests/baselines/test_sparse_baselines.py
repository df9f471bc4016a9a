"""The methods that [A] compares with, against what defines them."""

import warnings
from itertools import chain, combinations, pairwise
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from thalweg import baselines
from thalweg._typing import Array
from thalweg.baselines.hoyer import project_sparse
from thalweg.errors import InputError, ParameterError
from thalweg.metrics import hull_distance
from thalweg.synthetic import archetypal_mixtures

BASELINES = (
    baselines.HoyerNMF,
    baselines.KimParkNMF,
    baselines.PeharzPernkopfNMF,
    baselines.ArchetypalAnalysis,
)


@pytest.fixture(scope="module", name="X")
def _data() -> Array:
    return archetypal_mixtures(60, 30, 3, noise=0.02, spread=0.3, random_state=0).X


@pytest.mark.parametrize("cls", BASELINES)
def test_surface(cls: Any, X: Array) -> None:
    model = cls(3, random_state=0).fit(X)
    assert model.components_.shape == (3, 30)
    assert np.all(model.components_ >= 0)
    found = model.decompose(X)
    assert np.mean((X - found.low_rank) ** 2) < 0.3 * X.var()
    again = cls(3, random_state=0).fit(X)
    np.testing.assert_array_equal(again.components_, model.components_)
    with pytest.raises(InputError, match="complete data"):
        cls(2).fit(np.where(X > 0.9, np.nan, X))
    with pytest.raises(ParameterError, match="n_components"):
        cls(0).fit(X)


@pytest.mark.parametrize("cls", BASELINES[:2])
def test_more_rounds_are_never_worse(cls: Any, X: Array) -> None:
    values = [
        cls(3, max_iter=n, tol=1e-12, random_state=0).fit(X).objective_ for n in (1, 3, 9, 27)
    ]
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise(values))


def test_hoyer_components_have_their_sparseness(X: Array) -> None:
    for level in (0.2, 0.5, 0.8):
        H = baselines.HoyerNMF(3, sparseness=level, random_state=0).fit(X).components_
        ratio = H.sum(axis=1) / np.linalg.norm(H, axis=1)
        found = (np.sqrt(30) - ratio) / (np.sqrt(30) - 1)
        np.testing.assert_allclose(found, level, atol=1e-6)


def test_hoyer_s_projection_is_the_nearest_point() -> None:
    """Over all supports: on a support the nearest point of sphere and plane has a closed form."""
    rng = np.random.default_rng(0)

    def on(x: Array, kept: list[int], total: float, norm: float) -> Array | None:
        middle = total / len(kept)
        away = x[kept] - x[kept].mean()
        left = norm**2 - len(kept) * middle**2
        if left < 0 or (len(kept) == 1 and left > 1e-12):
            return None
        size = np.linalg.norm(away)
        y = np.zeros(len(x))
        y[kept] = middle + (away * np.sqrt(left) / size if size > 0 else 0.0)
        return y if np.all(y >= -1e-12) else None

    for _ in range(20):
        x, total = rng.normal(size=5), 1.5
        sets = chain.from_iterable(combinations(range(5), s) for s in range(1, 6))
        candidates = [y for kept in sets if (y := on(x, list(kept), total, 1.0)) is not None]
        best = min(float(np.sum((x - y) ** 2)) for y in candidates)
        found = project_sparse(x, total, 1.0)
        assert found.sum() == pytest.approx(total)
        assert np.linalg.norm(found) == pytest.approx(1.0)
        assert np.sum((x - found) ** 2) == pytest.approx(best, rel=1e-6)


def test_kim_and_park_s_blocks_are_those_of_cvxpy(X: Array) -> None:
    """At the end each block is the minimum for the other one."""
    model = baselines.KimParkNMF(
        2, penalty=0.5, ridge=0.2, tol=1e-14, max_iter=5000, random_state=0
    )
    H = model.fit(X).components_
    W = cp.Variable((60, 2), nonneg=True)
    cost = cp.sum_squares(X - W @ H) / 2 + 0.1 * cp.sum_squares(W)
    cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
    V = cp.Variable((2, 30), nonneg=True)
    cost = cp.sum_squares(X - W.value @ V) / 2 + 0.25 * cp.sum_squares(cp.sum(V, axis=0))
    oracle = cp.Problem(cp.Minimize(cost))
    oracle.solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(V.value, H, atol=2e-3)
    ridge = 0.1 * np.sum(W.value**2)
    assert model.objective_ == pytest.approx(oracle.value + ridge, rel=1e-4)


def test_a_larger_penalty_has_fewer_nonzeros(X: Array) -> None:
    counts = [
        np.count_nonzero(baselines.KimParkNMF(3, penalty=p, random_state=0).fit(X).components_)
        for p in (1e-3, 1.0, 30.0)
    ]
    assert counts[0] > counts[2]


def test_peharz_and_pernkopf_keep_their_count(X: Array) -> None:
    for share, count in ((0.1, 3), (0.5, 15), (1.0, 30)):
        H = baselines.PeharzPernkopfNMF(3, sparsity=share, random_state=0).fit(X).components_
        assert np.count_nonzero(H, axis=1).max() <= count
    for bad in (0.0, 1.5, "half"):
        with pytest.raises(ParameterError, match="sparsity"):
            baselines.PeharzPernkopfNMF(3, sparsity=bad).fit(X)


def test_exact_archetypes_lie_in_the_hull(X: Array) -> None:
    model = baselines.ArchetypalAnalysis(3, random_state=0).fit(X)
    assert hull_distance(model.components_, X) < 1e-12
    assert -model.score(X) * len(X) == pytest.approx(model.objective_, rel=1e-6)


def test_there_are_no_more_exact_archetypes_than_samples(X: Array) -> None:
    assert baselines.ArchetypalAnalysis(4, random_state=0).fit(X[:4]).objective_ < 1e-9
    with pytest.raises(ParameterError, match=r"n_samples = 4, got 5"):
        baselines.ArchetypalAnalysis(5).fit(X[:4])


def test_bad_levels(X: Array) -> None:
    for bad in (-0.1, 1.0, "high"):
        with pytest.raises(ParameterError, match="sparseness"):
            baselines.HoyerNMF(2, sparseness=bad).fit(X)
    with pytest.raises(ParameterError, match="penalty"):
        baselines.KimParkNMF(2, penalty=0.0).fit(X)


@pytest.mark.parametrize("cls", BASELINES)
def test_stopping_at_max_iter_is_a_warning(cls: Any, X: Array) -> None:
    message = rf"{cls.__name__} stopped after max_iter=1 iterations .* tol=1e-12\. Increase"
    with pytest.warns(ConvergenceWarning, match=message):
        cls(3, max_iter=1, tol=1e-12, random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = cls(3, max_iter=500, tol=0.1, random_state=0).fit(X)
        assert model.n_iter_ < 500
        assert cls(3, max_iter=40, tol=0.0, random_state=0).fit(X).n_iter_ == 40


@pytest.mark.parametrize("cls", BASELINES)
def test_initial_components_can_be_given(cls: Any, X: Array) -> None:
    best = cls(3, max_iter=1000, tol=1e-10, random_state=0).fit(X)
    again = cls(3, max_iter=1, init=best.components_, random_state=1).fit(X)
    assert again.objective_ <= 1.05 * best.objective_
    for init in ("samples", "furthest-sum" if cls is baselines.ArchetypalAnalysis else "svd"):
        one, other = (cls(3, max_iter=5, init=init, random_state=0).fit(X) for _ in range(2))
        assert np.array_equal(one.components_, other.components_)
        assert one.objective_ < 3.0 * best.objective_
    with pytest.raises(ParameterError, match=r"init must be a finite nonnegative array"):
        cls(3, init=np.ones((2, 30))).fit(X)
    with pytest.raises(ParameterError, match=r"init must be one of .*, got 'chance'"):
        cls(3, init="chance").fit(X)


@pytest.mark.parametrize("cls", BASELINES)
def test_tol_must_not_be_negative(cls: Any, X: Array) -> None:
    with pytest.raises(ParameterError, match="tol must be a finite number of 0 or more, got -1"):
        cls(3, tol=-1.0).fit(X)
