"""Powers of data and model without intermediate overflow, and accurate for ratios near 1."""

from math import inf

import numpy as np

from thalweg._typing import Array


@np.errstate(all="ignore")
def log_ratio(v: Array, p: Array) -> Array:
    """Return log(v / p), with full relative accuracy near v = p; -inf at v = 0."""
    low = np.minimum(v, p)
    size = np.maximum(v, p)
    size -= low
    size /= low
    np.log1p(size, out=size)
    ratio: Array = np.copysign(size, v - p)
    np.copyto(ratio, -inf, where=v == 0)  # also if p = 0
    return ratio


@np.errstate(all="ignore")
def times_power(x: Array, p: Array, exponent: float) -> Array:
    """Return x p^exponent, and 0 where x is 0, even if the power is infinite."""
    if exponent == 0:
        return x
    if exponent == 1:
        return x * p
    # Multiply twice by the root of the power, which may overflow when the product does not.
    half = np.log(p)
    half *= exponent / 2
    np.exp(half, out=half)
    product: Array = x * half
    product *= half
    np.copyto(product, 0, where=x == 0)
    return product


def power_at_zero(exponent: float) -> float:
    """Return the limit of p^exponent for p -> 0."""
    return 1.0 if exponent == 0 else 0.0 if exponent > 0 else inf
