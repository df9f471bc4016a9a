"""Minimisation over one atom after the other, with a matrix that all features share."""

from typing import Any

import numpy as np
from numba import njit

# Rows of a dictionary whose slopes are found together.
_ATOMS = 8


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _slope_of_atom(w: Any, b: Any, half: Any, ahead: Any, behind: Any, slope: Any) -> Any:
    """Set slope = b - ahead - behind; return what w adds to the objective before the sweep."""
    total = w.dtype.type(0.0)
    for i in range(w.size):
        total += w[i] * (ahead[i] - half * w[i] - b[i])
        slope[i] = b[i] - ahead[i] - behind[i]
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _take_off(factor: Any, x: Any, y: Any) -> Any:
    for i in range(x.size):
        y[i] -= factor * x[i]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _move_atom(w: Any, slope: Any, scale: Any, radius: Any) -> Any:
    """Minimise over one row w with w >= 0, |w| <= radius.

    Returned is what the objective falls by, times the scale.
    """
    zero, half, one = w.dtype.type(0.0), w.dtype.type(0.5), w.dtype.type(1.0)
    square = zero
    for i in range(w.size):
        moved = max(w[i] + scale * slope[i], zero)
        square += moved * moved
    shrink = min(radius / np.sqrt(square), one) if square > zero else one
    fall = zero
    for i in range(w.size):
        moved = max(w[i] + scale * slope[i], zero) * shrink
        step = moved - w[i]
        fall += step * (scale * slope[i] - half * step)
        w[i] = moved
    return fall


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_atoms(A: Any, B: Any, W: Any, radius: Any, free: Any) -> Any:
    """One pass of exact minimisation over the rows w of W in turn, with w >= 0, |w| <= radius.

    The objective is <W W', A>/2 - <W, B>; returned are its value before the pass and what it has
    fallen by. A few rows get their slopes from the rows as they stand, by products of matrices;
    only among these few does each then make up for those that have moved just before it.
    """
    K, F = W.shape
    upper, slope = np.triu(A), np.empty(F, dtype=W.dtype)
    ahead, behind = np.empty((_ATOMS, F), dtype=W.dtype), np.zeros((_ATOMS, F), dtype=W.dtype)
    value, fall = 0.0, 0.0
    for first in range(0, K, _ATOMS):
        last = min(first + _ATOMS, K)
        np.dot(np.ascontiguousarray(upper[first:last, first:]), W[first:], ahead[: last - first])
        if first > 0:
            np.dot(np.ascontiguousarray(A[first:last, :first]), W[:first], behind[: last - first])
        for k in range(first, last):
            w, scale, i = W[k], W.dtype.type(1.0) / A[k, k], k - first
            half = W.dtype.type(0.5) * A[k, k]
            value += _slope_of_atom(w, B[k], half, ahead[i], behind[i], slope)
            # No weight, or one so small that its inverse is inf, and inf times zero NaN.
            if not free[k] or not 0.0 < scale < np.inf:
                continue
            for j in range(first, k):
                _take_off(A[k, j], W[j], slope)
            fall += A[k, k] * _move_atom(w, slope, scale, radius)
    return value, fall
