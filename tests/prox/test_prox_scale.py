"""Results scale with the units of data and parameters, up to extreme units."""

from dataclasses import fields, replace
from math import inf
from typing import Any

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
from thalweg.prox.simplex import Simplex
from thalweg.prox.sparse_group_lasso import SparseGroupLasso
from thalweg.prox.top import Top

pytestmark = pytest.mark.filterwarnings("error")

# Exponents p: with the parameters times s^p, g(u) becomes s^2 g(u / s), whose prox at s x is s
# times the prox of g at x. Parameters without the unit of the data and other classes are not
# listed; the contract tests apply to all classes.
POWERS: dict[str, dict[str, int]] = {
    "box": {"lower": 1, "upper": 1},
    "elastic-net": {"l1": 1},
    "elastic-net-ball": {"l1": -1, "l2": -2},
    "group-lasso": {"weight": 1},
    "l1": {"weight": 1, "bound": 1},
    "l1-ball": {"radius": 1},
    "l2": {},
    "l2-ball": {"radius": 1},
    "nonnegative": {},
    "simplex": {"total": 1},
    "sparse-group-lasso": {"weight": 1},
    "top": {},
}
ROOM = [cls for name, cls in members("thalweg.prox").items() if name in POWERS]
GROUPS = ["a", "b", "a", "c", "b", "a"]
CASES = [
    *(cls() for cls in ROOM),
    *(cls(nonnegative=True) for cls in ROOM if "nonnegative" in {f.name for f in fields(cls)}),
    Box(-0.3, 2.0),
    Box(-inf, np.array([0.4, 0.0, 0.1, inf, -0.2, 1.0])),
    L1(0.6, 0.7),
    ElasticNet(0.3, 0.0),
    GroupLasso(0.3, GROUPS),
    SparseGroupLasso(0.5, GROUPS, 0.3),
    Top(3),
    *(cls(r) for cls in (L1Ball, L2Ball, Simplex) for r in (0.2, 3.0)),
    *(ElasticNetBall(*w) for w in ((0.0, 2.0), (2.0, 0.0), (1.0, 0.01), (0.1, 5.0), (1.0, 1e-9))),
]
# Powers of two, which do not round: about 1e100 and 1e150 in float64, and 1e30 in float32.
UNITS = [(s * e, d) for e, d in ((332, "f8"), (498, "f8"), (100, "f4")) for s in (1, -1)]


def in_unit(g: Any, s: float) -> Any:
    """Return u -> s^2 g(u / s)."""
    return replace(g, **{p: getattr(g, p) * s**power for p, power in POWERS[g.name].items()})


def points(dtype: Any) -> Array:
    """Return columns outside of every set, inside of most sets, and one with ties."""
    x = np.random.default_rng(11).normal(size=(6, 6)) * [0.01, 0.3, 1.0, 3.0, 50.0, 1.0]
    x[:, 5] = [1.0, 1.0, -1.0, 0.0, 1.0, -1.0]
    return x.astype(dtype)


def same(left: Any, right: Any, dtype: Any) -> None:
    """Compare up to the rounding of a norm, which is computed differently far from 1."""
    bound = 2 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(left, right, rtol=bound, atol=0, equal_nan=False)


@pytest.mark.parametrize("g", CASES, ids=repr)
@pytest.mark.parametrize(("exponent", "dtype"), UNITS)
def test_results_scale_with_data_and_parameters(g: Any, exponent: int, dtype: str) -> None:
    s, x = 2.0**exponent, points(dtype)
    far, unit, p = in_unit(g, s), x.dtype.type(s), g.prox(x, 0.5)
    same(far.prox(x * unit, 0.5), p * unit, dtype)
    same(far.value(p * unit), g.value(p) * s**2, dtype)
    same(far.value(x * unit), g.value(x) * s**2, dtype)
    same(far.conjugate(x * unit), g.conjugate(x) * s**2, dtype)


