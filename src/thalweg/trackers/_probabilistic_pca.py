"""Probabilistic PCA by expectation maximisation, for samples with few observed entries."""

from typing import NamedTuple

import numpy as np

from thalweg._typing import Array, Mask

__all__ = ["probable_codes"]

_N_GUESSES = 6  # random initial bases; benchmark: tracking_gaps
_TRIAL_ITERATIONS = 25  # for each of them
_FINAL_ITERATIONS = 75  # for the best one
_N_REJECTIONS = 3  # times that outliers are rejected after that
_THRESHOLD = 3.0  # standard deviations beyond which an entry is an outlier
# Smallest noise variance, as a share of the mean square of the data, and smallest ridge, as a share
# of the mean trace: both keep the systems definite. Safety margin: any value in 1e-12..1e-7
# gives the same results.
_REGULARISATION = 1e-9


class _Model(NamedTuple):
    """A basis, codes with their covariances, and the variance of the noise."""

    U: Array
    H: Array
    C: Array
    variance: float


def probable_codes(X: Array, observed: Mask, K: int, rng: np.random.Generator) -> Array:
    """Estimate codes of the rows of X by maximum likelihood of the subspace.

    Codes and noise are normal (probabilistic PCA; Tipping and Bishop, 1999), and the likelihood of
    the observed entries is maximised by expectation maximisation. With three entries and two codes
    a least squares fit is very uncertain, and alternating least squares fails; here each code is
    weighted with its covariance.
    """
    top = float(np.abs(X[observed]).max(initial=0.0))
    if top == 0.0:
        return rng.normal(size=(len(X), K))  # zeros do not determine a subspace
    X = X * 2.0 ** -np.frexp(top)[1]  # fourth powers must not overflow; the codes have no units
    size = float(np.square(X[observed]).mean())
    guesses = rng.normal(size=(_N_GUESSES, X.shape[1], K)) * np.sqrt(size / K)
    least = _REGULARISATION * size
    models = [_maximise(X, observed, U, 0.5 * size, least, _TRIAL_ITERATIONS) for U in guesses]
    best = min(models, key=lambda model: model.variance)
    best = _maximise(X, observed, best.U, best.variance, least, _FINAL_ITERATIONS)
    for _ in range(_N_REJECTIONS):
        near = np.square(X - best.H @ best.U.T) <= _THRESHOLD**2 * best.variance
        best = _maximise(X, observed & near, best.U, best.variance, least, _TRIAL_ITERATIONS)
    return best.H


def _maximise(
    X: Array, observed: Mask, U: Array, variance: float, least: float, n_iter: int
) -> _Model:
    """Return the model after EM iterations, with a variance of at least ``least``."""
    mask = observed.astype(np.float64)
    X = X * mask
    for _ in range(n_iter):
        H, C = _posterior(X, mask, U, variance)
        moments = mask.T @ _second_moments(H, C)
        K = U.shape[1]
        A = moments.reshape(-1, K, K)
        ridge = _REGULARISATION * np.trace(A, axis1=1, axis2=2).mean()
        U = np.linalg.solve(A + ridge * np.eye(K), (X.T @ H)[:, :, None])[:, :, 0]
        spread = np.sum((mask @ _second_moments(U)) * C.reshape(len(C), -1))
        residual = np.square((X - H @ U.T) * mask).sum()
        variance = max(float(residual + spread) / max(mask.sum(), 1.0), least)
    return _Model(U, H, C, variance)


def _posterior(X: Array, mask: Array, U: Array, variance: float) -> tuple[Array, Array]:
    """Return means and covariances of the codes, which are standard normal a priori."""
    K = U.shape[1]
    precision = (mask @ _second_moments(U)).reshape(-1, K, K) + variance * np.eye(K)
    C = variance * np.linalg.inv(precision)
    return np.einsum("nij,nj->ni", C, X @ U) / variance, C


def _second_moments(U: Array, C: Array | None = None) -> Array:
    """Return u u' of each row, with its covariance added, as rows of K^2 numbers."""
    products = U[:, :, None] * U[:, None, :]
    return (products if C is None else products + C).reshape(len(U), -1)
