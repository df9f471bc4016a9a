"""Checks of the parameters of the proximal operators."""

from typing import Any

from thalweg._checks import require_positive
from thalweg._typing import Array
from thalweg.errors import InputError, ParameterError

# Range of a radius r for which r^2 and 1 / r^2 are normal float64 numbers, with a margin for sums.
SMALLEST, LARGEST = 1e-153, 1e153


def require_rows(name: str, values: Any, x: Array) -> None:
    """Raise unless ``values`` holds one value for each row of ``x``."""
    if len(values) != len(x):
        raise InputError(
            f"{name} must have one value per row of the array ({len(x)}), got {len(values)} values."
        )


def require_radius(**parameters: float) -> None:
    """Raise unless each parameter is a positive number whose square does not over- or underflow."""
    require_positive(**parameters)
    for name, value in parameters.items():
        if not SMALLEST <= value <= LARGEST:
            raise ParameterError(
                f"{name} must be between {SMALLEST} and {LARGEST}, got {value!r}. "
                f"Rescale the data so that {name} is closer to 1."
            )
