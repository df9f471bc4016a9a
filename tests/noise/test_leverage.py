"""Standardised residuals: exact for full samples, calibrated with gaps and outliers."""

import numpy as np
import pytest

from thalweg.encoders.least_squares import LeastSquares
from thalweg.noise.leverage import leverages, studentised, unfitted

rng = np.random.default_rng(0)
W = rng.normal(size=(12, 3))
NOISE = rng.normal(size=(12, 20_000))


def test_leverages_are_the_diagonal_of_the_projection():
    np.testing.assert_allclose(leverages(W), np.diag(W @ np.linalg.pinv(W)), rtol=1e-12)
    deficient = np.column_stack([W, W[:, 0]])
    np.testing.assert_allclose(leverages(deficient), leverages(W), rtol=1e-9)
    assert leverages(np.zeros((4, 2))).sum() == 0.0


def test_full_samples_have_residuals_of_the_noise_scale():
    H = np.linalg.pinv(W) @ NOISE
    r = studentised(NOISE, W, H, np.zeros_like(NOISE))
    np.testing.assert_allclose(r.std(axis=1), 1.0, rtol=0.03)


def test_gaps_leave_the_scale_on_average():
    observed = rng.random(NOISE.shape) < 0.6
    H = LeastSquares().encode(NOISE, W, observed=observed).H
    r = studentised(NOISE, W, H, np.zeros_like(NOISE), observed)
    assert np.all(r[~observed] == 0.0)
    known = observed & (observed.sum(axis=0) > 5)
    assert r[known].std() == pytest.approx(1.0, rel=0.08)
    plain = (NOISE - W @ H)[known]
    assert plain.std() < 0.85


def test_rejected_entries_have_more_variance():
    R = np.zeros_like(NOISE)
    R[4] = 1.0
    kept = R == 0
    H = LeastSquares().encode(NOISE, W, observed=kept).H
    r = studentised(NOISE, W, H, R)
    assert r[4].std() == pytest.approx(1.0, rel=0.2)
    assert (NOISE - W @ H)[4].std() > r[4].std()


def test_samples_that_any_codes_fit_have_no_residual():
    observed = np.zeros(NOISE.shape, bool)
    observed[:3] = True
    H = LeastSquares().encode(NOISE, W, observed=observed).H
    assert not studentised(NOISE, W, H, np.zeros_like(NOISE), observed).any()


def test_residuals_of_fitted_data():
    V = rng.normal(size=(2000, 8))  # eight samples, three of whose directions are fitted
    basis = np.linalg.svd(V, full_matrices=False)[2][:3]
    residuals = V - V @ basis.T @ basis
    assert unfitted(residuals, 8, 3).std() == pytest.approx(1.0, rel=0.1)
    assert np.isfinite(unfitted(residuals, 2, 3)).all()
