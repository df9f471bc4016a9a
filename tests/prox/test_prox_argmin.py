"""The prox of every class, compared with CVXPY."""

import warnings
from itertools import combinations
from math import inf, sqrt
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from thalweg._rooms import members
from thalweg._typing import Array
from thalweg.prox.box import Box
from thalweg.prox.elastic_net import ElasticNet
from thalweg.prox.elastic_net_ball import ElasticNetBall
from thalweg.prox.group_lasso import GroupLasso
from thalweg.prox.l1 import L1
from thalweg.prox.l1_ball import L1Ball
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.orthant import Orthant
from thalweg.prox.simplex import Simplex
from thalweg.prox.sparse_group_lasso import SparseGroupLasso
from thalweg.prox.squared_l2 import SquaredL2
from thalweg.prox.top import Top

N = 6
GAP = 1e-10
UNEVEN = ["a", "b", "a", "c", "b", "a"]
LOWER = np.array([-1.0, 0.0, -inf, 0.5, -0.2, -3.0])
UPPER = np.array([0.5, 0.0, 0.1, inf, 0.3, -1.0])

Terms = tuple[Any, list[Any]]


def indicator_terms(g: Any, u: Any) -> Terms:
    match g:
        case Orthant():
            return 0, [u >= 0]
        case Box():
            low, high = np.broadcast_to(g.lower, N), np.broadcast_to(g.upper, N)
            below, above = np.isfinite(low), np.isfinite(high)
            return 0, [u[below] >= low[below], u[above] <= high[above]]
        case L2Ball():
            return 0, [u >= 0, cp.norm2(u) <= g.radius]
        case L1Ball():
            return 0, [u >= 0, cp.sum(u) <= g.radius]
        case Simplex():
            return 0, [u >= 0, cp.sum(u) == g.total]
        case ElasticNetBall():
            return 0, [u >= 0, g.l1 * cp.sum(u) + g.l2 / 2 * cp.sum_squares(u) <= 1]
    raise AssertionError(f"{g} has no CVXPY model: write one")


def group_norms(g: Any, u: Any) -> Any:
    labels = g.groups or (0,) * N
    rows = [[i for i in range(N) if labels[i] == label] for label in sorted(set(labels))]
    return sum(sqrt(len(r)) * cp.norm2(u[r]) for r in rows)


def terms(g: Any, u: Any) -> Terms:
    """Return g as a CVXPY expression and its constraints, written from its definition."""
    within = [u >= 0] if getattr(g, "nonnegative", False) else []
    match g:
        case L1():
            return g.weight * cp.norm1(u), within + [cp.abs(u) <= g.bound] * (g.bound < inf)
        case SquaredL2():
            return g.weight / 2 * cp.sum_squares(u), within
        case ElasticNet():
            return g.l1 * cp.norm1(u) + g.l2 / 2 * cp.sum_squares(u), within
        case GroupLasso():
            return g.weight * group_norms(g, u), within
        case SparseGroupLasso():
            mixed = g.mix * group_norms(g, u) + (1 - g.mix) * cp.norm1(u)
            return g.weight * mixed, within
    return indicator_terms(g, u)


def solve(objective: Any, constraints: list[Any]) -> float:
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), GAP)
    problem = cp.Problem(objective, constraints)
    with warnings.catch_warnings():
        # At this tolerance Clarabel warns about some solutions, which agree with ours all the same.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        problem.solve(solver=cp.CLARABEL, **tight)
    assert problem.status in ("optimal", "optimal_inaccurate")
    return float(problem.value)


CASES = [
    Orthant(),
    Box(),
    Box(-0.3, 2.0),
    Box(-inf, 0.4),
    Box(LOWER, UPPER),
    Box(LOWER.tolist(), inf),
    *(L2Ball(r) for r in (1.0, 0.2, 4.0)),
    *(L1Ball(r) for r in (1.0, 0.2, 4.0)),
    *(Simplex(t) for t in (1.0, 0.2, 4.0)),
    *(ElasticNetBall(*w) for w in ((0.5, 1.0), (0.0, 2.0), (2.0, 0.0), (1.0, 0.01), (0.1, 5.0))),
    *(L1(w, b, s) for w in (0.0, 0.6) for b in (inf, 0.7) for s in (False, True)),
    *(SquaredL2(w, s) for w in (0.0, 2.0) for s in (False, True)),
    *(ElasticNet(*w, s) for w in ((1.0, 1.0), (0.3, 0.0), (0.0, 2.0)) for s in (False, True)),
    *(GroupLasso(w, k, s) for w in (0.3, 1.0) for k in (None, UNEVEN) for s in (False, True)),
    *(SparseGroupLasso(0.5, k, m, s)
      for k in (None, UNEVEN) for m in (0.0, 0.5, 1.0) for s in (False, True)),
]  # fmt: skip


def points() -> Array:
    rng = np.random.default_rng(7)
    return rng.normal(size=(N, 5)) * [0.1, 0.6, 1.0, 3.0, -2.0]


def test_each_convex_class_is_compared() -> None:
    convex = {cls for cls in members("thalweg.prox").values() if cls.convex}
    assert convex == {type(g) for g in CASES}


