"""Ties, zeros, empty arrays, columns of extreme size and bad parameters."""

from math import inf, nan, sqrt
from typing import Any

import numpy as np
import pytest

from pairwise import all_pairs
from thalweg._rooms import members
from thalweg._typing import Array
from thalweg.errors import InputError, ParameterError
from thalweg.prox._norms import column_norms
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

ALL = [cls() for cls in members("thalweg.prox").values()]
pytestmark = pytest.mark.filterwarnings("error")


def close(left: Any, right: Any) -> None:
    np.testing.assert_allclose(left, right, rtol=1e-14, atol=0)


@all_pairs(
    pytest.mark.parametrize("g", ALL, ids=repr),
    pytest.mark.parametrize("shape", [(0,), (0, 3), (4, 0), (0, 0)]),
    pytest.mark.parametrize("dtype", [np.float32, np.float64]),
)
def test_empty_arrays(g: Any, shape: tuple[int, ...], dtype: Any) -> None:
    x = np.empty(shape, dtype=dtype)
    p = g.prox(x)
    assert p.shape == shape
    assert p.dtype == dtype
    assert g.value(x).shape == shape[1:]
    assert g.conjugate(x).shape == shape[1:]


@pytest.mark.parametrize("g", ALL, ids=repr)
def test_single_entries_and_zero_columns(g: Any) -> None:
    single = g.prox(np.array([[2.0, 0.0, -2.0]]))
    assert single.shape == (1, 3)
    assert np.all(g.value(single) < inf)
    zero = g.prox(np.zeros((3, 2)))
    expected = 1 / 3 if isinstance(g, Simplex) else 0.0
    close(zero, np.full((3, 2), expected))


@pytest.mark.parametrize("g", [L1Ball(), Simplex(), ElasticNetBall(1.0, 0.0)], ids=repr)
def test_huge_ties_share_the_total(g: Any) -> None:
    close(g.prox(np.array([1e150, 1e150, -1e150])), [0.5, 0.5, 0.0])
    close(g.prox(np.array([1e16, 1e16 - 2, 3.0])), [1.0, 0.0, 0.0])
    close(g.prox(np.full(5, 7.0)), np.full(5, 0.2))


def test_simplex_of_negative_columns() -> None:
    close(Simplex(2.0).prox(np.array([-1e150, -1e150])), [1.0, 1.0])
    close(Simplex(2.0).prox(np.array([-5.0, -4.0, -9.0])), [0.5, 1.5, 0.0])


def test_l2_ball_of_extreme_columns() -> None:
    close(L2Ball(2.0).prox(np.array([3e180, 4e180])), [1.2, 1.6])
    close(L2Ball(5e-150).prox(np.array([6e-130, 8e-130])), [3e-150, 4e-150])
    close(L2Ball().prox(np.array([3e-160, -1.0])), [3e-160, 0.0])


def test_column_norms_do_not_overflow_or_underflow() -> None:
    sizes = np.array([1e-300, 1e-160, 1.0, 1e160, 1e300, 0.0])
    x = np.outer([3.0, -4.0], sizes)
    close(column_norms(x), 5 * sizes)
    close([column_norms(column) for column in x.T], 5 * sizes)
    single = np.array([3e30, 4e30], dtype=np.float32)
    np.testing.assert_allclose(column_norms(single), 5e30, rtol=1e-7)


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_groups_of_extreme_size_shrink(size: float) -> None:
    g = GroupLasso(weight=size, groups=[0, 1, 0])
    p = g.prox(np.array([3.0, 0.5, 4.0]) * size)
    close(p, np.array([3.0, 0.0, 4.0]) * size * (1 - sqrt(2) / 5))


def test_support_of_the_elastic_net_ball_is_homogeneous() -> None:
    y = np.array([2.0, 1.0, -3.0])
    for g in (ElasticNetBall(), ElasticNetBall(1.0, 0.0), ElasticNetBall(0.0, 2.0)):
        close(g.conjugate(y * 1e150), g.conjugate(y) * 1e150)
        close(g.conjugate(y * 1e-150), g.conjugate(y) * 1e-150)
        assert g.conjugate(-np.abs(y)) == 0
        # negative entries do not count, however large they are
        close(g.conjugate(np.array([1e-262, -1e46])), g.conjugate(np.array([1e-262, 0.0])))


