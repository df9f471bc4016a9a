"""Estimate the noise scale of residuals that include outliers."""

from math import erf, exp, pi, sqrt

import numpy as np

from thalweg._typing import Array

__all__ = ["truncated_noise_scale", "truncated_variance"]

# Quantile of the absolute residuals that the noise scale is at least. It equals the noise scale if
# 56 % of the residuals are large outliers; with fewer outliers the bound is not active.
# benchmark: tracking_corruption
_LOWEST_QUANTILE = 0.3


def truncated_variance(threshold: float) -> float:
    """Compute the variance of a standard normal variable x, given ``|x| <= threshold``.

    It is ``1 - 2 t phi(t) / (2 Phi(t) - 1)`` for the threshold t.

    Examples
    --------
    >>> from thalweg.trackers.noise_scale import truncated_variance
    >>> round(truncated_variance(2.5), 4)
    0.9113
    """
    probability = erf(threshold / sqrt(2.0))
    density = exp(-0.5 * threshold**2) / sqrt(2.0 * pi)
    return 1.0 - 2.0 * threshold * density / probability


def truncated_noise_scale(residual: Array, threshold: float, n_fitted: int = 0) -> float:
    """Estimate the standard deviation of the noise from residuals that include outliers.

    The noise scale s is the smallest one, not below the 30 % quantile of the absolute residuals,
    that solves

        mean(e^2, |e| <= threshold s) = s^2 truncated_variance(threshold).

    There may be larger solutions: if most residuals are outliers of bounded size, their own spread
    is one. The left side increases with s, so that a fixed-point iteration from the quantile
    converges to the smallest solution.

    Parameters
    ----------
    residual : array
        Residuals e, of any sign.
    threshold : float
        Residuals up to this many noise scales are treated as normal noise.
    n_fitted : int
        Number of fitted parameters. The fit may set as many residuals to zero: the smallest ones
        are left out.

    Returns
    -------
    float
        The noise scale; 0 without residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.noise_scale import truncated_noise_scale
    >>> residual = np.random.default_rng(0).normal(size=10_000)
    >>> residual[:1000] = 50.0
    >>> bool(0.95 < truncated_noise_scale(residual, 2.5) < 1.05)
    True
    """
    sizes = np.sort(np.abs(residual), axis=None)
    sizes = sizes[min(n_fitted, max(sizes.size - 1, 0)) :]
    if not sizes.size:
        return 0.0
    unit = float(sizes[-1]) or 1.0  # squares of tiny numbers would vanish
    sizes = sizes / unit
    sums, variance = np.cumsum(np.square(sizes)), truncated_variance(threshold)
    lowest = scale = float(np.quantile(sizes, _LOWEST_QUANTILE))
    n_within = -1
    while (count := int(np.searchsorted(sizes, threshold * scale, side="right"))) > n_within:
        n_within = count
        scale = max(sqrt(sums[count - 1] / (count * variance)), lowest) if count else lowest
    return scale * unit
