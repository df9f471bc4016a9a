"""Bounds and gaps of the outer approximation, against all supports, one by one."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

from thalweg import SparseArchetypalNMF, metrics
from thalweg.archetypes import DataMatrix, Problem
from thalweg.archetypes.certificate import Certificate
from thalweg.archetypes.initialisation import successive_projections
from thalweg.archetypes.outer_approximation import OuterApproximation

K, NONZEROS, HEAVY = 2, 4, 1e4


@pytest.fixture(scope="module", name="X")
def _data() -> Any:
    return np.random.default_rng(7).random((5, 4))


def smallest(X: Any, outside: tuple[bool, ...]) -> float:
    """Return the least |t X|^2 outside of a support over the simplex, by SciPy's NNLS."""
    rest = X[:, list(outside)]
    if rest.shape[1] == 0:
        return 0.0
    system = np.vstack([rest.T, np.full(len(X), HEAVY)])
    t = nnls(system, np.append(np.zeros(rest.shape[1]), HEAVY))[0]
    return float(np.sum((t / t.sum() @ rest) ** 2))


def brute_force(X: Any, nonzeros: int) -> float:
    """Return the minimum of (22) for two archetypes."""
    outsides = list(product([False, True], repeat=X.shape[1]))
    values = [(outside.count(False), smallest(X, outside)) for outside in outsides]
    return min(f + g for (a, f), (b, g) in product(values, repeat=2) if a + b <= nonzeros)


@pytest.mark.parametrize("unit", [1.0, 1e-4, 1e3])
def test_bound_and_gap_are_those_of_all_supports(X: Any, unit: float) -> None:
    """In any unit: a master with absolute tolerances found neither in small ones."""
    best = brute_force(X, NONZEROS)
    model = SparseArchetypalNMF(K, sparsity=NONZEROS, init="mip", mip_time=20.0)
    model.fit(unit * X)
    assert model.bound_ == pytest.approx(unit**2 * best, rel=1e-3)
    assert model.bound_ <= unit**2 * best * (1 + 1e-6)
    assert model.gap_ <= 1e-3
    assert model.objective_ >= model.bound_


def test_bounds_hold_when_the_time_is_up(X: Any) -> None:
    wide = np.random.default_rng(0).random((30, 40))
    for anchors in (None, successive_projections(DataMatrix.of(wide), 3)):
        found = OuterApproximation(3, anchors, seconds=0.2).run(DataMatrix.of(wide), 60)
        assert 0.0 <= found.lower <= found.upper
        assert found.gap == pytest.approx(1.0 - found.lower / found.upper)
        H, T = found.state.H, found.state.T
        assert np.sum((H - T @ wide) ** 2) == pytest.approx(found.upper)


def test_the_guarantee_is_that_of_proposition_5(X: Any) -> None:
    """(29) as printed, from distances between hulls; no fit is below this bound."""
    for weight in (1.0, 300.0):
        options: dict[str, Any] = {"sparsity": NONZEROS, "weight": weight}
        found = [
            OuterApproximation(K, anchors).run(DataMatrix.of(X), NONZEROS)
            for anchors in (None, successive_projections(DataMatrix.of(X), K))
        ]
        problem = Problem(DataMatrix.of(X), weight, NONZEROS)
        H = found[0].state.H
        certificate = Certificate.of(problem, found[0].state, *found)
        near, far = metrics.hull_distance(H, X), metrics.hull_distance(X, H)
        gap = certificate.gap
        printed = (far + weight * gap * near) / (weight * (1 - gap) * near)
        assert certificate.guarantee(weight, 0.0) == pytest.approx(printed, rel=1e-6)
        model = SparseArchetypalNMF(K, init="mip", mip_time=5.0, **options).fit(X)
        other = SparseArchetypalNMF(K, random_state=0, **options).fit(X).objective_
        lowest = min(other, model.objective_)
        assert lowest >= weight * model.bound_
        share = (model.objective_ - lowest) / model.objective_
        assert share <= 1 - weight * model.bound_ / model.objective_ <= model.init_guarantee_
    assert model.init_guarantee_ < 0.1  # it says something where the weight is large


# Data of which k archetypes have no distance from the hull, and numbers that only rounding makes.
ONE = np.random.default_rng(1).random((12, 10))
ONE[3, 3:] = 0.0
ZERO = {
    "sparse sample": (ONE, 6),
    "nearly zero": (np.where(ONE > 0, ONE, 1e-9), 6),
    "no limit": (ONE, 20),
    "no data": (np.zeros((4, 3)), 2),
    "samples of one entry": (np.eye(4), 2),
}


@pytest.mark.parametrize("name", ZERO)
def test_a_minimum_of_zero_has_no_gap(name: str) -> None:
    X, nonzeros = ZERO[name]
    found = OuterApproximation(K, seconds=2.0).run(DataMatrix.of(X), nonzeros)
    assert found.upper <= 1e-12
    assert found.lower <= found.upper
    assert found.gap == 0.0
    model = SparseArchetypalNMF(
        K, sparsity=nonzeros, init="mip", mip_time=0.5, continuation_steps=1
    ).fit(X)
    assert (model.gap_, model.init_guarantee_) == (0.0, np.inf)


def test_certificates_are_of_the_last_fit_only(X: Any) -> None:
    model = SparseArchetypalNMF(K, sparsity=NONZEROS, init="mip", mip_time=1.0).fit(X)
    assert model.bound_ > 0
    incomplete = X.copy()
    incomplete[0, 0] = np.nan
    for other in (model.fit(incomplete), model.set_params(init="projections").fit(X)):
        for name in ("bound_", "gap_", "init_guarantee_"):
            assert not hasattr(other, name)
