"""The contract of all divergences of ``thalweg.divergences``."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from thalweg._rooms import members
from thalweg._typing import Array
from thalweg.divergences import Divergence, Interval

METHODS = ["value", "grad", "curvature", "split", "outliers"]
SMOOTHED = ["l1", "l2"]  # exact but for a relative 1e-10
EXACT = ["kl", "hellinger", "alpha", "squared-l2"]
STEP = 1e-5


def pair(seed: int = 0, shape: tuple[int, ...] = (6, 9)) -> tuple[Array, Array]:
    """Return data and a model of them that is wrong by up to a factor of ten."""
    rng = np.random.default_rng(seed)
    v = rng.gamma(2.0, size=shape)
    return v, v * np.exp(rng.normal(scale=0.8, size=shape))


def results(d: Any, method: str, v: Array, p: Array) -> tuple[Array, ...]:
    result = getattr(d, method)(v, p)
    return result if isinstance(result, tuple) else (result,)


def differences(function: Any, p: Array) -> Array:
    """Return the central differences of a function of p in the direction of each feature."""
    rows = []
    for i in range(len(p)):
        step = np.zeros_like(p)
        step[i] = STEP * p[i]
        rows.append((function(p + step) - function(p - step)) / (2 * step[i]))
    return np.array(rows)


def test_the_room_is_complete() -> None:
    expected = "alpha beta hellinger huber itakura-saito kl l1 l2 mahalanobis squared-l2 "
    expected += "negative-binomial zero-inflated"
    assert set(expected.split()) <= set(members("thalweg.divergences"))


def test_follows_the_protocol(d: Any) -> None:
    assert isinstance(d, Divergence)
    assert isinstance(d.name, str)
    assert isinstance(d.aliases, tuple)
    assert isinstance(d.convex, bool)
    assert isinstance(d.domain, Interval)
    assert d.domain.low < d.domain.high
    assert isinstance(d.domain.closed, bool)
    assert sum(d.growth) > 0
    assert min(d.growth) >= 0
    assert "[D] Table" in type(d).__doc__


def test_is_a_value(d: Any) -> None:
    for other in (copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
        assert other == d
        assert hash(other) == hash(d)
        assert repr(other) == repr(d)
    with pytest.raises(AttributeError):
        d.name = "other"


def test_value_is_zero_where_equal_and_positive_elsewhere(d: Any) -> None:
    v, p = pair()
    assert np.all(d.value(v, v) == 0)
    for size in (1.0, 1e-1, 1e-3, 1e-6):
        q = v + size * (p - v)
        assert np.all(d.value(v, q) > 0)
        for i in range(len(v)):
            one = v.copy()
            one[i] = q[i]
            assert np.all(d.value(v, one) > 0)


def test_grad_is_the_derivative(d: Any) -> None:
    for seed in range(3):
        v, p = pair(seed)
        grad, numeric = d.grad(v, p), differences(lambda q, v=v: d.value(v, q), p)
        rounding = 1e-15 * d.value(v, p) / (STEP * p)
        assert np.all(np.abs(grad - numeric) <= 1e-7 * np.abs(grad) + rounding)


def test_curvature_is_the_second_derivative_or_more(convex: Any) -> None:
    d = convex
    v, p = pair(1)
    slopes = differences(lambda q: d.grad(v, q), p)
    second = np.array([slopes[i, i] for i in range(len(p))])
    curvature = np.broadcast_to(d.curvature(v, p), v.shape)
    assert np.all(curvature >= second - 1e-7 * np.abs(second))
    assert np.all(curvature > 0)
    if d.name in EXACT or d.name == "beta":
        np.testing.assert_allclose(curvature, second, rtol=1e-7)


def test_curvature_of_a_nonconvex_one_is_that_of_a_model_that_fits(nonconvex: Any) -> None:
    v, p = pair(1)
    slopes = differences(lambda q: nonconvex.grad(p, q), p)
    second = np.array([slopes[i, i] for i in range(len(p))])
    np.testing.assert_allclose(nonconvex.curvature(v, p), second, rtol=1e-6)


@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
def test_curvature_of_a_function_of_the_residual_majorises(of_residual: Any, size: float) -> None:
    d = of_residual
    for seed in range(20):
        v, p = pair(seed)
        step = size * np.random.default_rng(seed).normal(size=p.shape)
        bound = d.value(v, p) + np.sum(
            d.grad(v, p) * step + d.curvature(v, p) * step**2 / 2, axis=0
        )
        assert np.all(d.value(v, p + step) <= bound * (1 + 1e-12) + 1e-12)


def test_convex_ones_are_below_their_chords(convex: Any) -> None:
    v, p = pair(2, (6, 4000))
    q = pair(3, (6, 4000))[1]
    ends = (convex.value(v, p) + convex.value(v, q)) / 2
    assert np.all(convex.value(v, (p + q) / 2) <= ends * (1 + 1e-12))


def test_the_others_are_not_convex(nonconvex: Any) -> None:
    v, p = pair(2, (1, 4000))
    q = pair(3, (1, 4000))[1]
    ends = (nonconvex.value(v, p) + nonconvex.value(v, q)) / 2
    assert np.any(nonconvex.value(v, (p + q) / 2) > ends * (1 + 1e-3))


def test_split_makes_up_the_gradient(d: Any) -> None:
    v, p = pair(4)
    neg, pos = (np.broadcast_to(part, v.shape) for part in d.split(v, p))
    assert np.all(neg >= 0)
    assert np.all(pos >= 0)
    assert np.all(np.abs(pos - neg - d.grad(v, p)) <= 1e-13 * (pos + neg))


def power_sum(slope: Array, ratio: Array, exponent: float) -> Array:
    """Return the integral of slope r^exponent from 1 to ratio."""
    if exponent == -1:
        return slope * np.log(ratio)
    return slope * (ratio ** (exponent + 1) - 1) / (exponent + 1)


@pytest.mark.parametrize("orders", [0.01, 0.3, 3.0])
def test_split_majorises(d: Any, orders: float) -> None:
    up, down = d.growth
    for seed in range(40):
        rng = np.random.default_rng(seed)
        W = rng.gamma(0.5, size=(6, 4)) + 1e-3
        H = 10 ** rng.uniform(-2, 2, size=(4, 50))
        ratio = 10 ** rng.uniform(-orders, orders, size=H.shape)
        v = (W @ H) * 10 ** rng.uniform(-1, 1, size=(6, 50))
        neg, pos = (np.broadcast_to(part, v.shape) for part in d.split(v, W @ H))
        rise = H * power_sum(W.T @ pos, ratio, up)
        fall = H * power_sum(W.T @ neg, ratio, -down)
        start, value = d.value(v, W @ H), d.value(v, W @ (H * ratio))
        rounding = 1e-13 * (start + np.sum(np.abs(rise) + np.abs(fall), axis=0))
        slack = 1e-9 * v.sum(axis=0) if d.name in SMOOTHED else 0.0
        assert np.all(value <= start + np.sum(rise - fall, axis=0) + rounding + slack)


def test_multiplicative_updates_descend(d: Any) -> None:
    """A hundred problems: ten dictionaries with ten samples each."""
    exponent = 1 / sum(d.growth)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        W, H = rng.gamma(0.5, size=(6, 3)) + 1e-2, rng.gamma(1.0, size=(3, 10)) + 1e-2
        v = (W @ rng.gamma(1.0, size=(3, 10))) * rng.gamma(3.0, size=(6, 10)) + 1e-3
        first = value = d.value(v, W @ H)
        slack = 1e-13 * first + (1e-9 * v.sum(axis=0) if d.name in SMOOTHED else 0.0)
        for _ in range(25):
            neg, pos = (np.broadcast_to(part, v.shape) for part in d.split(v, W @ H))
            H = H * ((W.T @ neg) / (W.T @ pos)) ** exponent
            before, value = value, d.value(v, W @ H)
            assert np.all(value <= before + slack)
        assert np.all(value < first)


def test_domain_is_where_the_value_is_finite(d: Any) -> None:
    v, p = pair(5)
    assert d.domain[:2] == (0.0, np.inf)
    assert np.all(np.isfinite(d.value(np.full_like(v, 1e-12), p)))
    v[2] = 0
    assert np.all(np.isfinite(d.value(v, p)) == d.domain.closed)


def test_slope_at_zero_is_the_gradient_there(d: Any) -> None:
    p = np.array([1e-100, 1e-3, 0.2, 1.0, 30.0, 1e100])
    grad = d.grad(np.zeros(6), p)
    if d.slope_at_zero is None:
        assert np.unique(grad).size > 1 or np.all(np.isinf(grad))
    else:
        np.testing.assert_allclose(grad, d.slope_at_zero, rtol=1e-13)
        value = d.value(np.zeros((1, 6)), p[None])
        np.testing.assert_allclose(value, d.slope_at_zero * p, rtol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_columns_are_independent(d: Any, method: str) -> None:
    v, p = pair(6)
    for k in range(v.shape[1]):
        for whole, one in zip(
            results(d, method, v, p), results(d, method, v[:, k], p[:, k]), strict=True
        ):
            column = whole[..., min(k, whole.shape[-1] - 1)]
            assert np.shape(one) == column.shape, "one vector is a column"
            np.testing.assert_allclose(one, column, rtol=1e-13)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept_and_arguments_are_not_modified(d: Any, method: str, dtype: Any) -> None:
    v, p = (x.astype(dtype) for x in pair(7))
    before = v.copy(), p.copy()
    exact = results(d, method, v.astype(np.float64), p.astype(np.float64))
    for result, wide in zip(results(d, method, v, p), exact, strict=True):
        assert result.dtype == dtype
        tolerance = 3e-5 if dtype == np.float32 else 1e-15
        np.testing.assert_allclose(result, wide, rtol=tolerance, atol=tolerance)
    assert np.array_equal(v, before[0])
    assert np.array_equal(p, before[1])


@pytest.mark.parametrize("method", METHODS)
def test_memory_order_and_size_do_not_matter(d: Any, method: str) -> None:
    v, p = pair(8, (6, 5000))
    expected = [results(d, method, v[:, k], p[:, k]) for k in (0, 2500, 4999)]
    for order in "CF":
        whole = results(d, method, np.array(v, order=order), np.array(p, order=order))
        for n, array in enumerate(whole):
            columns = np.broadcast_to(array, (*array.shape[:-1], 5000))[..., [0, 2500, 4999]]
            np.testing.assert_allclose(columns.T, [e[n] for e in expected], rtol=1e-13)


def test_long_columns_are_summed_to_the_end(of_any_size: Any) -> None:
    v, p = pair(9, (20_001, 3))
    each = of_any_size.value(v[:, 0][None], p[:, 0][None])
    expected = np.linalg.norm(each) if of_any_size.name == "l2" else each.sum()
    np.testing.assert_allclose(of_any_size.value(v, p)[0], expected, rtol=1e-12)


def test_empty_batches_have_no_columns(d: Any) -> None:
    v = np.empty((6, 0))
    assert d.value(v, v).shape == (0,)
    assert d.grad(v, v).shape == (6, 0)


@pytest.mark.parametrize("method", METHODS)
def test_no_nan_at_the_boundary(d: Any, method: str) -> None:
    ends = np.array([0.0, 1e-150, 1.0, 1e150])
    v, p = (np.tile(x.ravel(), (6, 1)) for x in np.meshgrid(ends, ends))
    for result in results(d, method, v, p):
        assert not np.any(np.isnan(result))
        if method in ("value", "curvature", "split"):
            assert np.all(result >= 0)
    assert np.all(d.value(v, p)[v[0] == p[0]] == 0)
