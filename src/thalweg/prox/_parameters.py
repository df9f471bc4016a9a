"""Checks of the operators' parameters, worded in one place."""

from typing import Any

from thalweg._checks import require_positive
from thalweg._typing import Array
from thalweg.errors import InputError, ParameterError

# Between them the square of a radius and its inverse are normal numbers, with room for sums.
SMALLEST, LARGEST = 1e-153, 1e153


def require_rows(name: str, values: Any, x: Array) -> None:
    """Raise unless ``values`` holds one value for each row of ``x``."""
    if len(values) != len(x):
        raise InputError(
            f"{name} describes {len(values)} rows, but the array has {len(x)}. "
            f"Give one value of {name} for each row."
        )


def require_radius(**parameters: float) -> None:
    """Raise unless each parameter is a positive number, and so is the inverse of its square."""
    require_positive(**parameters)
    for name, value in parameters.items():
        if not SMALLEST <= value <= LARGEST:
            raise ParameterError(
                f"{name} should be a number from {SMALLEST} to {LARGEST}, but {value!r} came. "
                f"Measure the data in units in which {name} is nearer to 1."
            )
