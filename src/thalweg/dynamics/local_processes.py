"""A scalar process in each series, observed with noise: exact moments."""

from typing import NamedTuple

import numpy as np

from thalweg import _native
from thalweg._typing import Array

__all__ = [
    "LEAST_NOISE",
    "LocalMoments",
    "LocalParameters",
    "filter_local",
    "leave_one_out",
    "smooth_local",
    "squared_residuals",
]

# Least variance of the noise, in units of the data squared, which are those of standardised
# columns. Safety margin: any value in 1e-8..1e-4 gives the same fills.
LEAST_NOISE = 1e-6


class LocalParameters(NamedTuple):
    """The model y_t = l_t + e_t of each series, where e_t has variance ``noise`` / weight_t.

    l is stationary: l_{t+1} = a l_t + w_t, a = phi ** step, var(w_t) = ``variance`` (1 - a^2). With
    phi = 1 it is a random walk: var(w_t) = ``variance`` * step.

    Attributes
    ----------
    phi : array of shape (F,)
        Correlation over one unit of time.
    variance : array of shape (F,)
        Variance of l; of a random walk, its increase per unit of time.
    noise : array of shape (F,)
        Variance of an entry of weight 1.
    initial : array of shape (F,)
        Variance of the first l of a random walk; not used if phi < 1.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.local_processes import LocalParameters
    >>> LocalParameters(*np.array([[0.9], [1.0], [0.1], [1.0]])).phi
    array([0.9])
    """

    phi: Array
    variance: Array
    noise: Array
    initial: Array


class LocalMoments(NamedTuple):
    """Means and variances of l_t, and the log-likelihood of each series.

    Attributes
    ----------
    mean, variance : array of shape (F, N)
        Moments given the whole series, or for a filter given the series up to t.
    log_likelihood : array of shape (F,)
        Log density of the observed entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.local_processes import LocalParameters, smooth_local
    >>> parameters = LocalParameters(*np.array([[0.5], [1.0], [0.5], [1.0]]))
    >>> smooth_local(np.ones((1, 3)), np.ones((1, 3)), np.ones(2), parameters).mean.shape
    (1, 3)
    """

    mean: Array
    variance: Array
    log_likelihood: Array


def smooth_local(
    Y: Array, weights: Array, steps: Array, parameters: LocalParameters
) -> LocalMoments:
    """Return the moments of l_t given all of its series: Kalman filter and RTS smoother.

    Parameters
    ----------
    Y : array of shape (F, N)
        A series in each row.
    weights : array of shape (F, N)
        Weight of each entry; 0 marks missing entries.
    steps : array of shape (N - 1,)
        Times between columns.
    parameters : LocalParameters
        Parameters of each series.

    Returns
    -------
    LocalMoments
        Smoothed moments.

    Examples
    --------
    An entry between two others, under a random walk without noise, is their mean:

    >>> import numpy as np
    >>> from thalweg.dynamics.local_processes import LocalParameters, smooth_local
    >>> parameters = LocalParameters(*np.array([[1.0], [1.0], [1e-9], [1e9]]))
    >>> Y, weights = np.array([[1.0, np.nan, 4.0]]), np.array([[1.0, 0.0, 1.0]])
    >>> smooth_local(Y, weights, np.ones(2), parameters).mean.round(3)
    array([[1. , 2.5, 4. ]])
    """
    found = _empty(Y)
    _native.smooth_local(_series(Y, weights, steps), parameters, found)
    return found


def filter_local(
    Y: Array, weights: Array, steps: Array, parameters: LocalParameters
) -> LocalMoments:
    """Return the moments of l_t given its series up to t.

    Parameters
    ----------
    Y, weights, steps, parameters
        As for :func:`smooth_local`.

    Returns
    -------
    LocalMoments
        Filtered moments.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.local_processes import LocalParameters, filter_local
    >>> parameters = LocalParameters(*np.array([[0.5], [1.0], [1e-9], [1.0]]))
    >>> Y, weights = np.array([[1.0, np.nan, 4.0]]), np.array([[1.0, 0.0, 1.0]])
    >>> filter_local(Y, weights, np.ones(2), parameters).mean.round(3)
    array([[1. , 0.5, 4. ]])
    """
    found = _empty(Y)
    _native.filter_local(_series(Y, weights, steps), parameters, found)
    return found


def leave_one_out(
    Y: Array, weights: Array, parameters: LocalParameters, moments: LocalMoments
) -> Array:
    """Return the squared residual of each entry from all others of its series, in variances.

    The variance is that of an entry of weight 1 given all others. Entries of weight 0 that are
    finite in Y have one, too.

    Parameters
    ----------
    Y, weights : array of shape (F, N)
        Series, and the weights that the moments were found with.
    parameters : LocalParameters
        Parameters of each series.
    moments : LocalMoments
        Smoothed moments.

    Returns
    -------
    array of shape (F, N)
        Squared residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics import local_processes as local
    >>> Y, weights, steps = np.array([[0.0, 9.0, 0.0]]), np.ones((1, 3)), np.ones(2)
    >>> parameters = local.LocalParameters(*np.array([[0.9], [1.0], [0.1], [1.0]]))
    >>> moments = local.smooth_local(Y, weights, steps, parameters)
    >>> local.leave_one_out(Y, weights, parameters, moments).argmax()
    np.int64(1)
    """
    noise = parameters.noise[:, None]
    return squared_residuals(Y - moments.mean, weights, noise, moments.variance)


def squared_residuals(residual: Array, weights: Array, noise: Array, variance: Array) -> Array:
    """Return squared leave-one-out residuals in variances, from residuals and posterior variances.

    An entry with weight w has the leverage h = w variance / noise. Without it the residual is
    e / (1 - h), and the variance of the expected value is variance / (1 - h).

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.local_processes import squared_residuals
    >>> squared_residuals(*np.array([[1.0], [1.0], [1.0], [0.5]])).round(6)
    array([2.])
    """
    kept = np.maximum(1.0 - weights * variance / noise, LEAST_NOISE)
    found: Array = np.square(residual / kept) / (variance / kept + noise)
    return found


def _empty(Y: Array) -> LocalMoments:
    dtype = np.asarray(Y).dtype
    shape = np.shape(Y)
    return LocalMoments(np.empty(shape, dtype), np.empty(shape, dtype), np.empty(shape[0]))


def _series(Y: Array, weights: Array, steps: Array) -> tuple[Array, Array, Array]:
    parts = (np.ascontiguousarray(Y), np.ascontiguousarray(weights, Y.dtype))
    return *parts, np.ascontiguousarray(steps, np.float64)