@pytest.mark.parametrize("g", CASES, ids=repr)
@pytest.mark.parametrize(("exponent", "dtype"), UNITS)
def test_extreme_data_equal_ordinary_data_with_extreme_parameters(
    g: Any, exponent: int, dtype: str
) -> None:
    s, x = 2.0**exponent, points(dtype)
    extreme, unit = in_unit(g, 1 / s), x.dtype.type(s)
    p = g.prox(x * unit, 0.5)
    same(p, extreme.prox(x, 0.5) * unit, dtype)
    same(g.value(p), extreme.value(p / unit) * s**2, dtype)
    same(g.conjugate(x * unit), extreme.conjugate(x) * s**2, dtype)


@pytest.mark.parametrize("g", [g for g in CASES if hasattr(g, "gauge")], ids=repr)
@pytest.mark.parametrize(("exponent", "dtype"), UNITS)
def test_gauges_are_homogeneous(g: Any, exponent: int, dtype: str) -> None:
    s, x = 2.0**exponent, np.abs(points(dtype))
    unit = x.dtype.type(s)
    same(in_unit(g, s).gauge(x * unit), g.gauge(x), dtype)
    same(g.gauge(x * unit), g.gauge(x) * s, dtype)
    same(in_unit(g, 1 / s).gauge(x), g.gauge(x) * s, dtype)


@pytest.mark.parametrize("g", CASES, ids=repr)
@pytest.mark.parametrize(("exponent", "dtype"), UNITS)
def test_extreme_columns_do_not_change_ordinary_ones(g: Any, exponent: int, dtype: str) -> None:
    x = points(dtype)
    mixed = x.copy()
    mixed[:, ::2] *= x.dtype.type(2.0**exponent)
    for column, alone in zip(mixed.T, g.prox(mixed, 0.5).T, strict=True):
        np.testing.assert_array_equal(g.prox(column, 0.5), alone)


@pytest.mark.parametrize("r", [1e-100, 1e-150])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e8, 1e150])
def test_tiny_sets(r: float, size: float) -> None:
    x = np.array([3.0, 1.0, -2.0]) * size
    round_ball = r / np.sqrt(10.0) * np.array([3.0, 1.0, 0.0])
    for g in (Simplex(r), L1Ball(r), ElasticNetBall(1 / r, 0.0)):
        same(g.prox(x), [r, 0.0, 0.0], "f8")
    for g in (L2Ball(r), ElasticNetBall(0.0, 2 / r**2)):
        same(g.prox(x), round_ball, "f8")
    # If the set is small compared with x, the projection is its farthest point in the direction x.
    g = ElasticNetBall(0.3 / r, 1 / r**2)
    assert g.value(g.prox(x)) == 0
    same(g.prox(x) @ x, g.conjugate(x), "f8")


@pytest.mark.parametrize("r", [1e100, 1e150])
@pytest.mark.parametrize("size", [1e-150, 1.0, 1e8])
def test_huge_sets(r: float, size: float) -> None:
    x = np.array([3.0, 1.0, -2.0]) * size
    for g in (L1Ball(r), L2Ball(r), ElasticNetBall(1 / r, 0.0), ElasticNetBall(0.3 / r, r**-2)):
        np.testing.assert_array_equal(g.prox(x), [3.0 * size, size, 0.0])
    same(Simplex(r).prox(x), np.full(3, r / 3), "f8")


@pytest.mark.parametrize("g", [Simplex(1e-150), L1Ball(1e-150), ElasticNetBall(1e150, 1e-9)])
def test_distances_that_overflow_in_units_of_the_set(g: Any) -> None:
    same(g.prox(np.array([1e300, 3e300, 2e300])), [0.0, 1e-150, 0.0], "f8")
    same(g.prox(np.array([2e300, 2e300, 1e300])), [5e-151, 5e-151, 0.0], "f8")
