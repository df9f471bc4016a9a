"""Checks of what the metrics are given, worded in one place."""

from math import inf
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from thalweg._typing import Array, Indices, Mask
from thalweg.errors import InputError, ParameterError


def numbers(name: str, values: ArrayLike) -> Array:
    """Return an array in double precision; NaN and inf may be in it."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} should be an array of numbers, but {type(values).__name__} came that is "
            "none. Give rows of equal length, NaN where a number is missing."
        ) from None


def matrix(name: str, values: ArrayLike) -> Array:
    """Return a matrix in double precision, with a row or more; NaN may be in it."""
    rows = numbers(name, values)
    if rows.ndim != 2 or rows.size == 0:
        raise InputError(
            f"{name} should be a matrix with a row or more, but an array of shape "
            f"{rows.shape} came. Give one row for each sample or component."
        )
    if np.isinf(rows).any():
        raise InputError(
            f"{name} should be finite, but there is inf in it. Put NaN where data are missing."
        )
    return rows


def require_positive(**parameters: float) -> None:
    """Raise unless each parameter is a positive finite number."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and 0 < value < inf):
            raise ParameterError(
                f"{name} should be a positive finite number, but {value!r} came. "
                f"Give one, or leave {name} out."
            )


def require_nonnegative(**parameters: float) -> None:
    """Raise unless each parameter is a finite number that is zero or more."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and 0 <= value < inf):
            raise ParameterError(
                f"{name} should be a finite number >= 0, but {value!r} came. "
                f"Give the value that the fit used, or a number such as {name}=0.1."
            )


def require_shape(
    name: str, array: Array | Mask | Indices, shape: tuple[int, ...], like: str
) -> None:
    """Raise unless the array has the shape that goes with ``like``."""
    if array.shape != shape:
        raise InputError(
            f"{name} should have shape {shape} to go with {like}, but {array.shape} came. "
            "Rows are samples, or components; look whether one of the two is transposed."
        )
