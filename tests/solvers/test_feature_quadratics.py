"""Dictionaries whose features have quadratics of their own, against SciPy."""

import numpy as np
import pytest
from scipy.optimize import minimize

from thalweg.prox.box import Box
from thalweg.prox.elastic_net_ball import ElasticNetBall
from thalweg.prox.l1 import L1
from thalweg.prox.l1_ball import L1Ball
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.orthant import Orthant
from thalweg.prox.simplex import Simplex
from thalweg.solvers._feature_quadratics import weighted_projection
from thalweg.solvers.block_coordinate import BlockCoordinate

SETS = [L2Ball(0.8), L1Ball(), ElasticNetBall(0.7, 0.4), Simplex()]


@pytest.mark.parametrize("constraint", SETS, ids=lambda g: g.name)
@pytest.mark.parametrize("size", [0.1, 1.0, 5.0])
def test_weighted_projections(constraint, size):
    rng = np.random.default_rng(0)
    target, bend = size * rng.normal(0.3, 1.0, 6), rng.uniform(0.1, 10.0, 6)
    a, b, full = constraint.border

    def room(u):
        return 1.0 - a * u.sum() - 0.5 * b * (u @ u)

    best = minimize(
        lambda u: 0.5 * bend @ (u - target) ** 2,
        np.full(6, 0.1),
        jac=lambda u: bend * (u - target),
        bounds=[(0.0, None)] * 6,
        constraints={"type": "eq" if full else "ineq", "fun": room},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    found = weighted_projection(target, bend, constraint)
    assert found.min() >= 0.0
    assert room(found) > -1e-12
    np.testing.assert_allclose(found, best.x, atol=1e-5)


def test_equal_curvatures_give_the_projection():
    target = np.random.default_rng(0).normal(size=9)
    for constraint in SETS:
        np.testing.assert_allclose(
            weighted_projection(target, np.full(9, 3.0), constraint), constraint.prox(target)
        )


@pytest.fixture
def quadratics():
    rng = np.random.default_rng(0)
    H, weights = rng.random((3, 40)), rng.uniform(0.01, 4.0, (5, 40))
    A = np.einsum("fb,kb,lb->fkl", weights, H, H) / 40
    return A, rng.random((5, 3))


@pytest.mark.parametrize(
    "g", [Orthant(), *SETS, Box(0.0, 0.4), L1(0.05, nonnegative=True)], ids=lambda g: g.name
)
def test_sweeps_reach_the_minimum(quadratics, g):
    A, B = quadratics
    start = np.full((5, 3), 0.2)
    free = np.array([True, True, False])
    W, _ = BlockCoordinate(tol=1e-14, max_iter=20_000).solve(A, B, start, g, free)
    assert np.array_equal(W[:, 2], start[:, 2])

    def value(W):
        return 0.5 * np.einsum("fk,fkl,fl->", W, A, W) - np.vdot(W, B) + np.sum(g.value(W[:, :2]))

    slope = np.einsum("fkl,fl->fk", A, W) - B
    # a proximal gradient step from a minimum stays there
    for k in (0, 1):
        np.testing.assert_allclose(g.prox(W[:, k] - 0.1 * slope[:, k], 0.1), W[:, k], atol=1e-6)
    assert value(W) < value(start) if np.isfinite(value(start)) else np.isfinite(value(W))


def test_equal_matrices_are_one_matrix(quadratics):
    A, B = quadratics
    free, start = np.ones(3, np.bool_), np.full((5, 3), 0.2)
    solver = BlockCoordinate(tol=1e-13, max_iter=5000)
    one, _ = solver.solve(A[0], B, start, L2Ball(), free)
    each, _ = solver.solve(np.repeat(A[:1], 5, axis=0), B, start, L2Ball(), free)
    np.testing.assert_allclose(one, each, atol=1e-6)


def test_a_feature_without_samples_keeps_its_entry(quadratics):
    A, B = quadratics
    A[2], B[2] = 0.0, 0.0
    start, free = np.full((5, 3), 0.2), np.ones(3, np.bool_)
    W, _ = BlockCoordinate().solve(A, B, start, Orthant(), free)
    assert np.array_equal(W[2], start[2])
