"""Half-quadratic majorisers of losses of the residual.

For a loss f(u) that is concave in u^2, f(u) <= f(u~) + w (u^2 - u~^2) / 2 with w = f'(u~) / u~.
"""

import numpy as np

from thalweg._typing import Array

# Smoothing width of norms, in units of the mean absolute entry of the sample: bounds the weights of
# exactly fitted entries.
SMOOTHING = 1e-10


def smallest_residual(v: Array) -> Array:
    """Return the smoothing width of a norm, one number per column."""
    floor: Array = np.mean(np.abs(v), axis=0, keepdims=True)
    floor *= SMOOTHING
    floor += np.finfo(v.dtype).tiny  # a column of zeros
    return floor


def inverse(residual: Array, floor: Array | float, scale: float = 1.0) -> Array:
    """Overwrite ``residual`` by scale / max(|residual|, floor), and return it."""
    np.abs(residual, out=residual)
    np.maximum(residual, floor, out=residual)
    return np.divide(scale, residual, out=residual)


def smoothed(size: Array, floor: Array) -> Array:
    """Return |u|, and (u^2 / floor + floor) / 2 where |u| is below the floor.

    It is an upper bound of |u|, increases with the floor, and has the weights of :func:`inverse`.
    """
    least: Array = np.maximum(size, floor)
    safe = np.where(least > 0.0, least, 1)  # avoids 0/0 if the floor is 0
    bound: Array = (size * (size / safe) + least) / 2
    return bound


def weighted_split(weights: Array, v: Array, p: Array) -> tuple[Array, Array]:
    """Return (neg, pos) of the weighted square w (v - p)^2 / 2."""
    neg = weights * v
    # The weights are not needed any more: reuse their memory.
    return neg, np.multiply(weights, p, out=weights if weights.shape == neg.shape else None)
