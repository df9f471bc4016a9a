"""Principal components when samples show hardly more entries than they have codes."""

from typing import NamedTuple

import numpy as np

from thalweg._typing import Array, Mask

__all__ = ["likely_codes"]

_TRIES = 6  # random bases to begin with
_TRIAL = 25  # rounds for each of them
_ROUNDS = 75  # for the best
_CLEANINGS = 3  # times that entries far from the model are left out
_LIMIT = 3.0  # standard deviations that are far
_LEAST = 1e-9  # variance, as a share of that of the data, that noise always has


class _Model(NamedTuple):
    """A basis, codes with their covariances, and the variance of the noise."""

    U: Array
    H: Array
    C: Array
    variance: float


def likely_codes(X: Array, observed: Mask, K: int, rng: np.random.Generator) -> Array:
    """Return codes of the rows of X that span the most likely subspace.

    Codes and noise are normal (probabilistic PCA; Tipping and Bishop, 1999), and the likelihood
    of the entries observed is raised by expectation maximisation. With three entries and two codes
    a fit by least squares says little, and believing it leads nowhere: here each code counts
    with the uncertainty that it has.
    """
    top = float(np.abs(X[observed]).max(initial=0.0))
    if top == 0.0:
        return rng.normal(size=(len(X), K))  # zeros say nothing of a subspace
    X = X * 2.0 ** -np.frexp(top)[1]  # codes have no units, and squares of squares need room
    size = float(np.square(X[observed]).mean())
    guesses = rng.normal(size=(_TRIES, X.shape[1], K)) * np.sqrt(size / K)
    least = _LEAST * size
    models = [_raise(X, observed, guess, 0.5 * size, least, _TRIAL) for guess in guesses]
    best = min(models, key=lambda model: model.variance)
    best = _raise(X, observed, best.U, best.variance, least, _ROUNDS)
    for _ in range(_CLEANINGS):
        near = np.square(X - best.H @ best.U.T) <= _LIMIT**2 * best.variance
        best = _raise(X, observed & near, best.U, best.variance, least, _TRIAL)
    return best.H


def _raise(
    X: Array, observed: Mask, U: Array, variance: float, least: float, rounds: int
) -> _Model:
    """Return the model after rounds of expectation maximisation, of the least variance or more."""
    mask = observed.astype(np.float64)
    X = X * mask
    for _ in range(rounds):
        H, C = _expect(X, mask, U, variance)
        moments = mask.T @ _outer(H, C)
        K = U.shape[1]
        A = moments.reshape(-1, K, K)
        ridge = _LEAST * np.trace(A, axis1=1, axis2=2).mean()
        U = np.linalg.solve(A + ridge * np.eye(K), (X.T @ H)[:, :, None])[:, :, 0]
        spread = np.sum((mask @ _outer(U)) * C.reshape(len(C), -1))
        residual = np.square((X - H @ U.T) * mask).sum()
        variance = max(float(residual + spread) / max(mask.sum(), 1.0), least)
    return _Model(U, H, C, variance)


def _expect(X: Array, mask: Array, U: Array, variance: float) -> tuple[Array, Array]:
    """Return means and covariances of the codes, which are standard normal before any data."""
    K = U.shape[1]
    precision = (mask @ _outer(U)).reshape(-1, K, K) + variance * np.eye(K)
    C = variance * np.linalg.inv(precision)
    return np.einsum("nij,nj->ni", C, X @ U) / variance, C


def _outer(U: Array, C: Array | None = None) -> Array:
    """Return u u' of each row, with its covariance added, as rows of K^2 numbers."""
    products = U[:, :, None] * U[:, None, :]
    return (products if C is None else products + C).reshape(len(U), -1)
