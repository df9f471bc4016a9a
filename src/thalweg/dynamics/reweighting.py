"""Codes and deviations of a table for given parameters, with weights of outliers."""

from typing import NamedTuple

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.dynamics import factor_chain as chain, local_processes as local
from thalweg.dynamics.factor_chain import CodeMoments, FactorParameters
from thalweg.dynamics.local_processes import LocalMoments, LocalParameters

__all__ = ["TableMoments", "code_weights", "local_weights", "table_moments"]

_ROUNDS = 3  # rounds of reweighting for given parameters


class TableMoments(NamedTuple):
    """Moments of a table in standardised units.

    Attributes
    ----------
    low_rank : array of shape (n_samples, n_features)
        Means of the low-rank part.
    codes : CodeMoments
        Moments of the codes.
    deviation : LocalMoments
        Moments of the deviations.
    code_weights : array of shape (n_samples, n_features)
        Weights of the entries in the estimation of the codes.
    local_weights : array of shape (n_features, n_samples)
        Weights of the entries in the estimation of the deviations.

    Examples
    --------
    >>> from thalweg.dynamics.reweighting import TableMoments
    >>> TableMoments._fields[:2]
    ('low_rank', 'codes')
    """

    low_rank: Array
    codes: CodeMoments
    deviation: LocalMoments
    code_weights: Array
    local_weights: Array


def table_moments(
    factors: FactorParameters,
    own: LocalParameters,
    Z: Array,
    observed: Mask,
    steps: Array,
    threshold: float,
) -> TableMoments:
    """Return codes, and deviations from them, with the weights that their residuals give.

    Parameters
    ----------
    factors : FactorParameters
        Parameters of the codes.
    own : LocalParameters
        Parameters of the deviations.
    Z : array of shape (n_samples, n_features)
        Standardised rows, finite everywhere.
    observed : boolean array of shape (n_samples, n_features)
        Observed entries.
    steps : array of shape (n_samples - 1,)
        Steps between rows.
    threshold : float
        Residual from which entries are outliers, in standard deviations; inf for no outliers.

    Returns
    -------
    TableMoments
        Moments and weights.

    Examples
    --------
    An outlier hardly counts:

    >>> import numpy as np
    >>> from thalweg.dynamics.factor_chain import FactorParameters
    >>> from thalweg.dynamics.local_processes import LocalParameters
    >>> from thalweg.dynamics.reweighting import table_moments
    >>> Z, ones = np.zeros((50, 2)), np.ones(2)
    >>> Z[20, 0] = 100.0
    >>> factors = FactorParameters(np.empty((2, 0)), ones, np.empty(0))
    >>> own = LocalParameters(0.9 * ones, ones, 0.1 * ones, ones)
    >>> found = table_moments(factors, own, Z, np.full(Z.shape, True), np.ones(49), 6.0)
    >>> bool(found.local_weights[0, 20] < 1e-3 and abs(found.deviation.mean[0, 20]) < 0.1)
    True
    """
    weights: Array = observed.astype(np.float64)
    codes = CodeMoments.none(len(Z))
    if len(factors.phi):
        for _ in range(_ROUNDS):
            codes = chain.smooth_codes(Z, weights, steps, factors)
            if threshold == np.inf:
                break
            weights = code_weights(Z, observed, weights, factors, codes, threshold)
    low_rank, of_codes = codes.mean @ factors.loadings.T, weights
    left = np.ascontiguousarray(np.where(observed, Z - low_rank, 0.0).T)
    weights = np.ascontiguousarray(observed.T, np.float64)
    deviation = local.smooth_local(left, weights, steps, own)
    for _ in range(_ROUNDS if threshold < np.inf else 0):
        weights = local_weights(left, observed, weights, own, deviation, threshold)
        deviation = local.smooth_local(left, weights, steps, own)
    return TableMoments(low_rank, codes, deviation, of_codes, weights)


def code_weights(
    Z: Array,
    observed: Mask,
    weights: Array,
    parameters: FactorParameters,
    moments: CodeMoments,
    threshold: float,
) -> Array:
    """Return min(1, (threshold / residual)^4) for the residual of each entry from all others.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Standardised rows.
    observed : boolean array of shape (n_samples, n_features)
        Observed entries; the others have weight 0.
    weights : array of shape (n_samples, n_features)
        Weights that the moments were computed with.
    parameters : FactorParameters
        Parameters of the codes.
    moments : CodeMoments
        Moments of the codes.
    threshold : float
        Residual from which entries are outliers, in standard deviations; with inf the weights stay.

    Returns
    -------
    array of shape (n_samples, n_features)
        Weights.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.factor_chain import FactorParameters, smooth_codes
    >>> from thalweg.dynamics.reweighting import code_weights
    >>> Z, ones = np.zeros((5, 8)), np.ones((5, 8))
    >>> Z[2, 0] = 100.0
    >>> model = FactorParameters(np.ones((8, 1)), np.ones(8), np.full(1, 0.5))
    >>> moments = smooth_codes(Z, ones, np.ones(4), model)
    >>> bool(code_weights(Z, ones > 0, ones, model, moments, 6.0)[2, 0] < 1e-3)
    True
    """
    if threshold == np.inf:
        return weights
    residual = Z - moments.mean @ parameters.loadings.T
    variance = chain.code_variance(parameters.loadings, moments.covariance)
    squares = local.squared_residuals(residual, weights, parameters.noise, variance)
    return np.asarray(observed * _weights(squares, threshold))


def local_weights(
    Y: Array,
    observed: Mask,
    weights: Array,
    parameters: LocalParameters,
    moments: LocalMoments,
    threshold: float,
) -> Array:
    """Return min(1, (threshold / residual)^4) for the residual of each entry from its series.

    Parameters
    ----------
    Y : array of shape (n_features, n_samples)
        Series.
    observed : boolean array of shape (n_samples, n_features)
        Observed entries; the others have weight 0.
    weights : array of shape (n_features, n_samples)
        Weights that the moments were computed with.
    parameters : LocalParameters
        Parameters of the deviations.
    moments : LocalMoments
        Moments of the deviations.
    threshold : float
        Residual from which entries are outliers, in standard deviations; with inf the weights stay.

    Returns
    -------
    array of shape (n_features, n_samples)
        Weights.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.local_processes import LocalParameters, smooth_local
    >>> from thalweg.dynamics.reweighting import local_weights
    >>> Y, ones = np.zeros((1, 9)), np.ones((1, 9))
    >>> Y[0, 4] = 100.0
    >>> model = LocalParameters(*(np.full(1, value) for value in (0.9, 1.0, 0.1, 1.0)))
    >>> moments = smooth_local(Y, ones, np.ones(8), model)
    >>> bool(local_weights(Y, ones.T > 0, ones, model, moments, 6.0)[0, 4] < 1e-3)
    True
    """
    if threshold == np.inf:
        return weights
    squares = local.leave_one_out(Y, weights, parameters, moments)
    return np.asarray(observed.T * _weights(squares, threshold))


def _weights(squares: Array, threshold: float) -> Array:
    """Return min(1, (threshold / residual)^4) for squared residuals."""
    return np.asarray(np.square(np.minimum(1.0, threshold**2 / np.maximum(squares, 1e-300))))
