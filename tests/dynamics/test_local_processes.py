"""Scalar processes against the joint normal distribution, and EM against its own promise."""

from typing import Any

import numpy as np
import pytest

import reference
from thalweg._threads import pool_threads
from thalweg.dynamics import local_processes as local
from thalweg.dynamics.local_learning import initial_parameters, learn_local

TOLERANCE = {np.float32: 1e-4, np.float64: 1e-9}


def series(F: int = 5, N: int = 25, *, equal: bool = False) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(F * N + equal)
    steps = np.ones(N - 1) if equal else rng.exponential(1.0, N - 1) + 0.05
    weights = rng.uniform(0.2, 2.0, (F, N)) * (rng.random((F, N)) < 0.6)
    Y = rng.normal(size=(F, N))
    phi = np.array([0.0, 0.3, 0.9, 0.999, 1.0])[np.arange(F) % 5]
    parts = (phi, *rng.uniform(0.2, 2.0, (3, F)))
    return Y, weights, steps, local.LocalParameters(*map(np.ascontiguousarray, parts))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("name", ["smooth_local", "filter_local"])
def test_moments_are_those_of_the_joint_normal(name: str, equal: bool, dtype: Any) -> None:
    Y, weights, steps, parameters = series(equal=equal)
    Y, weights = Y.astype(dtype), weights.astype(dtype)
    found = getattr(local, name)(Y, weights, steps, parameters)
    exact = getattr(reference, name)(
        Y.astype(float), weights.astype(float), steps, tuple(parameters)
    )
    assert found.mean.dtype == found.variance.dtype == dtype
    for part, expected in zip(found, exact, strict=True):
        np.testing.assert_allclose(part, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("N", [1, 2])
def test_short_series(N: int) -> None:
    Y, weights, steps, parameters = series(F=3, N=N)
    weights[1] = 0.0
    found = local.smooth_local(Y, weights, steps, parameters)
    exact = reference.smooth_local(Y, weights, steps, tuple(parameters))
    np.testing.assert_allclose(found.mean, exact[0], atol=1e-12)
    np.testing.assert_allclose(found.variance, exact[1], atol=1e-12)
    learnt, _ = learn_local(Y, weights, steps, parameters, 3)
    assert all(np.isfinite(part).all() for part in learnt)


def test_missing_entries_may_have_any_value() -> None:
    Y, weights, steps, parameters = series()
    other = np.where(weights > 0, Y, np.nan)
    for one, two in zip(
        local.smooth_local(Y, weights, steps, parameters),
        local.smooth_local(other, weights, steps, parameters),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("walk", [False, True])
@pytest.mark.parametrize("equal", [False, True])
def test_the_likelihood_of_em_never_falls(equal: bool, walk: bool) -> None:
    Y, weights, steps, _ = series(6, 80, equal=equal)
    Y = np.cumsum(Y, axis=1) * 0.3 + Y
    start = initial_parameters(Y, weights, steps, random_walk=walk)
    found, log_likelihood = learn_local(Y, weights, steps, start, 40)
    assert (np.diff(log_likelihood) >= -1e-9 * np.abs(log_likelihood[:, 1:])).all()
    last = local.smooth_local(Y, weights, steps, found).log_likelihood
    assert (last >= log_likelihood[:, -1] - 1e-9).all()
    assert (last > log_likelihood[:, 0]).all()
    assert (found.phi == 1.0).all() == walk


@pytest.mark.parametrize("equal", [False, True])
def test_em_finds_the_largest_likelihood(equal: bool) -> None:
    Y, weights, steps, _ = series(4, 60, equal=equal)
    Y = np.cumsum(Y, axis=1) * 0.3 + Y
    start = initial_parameters(Y, weights, steps)
    found, _ = learn_local(Y, weights, steps, start, 60)
    best = [reference.learn_local(y, w, steps) for y, w in zip(Y, weights, strict=True)]
    assert (
        local.smooth_local(Y, weights, steps, found).log_likelihood > np.array(best) - 0.1
    ).all()


@pytest.mark.parametrize("equal", [False, True])
def test_em_finds_the_parameters(equal: bool) -> None:
    rng, N = np.random.default_rng(3), 4000
    steps = np.ones(N - 1) if equal else rng.choice([0.5, 1.0, 3.0], N - 1)
    truth = local.LocalParameters(*np.array([[0.9], [2.0], [0.5], [1.0]]))
    y = np.empty(N)
    level = np.sqrt(2.0) * rng.normal()
    for t in range(N):
        y[t] = level + np.sqrt(0.5) * rng.normal()
        a = truth.phi[0] ** steps[min(t, N - 2)]
        level = a * level + np.sqrt(2.0 * (1.0 - a * a)) * rng.normal()
    weights = (rng.random((1, N)) < 0.8).astype(float)
    start = initial_parameters(y[None], weights, steps)
    found, _ = learn_local(y[None], weights, steps, start, 200)
    for part, expected in zip(found[:3], truth[:3], strict=True):
        np.testing.assert_allclose(part, expected, rtol=0.15)


def test_residuals_are_those_without_the_entry() -> None:
    Y, weights, steps, parameters = series()
    moments = local.smooth_local(Y, weights, steps, parameters)
    squares = local.leave_one_out(Y, weights, parameters, moments)
    for f, t in np.argwhere(weights > 0):
        without = weights.copy()
        without[f, t] = 0.0
        mean, variance, _ = local.smooth_local(Y, without, steps, parameters)
        expected = (Y[f, t] - mean[f, t]) ** 2 / (variance[f, t] + parameters.noise[f])
        assert squares[f, t] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_threads_do_not_change_results() -> None:
    Y, weights, steps, parameters = series(40, 60)
    with pool_threads(2):
        two = learn_local(Y, weights, steps, parameters, 5)[0]
    one = learn_local(Y, weights, steps, parameters, 5)[0]
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_filter_is_that_of_statsmodels() -> None:
    pytest.importorskip("statsmodels", reason="statsmodels is installed for development only")
    from statsmodels.tsa.statespace.mlemodel import MLEModel

    Y, weights, steps, parameters = series(F=3, N=60, equal=True)
    weights = (weights > 0).astype(float)
    for f in range(3):
        phi, variance, noise, _ = (part[f] for part in parameters)
        y = np.where(weights[f] > 0, Y[f], np.nan)
        model = MLEModel(y, k_states=1)
        model["design"] = np.ones((1, 1))
        model["transition"] = np.full((1, 1), phi)
        model["selection"] = np.ones((1, 1))
        model["state_cov"] = np.full((1, 1), variance * (1.0 - phi**2))
        model["obs_cov"] = np.full((1, 1), noise)
        model.ssm.initialize_known(np.zeros(1), np.full((1, 1), variance))
        result = model.ssm.smooth()
        one = local.LocalParameters(*(part[f : f + 1] for part in parameters))
        found = local.smooth_local(Y[f : f + 1], weights[f : f + 1], steps, one)
        np.testing.assert_allclose(found.mean[0], result.smoothed_state[0], atol=1e-8)
        np.testing.assert_allclose(found.variance[0], result.smoothed_state_cov[0, 0], atol=1e-8)
        assert found.log_likelihood[0] == pytest.approx(result.llf, rel=1e-8)
