"""Codes of consecutive samples that follow autoregressions: exact moments, and parameters by EM."""

from typing import NamedTuple

import numpy as np

from thalweg import _native
from thalweg._typing import Array

__all__ = [
    "CodeMoments",
    "FactorParameters",
    "code_variance",
    "filter_codes",
    "improve_factors",
    "initial_factors",
    "smooth_codes",
]

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


class FactorParameters(NamedTuple):
    """The model y_t = W h_t + e_t of a sample, where entry f of e_t has variance noise_f / weight.

    The codes have unit variance and h_{t+1} = diag(phi ** step) h_t + w_t.

    Attributes
    ----------
    loadings : array of shape (F, K)
        W.
    noise : array of shape (F,)
        Variances of entries of weight 1.
    phi : array of shape (K,)
        Correlations of the codes over one unit of time; 0 for independent samples.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.factor_chain import FactorParameters
    >>> FactorParameters(np.ones((3, 1)), np.ones(3), np.zeros(1)).loadings.shape
    (3, 1)
    """

    loadings: Array
    noise: Array
    phi: Array


class CodeMoments(NamedTuple):
    """Moments of the codes.

    Attributes
    ----------
    mean : array of shape (N, K)
        Means given all samples, or for a filter given those up to t.
    covariance : array of shape (N, K, K)
        Their covariances.
    lagged : array of shape (N - 1, K)
        E h_t h_{t+1} of each code; only of a smoother.
    log_likelihood : float
        Log density of the observed entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.factor_chain import FactorParameters, smooth_codes
    >>> parameters = FactorParameters(np.ones((3, 1)), np.ones(3), np.zeros(1))
    >>> smooth_codes(np.ones((4, 3)), np.ones((4, 3)), np.ones(3), parameters).mean.ravel()
    array([0.75, 0.75, 0.75, 0.75])
    """

    mean: Array
    covariance: Array
    lagged: Array
    log_likelihood: float


def smooth_codes(
    Y: Array, weights: Array, steps: Array, parameters: FactorParameters
) -> CodeMoments:
    """Return the moments of the codes given all samples: Kalman filter and RTS smoother.

    Parameters
    ----------
    Y : array of shape (N, F)
        Samples.
    weights : array of shape (N, F)
        Weight of each entry; 0 marks missing entries.
    steps : array of shape (N - 1,)
        Times between samples.
    parameters : FactorParameters
        The model.

    Returns
    -------
    CodeMoments
        Smoothed moments.

    Examples
    --------
    A missing sample has the codes of its neighbours:

    >>> import numpy as np
    >>> from thalweg.dynamics.factor_chain import FactorParameters, smooth_codes
    >>> parameters = FactorParameters(np.ones((3, 1)), np.full(3, 0.01), np.array([0.999]))
    >>> weights = np.array([[1.0] * 3, [0.0] * 3, [1.0] * 3])
    >>> smooth_codes(np.ones((3, 3)), weights, np.ones(2), parameters).mean.round(2).ravel()
    array([1., 1., 1.])
    """
    return _codes(Y, weights, steps, parameters, smoothed=True)


def filter_codes(
    Y: Array, weights: Array, steps: Array, parameters: FactorParameters
) -> CodeMoments:
    """Return the moments of the codes given the samples up to t; ``lagged`` is 0.

    Parameters
    ----------
    Y, weights, steps, parameters
        As for :func:`smooth_codes`.

    Returns
    -------
    CodeMoments
        Filtered moments.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.factor_chain import FactorParameters, filter_codes
    >>> parameters = FactorParameters(np.ones((3, 1)), np.full(3, 1e-6), np.array([0.5]))
    >>> weights = np.array([[1.0] * 3, [0.0] * 3])
    >>> filter_codes(np.ones((2, 3)), weights, np.ones(1), parameters).mean.round(2).ravel()
    array([1. , 0.5])
    """
    return _codes(Y, weights, steps, parameters, smoothed=False)


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
        As for :func:`smooth_codes`; Y is finite everywhere.
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
    >>> from thalweg.dynamics import factor_chain as chain
    >>> rng = np.random.default_rng(0)
    >>> Y = np.outer(np.sin(np.arange(200.0) / 9), [1.0, 2.0, -1.0]) + 0.1 * rng.normal(
    ...     size=(200, 3)
    ... )
    >>> weights, steps = np.ones_like(Y), np.ones(199)
    >>> parameters = chain.initial_factors(Y, 1, steps)
    >>> for _ in range(30):
    ...     moments = chain.smooth_codes(Y, weights, steps, parameters)
    ...     parameters = chain.improve_factors(Y, weights, steps, parameters, moments)
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
        _native.learn_phi(m, P, moments.lagged, np.ascontiguousarray(steps, np.float64), phi)
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
    >>> from thalweg.dynamics.factor_chain import initial_factors
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


def code_variance(W: Array, covariance: Array) -> Array:
    """Return w_f'P_t w_f, the variance of the low-rank part due to the codes.

    Parameters
    ----------
    W : array of shape (F, K)
        Loadings.
    covariance : array of shape (N, K, K)
        Covariances of codes.

    Returns
    -------
    array of shape (N, F)
        Variances.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.factor_chain import code_variance
    >>> code_variance(np.array([[2.0]]), np.array([[[3.0]]]))
    array([[12.]])
    """
    rows, columns = np.tril_indices(W.shape[1])
    twice = np.where(rows == columns, 1.0, 2.0)
    product: Array = covariance[:, rows, columns] @ (twice * W[:, rows] * W[:, columns]).T
    return product


def _codes(
    Y: Array, weights: Array, steps: Array, parameters: FactorParameters, *, smoothed: bool
) -> CodeMoments:
    N, K = len(Y), len(parameters.phi)
    mean, covariance = np.empty((N, K)), np.empty((N, K, K))
    lagged = np.zeros((max(N - 1, 0), K))
    log_likelihood = _native.factor_codes(
        np.ascontiguousarray(Y),
        np.ascontiguousarray(weights, Y.dtype),
        np.ascontiguousarray(steps, np.float64),
        np.ascontiguousarray(parameters.loadings, np.float64),
        np.ascontiguousarray(parameters.noise, np.float64),
        np.ascontiguousarray(parameters.phi, np.float64),
        smoothed,
        mean,
        covariance,
        lagged,
    )
    return CodeMoments(mean, covariance, lagged, log_likelihood)
