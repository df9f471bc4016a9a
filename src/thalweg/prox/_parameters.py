"""Checks of the operators' parameters, worded in one place."""

from typing import Any

from thalweg._typing import Array
from thalweg.errors import InputError


def require_rows(name: str, values: Any, x: Array) -> None:
    """Raise unless ``values`` holds one value for each row of ``x``."""
    if len(values) != len(x):
        raise InputError(
            f"{name} describes {len(values)} rows, but the array has {len(x)}. "
            f"Give one value of {name} for each row."
        )
