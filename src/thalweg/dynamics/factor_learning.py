"""Parameters of codes that follow autoregressions: principal components as a start, and EM."""

import numpy as np

from thalweg import _native
from thalweg._typing import Array
from thalweg.dynamics.factor_chain import CodeMoments, FactorParameters, code_variance

__all__ = ["improve_factors", "initial_factors"]

# Least variance of the noise of a standardised feature.
# Safety margin: any value in 1e-6..1e-3 gives the same fills.
_LEAST_NOISE = 1e-4
# Prior of the noise of a feature: as many entries with this variance. It matters only for features
# with few observed entries.
_PRIOR_ENTRIES, _PRIOR_NOISE = 1.0, 0.01
# Initial correlation of a code over a mean step; EM moves it.
_INITIAL_PHI = 0.9
# Largest modulus of a standardised entry in the first principal components, so that outliers do
# not determine them.
_CLIP = 4.0
# Least noise of a feature at the start, in variances of the feature: EM moves slowly from less.
_INITIAL_NOISE = 0.05


def improve_factors(
    Y: Array,
    weights: Array,
    steps: Array,
    parameters: FactorParameters,
    moments: CodeMoments,
    *,
    autoregressive: bool = True,
) -> FactorParameters:
    """Return the parameters after an M-step of EM.

    Loadings have a standard normal prior, and the noise of each feature one of a single entry, so
    that the density of data and parameters never falls.

    Parameters
    ----------
    Y, weights, steps
        As for :func:`thalweg.dynamics.factor_chain.smooth_codes`; Y is finite everywhere.
    parameters : FactorParameters
        The parameters of the E-step.
    moments : CodeMoments
        Its result.
    autoregressive : bool
        Whether phi is estimated.

    Returns
    -------
    FactorParameters
        The new parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics import factor_chain as chain, factor_learning as learning
    >>> rng = np.random.default_rng(0)
    >>> Y = np.outer(np.sin(np.arange(200.0) / 9), [1.0, 2.0, -1.0]) + 0.1 * rng.normal(
    ...     size=(200, 3)
    ... )
    >>> weights, steps = np.ones_like(Y), np.ones(199)
    >>> parameters = learning.initial_factors(Y, 1, steps)
    >>> for _ in range(30):
    ...     moments = chain.smooth_codes(Y, weights, steps, parameters)
    ...     parameters = learning.improve_factors(Y, weights, steps, parameters, moments)
    >>> bool(np.abs(parameters.noise - 0.01).max() < 0.005)
    True
    """
    m, P = moments.mean, moments.covariance
    N, K = m.shape
    second = (m[:, :, None] * m[:, None, :] + P).reshape(N, -1)
    grams = (weights.T @ second).reshape(-1, K, K)
    grams += parameters.noise[:, None, None] * np.eye(K)
    products = (weights * Y).T @ m
    W = np.ascontiguousarray(np.linalg.solve(grams, products[:, :, None])[:, :, 0])
    squares = weights * (np.square(Y - m @ W.T) + code_variance(W, P))
    n_observed = np.count_nonzero(weights, axis=0)
    prior = _PRIOR_ENTRIES * _PRIOR_NOISE
    noise = (squares.sum(axis=0) + prior) / (n_observed + _PRIOR_ENTRIES)
    phi = parameters.phi.copy()
    if autoregressive:
        _native.learn_phi((m, P, moments.lagged), np.ascontiguousarray(steps, np.float64), phi)
    return FactorParameters(W, np.maximum(noise, _LEAST_NOISE), phi)


def initial_factors(
    filled: Array, n_components: int, steps: Array, *, autoregressive: bool = True
) -> FactorParameters:
    """Return the principal components of a table without gaps, with clipped entries.

    Parameters
    ----------
    filled : array of shape (N, F)
        Standardised samples, with gaps interpolated.
    n_components : int
        Number of codes.
    steps : array of shape (N - 1,)
        Times between samples.
    autoregressive : bool
        Whether codes are correlated in time.

    Returns
    -------
    FactorParameters
        A start for EM.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.factor_learning import initial_factors
    >>> initial_factors(np.eye(4), 2, np.ones(3)).loadings.shape
    (4, 2)
    """
    clipped = np.clip(filled, -_CLIP, _CLIP).astype(np.float64)
    covariance = clipped.T @ clipped / len(clipped)
    values, vectors = np.linalg.eigh(covariance)
    leading = slice(None, -n_components - 1, -1)
    sizes = np.sqrt(np.maximum(values[leading], _LEAST_NOISE))
    W = np.ascontiguousarray(vectors[:, leading] * sizes)
    left = np.diag(covariance) - np.square(W).sum(axis=1)
    step = float(np.mean(steps)) if len(steps) else 1.0
    phi = np.full(W.shape[1], _INITIAL_PHI ** (1.0 / step) if autoregressive else 0.0)
    return FactorParameters(W, np.maximum(left, _INITIAL_NOISE), phi)
