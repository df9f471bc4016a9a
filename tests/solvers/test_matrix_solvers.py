"""Contract tests of all matrix solvers of ``thalweg.solvers``, with every convex function."""

import warnings
from math import inf, sqrt
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import reference
from pairwise import all_pairs
from thalweg._rooms import members
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.orthant import Orthant
from thalweg.solvers import MatrixSolver, Status

Array = Any
NAMES = list(members("thalweg.solvers"))
CONVEX = [name for name, cls in members("thalweg.prox").items() if cls.convex]
F, K = 6, 4

every_solver = pytest.mark.parametrize("name", NAMES)
every_function = pytest.mark.parametrize("g", [members("thalweg.prox")[n]() for n in CONVEX],
                                         ids=CONVEX)  # fmt: skip


def build(name: str, **options: Any) -> Any:
    return members("thalweg.solvers")[name](**options)


def statistics(seed: int = 0, n: int = 20, dtype: Any = np.float64) -> tuple[Array, Array, float]:
    """Return A, B and the constant of data that no dictionary with norms <= 1 fits exactly."""
    rng = np.random.default_rng(seed)
    H = rng.random((K, n)) + 0.2 * (np.arange(n) % K == np.arange(K)[:, None]) * K
    V = 1.5 * rng.random((F, K)) @ H + 0.5 * rng.normal(size=(F, n))
    A, B = H @ H.T / n, V @ H.T / n
    return A.astype(dtype), B.astype(dtype), float(np.sum(V**2) / (2 * n))


def start(g: Any, seed: int = 1, dtype: Any = np.float64) -> Array:
    return g.prox(np.random.default_rng(seed).random((F, K)).astype(dtype))


def objective(A: Array, B: Array, W: Array, g: Any) -> float:
    wide = (x.astype(np.float64) for x in (A, B, W))
    return reference.dictionary_objective(*wide) + float(np.sum(g.value(W)))


ALL_FREE = np.ones(K, dtype=bool)


def model(g: Any, w: Any) -> tuple[Any, list[Any]]:
    """Return g of one column as a CVXPY expression and its constraints."""
    match g.name:
        case "nonnegative":
            return 0, [w >= 0]
        case "box":
            return 0, [w >= g.lower, w <= g.upper]
        case "l2-ball":
            return 0, [w >= 0, cp.norm2(w) <= g.radius]
        case "l1-ball":
            return 0, [w >= 0, cp.sum(w) <= g.radius]
        case "simplex":
            return 0, [w >= 0, cp.sum(w) == g.total]
        case "elastic-net-ball":
            return 0, [w >= 0, g.l1 * cp.sum(w) + g.l2 / 2 * cp.sum_squares(w) <= 1]
        case "l1":
            return g.weight * cp.norm1(w), []
        case "l2":
            return g.weight / 2 * cp.sum_squares(w), []
        case "elastic-net":
            return g.l1 * cp.norm1(w) + g.l2 / 2 * cp.sum_squares(w), []
        case "group-lasso":
            return g.weight * sqrt(F) * cp.norm2(w), []
        case "sparse-group-lasso":
            mixed = g.mix * sqrt(F) * cp.norm2(w) + (1 - g.mix) * cp.norm1(w)
            return g.weight * mixed, []
    raise AssertionError(f"{g} has no CVXPY model: write one")


def optimum(A: Array, B: Array, g: Any, fixed: dict[int, Array] | None = None) -> float:
    """Return the minimum from CVXPY, with some columns fixed."""
    W = cp.Variable((F, K))
    root = np.linalg.cholesky(A + 1e-14 * np.eye(K))
    total = cp.sum_squares(W @ root) / 2 - cp.sum(cp.multiply(W, B))
    constraints: list[Any] = []
    for k in range(K):
        if fixed is not None and k in fixed:
            constraints.append(W[:, k] == fixed[k])
            continue
        cost, limits = model(g, W[:, k])
        total, constraints = total + cost, constraints + limits
    problem = cp.Problem(cp.Minimize(total), constraints)
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)
    with warnings.catch_warnings():
        # At this tolerance Clarabel warns about some solutions, which agree with ours all the same.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        problem.solve(solver=cp.CLARABEL, **tight)
    return float(problem.value)


def test_the_room_is_complete() -> None:
    assert {"admm", "fast", "pgd"} <= set(NAMES)
    assert len(CONVEX) >= 11


