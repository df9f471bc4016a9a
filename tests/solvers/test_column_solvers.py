"""Solvers of independent columns: accelerated proximal gradient, compared with nnls and CVXPY."""

import warnings
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from thalweg._rooms import members
from thalweg.prox.group_lasso import GroupLasso
from thalweg.prox.l1 import L1
from thalweg.prox.orthant import Orthant
from thalweg.prox.sparse_group_lasso import SparseGroupLasso
from thalweg.solvers.nnls import nnls, prepare
from thalweg.solvers.proximal_gradient import accelerated

Array = Any
CONVEX = [cls() for cls in members("thalweg.prox").values() if cls.convex]
CODES = [
    L1(0.3, nonnegative=True),
    L1(0.3, 0.4, nonnegative=True),
    GroupLasso(0.3, [0, 0, 1, 1, 1], nonnegative=True),
    SparseGroupLasso(0.4, [0, 0, 1, 1, 1], 0.6, nonnegative=True),
]
TOL = 1e-12


def problem(seed: int = 0, B: int = 12) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    W = rng.random((9, 5)) + np.eye(9, 5)
    return W.T @ W, W.T @ rng.normal(size=(9, B)) * rng.choice([0.2, 1.0, 3.0], size=B)


def value(G: Array, C: Array, g: Any, H: Array) -> Array:
    GH = G @ H if G.ndim == 2 else np.einsum("bij,jb->ib", G, H)
    return np.sum(H * (0.5 * GH - C), axis=0) + g.value(H)


@pytest.mark.parametrize("g", [*CONVEX, *CODES], ids=repr)
def test_result_is_a_fixed_point_of_the_proximal_gradient_step(g: Any) -> None:
    G, C = problem()
    H, solved = accelerated(G, C, g, np.zeros_like(C), TOL)
    assert solved.all()
    for step in (0.1, 1.0):
        again = g.prox(H - step * (G @ H - C), step)
        np.testing.assert_allclose(again, H, rtol=0, atol=1e-9)


@pytest.mark.parametrize("g", [*CONVEX, *CODES], ids=repr)
def test_result_does_not_depend_on_the_start_and_is_a_minimum(g: Any) -> None:
    G, C = problem(1)
    rng = np.random.default_rng(2)
    start = g.prox(rng.normal(size=C.shape))
    H, solved = accelerated(G, C, g, start, TOL)
    assert solved.all()
    from_zero, _ = accelerated(G, C, g, np.zeros_like(C), TOL)
    np.testing.assert_allclose(H, from_zero, rtol=0, atol=1e-9)
    best = value(G, C, g, H)
    for size in (1.0, 1e-2, 1e-4):
        other = g.prox(H + size * rng.normal(size=H.shape))
        assert np.all(value(G, C, g, other) >= best - 1e-12 * (1 + np.abs(best)))


@pytest.mark.parametrize("g", CODES[2:], ids=repr)
def test_group_penalties_agree_with_cvxpy(g: Any) -> None:
    G, C = problem(3)
    H, _ = accelerated(G, C, g, np.zeros_like(C), TOL)
    root = np.linalg.cholesky(G)
    X = cp.Variable(C.shape, nonneg=True)
    mix = getattr(g, "mix", 1.0)
    norms = sum(
        np.sqrt(len(rows)) * cp.sum(cp.norm(X[rows], 2, axis=0)) for rows in ([0, 1], [2, 3, 4])
    )
    total = cp.sum_squares(root.T @ X) / 2 - cp.sum(cp.multiply(C, X))
    total += g.weight * (mix * norms + (1 - mix) * cp.sum(X))
    program = cp.Problem(cp.Minimize(total))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert value(G, C, g, H).sum() == pytest.approx(program.value, rel=1e-9)
    np.testing.assert_allclose(H, X.value, rtol=0, atol=1e-4)


def test_without_penalty_the_result_is_nnls() -> None:
    G, C = problem(4, B=40)
    H, _ = accelerated(G, C, Orthant(), np.zeros_like(C), TOL)
    np.testing.assert_allclose(H, nnls(prepare(G), C)[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("g", CODES, ids=repr)
def test_each_column_may_have_its_own_gram(g: Any) -> None:
    rng = np.random.default_rng(5)
    W = rng.random((9, 5)) + np.eye(9, 5)
    kept = rng.random((9, 15)) < 0.8
    kept[:, 0] = False  # a column without observed entries
    grams = np.stack([W[rows].T @ W[rows] for rows in kept.T])
    C = W.T @ (kept * rng.normal(size=(9, 15)))
    H, solved = accelerated(grams, C, g, np.zeros_like(C), TOL)
    assert solved.all()
    assert not H[:, 0].any()
    for b in range(1, 15):
        alone, _ = accelerated(grams[b], C[:, b : b + 1], g, np.zeros((5, 1)), TOL)
        ours = value(grams[b : b + 1], C[:, b : b + 1], g, H[:, b : b + 1])
        best = value(grams[b], C[:, b : b + 1], g, alone)
        np.testing.assert_allclose(ours, best, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("g", CODES, ids=repr)
def test_columns_do_not_depend_on_one_another(g: Any) -> None:
    G, C = problem(6)
    H, _ = accelerated(G, C, g, np.zeros_like(C), TOL)
    turned, _ = accelerated(G, C[:, ::-1], g, np.zeros_like(C), TOL)
    np.testing.assert_allclose(turned[:, ::-1], H, rtol=0, atol=1e-13)
    alone = [accelerated(G, C[:, [b]], g, np.zeros((5, 1)), TOL)[0] for b in range(C.shape[1])]
    np.testing.assert_allclose(np.hstack(alone), H, rtol=0, atol=1e-13)


def test_reaching_max_iter_is_reported() -> None:
    G, C = problem(7)
    g = CODES[2]
    _, solved = accelerated(G, C, g, np.zeros_like(C), TOL, max_iter=2)
    assert not solved.all()


@pytest.mark.parametrize("g", CODES, ids=repr)
def test_degenerate_grams(g: Any) -> None:
    nothing, solved = accelerated(np.zeros((5, 5)), np.zeros((5, 3)), g, np.ones((5, 3)), TOL)
    assert solved.all()
    assert not nothing.any()
    empty, solved = accelerated(np.eye(5), np.empty((5, 0)), g, np.empty((5, 0)), TOL)
    assert empty.shape == (5, 0)
    assert solved.shape == (0,)
    singular, solved = accelerated(np.ones((5, 5)), np.ones((5, 2)), g, np.zeros((5, 2)), TOL)
    assert solved.all()
    again = g.prox(singular - 0.1 * (np.ones((5, 5)) @ singular - 1.0), 0.1)
    np.testing.assert_allclose(again, singular, rtol=0, atol=1e-9)


def test_inputs_are_not_modified() -> None:
    G, C = problem(8)
    start = np.zeros_like(C)
    before = G.copy(), C.copy()
    H, _ = accelerated(G, C, CODES[0], start, TOL)
    assert H.any()
    assert not start.any()
    assert np.array_equal(G, before[0])
    assert np.array_equal(C, before[1])
