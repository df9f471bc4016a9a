"""Checks of the operators' parameters, worded in one place."""

from math import inf
from numbers import Real
from typing import Any

from thalweg._typing import Array
from thalweg.errors import InputError, ParameterError


def require_positive(**parameters: float) -> None:
    """Raise unless each parameter is a positive finite number."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and 0 < value < inf):
            raise ParameterError(
                f"{name} should be a positive finite number, but {value!r} came. "
                f"Give a number such as {name}=1.0."
            )


def require_nonnegative(**parameters: float) -> None:
    """Raise unless each parameter is a finite number that is zero or more."""
    for name, value in parameters.items():
        if not (isinstance(value, Real) and 0 <= value < inf):
            raise ParameterError(
                f"{name} should be a finite number >= 0, but {value!r} came. "
                f"Give a number such as {name}=1.0, or {name}=0.0 to leave the term out."
            )


def require_rows(name: str, values: Any, x: Array) -> None:
    """Raise unless ``values`` holds one value for each row of ``x``."""
    if len(values) != len(x):
        raise InputError(
            f"{name} describes {len(values)} rows, but the array has {len(x)}. "
            f"Give one value of {name} for each row."
        )
