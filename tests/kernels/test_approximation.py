"""The loops of robust stochastic approximation: permutations, and projections that are exact."""

from typing import Any

import numpy as np
import pytest

import reference
from thalweg import _native
from thalweg.prox.elastic_net_ball import ElasticNetBall
from thalweg.prox.l1_ball import L1Ball
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.simplex import Simplex

SETS = [
    Simplex(), Simplex(0.3), L1Ball(), L1Ball(4.0), L2Ball(), L2Ball(0.2), ElasticNetBall(),
    ElasticNetBall(1e-3, 5.0), ElasticNetBall(5.0, 1e-3),
]  # fmt: skip
every_set = pytest.mark.parametrize("g", SETS, ids=repr)


def elastic_net_set(g: Any) -> Any:
    l1, l2, equality = g.border
    return _native.ElasticNetSet(l1=l1, l2=l2, equality=equality)


def projected(x: Any, g: Any) -> Any:
    u = x.copy()
    _native.project_elastic_net(u, elastic_net_set(g))
    return u


def permutation(n: int, seed: Any) -> list[int]:
    order = np.empty(n, np.intp)
    _native.random_permutation(order, seed)
    return order.tolist()


@every_set
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_projections_are_the_nearest_points(g: Any, scale: float) -> None:
    """Against the sorted formula of the set itself, and against bisection."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 40):
        for shift in (-2.0, 0.0, 2.0):
            x = scale * (rng.normal(size=n) + shift)
            exact = g.prox(x)
            size = max(1.0, float(np.abs(exact).max()))
            found = projected(x, g)
            np.testing.assert_allclose(found, exact, rtol=0, atol=1e-11 * size)
            expected = reference.project_elastic_net(x, *g.border)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * size)
            assert g.value(found) == 0.0


@every_set
def test_projections_in_single_precision(g: Any) -> None:
    x = np.random.default_rng(1).normal(0.1, 1.0, 300)
    found = projected(x.astype(np.float32), g)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, g.prox(x), rtol=0, atol=1e-6)
    assert g.value(found) == 0.0


@every_set
def test_a_point_of_the_set_stays(g: Any) -> None:
    inside = g.prox(np.random.default_rng(2).random(30))
    np.testing.assert_allclose(projected(inside, g), inside, rtol=0, atol=1e-15)


def test_ties_and_far_points() -> None:
    g = Simplex()
    np.testing.assert_allclose(projected(np.full(4, -7.0), g), 0.25)
    np.testing.assert_allclose(projected(np.array([1e12, 0.0, -1e12]), g), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(projected(np.array([-1e12, -1e12 - 1.0]), g), [1.0, 0.0])


@pytest.mark.parametrize("n", [1, 2, 3, 100])
def test_permutations_are_those_of_the_reference(n: int) -> None:
    seed = np.array([2**64 - 5], np.uint64)
    state = int(seed[0])
    for _ in range(3):
        expected, state = reference.random_permutation(n, state)
        assert permutation(n, seed) == expected
        assert int(seed[0]) == state


def test_every_permutation_is_as_likely() -> None:
    """Chi-square with 5 degrees of freedom: beyond 20.5 in one of a thousand cases."""
    seed, counts = np.array([1], np.uint64), dict[tuple[int, ...], int]()
    for _ in range(6000):
        order = tuple(permutation(3, seed))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert sum((c - 1000) ** 2 / 1000 for c in counts.values()) < 20.5


@every_set
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sweep_is_that_of_the_reference(g: Any, dtype: Any) -> None:
    rng = np.random.default_rng(3)
    H, V = rng.random((5, 12)), rng.random((9, 12))
    A, B, W = H @ H.T, V @ H.T, g.prox(rng.random((9, 5)))
    free = np.array([True, True, False, True, True])
    A[4] = A[:, 4] = B[:, 4] = 0.0  # an atom that nothing has used
    rows = np.array(W.T, dtype, order="C")
    value, fall = _native.sweep_elastic_net_atoms(
        A.astype(dtype), np.array(B.T, dtype, order="C"), rows, elastic_net_set(g), free
    )
    expected = reference.sweep_elastic_net_atoms(A, B, W, g.prox, free)
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(rows.T, expected, rtol=0, atol=tolerance)
    before, after = (reference.dictionary_objective(A, B, X) for X in (W, expected))
    assert value == pytest.approx(before, rel=tolerance, abs=tolerance)
    assert fall == pytest.approx(before - after, rel=100 * tolerance, abs=tolerance)