def test_special_cases_of_the_elastic_net_ball() -> None:
    x = np.random.default_rng(0).normal(size=(30, 8)) * 3
    np.testing.assert_allclose(
        ElasticNetBall(0.0, 2 / 1.5**2).prox(x), L2Ball(1.5).prox(x), rtol=0, atol=1e-15
    )
    np.testing.assert_allclose(
        ElasticNetBall(1 / 1.5, 0.0).prox(x), L1Ball(1.5).prox(x), rtol=0, atol=1e-15
    )


def test_special_cases_of_the_penalties() -> None:
    x = np.random.default_rng(0).normal(size=(6, 8)) * 3
    groups = [0, 0, 1, 2, 2, 2]
    pairs = [
        (ElasticNet(0.7, 0.0), L1(0.7)),
        (ElasticNet(0.0, 0.7), SquaredL2(0.7)),
        (SparseGroupLasso(0.7, groups, 1.0), GroupLasso(0.7, groups)),
        (SparseGroupLasso(0.7, groups, 0.0), L1(0.7)),
        (GroupLasso(0.7, range(6)), L1(0.7)),
        (L1(0.0, 1.0), Box(-1.0, 1.0)),
        (L1(0.0, 1.0, nonnegative=True), Box()),
        (Box(0.0, inf), Orthant()),
    ]
    for left, right in pairs:
        np.testing.assert_allclose(left.prox(x, 0.4), right.prox(x, 0.4), rtol=0, atol=2e-15)
        np.testing.assert_allclose(left.value(x), right.value(x), rtol=1e-14)
        np.testing.assert_allclose(left.conjugate(x), right.conjugate(x), rtol=1e-14)


def test_top_keeps_the_first_of_equal_entries() -> None:
    x = np.array([[1.0, -1.0], [2.0, -1.0], [2.0, -2.0], [2.0, 0.0]])
    close(Top(2).prox(x), [[0, 0], [2, 0], [2, 0], [0, 0]])
    many = np.tile([1.0, 2.0], 300)
    np.testing.assert_array_equal(np.flatnonzero(Top(40).prox(many)), np.arange(1, 80, 2))
    assert Top(2).value(np.array([1.0, 2.0, 1e-30])) == 0
    assert Top(2).value(np.array([1.0, 2.0, 1e-9])) == inf


@pytest.mark.parametrize("order", ["C", "F"])
def test_boxes_with_a_bound_per_row_keep_dtype_and_memory_order(order: Any) -> None:
    x = np.array(np.random.default_rng(0).normal(size=(4, 5)), dtype=np.float32, order=order)
    p = Box(np.array([-0.4, -0.5, 0.0, 0.1]), 0.2).prox(x)
    assert p.dtype == x.dtype
    assert p.strides == x.strides
    np.testing.assert_array_equal(p.min(axis=1), np.float32([-0.4, -0.5, 0.0, 0.1]))


def test_thresholds_of_paper_o_17() -> None:
    x = np.array([-9.0, -2.5, -1.0, 0.0, 0.9, 1.0, 3.0, 3.1])
    close(L1(1.0, 2.0).prox(x), [-2.0, -1.5, 0.0, 0.0, 0.0, 0.0, 2.0, 2.0])
    close(L1(1.0).prox(x), [-8.0, -1.5, 0.0, 0.0, 0.0, 0.0, 2.0, 2.1])
    close(L1(1.0, 2.0, True).prox(x), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 2.0])


