"""Filters of rows against their naive twin, the filters of whole tables, and other cuts."""

from typing import Any

import numpy as np
import pytest

import reference
from thalweg.dynamics import factor_chain as chain, local_processes as local
from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors
from thalweg.dynamics.dynamic_state import DynamicState, LastRow
from thalweg.dynamics.row_filter import at_rest, filter_rows

N, F, K = 60, 5, 2


def model(*, walk: bool = False) -> DynamicState:
    rng = np.random.default_rng(0)
    factors = chain.FactorParameters(
        rng.normal(size=(F, K)), rng.uniform(0.1, 1.0, F), np.array([0.95, 0.5])
    )
    phi = np.ones(F) if walk else rng.uniform(0.5, 0.99, F)
    own = local.LocalParameters(phi, *rng.uniform(0.1, 1.0, (3, F)))
    last = LastRow(0.0, np.zeros(K), np.eye(K), np.zeros(F), np.zeros(F))
    state = DynamicState(np.zeros(F), np.ones(F), 1.0, np.empty((0, F)), factors, own, last)
    return at_rest(state, 0.0)


def rows(outliers: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, F))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[N // 2] = np.nan
    for i in rng.permutation(N)[:outliers]:
        X[i, i % F] = 50.0
    return X, np.cumsum(rng.exponential(1.0, N) + 0.05)


@pytest.mark.parametrize("walk", [False, True])
@pytest.mark.parametrize("threshold", [np.inf, 3.0])
def test_filters_are_those_of_the_naive_twin(threshold: float, walk: bool) -> None:
    state, (X, times) = model(walk=walk), rows(outliers=8)
    found = filter_rows(state, X, times, (), threshold)
    weights = (~np.isnan(X)).astype(float)
    steps = np.diff(times, prepend=0.0)
    low_rank, deviation, variance = reference.filter_rows(
        np.nan_to_num(X), weights, steps, state.factors, state.local, threshold
    )
    np.testing.assert_allclose(found.low_rank, low_rank, atol=1e-9)
    np.testing.assert_allclose(found.expected.mean, low_rank + deviation, atol=1e-9)
    std = np.sqrt(variance + state.local.noise)
    np.testing.assert_allclose(found.expected.std, std, atol=1e-9)


def test_without_outliers_they_are_the_filters_of_a_whole_table() -> None:
    """These are compared with the joint normal distribution in the tests of their own."""
    state, (X, times) = model(), rows()
    Y, weights, steps = np.nan_to_num(X), (~np.isnan(X)).astype(float), np.diff(times)
    codes = chain.filter_codes(Y, weights, steps, state.factors)
    low_rank = codes.mean @ state.factors.loadings.T
    left = np.ascontiguousarray((Y - low_rank).T)
    own = local.filter_local(left, np.ascontiguousarray(weights.T), steps, state.local)
    found = filter_rows(state, X, times)
    np.testing.assert_allclose(found.expected.mean, low_rank + own.mean.T, atol=1e-12)
    np.testing.assert_allclose(found.state.last.code_mean, codes.mean[-1], atol=1e-12)
    np.testing.assert_allclose(found.state.last.local_variance, own.variance[:, -1], atol=1e-12)


@pytest.mark.parametrize("size", [1, 7])
def test_rows_in_pieces_give_the_same_bits(size: int) -> None:
    state, (X, times) = model(), rows(outliers=5)
    whole = filter_rows(state, X, times, (), 3.0)
    parts = []
    for start in range(0, N, size):
        piece = slice(start, start + size)
        found = filter_rows(state, X[piece], times[piece], (), 3.0)
        state = found.state
        parts.append(found.expected.mean)
    np.testing.assert_array_equal(np.vstack(parts), whole.expected.mean)
    for one, two in zip(state.last, whole.state.last, strict=True):
        np.testing.assert_array_equal(one, two)


def test_an_outlier_moves_neither_codes_nor_deviations() -> None:
    rng, times = np.random.default_rng(0), np.arange(400.0)
    X = np.outer(np.sin(times / 20), [1.0, 2.0, -1.0, 1.0]) + 0.1 * rng.normal(size=(400, 4))
    fitted = AutoregressiveFactors()
    state = fitted.fit(X[:300], times[:300], 1)
    clean = fitted.filter(state, X[300:], times[300:]).expected.mean
    X[350, 2] += 30.0
    spoilt = fitted.filter(state, X[300:], times[300:]).expected.mean
    assert np.abs(spoilt - clean)[51:].max() < 0.1


def test_the_state_before_is_not_modified() -> None:
    state, (X, times) = model(), rows()
    before = [np.copy(part) for part in state.last]
    filter_rows(state, X, times)
    for one, two in zip(state.last, before, strict=True):
        np.testing.assert_array_equal(one, two)
