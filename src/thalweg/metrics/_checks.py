"""Checks of the arguments of the metrics."""

from math import inf
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from thalweg._typing import Array, Indices, Mask
from thalweg.errors import InputError, ParameterError


def numbers(name: str, values: ArrayLike) -> Array:
    """Convert to a float64 array, which may contain NaN and inf."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} must be an array of numbers, got a {type(values).__name__} that cannot be "
            "converted. Use rows of equal length, with NaN at missing entries."
        ) from None


def matrix(name: str, values: ArrayLike) -> Array:
    """Convert to a nonempty float64 matrix, which may contain NaN but not inf."""
    rows = numbers(name, values)
    if rows.ndim != 2 or rows.size == 0:
        raise InputError(
            f"{name} must be a nonempty matrix, got an array of shape {rows.shape}. "
            "Use one row for each sample or component."
        )
    if np.isinf(rows).any():
        raise InputError(
            f"{name} must be finite, got inf among its entries. Use NaN for missing entries."
        )
    return rows


def require_positive(**parameters: float) -> None:
    """Raise unless each parameter is a positive finite number."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and 0 < value < inf):
            raise ParameterError(f"{name} must be a positive finite number, got {value!r}.")


def require_nonnegative(**parameters: float) -> None:
    """Raise unless each parameter is a finite number >= 0."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and 0 <= value < inf):
            raise ParameterError(
                f"{name} must be a finite number >= 0, got {value!r}. "
                f"Use the value of the fit, or a number such as {name}=0.1."
            )


def require_shape(
    name: str, array: Array | Mask | Indices, shape: tuple[int, ...], like: str
) -> None:
    """Raise unless the array has the shape that ``like`` implies."""
    if array.shape != shape:
        raise InputError(
            f"{name} must have shape {shape} to match {like}, got {array.shape}. "
            "Rows are samples or components: check whether an array is transposed."
        )
