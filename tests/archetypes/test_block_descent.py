"""Block descent: each block against CVXPY; monotone, feasible, and stationary at the end."""

from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from thalweg.archetypes import DataMatrix, Problem, State, data_matrix as data_module
from thalweg.archetypes.block_descent import Descent, nearest_sparse, stationarity
from thalweg.archetypes.fixed_code_swaps import swap_entries
from thalweg.archetypes.hull_projection import nearest_in_hull
from thalweg.archetypes.initialisation import (
    from_archetypes,
    random_samples,
    successive_projections,
)
from thalweg.prox.simplex import Simplex
from thalweg.solvers import Status
from thalweg.solvers.simplex import simplex_least_squares
from thalweg.synthetic import archetypal_mixtures


def test_objective_is_that_of_the_paper(problem: Problem, state: State) -> None:
    H, W, T = state
    X = problem.rows.X
    by_hand = np.sum((X - W @ H) ** 2) + problem.weight * np.sum((H - T @ X) ** 2)
    assert problem.at(state).objective == pytest.approx(by_hand, rel=1e-10)
    assert problem.exact(state) == pytest.approx(by_hand, rel=1e-13)


def test_codes_are_those_of_cvxpy() -> None:
    rng = np.random.default_rng(0)
    H, X = rng.random((5, 12)), rng.random((6, 12))
    codes, gaps = simplex_least_squares(H @ H.T, X @ H.T)
    for x, w in zip(X, codes, strict=True):
        v = cp.Variable(5, nonneg=True)
        oracle = cp.Problem(cp.Minimize(cp.sum_squares(x - H.T @ v)), [cp.sum(v) == 1])
        oracle.solve(solver=cp.CLARABEL)
        np.testing.assert_allclose(w, v.value, atol=1e-4)
        assert np.sum((x - w @ H) ** 2) <= oracle.value + 1e-7
    assert gaps.max() < 1e-9


