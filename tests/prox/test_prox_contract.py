"""Contract tests of all components of ``thalweg.prox``."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from thalweg._rooms import members
from thalweg._typing import Array
from thalweg.prox import Prox
from thalweg.prox.moreau import moreau

NAMES = list(members("thalweg.prox"))
CONVEX = [name for name, cls in members("thalweg.prox").items() if cls.convex]
INDICATORS = [
    "box",
    "elastic-net-ball",
    "l1-ball",
    "l2-ball",
    "nonnegative",
    "simplex",
    "top",
]
STEPS = [0.3, 1.0, 2.5]


def build(name: str) -> Any:
    return members("thalweg.prox")[name]()


def random(seed: int = 0, shape: tuple[int, ...] = (7, 9), dtype: Any = np.float64) -> Array:
    """Return columns of very different lengths, so that each case of a prox occurs."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape) * rng.choice([0.1, 0.5, 3.0], size=shape[1:])
    return x.astype(dtype)


@pytest.fixture(params=NAMES)
def g(request: pytest.FixtureRequest) -> Any:
    return build(request.param)


@pytest.fixture(params=CONVEX)
def convex(request: pytest.FixtureRequest) -> Any:
    return build(request.param)


@pytest.fixture(params=[(d, o) for d in (np.float32, np.float64) for o in "CF"], ids=str)
def x(request: pytest.FixtureRequest) -> Iterator[Array]:
    dtype, order = request.param
    x = np.array(random(dtype=dtype), order=order)
    before = x.copy()
    yield x
    assert np.array_equal(x, before), "the input was modified"


def test_the_room_is_complete() -> None:
    assert len(NAMES) >= 12
    assert set(INDICATORS) <= set(NAMES)


def test_follows_the_protocol(g: Any) -> None:
    assert isinstance(g, Prox)
    assert isinstance(g.name, str)
    assert isinstance(g.convex, bool)
    assert "argmin" in type(g).__doc__.splitlines()[0]


@pytest.mark.parametrize("step", [*STEPS, np.float64(0.7)])
def test_prox_keeps_dtype_shape_and_memory_order(g: Any, x: Array, step: float) -> None:
    p = g.prox(x, step)
    assert p.dtype == x.dtype
    assert p.shape == x.shape
    assert p.flags.f_contiguous == x.flags.f_contiguous
    assert p.flags.c_contiguous == x.flags.c_contiguous
    assert not np.shares_memory(p, x)


def test_prox_keeps_the_axis_order_of_a_view(g: Any, x: Array) -> None:
    for view in (x[::2], x[:, ::2]):
        p = g.prox(view)
        assert p.strides == np.empty_like(view).strides
        np.testing.assert_allclose(p, g.prox(view.copy()), rtol=8 * np.finfo(x.dtype).eps)


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.uint8, np.int64, np.uint64], ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
def test_integers_are_converted_to_float64(g: Any, kind: Any, order: Any) -> None:
    # abs(-128) overflows in int8, and -1 wraps around in unsigned types.
    whole = np.array([[0, 1, -128, 3], [0, 1, 5, 1], [1, 1, -1, -2]]).astype(kind, order=order)
    before = whole.copy()
    for x in (whole, *whole.T):
        p, expected = g.prox(x, 0.5), g.prox(x.astype(np.float64), 0.5)
        assert p.dtype == np.float64
        assert p.strides == expected.strides
        np.testing.assert_array_equal(p, expected)
        np.testing.assert_array_equal(g.value(x), g.value(x.astype(np.float64)))
        np.testing.assert_array_equal(g.conjugate(x), g.conjugate(x.astype(np.float64)))
        for mine, other in zip(moreau(g, x), moreau(g, x.astype(np.float64)), strict=True):
            np.testing.assert_array_equal(mine, other)
    np.testing.assert_array_equal(whole, before)


@pytest.mark.parametrize("step", STEPS)
def test_value_at_the_prox_is_finite(g: Any, x: Array, step: float) -> None:
    values = g.value(g.prox(x, step))
    assert values.shape == (x.shape[1],)
    assert np.all(np.isfinite(values))


@pytest.mark.parametrize("name", INDICATORS)
def test_indicators_project(name: str, x: Array) -> None:
    g = build(name)
    p = g.prox(x, 0.3)
    again = g.prox(p)
    assert np.all(g.value(p) == 0)
    assert np.array_equal(p, g.prox(x, 2.5)), "a projection does not depend on the step"
    assert np.all(np.isin(g.value(x), [0, np.inf]))
    assert np.any(g.value(x) == np.inf)
    np.testing.assert_allclose(again, p, rtol=0, atol=8 * np.finfo(x.dtype).eps)


@pytest.mark.parametrize("step", STEPS)
def test_columns_are_independent(g: Any, x: Array, step: float) -> None:
    p = g.prox(x, step)
    tight = {"rtol": 8 * np.finfo(x.dtype).eps, "atol": 8 * np.finfo(x.dtype).eps}
    alone = np.column_stack([g.prox(column, step) for column in x.T])
    np.testing.assert_allclose(p, alone, **tight)
    for method in (g.value, g.conjugate):
        alone = np.array([method(column) for column in p.T])
        assert alone.shape == (x.shape[1],), "the value of one vector is a number"
        np.testing.assert_allclose(method(p), alone, rtol=1e-12)


@pytest.mark.parametrize("step", STEPS)
def test_fenchel_young_holds_with_equality(convex: Any, x: Array, step: float) -> None:
    p = convex.prox(x, step).astype(np.float64)
    y = ((x - p) / step).astype(x.dtype)
    inner = np.sum(p * y, axis=0)
    scale = 1 + np.sum(np.abs(p * y), axis=0)
    gap = convex.value(p.astype(x.dtype)) + convex.conjugate(y) - inner
    bound = 1e-12 if x.dtype == np.float64 else 1e-5
    np.testing.assert_array_less(np.abs(gap) / scale, bound)


def test_fenchel_young_inequality(g: Any) -> None:
    p, y = g.prox(random(1)), random(2)
    assert np.all(g.value(p) + g.conjugate(y) >= np.sum(p * y, axis=0) - 1e-12)


@pytest.mark.parametrize("step", STEPS)
def test_prox_is_firmly_nonexpansive(convex: Any, step: float) -> None:
    x, z = random(3, (7, 40)), random(4, (7, 40))
    z[:, :20] = x[:, :20] + 0.01 * z[:, :20]
    move = convex.prox(x, step) - convex.prox(z, step)
    assert np.all(np.sum(move**2, axis=0) <= np.sum(move * (x - z), axis=0) + 1e-13)


@pytest.mark.parametrize("step", STEPS)
def test_no_feasible_point_is_better_than_the_prox(g: Any, step: float) -> None:
    x = random(5, (5, 60))
    p = g.prox(x, step)

    def objective(u: Array) -> Array:
        return g.value(u) + np.sum((u - x) ** 2, axis=0) / (2 * step)

    best = objective(p)
    for seed in range(6, 26):
        for size in (1.0, 1e-3):
            u = g.prox(p + size * random(seed, x.shape), step)
            assert np.all(objective(u) >= best - 1e-13 * (1 + best))


def test_default_step_is_one(g: Any) -> None:
    np.testing.assert_array_equal(g.prox(random()), g.prox(random(), 1.0))
