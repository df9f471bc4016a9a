"""A scalar process in each series, observed with noise: exact moments, and parameters by EM."""

from typing import NamedTuple

import numpy as np

from thalweg import _native
from thalweg._typing import Array

__all__ = [
    "LocalMoments",
    "LocalParameters",
    "filter_local",
    "initial_parameters",
    "learn_local",
    "leave_one_out",
    "smooth_local",
    "squared_residuals",
]

# Least variance of the noise, in units of the data squared, which are those of standardised
# columns. Safety margin: any value in 1e-8..1e-4 gives the same fills.
_LEAST_NOISE = 1e-6
# Bounds of the initial phi per step, and least share of the variance that is noise: EM moves away
# from the bounds, but not from 0 and 1.
_PHI_BOUNDS = (0.05, 0.995)
_LEAST_NOISE_SHARE = 0.02


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
    _native.smooth_local(*_series(Y, weights, steps), *parameters, *found)
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
    _native.filter_local(*_series(Y, weights, steps), *parameters, *found)
    return found


def learn_local(
    Y: Array, weights: Array, steps: Array, parameters: LocalParameters, n_iter: int
) -> tuple[LocalParameters, Array]:
    """Improve phi, variance and noise by EM; a random walk (phi = 1) stays one.

    The E-step is :func:`smooth_local`. The M-step has a closed form for variance and noise, and
    searches for phi, so that steps may differ. The likelihood never falls.

    Parameters
    ----------
    Y, weights, steps, parameters
        As for :func:`smooth_local`.
    n_iter : int
        Number of iterations.

    Returns
    -------
    parameters : LocalParameters
        The new parameters.
    log_likelihood : array of shape (F, n_iter)
        That before each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.local_processes import initial_parameters, learn_local
    >>> rng = np.random.default_rng(0)
    >>> Y = np.cumsum(rng.normal(size=(1, 200)), axis=1)
    >>> Y, weights, steps = Y - Y.mean(), np.ones((1, 200)), np.ones(199)
    >>> start = initial_parameters(Y, weights, steps)
    >>> found, log_likelihood = learn_local(Y, weights, steps, start, 20)
    >>> bool(found.phi[0] > 0.9), bool((np.diff(log_likelihood) >= 0).all())
    (True, True)
    """
    new = LocalParameters(*(part.copy() for part in parameters))
    log_likelihood = np.empty((len(Y), n_iter))
    _native.learn_local(*_series(Y, weights, steps), *new, _LEAST_NOISE, log_likelihood)
    return new, log_likelihood


def initial_parameters(
    Y: Array, weights: Array, steps: Array, *, random_walk: bool = False
) -> LocalParameters:
    """Estimate parameters from the weighted covariances at lags 0, 1 and 2.

    c_0 = variance + noise, and c_k = variance * phi^k for k > 0 at lags of k mean steps.

    Parameters
    ----------
    Y, weights, steps
        As for :func:`smooth_local`.
    random_walk : bool
        Whether phi is 1.

    Returns
    -------
    LocalParameters
        Parameters inside of their bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.local_processes import initial_parameters
    >>> Y = np.sin(np.arange(100.0) / 10)[None]
    >>> bool(initial_parameters(Y, np.ones_like(Y), np.ones(99)).phi[0] > 0.9)
    True
    """
    values = np.where(weights > 0, Y, 0.0).astype(np.float64, copy=False)
    w = weights.astype(np.float64, copy=False)

    def covariance(lag: int) -> Array:
        end = Y.shape[1] - lag
        joint = w[:, :end] * w[:, lag:]
        products = (joint * values[:, :end] * values[:, lag:]).sum(axis=1)
        return np.asarray(products / np.maximum(joint.sum(axis=1), 1.0))

    total = np.maximum(covariance(0), 2.0 * _LEAST_NOISE)
    one = np.maximum(covariance(1), 0.0) if Y.shape[1] > 1 else np.zeros(len(Y))
    two = np.maximum(covariance(2), 0.0) if Y.shape[1] > 2 else np.zeros(len(Y))
    per_step = np.clip(two / np.maximum(one, _LEAST_NOISE), *_PHI_BOUNDS)
    share = np.clip(one / per_step / total, _LEAST_NOISE_SHARE, 1.0 - _LEAST_NOISE_SHARE)
    step = float(np.mean(steps)) if len(steps) else 1.0
    if random_walk:
        increase = np.maximum(2.0 * (1.0 - per_step) * share * total / step, _LEAST_NOISE)
        return LocalParameters(np.ones(len(Y)), increase, (1.0 - share) * total, total)
    return LocalParameters(per_step ** (1.0 / step), share * total, (1.0 - share) * total, total)


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
    kept = np.maximum(1.0 - weights * variance / noise, _LEAST_NOISE)
    found: Array = np.square(residual / kept) / (variance / kept + noise)
    return found


def _empty(Y: Array) -> LocalMoments:
    dtype = np.asarray(Y).dtype
    shape = np.shape(Y)
    return LocalMoments(np.empty(shape, dtype), np.empty(shape, dtype), np.empty(shape[0]))


def _series(Y: Array, weights: Array, steps: Array) -> tuple[Array, Array, Array]:
    parts = (np.ascontiguousarray(Y), np.ascontiguousarray(weights, Y.dtype))
    return *parts, np.ascontiguousarray(steps, np.float64)