@pytest.mark.parametrize("g", CASES, ids=repr)
@pytest.mark.parametrize("step", [0.5, 2.0])
def test_prox_is_the_argmin(g: Any, step: float) -> None:
    x = points()
    p = g.prox(x, step)
    for column, mine in zip(x.T, p.T, strict=True):
        u = cp.Variable(N)
        value, constraints = terms(g, u)
        best = solve(cp.Minimize(value + cp.sum_squares(u - column) / (2 * step)), constraints)
        ours = g.value(mine) + np.sum((mine - column) ** 2) / (2 * step)
        assert ours == pytest.approx(best, rel=1e-8, abs=1e-8)
        # By strong convexity, an objective gap of GAP allows a distance of sqrt(4 GAP).
        np.testing.assert_allclose(mine, u.value, rtol=0, atol=sqrt(2 * 2.0 * GAP))


@pytest.mark.parametrize("g", CASES, ids=repr)
@pytest.mark.parametrize("step", [0.5, 2.0])
def test_prox_has_a_certificate(g: Any, step: float) -> None:
    x = points()
    p = g.prox(x, step)
    y = (x - p) / step
    gap = g.value(p) + g.conjugate(y) - np.sum(p * y, axis=0)
    np.testing.assert_array_less(np.abs(gap), 1e-13 * (1 + np.sum(np.abs(p * y), axis=0)))


@pytest.mark.parametrize("g", CASES, ids=repr)
def test_value_is_the_function(g: Any) -> None:
    for mine in g.prox(points(), 0.4).T:
        value = terms(g, cp.Constant(mine))[0]
        expected = value.value if hasattr(value, "value") else value
        np.testing.assert_allclose(g.value(mine), expected, rtol=1e-12, atol=1e-15)


COMPACT = [g for g in CASES if isinstance(g, (L2Ball, L1Ball, Simplex, ElasticNetBall))]
COERCIVE = [
    *(g for g in CASES if isinstance(g, L1) and g.bound < inf),
    *(g for g in CASES if isinstance(g, SquaredL2) and g.weight > 0),
    *(g for g in CASES if isinstance(g, ElasticNet) and g.l2 > 0),
]


@pytest.mark.parametrize("g", [Box(), Box(-0.3, 2.0), *COMPACT, *COERCIVE], ids=repr)
def test_conjugate_is_the_maximum(g: Any) -> None:
    for y in points().T:
        x = cp.Variable(N)
        value, constraints = terms(g, x)
        best = solve(cp.Maximize(y @ x - value), constraints)
        assert g.conjugate(y) == pytest.approx(best, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize(
    ("g", "border"),
    [
        (L1(0.6), np.array([0.6, -0.6, 0.1])),
        (L1(0.6, nonnegative=True), np.array([0.6, -9.0, 0.1])),
        (ElasticNet(0.6, 0.0), np.array([0.6, -0.6, 0.1])),
        (SquaredL2(0.0, nonnegative=True), np.array([0.0, -2.0, -1.0])),
        (Orthant(), np.array([0.0, -2.0, -1.0])),
        (Top(2), np.array([0.0, -2.0, -1.0])),
        (GroupLasso(1.0, "aab"), np.array([1.0, -1.0, 1.0])),
        (GroupLasso(1.0, "aab", True), np.array([sqrt(2), -9.0, 1.0])),
        (SparseGroupLasso(2.0, "aab"), np.array([2.0, -2.0, 2.0])),
        (SparseGroupLasso(2.0, None, 0.0), np.array([2.0, -2.0, 0.5])),
    ],
    ids=repr,
)
def test_indicator_conjugates_are_inf_outside_of_their_boundary(g: Any, border: Array) -> None:
    assert g.conjugate(border) == 0
    assert g.conjugate(border * (1 - 1e-9)) == 0
    assert g.conjugate(border + 1e-9) == inf


def brute_force(x: Array, count: int) -> Array:
    """Return the nearest of the projections onto all supports, the first of equal ones."""
    candidates = []
    for support in combinations(range(len(x)), min(count, len(x))):
        u = np.zeros_like(x)
        u[list(support)] = np.maximum(x[list(support)], 0)
        candidates.append(u)
    return min(candidates, key=lambda u: float(np.sum((u - x) ** 2)))


@pytest.mark.parametrize("count", [1, 2, 3, 6, 9])
def test_top_agrees_with_brute_force(count: int) -> None:
    ties = np.array([1.0, 2.0, 1.0, 2.0, -3.0, 1.0])
    for x in [*points().T, ties, -np.abs(ties), np.zeros(N)]:
        np.testing.assert_array_equal(Top(count).prox(x), brute_force(x, count))


def twin_simplex(x: Array, total: float) -> Array:
    """Return the projection onto the simplex by bisection of its threshold."""
    low, high = x.min() - total, x.max()
    for _ in range(200):
        middle = (low + high) / 2
        too_much = np.maximum(x - middle, 0).sum() > total
        low, high = (middle, high) if too_much else (low, middle)
    return np.maximum(x - high, 0)


def test_simplex_of_a_long_column_agrees_with_bisection() -> None:
    x = np.random.default_rng(3).normal(size=2000)
    for total in (0.01, 1.0, 1000.0):
        mine = Simplex(total).prox(x)
        np.testing.assert_allclose(mine, twin_simplex(x, total), rtol=0, atol=1e-12 * total)
        assert mine.sum() == pytest.approx(total, rel=1e-14)
