"""How the spread of what is kept tells of the noise."""

from math import erf, exp, pi, sqrt

__all__ = ["variance_within"]


def variance_within(limit: float) -> float:
    """Return the variance of a standard normal number, given that it is within the limit."""
    share = erf(limit / sqrt(2.0))
    return 1.0 - 2.0 * limit * exp(-0.5 * limit**2) / (sqrt(2.0 * pi) * share)
