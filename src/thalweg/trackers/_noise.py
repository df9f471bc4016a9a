"""How the spread of what is kept tells of the noise."""

from math import erf, exp, pi, sqrt

import numpy as np

from thalweg._typing import Array

__all__ = ["noise_level", "variance_within"]

_LOW = 0.3  # share of residuals that are below the noise level at least
_ROUNDS = 10


def variance_within(limit: float) -> float:
    """Return the variance of a standard normal number, given that it is within the limit."""
    share = erf(limit / sqrt(2.0))
    return 1.0 - 2.0 * limit * exp(-0.5 * limit**2) / (sqrt(2.0 * pi) * share)


def noise_level(residual: Array, limit: float) -> float:
    """Return the standard deviation of the noise among residuals, some of which are outliers.

    It is that for which the residuals within ``limit`` times it have the spread that normal
    noise has there; and at least the 30 % quantile, since it would shrink for ever where
    residuals have no typical size.
    """
    sizes = np.abs(residual).ravel()
    if not sizes.size:
        return 0.0
    middle, low = np.quantile(sizes, (0.5, _LOW))
    level, share = 1.4826 * float(middle), variance_within(limit)
    for _ in range(_ROUNDS):
        within = sizes[sizes <= limit * level]
        spread = float(np.square(within).mean()) if within.size else 0.0
        level = max((spread / share) ** 0.5, float(low))
    return level
