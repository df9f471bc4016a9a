"""Outer approximation: F and its subgradients, bounds against brute force, initialisation."""

from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from thalweg.archetypes import DataMatrix, master_problem as master_module
from thalweg.archetypes.initialisation import successive_projections
from thalweg.archetypes.outer_approximation import OuterApproximation
from thalweg.archetypes.support_value import SupportFunction

K, N, M = 2, 4, 5


@pytest.fixture(scope="module")
def rows() -> DataMatrix:
    return DataMatrix.of(np.random.default_rng(7).random((M, N)))


def oracle(X: Any, Y: Any, anchors: Any = None) -> float:
    """Return F(Y), (25), by CVXPY, with the bounds of the library."""
    H, T = cp.Variable((K, N), nonneg=True), cp.Variable((K, len(X)), nonneg=True)
    limits = [cp.sum(T, axis=1) == 1, X.max(axis=0) * Y >= H]
    if anchors is not None:
        limits += [T[i, a] >= 0.5 for i, a in enumerate(anchors)]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(H - T @ X)), limits)
    return float(problem.solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("anchored", [False, True])
def test_value_is_that_of_cvxpy(rows: DataMatrix, anchored: bool) -> None:
    rng = np.random.default_rng(0)
    anchors = successive_projections(rows, K) if anchored else None
    function = SupportFunction(rows, K, anchors, gap=1e-5)
    for draw in range(6):
        Y = rng.random((K, N)) if draw % 2 else (rng.random((K, N)) < 0.5).astype(float)
        value = function.value(Y)
        F = oracle(rows.X, Y, anchors)
        assert value.lower.sum() - 1e-6 <= F <= value.upper.sum() + 1e-6
        assert value.upper.sum() == pytest.approx(F, abs=2e-3)
        np.testing.assert_allclose(value.T.sum(axis=1), 1.0)


def test_slopes_are_subgradients(rows: DataMatrix) -> None:
    """Proposition 4 by sampled inequalities, also for inexact values of F."""
    rng = np.random.default_rng(1)
    for gap in (1e-5, 10.0):
        function = SupportFunction(rows, K, gap=gap)
        for _ in range(5):
            Y0, others = rng.random((K, N)), rng.random((8, K, N))
            value = function.value(Y0)
            for Y in others:
                bound = value.lower.sum() + np.vdot(value.slope, Y - Y0)
                assert oracle(rows.X, Y) >= bound - 1e-6


def brute_force(rows: DataMatrix, nonzeros: int) -> float:
    function = SupportFunction(rows, K, gap=1e-5)
    supports = (np.reshape(Y, (K, N)).astype(float) for Y in product((0, 1), repeat=K * N))
    return min(float(function.value(Y).upper.sum()) for Y in supports if Y.sum() == nonzeros)


@pytest.mark.parametrize("nonzeros", [3, 5])
@pytest.mark.parametrize("small", [True, False], ids=["bounds for rows", "one relaxed bound"])
def test_bounds_hold_against_brute_force(
    rows: DataMatrix, nonzeros: int, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not small:
        monkeypatch.setattr(master_module, "_MAX_INTEGER_ENTRIES", 0)
    best = brute_force(rows, nonzeros)
    found = OuterApproximation(K, seconds=20.0 if small else 0.5).run(rows, nonzeros)
    assert found.lower <= best * (1 + 1e-6)
    assert found.upper >= best * (1 - 1e-3)
    if small:
        assert found.gap <= 1e-3
        assert found.upper == pytest.approx(best, rel=2e-3)
    assert np.count_nonzero(found.state.H) <= nonzeros
    H, T = found.state.H, found.state.T
    assert np.sum((H - T @ rows.X) ** 2) == pytest.approx(found.upper, rel=1e-6)


def test_the_optimum_repeats_a_row_and_anchors_do_not() -> None:
    """Why (22) alone is a poor start: its rows are k copies of one problem."""
    X = np.random.default_rng(3).random((6, 4))
    rows = DataMatrix.of(X)
    plain = OuterApproximation(2, gap=1e-4).run(rows, 4).state.H
    apart = OuterApproximation(2, successive_projections(rows, 2), gap=1e-4).run(rows, 4).state.H

    def distance(H: Any) -> float:
        return float(np.sum((H[0] - H[1]) ** 2))

    assert distance(plain) < 0.05 * distance(apart)


def test_bounds_on_entries_are_tighter_than_the_paper_s(rows: DataMatrix) -> None:
    found = OuterApproximation(K).run(rows, 4)
    norms = np.linalg.norm(rows.X, axis=1)
    printed = np.sqrt(K) * (norms.max() + np.sqrt(K) * norms.min())  # sqrt(b), Proposition 3
    assert np.linalg.norm(found.state.H) <= printed
    assert rows.X.max() < 0.3 * printed


def test_the_time_limit_is_kept(rows: DataMatrix) -> None:
    found = OuterApproximation(K, seconds=1e-3).run(rows, 4)
    assert found.rounds == 0
    assert found.lower == 0.0
    assert found.gap == 1.0
