"""Checks of what panels are given, each with one error that says what to do."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thalweg.errors import InputError, ParameterError

__all__ = ["labels", "mapping", "numbers", "same_shape", "stack", "stacks", "text", "unit_range"]

Values = np.ndarray[Any, np.dtype[Any]]
_MOST = 1e300


def text(what: str, value: Any) -> None:
    """Raise unless ``value`` is a text with something in it."""
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(f"{what} should be a text, but {value!r} came. Give a short one.")


def mapping(what: str, value: Any) -> None:
    """Raise unless ``value`` maps names to something."""
    if not isinstance(value, Mapping) or not value:
        came = "an empty one" if isinstance(value, Mapping) else type(value).__name__
        raise InputError(
            f"{what} should be a dict from names to values, but {came} came. "
            "Give at least one, such as {'input': values}."
        )
    for name in value:
        text(f"each name in {what}", name)


def numbers(what: str, value: Any, ndim: int) -> Values:
    """Return an array of floats that has ``ndim`` axes, is not empty, and is finite or NaN."""
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} should be numbers, but {error}. Convert them first.") from error
    if found.ndim != ndim or not found.size:
        raise InputError(
            f"{what} should be an array of {ndim} dimension{'s' * (ndim > 1)} with something in "
            f"it, but its shape is {found.shape}. Reshape it, or leave the panel out."
        )
    _refuse_inf(what, found)
    return found


def stack(what: str, images: Any, *, least: int = 3) -> Values:
    """Return images as (n, height, width), with 3 behind for colour; single with ``least=2``."""
    found = np.asarray(images)
    shape = "(height, width)" if least == 2 else "(n, height, width)"
    plain = found.ndim == least or (found.ndim == least + 1 and found.shape[-1] == 3)
    if not plain or not found.size or found.dtype.kind not in "bfu":
        raise InputError(
            f"{what} should be an array of shape {shape}, with 3 behind for colour, of floats, "
            f"uint8 or bool, but {found.dtype} of shape {found.shape} came. Reshape or convert it."
        )
    if found.dtype.kind == "u" and found.dtype != np.uint8:
        raise InputError(
            f"{what} should have 8 bits if it has whole numbers, but {found.dtype} came. "
            "Divide by the largest value that can occur, which gives floats from 0 to 1."
        )
    _refuse_inf(what, found)
    return found


def stacks(what: str, value: Any, axes: int) -> dict[str, Values]:
    """Return stacks of images by name, from 0 to 1 or in bytes, that agree in ``axes``."""
    mapping(what, value)
    found = {name: stack(f"{what} {name!r}", images) for name, images in value.items()}
    same_shape(what, found, axes)
    for name, images in found.items():
        unit_range(f"{what} {name!r}", images)
    return found


def unit_range(what: str, images: Values) -> None:
    """Raise if floats are on another scale than from 0 to 1."""
    if images.dtype.kind == "f" and 2 * np.count_nonzero(images > 1.001) > images.size:
        raise InputError(
            f"{what} should be between 0 and 1, but most values are larger, up to "
            f"{np.nanmax(images):.4g}. Divide by the value that stands for white."
        )


def same_shape(what: str, arrays: Mapping[str, Values], axes: int) -> None:
    """Raise unless the arrays agree in the first ``axes`` of their dimensions."""
    (first, one), *others = arrays.items()
    for name, other in others:
        if other.shape[:axes] != one.shape[:axes]:
            raise InputError(
                f"{what} should have one shape, but {first!r} has {one.shape} and {name!r} has "
                f"{other.shape}. Give arrays of the same samples."
            )


def labels(what: str, value: Sequence[Any] | None, length: int) -> None:
    """Raise unless ``value`` is None or has ``length`` entries."""
    if value is not None and (isinstance(value, str) or len(value) != length):
        came = repr(value) if isinstance(value, str) else f"{len(value)} entries"
        raise InputError(
            f"{what} should be a list with {length} entries, but {came} came. "
            "Give one for each, or leave them out."
        )


def _refuse_inf(what: str, values: Values) -> None:
    if values.dtype.kind != "f":
        return
    # beyond 1e300, a difference of two values may not be a number any more
    wild = np.abs(values) > min(_MOST, float(np.finfo(values.dtype).max))
    if wild.any():
        raise InputError(
            f"{what} should be finite and below 1e300, or NaN for a gap, but there is "
            f"{values[wild][0]:.4g}. Replace it by NaN where there is no value."
        )
