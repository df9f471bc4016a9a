"""Losses of the residual that a weighted square majorises, and touches at the residual.

For a loss f(u) that is concave in u^2, f(u) <= f(u~) + w (u^2 - u~^2) / 2 with w = f'(u~) / u~.
"""

import numpy as np

from thalweg._typing import Array

SMOOTHING = 1e-10


def smallest_residual(v: Array) -> Array:
    """Return the residual below which a norm is smoothed: one number for each column."""
    floor: Array = np.mean(np.abs(v), axis=0, keepdims=True)
    floor *= SMOOTHING
    floor += np.finfo(v.dtype).tiny  # a column of zeros
    return floor


def inverse(residual: Array, floor: Array | float, scale: float = 1.0) -> Array:
    """Return scale / max(|residual|, floor), in place."""
    np.abs(residual, out=residual)
    np.maximum(residual, floor, out=residual)
    return np.divide(scale, residual, out=residual)


def smoothed(size: Array, floor: Array) -> Array:
    """Return |u| with the parabola (u^2 / floor + floor) / 2, which touches it, below the floor.

    It is nowhere below |u|, falls with the floor, and has the weights of :func:`inverse`.
    """
    least: Array = np.maximum(size, floor)
    safe = np.where(least > 0.0, least, 1)  # zero, where the floor is
    bound: Array = (size * (size / safe) + least) / 2
    return bound


def weighted_split(weights: Array, v: Array, p: Array) -> tuple[Array, Array]:
    """Return (neg, pos) of the weighted square w (v - p)^2 / 2."""
    neg = weights * v
    # the weights themselves are not needed any more
    return neg, np.multiply(weights, p, out=weights if weights.shape == neg.shape else None)
