"""Initialisation, the path of weights, relaxed supports, and the constrained form."""

from typing import Any

import numpy as np
import pytest

from thalweg.archetypes import DataMatrix, Problem, State
from thalweg.archetypes.archetypal_analysis import archetypal_analysis
from thalweg.archetypes.block_descent import Descent
from thalweg.archetypes.constrained_problem import solve_constrained
from thalweg.archetypes.continuation import Continuation, weights_down_to
from thalweg.archetypes.initialisation import (
    from_archetypes,
    furthest_sum,
    random_samples,
    robust_successive_projections,
    successive_projections,
    zero,
)
from thalweg.archetypes.support_relaxation import relax_support
from thalweg.metrics import hull_distance
from thalweg.synthetic import archetypal_mixtures


def separable(noise: float = 0.0, seed: int = 0) -> tuple[Any, Any]:
    """Return samples of which the first five are the archetypes, and the archetypes."""
    rng = np.random.default_rng(seed)
    H = rng.random((5, 40))
    codes = np.vstack([np.eye(5), rng.dirichlet(np.ones(5), 60)])
    return codes @ H + noise * rng.random((65, 40)), H


def test_projections_find_the_vertices_of_separable_data() -> None:
    X, _ = separable()
    assert sorted(successive_projections(DataMatrix.of(X), 5)) == [0, 1, 2, 3, 4]
    assert sorted(furthest_sum(DataMatrix.of(X), 5, np.random.default_rng(1))) == [0, 1, 2, 3, 4]


def test_robust_projections_have_less_noise() -> None:
    rng = np.random.default_rng(0)
    H = rng.random((4, 30))
    X = np.repeat(np.eye(4), 30, axis=0) @ H + 0.2 * rng.normal(size=(120, 30))
    rows = DataMatrix.of(np.maximum(X, 0.0))

    def error(found: Any) -> float:
        return sum(min(np.sum((h - f) ** 2) for f in found) for h in H)

    assert error(robust_successive_projections(rows, 4)) < 0.5 * error(
        rows.take(successive_projections(rows, 4))
    )


@pytest.mark.parametrize("k", [1, 3, 9])
def test_starts_have_k_rows_whatever_the_data(k: int) -> None:
    for X in (np.zeros((4, 3)), np.ones((1, 2)), np.eye(3)[:, :2]):
        rows = DataMatrix.of(X)
        rng = np.random.default_rng(0)
        assert successive_projections(rows, k).shape == furthest_sum(rows, k, rng).shape == (k,)
        assert random_samples(rows, k, rng).shape == (k,)
        assert robust_successive_projections(rows, k).shape == (k, X.shape[1])
        for state in (
            zero(rows, k),
            from_archetypes(rows, rows.take(successive_projections(rows, k))),
        ):
            np.testing.assert_allclose(state.W.sum(axis=1), 1.0)
            np.testing.assert_allclose(state.T.sum(axis=1), 1.0)


def test_weights_of_a_path() -> None:
    assert weights_down_to(1.0, 1) == [1.0]
    down = weights_down_to(1.0, 8)
    assert (down[0], down[-1], len(down)) == (30.0, 1.0, 8)
    np.testing.assert_allclose(np.diff(np.log(down)), np.log(1 / 30) / 7)
    assert weights_down_to(0.0, 4)[-1] == 0.0
    assert weights_down_to(100.0, 3) == [100.0, 100.0, 100.0]


def test_a_path_keeps_every_stop(feasible: Any) -> None:
    problem = Problem(DataMatrix.of(archetypal_mixtures(40, 25, 4, random_state=0).X), 1.0, 60)
    stops, ended, rows = Continuation(5).run(problem, zero(problem.rows, 4))
    assert [stop.weight for stop in stops] == weights_down_to(1.0, 5)
    assert rows is problem.rows
    assert all(np.count_nonzero(stop.components) <= 60 for stop in stops)
    assert np.array_equal(stops[-1].components, ended.point.state.H)
    assert stops[-1].objective == ended.point.objective
    assert feasible(ended.point.state, 60)
    # archetypes leave the hull as the weight decreases
    distances = [hull_distance(stop.components, problem.rows.X) for stop in stops]
    assert distances[0] < distances[-1]


def test_detours_only_improve(feasible: Any) -> None:
    gains = []
    for seed in range(3):
        X = archetypal_mixtures(60, 80, 6, noise=0.05, random_state=seed).X
        problem = Problem(DataMatrix.of(X), 1.0, 240)
        first = Descent(swaps=False).run(problem, zero(problem.rows, 6))
        found = relax_support(problem, first, Descent(), 6)
        values = [ended.point.objective for ended in found]
        assert found[0] is first
        assert np.all(np.diff(values) < 0)
        assert all(feasible(ended.point.state, 240) for ended in found)
        gains.append(values[-1] / values[0])
    assert min(gains) < 0.99


def test_no_detour_is_the_start() -> None:
    problem = Problem(DataMatrix.of(np.eye(4)), 1.0, 2)
    first = Descent().run(problem, zero(problem.rows, 2))
    assert relax_support(problem, first, Descent(), 0) == (first,)


@pytest.mark.parametrize("nonzeros", [None, 60])
def test_constrained_form_is_feasible_and_better_than_a_tight_weight(nonzeros: int | None) -> None:
    X = archetypal_mixtures(60, 20, 4, spread=0.5, noise=0.02, random_state=0).X
    rows = DataMatrix.of(X)
    start = from_archetypes(rows, rows.take(successive_projections(rows, 4)))
    loose = Continuation(6).run(Problem(rows, 0.05, nonzeros), start)[1].point.state
    alpha = 1.2 * np.sqrt(np.sum((X - loose.W @ loose.H) ** 2, axis=1).max())
    found = solve_constrained(rows, start, alpha, nonzeros)
    H, W, _ = found.state
    assert found.feasible
    assert np.sqrt(np.sum((X - W @ H) ** 2, axis=1)).max() == pytest.approx(found.worst)
    assert found.worst <= alpha
    assert found.distance == pytest.approx(hull_distance(H, X), rel=1e-3, abs=1e-6)
    assert found.distance < np.sum((loose.H - loose.T @ X) ** 2)
    assert nonzeros is None or np.count_nonzero(H) <= nonzeros


def test_constrained_form_says_when_nothing_was_found() -> None:
    X = archetypal_mixtures(40, 20, 6, random_state=0).X
    rows = DataMatrix.of(X)
    found = solve_constrained(rows, from_archetypes(rows, X[:2]), 1e-3)
    assert not found.feasible
    assert found.worst > 1e-3
    assert isinstance(found.state, State)


def test_exact_analysis_falls_and_is_stationary() -> None:
    """No single archetype, moved to any sample, and no code lowers the objective at first order."""
    X = archetypal_mixtures(50, 12, 3, spread=0.3, noise=0.05, random_state=0).X
    rows = DataMatrix.of(X)
    start = np.zeros((3, 50))
    start[np.arange(3), furthest_sum(rows, 3, np.random.default_rng(0))] = 1.0
    values = [archetypal_analysis(rows, start, 0.0, n).objective for n in (1, 2, 5, 20)]
    assert np.all(np.diff(values) <= 1e-9)
    T, W, objective, _ = archetypal_analysis(rows, start, 1e-12, 2000)
    assert objective == pytest.approx(np.sum((X - W @ T @ X) ** 2))
    slope = W.T @ (W @ T @ X - X) @ X.T  # gradient in T, half of it
    gap = np.sum(slope * T, axis=1) - slope.min(axis=1)
    assert gap.max() < 1e-3 * objective