@every_solver
def test_follows_the_protocol(name: str) -> None:
    solver = build(name)
    assert isinstance(solver, MatrixSolver)
    assert solver.name == name
    assert solver.tol == 1e-4  # [O] VII-B2
    assert solver.max_iter == 200


@every_solver
@every_function
def test_lowers_the_objective_and_stays_feasible(name: str, g: Any) -> None:
    for seed in range(5):
        A, B, constant = statistics(seed)
        W = start(g, seed + 10)
        before = objective(A, B, W, g)
        assert before < inf
        for n in (1, 2, 5):
            new, _ = build(name, max_iter=n).solve(A, B, W, g, ALL_FREE, constant)
            value = objective(A, B, new, g)
            assert value <= before + 1e-12 * abs(before)
        assert value < before - 1e-3 * abs(before), "five steps must reduce the objective"
        assert np.all(g.value(new) < inf)


@every_solver
@every_function
def test_reaches_the_optimum_of_an_independent_solver(name: str, g: Any) -> None:
    A, B, constant = statistics(2)
    W, status = build(name, tol=1e-15, max_iter=20_000).solve(A, B, start(g), g, ALL_FREE, constant)
    assert status is Status.CONVERGED
    best = optimum(A, B, g)
    assert objective(A, B, W, g) == pytest.approx(best, rel=1e-8, abs=1e-8)
    # A minimiser is a fixed point of the proximal gradient step.
    step = 1.0 / np.linalg.norm(A, 2)
    moved = W - g.prox(W - step * (W @ A - B), step)
    assert np.abs(moved).max() < 1e-6


@every_solver
@pytest.mark.parametrize("g", [L2Ball(), L2Ball(0.3), Orthant()],
                         ids=repr)  # fmt: skip
def test_fixed_columns_stay_and_the_others_are_optimal(name: str, g: Any) -> None:
    A, B, constant = statistics(3)
    W = start(g)
    W[:, 0] = 3.0  # a fixed column need not be feasible
    free = np.array([False, True, False, True])
    new, status = build(name, tol=1e-15, max_iter=20_000).solve(A, B, W, g, free, constant)
    assert status is Status.CONVERGED
    assert np.array_equal(new[:, ~free], W[:, ~free])
    best = optimum(A, B, g, fixed={0: W[:, 0], 2: W[:, 2]})
    found = reference.dictionary_objective(A, B, new)
    assert found == pytest.approx(best, rel=1e-8, abs=1e-8)


@every_solver
@every_function
def test_without_free_columns_nothing_changes(name: str, g: Any) -> None:
    A, B, constant = statistics(4)
    W = start(g)
    new, status = build(name).solve(A, B, W, g, ~ALL_FREE, constant)
    assert np.array_equal(new, W)
    assert status is Status.CONVERGED


@all_pairs(
    every_solver,
    every_function,
    pytest.mark.parametrize("samples", [0, 1, 2]),
)
def test_singular_statistics(name: str, g: Any, samples: int) -> None:
    rng = np.random.default_rng(5)
    H = rng.random((K, samples))
    H[1] = 0.0  # an unused atom
    V = rng.random((F, samples))
    A, B = H @ H.T, V @ H.T
    W = start(g)
    before = objective(A, B, W, g)
    new, _ = build(name, max_iter=500).solve(A, B, W, g, ALL_FREE, float(np.sum(V**2) / 2))
    assert np.all(np.isfinite(new))
    assert np.all(g.value(new) < inf)
    assert objective(A, B, new, g) <= before + 1e-12


@all_pairs(
    every_solver,
    every_function,
    pytest.mark.parametrize("order", ["C", "F"]),
)
def test_float32_stays_and_inputs_are_not_modified(name: str, g: Any, order: Any) -> None:
    wide, _ = build(name, max_iter=30).solve(
        *statistics(6)[:2], start(g), g, ALL_FREE, statistics(6)[2]
    )
    A, B, constant = statistics(6, dtype=np.float32)
    inputs = [np.array(x, order=order) for x in (A, B, start(g, dtype=np.float32), ALL_FREE)]
    before = [x.copy() for x in inputs]
    new, _ = build(name, max_iter=30).solve(inputs[0], inputs[1], inputs[2], g, inputs[3], constant)
    assert new.dtype == np.float32
    assert not np.shares_memory(new, inputs[2])
    assert all(np.array_equal(x, y) for x, y in zip(inputs, before, strict=True))
    np.testing.assert_allclose(
        objective(A, B, new, g), objective(A, B, wide, g), rtol=1e-4, atol=1e-4
    )