@pytest.mark.parametrize("gram", [True, False], ids=["gram", "working set"])
def test_hull_points_are_those_of_cvxpy(gram: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not gram:
        monkeypatch.setattr(data_module, "_MAX_GRAM_SAMPLES", 0)
    rng = np.random.default_rng(1)
    X, H = rng.random((60, 8)), 1.3 * rng.random((3, 8))
    rows = DataMatrix.of(X)
    assert (rows.gram is not None) == gram
    T, gaps = nearest_in_hull(rows, rows.correlated(H))
    for h, t in zip(H, T, strict=True):
        v = cp.Variable(60, nonneg=True)
        oracle = cp.Problem(cp.Minimize(cp.sum_squares(h - X.T @ v)), [cp.sum(v) == 1])
        oracle.solve(solver=cp.CLARABEL)
        assert np.sum((h - t @ X) ** 2) == pytest.approx(oracle.value, abs=1e-6)
    assert gaps.max() < 1e-6
    assert np.all(T >= 0)
    np.testing.assert_allclose(T.sum(axis=1), 1.0)


def test_a_step_on_a_support_is_that_of_cvxpy() -> None:
    """With the support known, H is a nonnegative least-squares problem of CVXPY's."""
    rng = np.random.default_rng(2)
    X, W = rng.random((15, 6)), rng.dirichlet(np.ones(3), 15)
    T = rng.dirichlet(np.ones(15), 3)
    problem = Problem(DataMatrix.of(X), 2.0)
    free = cp.Variable((3, 6), nonneg=True)
    cost = cp.sum_squares(X - W @ free) + 2.0 * cp.sum_squares(free - T @ X)
    oracle = cp.Problem(cp.Minimize(cost))
    oracle.solve(solver=cp.CLARABEL)
    here, descent = problem.at(State(np.ones((3, 6)), W, T)), Descent()
    for _ in range(60):
        H, _, _ = descent._archetypes(problem, here, W, T)
        here = problem.at(State(H, W, T))
    np.testing.assert_allclose(H, free.value, atol=1e-5)


def test_nearest_sparse_is_the_best_of_all_supports() -> None:
    H = np.random.default_rng(3).normal(size=(2, 4))
    found = nearest_sparse(H, 3)
    best = min(
        sum((H.flat[i] - (max(H.flat[i], 0.0) if i in kept else 0.0)) ** 2 for i in range(H.size))
        for kept in combinations(range(H.size), 3)
    )
    assert np.sum((H - found) ** 2) == pytest.approx(best)


@pytest.mark.parametrize("swaps", [False, True])
def test_it_falls_and_ends_at_a_stationary_point(
    problem: Problem, state: State, swaps: bool, feasible: Any
) -> None:
    """Definition 2 of [A], and the descent that Theorem 4 needs."""
    observed: list[Any] = []
    start = state._replace(H=nearest_sparse(state.H, problem.nonzeros))
    ended = Descent(1e-6, 5000, swaps).run(problem, start, observed.append)
    values = [problem.at(start).objective, *(point.objective for point in observed)]
    noise = 1e-13 * problem.rows.squares.sum()
    assert all(b <= a + noise for a, b in pairwise(values))
    assert all(feasible(point.state, problem.nonzeros) for point in observed)
    assert ended.status is Status.CONVERGED
    assert ended.sweeps == len(observed)
    assert stationarity(problem, ended.point.state) < 3e-6
    assert problem.exact(ended.point.state) == pytest.approx(ended.point.objective, abs=noise)


@pytest.mark.parametrize("seed", [0, 2])
def test_at_the_end_no_swap_helps(seed: int) -> None:
    """All pairs of entries, one by one, with the blocks W and T as they are."""
    X = archetypal_mixtures(60, 40, 4, noise=0.05, random_state=seed).X
    problem = Problem(DataMatrix.of(X), 1.0, 112)
    start = from_archetypes(problem.rows, X[successive_projections(problem.rows, 4)])
    state = start._replace(H=nearest_sparse(start.H, 112))
    H, W, T = Descent(1e-8, 5000).run(problem, state).point.state
    here = problem.exact(State(H, W, T))
    Q, P = W.T @ W + np.eye(4), W.T @ X + T @ X
    for out in np.argwhere(H > 0):
        for into in np.argwhere(H == 0):
            moved = H.copy()
            moved[tuple(out)] = 0.0
            i, j = into
            moved[i, j] = max(0.0, (P[i, j] - Q[i] @ moved[:, j]) / Q[i, i])
            assert problem.exact(State(moved, W, T)) >= here * (1 - 1e-6)


def test_swaps_never_raise_and_keep_the_count() -> None:
    rng = np.random.default_rng(4)
    for seed in range(20):
        W = rng.dirichlet(np.ones(4), 30)
        Q, P = W.T @ W + 0.5 * np.eye(4), rng.normal(1.0, 1.0, (4, 40))
        H = nearest_sparse(rng.normal(size=(4, 40)), 60)
        moved, count = swap_entries(Q, P, H, 60 - np.count_nonzero(H), 0.0)

        def cost(A: Any, Q: Any = Q, P: Any = P) -> float:
            return float(np.vdot(A, Q @ A) - 2.0 * np.vdot(P, A))

        assert count > 0, seed
        assert cost(moved) < cost(H)
        assert np.count_nonzero(moved) <= 60
        assert np.all(moved >= 0)


def test_free_places_are_filled() -> None:
    """||H||_0 < l: entries may enter without any leaving."""
    H, count = swap_entries(
        np.eye(2), np.array([[1.0, -1.0], [2.0, 3.0]]), np.zeros((2, 2)), 2, 0.0
    )
    assert count == 2
    np.testing.assert_array_equal(H, [[0.0, 0.0], [2.0, 3.0]])


@pytest.mark.parametrize("form", ["tall", "sparse", "blocks"])
def test_other_forms_of_data_give_the_same(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X = archetypal_mixtures(90, 12, 3, noise=0.05, random_state=5).X
    plain = DataMatrix.of(X)
    start = from_archetypes(plain, X[:3])
    expected = Descent(1e-6, 5000, False).run(Problem(plain, 10.0), start)
    if form == "tall":
        monkeypatch.setattr(data_module, "_MAX_GRAM_SAMPLES", 0)
    else:
        monkeypatch.setattr(data_module, "_BLOCK_ENTRIES", 200)
    rows = DataMatrix.of(sparse.csr_array(X) if form == "sparse" else X)
    assert sparse.issparse(rows.X) == (form == "sparse")
    H, T = start.H, start.T
    np.testing.assert_allclose(rows.correlated(H), plain.correlated(H), rtol=1e-12)
    np.testing.assert_allclose(rows.mixed(T), plain.mixed(T), rtol=1e-12)
    np.testing.assert_allclose(rows.squares, plain.squares, rtol=1e-12)
    found = Descent(1e-6, 5000, False).run(Problem(rows, 10.0), start)
    assert found.point.objective == pytest.approx(expected.point.objective, rel=1e-3)
    assert found.status is Status.CONVERGED


def test_weight_zero_is_nmf_with_codes_in_the_simplex() -> None:
    X = np.random.default_rng(0).dirichlet(np.ones(3), 40) @ np.random.default_rng(1).random((3, 9))
    rows = DataMatrix.of(X)
    start = from_archetypes(rows, X[random_samples(rows, 3, np.random.default_rng(0))])
    ended = Descent(1e-7, 20000).run(Problem(rows, 0.0), start)
    assert ended.point.objective < 1e-4 * rows.squares.sum()


def test_emphasis_counts_samples_more() -> None:
    X = archetypal_mixtures(30, 10, 3, random_state=0).X
    rows = DataMatrix.of(X)
    start = from_archetypes(rows, X[:2])
    plain = Problem(rows, 0.1)
    emphasis = np.where(np.arange(30) == 7, 50.0, 1.0)
    strong = replace(plain, emphasis=emphasis)
    states = [Descent(1e-6).run(p, start).point.state for p in (plain, strong)]
    left = [np.sum((X[7] - s.W[7] @ s.H) ** 2) for s in states]
    assert left[1] < 0.5 * left[0]
    H, W, T = states[1]
    by_hand = emphasis @ np.sum((X - W @ H) ** 2, axis=1) + 0.1 * np.sum((H - T @ X) ** 2)
    assert strong.exact(states[1]) == pytest.approx(by_hand)
    assert strong.at(states[1]).objective == pytest.approx(by_hand)


def test_the_printed_signs_rise() -> None:
    """Algorithm 1 prints minus (X - W H) H' for the step on W: the objective goes up."""
    X = archetypal_mixtures(30, 20, 3, random_state=0).X
    problem = Problem(DataMatrix.of(X), 1.0)
    state = from_archetypes(problem.rows, X[:3])
    H, W, T = state._replace(W=np.full((30, 3), 1 / 3))
    rest, size = (X - W @ H) @ H.T, np.linalg.norm(H @ H.T, 2)
    moved = [Simplex().prox((W + sign * rest / size).T).T for sign in (-1, 1)]
    values = [problem.exact(State(H, w, T)) for w in moved]
    assert values[0] > problem.exact(State(H, W, T)) > values[1]
