"""Local search as [A] prints it: each swap is valued after the codes were solved again."""

from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import nnls

from thalweg import SparseArchetypalNMF
from thalweg.archetypes import DataMatrix, Problem
from thalweg.archetypes.block_descent import Descent, DescentResult, quadratic
from thalweg.archetypes.continuation import Continuation
from thalweg.archetypes.initialisation import from_archetypes, successive_projections
from thalweg.archetypes.local_search import LocalSearch
from thalweg.archetypes.swap_candidates import Swap, candidates
from thalweg.archetypes.swap_evaluation import SwapEvaluation
from thalweg.synthetic import archetypal_mixtures

K, NONZEROS = 3, 9
EXACT = Descent(1e-8, 5000)


def from_projections(seed: int) -> tuple[Problem, DescentResult]:
    """Return a small problem and the end of the path from projections."""
    X = archetypal_mixtures(12, 6, K, noise=0.05, random_state=seed).X
    problem = Problem(DataMatrix.of(X), 1.0, NONZEROS)
    start = from_archetypes(
        problem.rows, problem.rows.take(successive_projections(problem.rows, K))
    )
    return problem, Continuation(8, EXACT).run(problem, start)[1]


# --- reference: SciPy's NNLS with a heavy row for the sum, and formula (34) as printed ----------

HEAVY = 1e4


def mixed(A: Any, B: Any) -> Any:
    """Return the rows of A as the nearest mixtures of rows of B."""
    system = np.vstack([B.T, np.full(len(B), HEAVY)])
    weights = np.array([nnls(system, np.append(a, HEAVY))[0] for a in A])
    return weights / weights.sum(axis=1, keepdims=True)


def value(X: Any, H: Any, enters: tuple[int, int]) -> float:
    """Return (31) with weight 1 for archetypes that have lost an entry, from t = 0."""
    H, (i, j), last = H.copy(), enters, np.inf
    for _ in range(100):
        W, T = mixed(X, H), mixed(H, X)
        now = float(np.sum((X - W @ H) ** 2) + np.sum((H - T @ X) ** 2))
        if last - now <= 1e-8 * now:
            break
        last, H[i, j] = now, 0.0
        U, V = X - W @ H, H - T @ X
        H[i, j] = max((U[:, j] @ W[:, i] - V[i, j]) / (1.0 + W[:, i] @ W[:, i]), 0.0)
    return now


def best_swap(X: Any, H: Any) -> float:
    """Return the lowest (17) that any swap leads to."""
    values = []
    for out, into in product(np.argwhere(H > 0), np.argwhere(H == 0)):
        without = H.copy()
        without[tuple(out)] = 0.0
        values.append(value(X, without, tuple(into)))
    return min(values)


def test_no_remaining_swap_improves_the_objective() -> None:
    """All swaps of eight problems; without the search two of them have one."""
    before = after = 0
    for seed in range(8):
        problem, ended = from_projections(seed)
        found = LocalSearch(descent=EXACT).run(problem, ended)
        H = found.point.state.H
        assert np.count_nonzero(H) == NONZEROS
        assert found.point.objective == pytest.approx(problem.exact(found.point.state), rel=1e-9)
        after += best_swap(problem.rows.X, H) < (1 - 1e-6) * found.point.objective
        before += found.point.objective < (1 - 1e-6) * ended.point.objective
        assert (found is ended) == (found.swaps == ended.swaps)
        everything = LocalSearch(81, EXACT).run(problem, ended)
        assert everything.point.objective == pytest.approx(found.point.objective)
    assert (before, after) == (2, 0)


def test_a_swap_that_the_descent_does_not_find() -> None:
    problem, ended = from_projections(1)
    X, objective = problem.rows.X, ended.point.objective
    assert best_swap(X, ended.point.state.H) < 0.95 * objective
    options: dict[str, Any] = {"sparsity": NONZEROS, "init": "projections", "tol": 1e-8}
    plain = SparseArchetypalNMF(K, swap_trials=0, **options).fit(X)
    searched = SparseArchetypalNMF(K, **options).fit(X)
    assert plain.objective_ == pytest.approx(objective)
    assert searched.objective_ < 0.95 * objective
    assert searched.n_swaps_ > plain.n_swaps_
    assert searched.path_[-1].objective == searched.objective_
    assert np.array_equal(searched.path_[-1].components, searched.components_)


def test_codes_of_a_swap_are_those_of_cvxpy() -> None:
    problem, ended = from_projections(0)
    X, H = problem.rows.X, ended.point.state.H.copy()
    out, into = (tuple(map(int, np.argwhere(mask)[2])) for mask in (H > 0, H == 0))
    state = ended.point.state
    distances = np.sum((H - state.T @ X) ** 2, axis=1)
    columns = {j: X[:, j] for j in range(X.shape[1])}
    trial = SwapEvaluation(problem, ended.point, distances, columns, Swap(out, into))
    assert trial.reaches(np.inf)  # after one solution of (32) and (33)
    H[out] = 0.0
    W, T = cp.Variable((12, K), nonneg=True), cp.Variable((K, 12), nonneg=True)
    cost = cp.sum_squares(X - W @ H) + cp.sum_squares(H - T @ X)
    oracle = cp.Problem(cp.Minimize(cost), [cp.sum(W, axis=1) == 1, cp.sum(T, axis=1) == 1])
    oracle.solve(solver=cp.CLARABEL)
    np.testing.assert_array_equal(trial.point().state.H, H)
    assert trial.point().objective == pytest.approx(oracle.value, rel=1e-7)
    assert ended.point.state is state
    assert problem.at(state).objective == pytest.approx(ended.point.objective)


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_free_places_are_filled(weight: float) -> None:
    """||H||_0 < l: an entry enters, and none leaves."""
    X = archetypal_mixtures(12, 6, K, noise=0.05, random_state=3).X
    start = from_archetypes(DataMatrix.of(X), X[:K])
    fewer, more = (Problem(DataMatrix.of(X), weight, count) for count in (7, 9))
    ended = Continuation(2, Descent(1e-6)).run(fewer, start)[1]
    found = LocalSearch(100, Descent(1e-6)).run(more, ended)
    assert np.count_nonzero(ended.point.state.H) == 7 < np.count_nonzero(found.point.state.H) <= 9
    assert found.point.objective < ended.point.objective


def test_candidates_are_the_best_of_all_pairs() -> None:
    """Their order is that of the objective at fixed W and T, after the pair of (35) and (36)."""
    problem, ended = from_projections(2)
    H, W, T = ended.point.state
    Q, P = quadratic(problem, W, T)
    slopes = Q @ H - P
    first, *found = candidates(Q, P, H, 0, 200)
    assert H[first.leaves] == H[H > 0].min()
    assert slopes[first.enters] == slopes[H == 0].min()
    assert len(found) == 9 * 9 - 1
    changes = []
    for leaves, (i, j) in [first, *found]:
        moved = H.copy()
        moved[leaves] = 0.0
        base = np.vdot(moved, Q @ moved) - 2 * np.vdot(P, moved)
        slope = Q[i] @ moved[:, j] - P[i, j]
        changes.append(base + slope * abs(slope) / Q[i, i])
    assert np.all(np.diff(changes[1:]) >= -1e-12)
    few = candidates(Q, P, H, 0, 7)
    assert few[0] == first
    assert set(few) <= {first, *found[:7]}
    assert len(candidates(Q, P, H, 2, 200)) == 9
    assert candidates(Q, P, np.ones_like(H), 0, 5) == []
