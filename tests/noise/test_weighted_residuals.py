"""Standardised residuals of entries with weights, against dense least squares."""

import numpy as np

from thalweg.noise.leverage import studentised
from thalweg.noise.residual_counts import ResidualCounts
from thalweg.noise.weighted_residuals import weighted_residuals


def test_residuals_have_unit_variance_under_weighted_noise():
    rng = np.random.default_rng(0)
    W, n = rng.random((12, 2)), 4000
    weights = np.exp(rng.uniform(-2.0, 2.0, (12, n))) * (rng.random((12, n)) > 0.1)
    deviations = np.where(weights > 0, np.maximum(weights, 1e-9) ** -0.5, 1.0)
    V = W @ rng.random((2, n)) + deviations * rng.standard_normal((12, n))
    H = np.empty((2, n))
    for b in range(n):  # dense weighted least squares
        root = np.sqrt(weights[:, b])
        H[:, b] = np.linalg.lstsq(root[:, None] * W, root * V[:, b], rcond=None)[0]
    found = weighted_residuals(V, W, H, np.zeros_like(V), weights)
    assert not found[weights == 0.0].any()
    variances = np.array([np.mean(row[w > 0] ** 2) for row, w in zip(found, weights, strict=True)])
    np.testing.assert_allclose(variances, 1.0, atol=0.1)


def test_an_outlier_is_predicted_from_the_others():
    W, weights = np.ones((3, 1)), np.array([[1.0], [1.0], [4.0]])
    V, R = np.array([[1.0], [3.0], [9.0]]), np.array([[0.0], [0.0], [6.0]])
    found = weighted_residuals(V, W, np.array([[2.0]]), R, weights).ravel()
    # the mean of the first two has the variance 1/2, twice the noise of the third, which has 1/4
    np.testing.assert_allclose(found[2], 2.0 * 7.0 / np.sqrt(1.0 + 4.0 / 2.0))
    np.testing.assert_allclose(found[:2], np.array([-1.0, 1.0]) / np.sqrt(0.5), rtol=1e-6)


def test_full_samples_of_equal_weights_have_the_leverages_of_a_mask():
    rng = np.random.default_rng(0)
    W, H = rng.random((9, 2)), rng.random((2, 5))
    V = W @ H + 0.1 * rng.standard_normal((9, 5))
    plain = studentised(V, W, H, np.zeros_like(V))
    weighted = studentised(V, W, H, np.zeros_like(V), np.full(V.shape, 4.0))
    np.testing.assert_allclose(weighted, 2.0 * plain, rtol=1e-6)


def test_samples_that_any_code_fits_have_no_residuals():
    W, V = np.ones((3, 1)), np.array([[5.0], [0.0], [0.0]])
    weights = np.array([[2.0], [0.0], [0.0]])
    assert not weighted_residuals(V, W, np.array([[4.0]]), np.zeros((3, 1)), weights).any()


def test_counts_are_those_of_the_residuals():
    rng = np.random.default_rng(0)
    W, H = rng.random((6, 2)), rng.random((2, 50))
    V, weights = W @ H + 0.1 * rng.standard_normal((6, 50)), rng.uniform(0.1, 5.0, (6, 50))
    R = np.zeros_like(V)
    fit = ResidualCounts.none(6).added_fit(V, W, H, R, weights)
    direct = ResidualCounts.none(6).added(weighted_residuals(V, W, H, R, weights))
    assert np.array_equal(fit.counts, direct.counts)