@pytest.mark.parametrize(
    ("g", "inside"),
    [
        (Orthant(), [0.0, 2.0]),
        (Box(0.5, 2.0), [0.5, 2.0]),
        (L2Ball(5.0), [3.0, 4.0]),
        (L1Ball(3.0), [1.0, 2.0]),
        (Simplex(3.0), [1.0, 2.0]),
        (ElasticNetBall(0.5, 1.0), [1.0, 0.0]),
        (L1(1.0, 2.0, True), [0.0, 2.0]),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    ("dtype", "small", "observed"), [(np.float64, 2e-16, 1e-9), ("f4", 1e-7, 1e-3)]
)
def test_value_tolerates_rounding_errors_only(
    g: Any, inside: list[float], dtype: Any, small: float, observed: float
) -> None:
    x = np.array(inside, dtype=dtype)
    sign = -1 if isinstance(g, Orthant) else 1
    direction = np.array([sign, 1], dtype=dtype)
    assert g.value(x) < inf
    assert g.value(x + 2 * direction * dtype_scale(x, small)) < inf
    assert g.value(x + 2 * direction * dtype_scale(x, observed)) == inf


def dtype_scale(x: Array, relative: float) -> Any:
    return x.dtype.type(relative * float(np.max(x)))


@pytest.mark.parametrize(
    ("cls", "parameters"),
    [
        *((cls, {"radius": r}) for cls in (L2Ball, L1Ball) for r in (0.0, -1.0, inf, nan, "1")),
        *((cls, {"radius": r}) for cls in (L2Ball, L1Ball) for r in (1e-200, 1e200, 10**400)),
        *((Simplex, {"total": t}) for t in (0.0, -1.0, inf, nan, None, 1e-200, 1e200)),
        *((ElasticNetBall, w) for w in ({"l1": -1.0}, {"l2": nan}, {"l1": 0.0, "l2": 0.0})),
        *((ElasticNetBall, {"l1": w, "l2": 0.0}) for w in (1e-200, 1e200, 1e-320, 1.7e308)),
        *((ElasticNetBall, {"l1": 0.0, "l2": w}) for w in (1e-307, 1e-320, 1.7e308)),
        *((cls, {"weight": w}) for cls in (L1, SquaredL2, GroupLasso) for w in (-1, inf, nan)),
        *((L1, {"bound": b}) for b in (-1.0, nan, None)),
        *((ElasticNet, {name: w}) for name in ("l1", "l2") for w in (-1.0, inf, nan, [1.0])),
        *((SparseGroupLasso, {"mix": m}) for m in (-0.1, 1.1, nan, "half")),
        *((cls, {"groups": k}) for cls in (GroupLasso, SparseGroupLasso) for k in (3, [[0], [1]])),
        *((Top, {"count": c}) for c in (0, -1, 1.5, None)),
        *((Box, {"lower": b}) for b in (2.0, nan, inf, "low", [0.0, 2.0], [[0.0]])),
        *((Box, {"upper": b}) for b in (-1.0, -inf, None)),
        (Box, {"lower": [0.0, 0.0], "upper": [1.0, 1.0, 1.0]}),
    ],
)
def test_bad_parameters(cls: Any, parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=f"{next(iter(parameters))}.* must .* got|both"):
        cls(**parameters)


@pytest.mark.parametrize(
    "g", [Box([0.0, 0.0], 1.0), Box(0.0, [1.0, 1.0]), GroupLasso(groups=[0, 1])], ids=repr
)
def test_row_counts_must_match(g: Any) -> None:
    with pytest.raises(InputError, match=r"one value per row of the array \(3\), got 2"):
        g.prox(np.zeros((3, 2)))


def test_groups_are_kept_as_a_tuple() -> None:
    assert GroupLasso(groups=["a", 1, "a"]).groups == ("a", 1, "a")
    assert GroupLasso(groups=np.array([0, 1])) == GroupLasso(groups=(0, 1))
    assert SparseGroupLasso().groups is None
    # Labels that print alike are still different labels.
    close(GroupLasso(1.0, [1, "1"]).prox(np.array([3.0, 3.0])), [2.0, 2.0])


@pytest.mark.parametrize("g", [Simplex(), L1Ball(), ElasticNetBall(1.0, 1e-3)], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_small_entries_and_a_large_one_stay_feasible(g: Any, dtype: Any) -> None:
    # The rounding error of the common threshold counts once for each of the entries.
    x = (9.51 + 1e-7 * np.random.default_rng(0).normal(size=100_000)).astype(dtype)
    x[0] = 10.0
    p = g.prox(x)
    assert np.count_nonzero(p) > 1000
    assert g.value(p) == 0
