"""Parameters of the scalar process in each series: a start by moments, and EM."""

import numpy as np

from thalweg import _native
from thalweg._typing import Array
from thalweg.dynamics.local_processes import LEAST_NOISE, LocalParameters

__all__ = ["initial_parameters", "learn_local"]

# Bounds of the initial phi per step, and least share of the variance that is noise: EM moves away
# from the bounds, but not from 0 and 1.
_PHI_BOUNDS = (0.05, 0.995)
_LEAST_NOISE_SHARE = 0.02


def learn_local(
    Y: Array, weights: Array, steps: Array, parameters: LocalParameters, n_iter: int
) -> tuple[LocalParameters, Array]:
    """Improve phi, variance and noise by EM; a random walk (phi = 1) stays one.

    The E-step is a smoother. The M-step has a closed form for variance and noise, and searches for
    phi, so that steps may differ. The likelihood never falls.

    Parameters
    ----------
    Y, weights, steps, parameters
        As for :func:`thalweg.dynamics.local_processes.smooth_local`.
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
    >>> from thalweg.dynamics.local_learning import initial_parameters, learn_local
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
    series = (np.ascontiguousarray(Y), np.ascontiguousarray(weights, Y.dtype))
    times = np.ascontiguousarray(steps, np.float64)
    _native.learn_local((*series, times), new, LEAST_NOISE, log_likelihood)
    return new, log_likelihood


def initial_parameters(
    Y: Array, weights: Array, steps: Array, *, random_walk: bool = False
) -> LocalParameters:
    """Estimate parameters from the weighted covariances at lags 0, 1 and 2.

    c_0 = variance + noise, and c_k = variance * phi^k for k > 0 at lags of k mean steps.

    Parameters
    ----------
    Y, weights, steps
        As for :func:`thalweg.dynamics.local_processes.smooth_local`.
    random_walk : bool
        Whether phi is 1.

    Returns
    -------
    LocalParameters
        Parameters inside of their bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.local_learning import initial_parameters
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

    total = np.maximum(covariance(0), 2.0 * LEAST_NOISE)
    one = np.maximum(covariance(1), 0.0) if Y.shape[1] > 1 else np.zeros(len(Y))
    two = np.maximum(covariance(2), 0.0) if Y.shape[1] > 2 else np.zeros(len(Y))
    per_step = np.clip(two / np.maximum(one, LEAST_NOISE), *_PHI_BOUNDS)
    share = np.clip(one / per_step / total, _LEAST_NOISE_SHARE, 1.0 - _LEAST_NOISE_SHARE)
    step = float(np.mean(steps)) if len(steps) else 1.0
    if random_walk:
        increase = np.maximum(2.0 * (1.0 - per_step) * share * total / step, LEAST_NOISE)
        return LocalParameters(np.ones(len(Y)), increase, (1.0 - share) * total, total)
    return LocalParameters(per_step ** (1.0 / step), share * total, (1.0 - share) * total, total)
