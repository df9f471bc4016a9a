"""Autoregressive codes against the joint normal distribution, and EM against its own promise."""

from typing import Any

import numpy as np
import pytest

import reference
from thalweg._threads import pool_threads
from thalweg.dynamics import factor_chain as chain, factor_learning
from thalweg.dynamics.factor_learning import improve_factors, initial_factors


def samples(N: int = 12, F: int = 5, K: int = 3, *, equal: bool = False) -> tuple[Any, ...]:
    rng = np.random.default_rng(N + F + K)
    steps = np.ones(N - 1) if equal else rng.exponential(1.0, N - 1) + 0.05
    weights = rng.uniform(0.2, 2.0, (N, F)) * (rng.random((N, F)) < 0.6)
    weights[N // 2] = 0.0
    phi = np.array([0.95, 0.5, 0.0, 0.999])[:K].copy()
    parameters = chain.FactorParameters(rng.normal(size=(F, K)), rng.uniform(0.1, 1.0, F), phi)
    return rng.normal(size=(N, F)), weights, steps, parameters


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("K", [1, 3])
def test_smoothed_codes_are_those_of_the_joint_normal(K: int, equal: bool, dtype: Any) -> None:
    Y, weights, steps, parameters = samples(K=K, equal=equal)
    Y, weights = Y.astype(dtype), weights.astype(dtype)
    found = chain.smooth_codes(Y, weights, steps, parameters)
    exact = reference.factor_codes(Y.astype(float), weights.astype(float), steps, *parameters)
    for part, expected in zip(found, exact, strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-9, atol=1e-9)


def test_filtered_codes_are_those_of_the_joint_normal() -> None:
    Y, weights, steps, parameters = samples()
    found = chain.filter_codes(Y, weights, steps, parameters)
    for t in range(1, len(Y) + 1):
        exact = reference.factor_codes(Y[:t], weights[:t], steps[: t - 1], *parameters)
        np.testing.assert_allclose(found.mean[t - 1], exact[0][-1], atol=1e-9)
        np.testing.assert_allclose(found.covariance[t - 1], exact[1][-1], atol=1e-9)
    assert found.log_likelihood == pytest.approx(exact[3])


def log_posterior(log_likelihood: float, p: chain.FactorParameters) -> float:
    """Return the log density of data and parameters, whose priors are in the constants."""
    entries, noise = factor_learning._PRIOR_ENTRIES, factor_learning._PRIOR_NOISE
    inverse_gamma = entries * (np.log(p.noise) + noise / p.noise).sum()
    return float(log_likelihood - 0.5 * (np.square(p.loadings).sum() + inverse_gamma))


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize("equal", [False, True])
def test_the_posterior_density_of_em_never_falls(equal: bool, follow: bool) -> None:
    rng = np.random.default_rng(1)
    Y, weights, steps, _ = samples(150, 6, equal=equal)
    Y += np.cumsum(rng.normal(size=(150, 2)), axis=0) @ rng.normal(size=(2, 6)) * 0.2
    p = initial_factors(Y, 2, steps, autoregressive=follow)
    values = []
    for _ in range(30):
        moments = chain.smooth_codes(Y, weights, steps, p)
        values.append(log_posterior(moments.log_likelihood, p))
        p = improve_factors(Y, weights, steps, p, moments, autoregressive=follow)
    assert (np.diff(values) >= -1e-9 * np.abs(values[1:])).all()
    assert (p.phi > 0).all() == follow


@pytest.mark.parametrize("equal", [False, True])
def test_phi_has_the_largest_expected_likelihood(equal: bool) -> None:
    Y, weights, steps, p = samples(60, equal=equal)
    p = p._replace(phi=np.array([0.9, 0.7, 0.5]))
    moments = chain.smooth_codes(Y, weights, steps, p)
    found = improve_factors(Y, weights, steps, p, moments).phi
    np.testing.assert_allclose(found, reference.learn_phi(*moments[:3], steps), atol=2e-3)


def test_variances_of_the_low_rank_part() -> None:
    Y, weights, steps, p = samples()
    P = chain.smooth_codes(Y, weights, steps, p).covariance
    expected = np.einsum("fk,tkj,fj->tf", p.loadings, P, p.loadings)
    np.testing.assert_allclose(chain.code_variance(p.loadings, P), expected)


def test_threads_do_not_change_results() -> None:
    Y, weights, steps, parameters = samples(500, 8)
    one = chain.smooth_codes(Y, weights, steps, parameters)
    with pool_threads(2):
        two = chain.smooth_codes(Y, weights, steps, parameters)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
