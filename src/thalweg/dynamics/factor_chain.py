"""Codes of consecutive samples that follow autoregressions: exact moments."""

from typing import NamedTuple

import numpy as np

from thalweg import _native
from thalweg._typing import Array

__all__ = [
    "CodeMoments",
    "FactorParameters",
    "code_variance",
    "filter_codes",
    "smooth_codes",
]


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

    @classmethod
    def none(cls, n: int) -> "CodeMoments":
        """Return those of n samples without codes."""
        return cls(np.empty((n, 0)), np.empty((n, 0, 0)), np.empty((max(n - 1, 0), 0)), 0.0)


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
    series = (
        np.ascontiguousarray(Y),
        np.ascontiguousarray(weights, Y.dtype),
        np.ascontiguousarray(steps, np.float64),
    )
    loadings, noise, phi = (np.ascontiguousarray(part, np.float64) for part in parameters)
    found = (mean, covariance, lagged)
    log_likelihood = _native.factor_codes(series, (loadings, noise, phi), smoothed, found)
    return CodeMoments(mean, covariance, lagged, log_likelihood)
