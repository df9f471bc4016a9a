"""The noise level of residuals, some of which are outliers."""

from math import erf, exp, pi, sqrt

import numpy as np

from thalweg._typing import Array

__all__ = ["noise_level", "variance_within"]

# Share of residuals that are below the noise level at least: of normal noise a third, and of the
# clean ones among many outliers nearly all.
_LOW = 0.3


def variance_within(limit: float) -> float:
    """Return the variance of a standard normal number, given that it is within the limit."""
    share = erf(limit / sqrt(2.0))
    return 1.0 - 2.0 * limit * exp(-0.5 * limit**2) / (sqrt(2.0 * pi) * share)


def noise_level(residual: Array, limit: float, fitted: int = 0) -> float:
    """Return the standard deviation of the noise among residuals, some of which are outliers.

    It is the least level, not below the 30 % quantile, for which the residuals within ``limit``
    times it have the spread that normal noise has there. There may be larger ones: where most
    residuals are outliers of bounded size, their own spread is another. The mean square within
    a level rises with the level, so that steps from the quantile upwards end at the least one.

    Parameters
    ----------
    residual : array
        Residuals of any sign.
    limit : float
        Multiple of the level up to which normal noise is believed.
    fitted : int
        Parameters of the fit. It may make as many residuals zero, and so many of the smallest
        are left out.
    """
    sizes = np.sort(np.abs(residual), axis=None)
    sizes = sizes[min(fitted, max(sizes.size - 1, 0)) :]
    if not sizes.size:
        return 0.0
    unit = float(sizes[-1]) or 1.0  # squares of tiny numbers need room
    sizes = sizes / unit
    sums, share = np.cumsum(np.square(sizes)), variance_within(limit)
    low = level = float(np.quantile(sizes, _LOW))
    within = -1
    while (count := int(np.searchsorted(sizes, limit * level, side="right"))) > within:
        within = count
        level = max(sqrt(sums[count - 1] / (count * share)), low) if count else low
    return level * unit