@every_solver
def test_status(name: str) -> None:
    A, B, constant = statistics(7)
    g = L2Ball()
    _, status = build(name, tol=0.0, max_iter=2).solve(A, B, start(g), g, ALL_FREE, constant)
    assert status is Status.CAPPED
    _, status = build(name, tol=1e-2).solve(A, B, start(g), g, ALL_FREE, constant)
    assert status is Status.CONVERGED


@every_solver
def test_stopping_criterion_includes_the_constant(name: str) -> None:
    """Without the constant the objective may be near 0, and no decrease is relatively small."""
    A, B, constant = statistics(8)
    g = L2Ball()
    long, _ = build(name, tol=1e-3).solve(A, B, start(g), g, ALL_FREE, 0.0)
    short, _ = build(name, tol=1e-3).solve(A, B, start(g), g, ALL_FREE, 1e6 * constant)
    assert objective(A, B, long, g) < objective(A, B, short, g)


@every_solver
def test_infeasible_start(name: str) -> None:
    A, B, constant = statistics(9)
    g = L2Ball()
    W = 5.0 * np.random.default_rng(1).random((F, K))
    new, status = build(name, tol=1e-15, max_iter=20_000).solve(A, B, W, g, ALL_FREE, constant)
    assert status is Status.CONVERGED
    assert objective(A, B, new, g) == pytest.approx(optimum(A, B, g), rel=1e-8)


@every_solver
@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_the_result_does_not_depend_on_units(name: str, size: float) -> None:
    A, B, constant = statistics(10)
    g = L2Ball()
    new, _ = build(name).solve(A, B, start(g), g, ALL_FREE, constant)
    scaled, _ = build(name).solve(
        A * size**2, B * size**2, start(g), g, ALL_FREE, constant * size**2
    )
    np.testing.assert_allclose(scaled, new, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_projected_gradient_follows_the_paper(n: int) -> None:
    A, B, _ = statistics(11)
    W = start(L2Ball())
    for kappa in (0.2, 0.7, 1.0):
        solver = build("pgd", kappa=kappa, tol=0.0, max_iter=n)
        new, _ = solver.solve(A, B, W, L2Ball(), ALL_FREE)
        track = reference.dictionary_pgd(A, B, W, kappa, n)
        np.testing.assert_allclose(new, track[n], rtol=0, atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20])
def test_admm_follows_the_paper_with_a_relative_rho(n: int) -> None:
    """The best feasible copy so far is returned, since ADMM is not monotone."""
    A, B, _ = statistics(12)
    W = start(L2Ball())
    for rho in (0.3, 1.0, 10.0):
        new, _ = build("admm", rho=rho, tol=0.0, max_iter=n).solve(A, B, W, L2Ball(), ALL_FREE)
        track = reference.dictionary_admm(A, B, W, rho * np.trace(A) / K, n)
        best = min(track, key=lambda Q: reference.dictionary_objective(A, B, Q))
        np.testing.assert_allclose(new, best, rtol=0, atol=1e-12)


@pytest.mark.parametrize("radius", [1.0, 0.2, inf])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_block_coordinate_agrees_with_a_plain_loop(radius: float, n: int) -> None:
    A, B, _ = statistics(13)
    g = Orthant() if radius == inf else L2Ball(radius)
    W = start(g)
    new, _ = build("fast", tol=0.0, max_iter=n).solve(A, B, W, g, ALL_FREE)
    for _ in range(n):
        W = reference.descend_atoms(A, B, W, radius, ALL_FREE)
    np.testing.assert_allclose(new, W, rtol=0, atol=1e-13)


@pytest.mark.parametrize("constraint", ["l2-ball", "simplex"])
def test_block_coordinate_skips_atoms_with_tiny_weight(constraint: str) -> None:
    """The inverse of a subnormal weight is infinite, and would give NaN."""
    g, W = members("thalweg.prox")[constraint](), np.full((3, 2), 1.0 / 3.0)
    A = np.diag([5e-324, 1.0])
    B = np.array([[1e-9, 0.5], [0.0, 0.3], [0.0, 0.2]])
    solver = members("thalweg.solvers")["fast"]()
    found, _ = solver.solve(A, B, W, g, np.array([True, True]))
    assert np.array_equal(found[:, 0], W[:, 0])
    np.testing.assert_allclose(found[:, 1], B[:, 1], rtol=1e-12)
