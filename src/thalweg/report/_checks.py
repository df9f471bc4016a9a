"""Validate the arguments of panels."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thalweg.errors import InputError, ParameterError

__all__ = ["labels", "mapping", "numbers", "same_shape", "stack", "stacks", "text", "unit_range"]

Values = np.ndarray[Any, np.dtype[Any]]
_MAX_MAGNITUDE = 1e300  # the difference of two larger values may overflow
_WHITE = 1.001  # upper end of floating-point images, with a tolerance for rounding


def text(name: str, value: Any) -> None:
    """Raise unless ``value`` is a non-empty string."""
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(f"{name} must be a non-empty string, got {value!r}.")


def mapping(name: str, value: Any) -> None:
    """Raise unless ``value`` is a non-empty dict with string keys."""
    if not isinstance(value, Mapping) or not value:
        kind = "an empty dict" if isinstance(value, Mapping) else type(value).__name__
        raise InputError(
            f"{name} must be a non-empty dict from names to values, got {kind}. "
            "Example: {'input': values}."
        )
    for key in value:
        text(f"each name in {name}", key)


def numbers(name: str, value: Any, ndim: int) -> Values:
    """Return a non-empty float array with ``ndim`` dimensions, finite or NaN."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers, got other values: {error}.") from error
    if array.ndim != ndim or not array.size:
        raise InputError(
            f"{name} must be a non-empty array with {ndim} dimension{'s' * (ndim > 1)}, got "
            f"shape {array.shape}. Reshape it, or omit the panel."
        )
    _reject_infinite(name, array)
    return array


def stack(name: str, images: Any, *, ndim: int = 3) -> Values:
    """Return images of shape (n, height, width[, 3]); one (height, width[, 3]) for ``ndim=2``."""
    array = np.asarray(images)
    shape = "(height, width)" if ndim == 2 else "(n, height, width)"
    valid = array.ndim == ndim or (array.ndim == ndim + 1 and array.shape[-1] == 3)
    if not valid or not array.size or array.dtype.kind not in "bfu":
        raise InputError(
            f"{name} must be an array of shape {shape}, with a last axis of 3 for colour, of "
            f"floats, uint8 or bool, got {array.dtype} of shape {array.shape}. Reshape or convert "
            "it."
        )
    if array.dtype.kind == "u" and array.dtype != np.uint8:
        raise InputError(
            f"{name} must be uint8 if it has integers, got {array.dtype}. Divide by the largest "
            "possible value to get floats from 0 to 1."
        )
    _reject_infinite(name, array)
    return array


def stacks(name: str, value: Any, axes: int) -> dict[str, Values]:
    """Return stacks of images by name, uint8 or in [0, 1], with equal first ``axes`` dimensions."""
    mapping(name, value)
    arrays = {key: stack(f"{name} {key!r}", images) for key, images in value.items()}
    same_shape(name, arrays, axes)
    for key, images in arrays.items():
        unit_range(f"{name} {key!r}", images)
    return arrays


def unit_range(name: str, images: Values) -> None:
    """Raise if most floats are above 1."""
    if images.dtype.kind == "f" and 2 * np.count_nonzero(images > _WHITE) > images.size:
        raise InputError(
            f"{name} must be between 0 and 1, got mostly larger values, up to "
            f"{np.nanmax(images):.4g}. Divide by the value of white."
        )


def same_shape(name: str, arrays: Mapping[str, Values], axes: int) -> None:
    """Raise unless the arrays have equal first ``axes`` dimensions."""
    (first, one), *others = arrays.items()
    for key, other in others:
        if other.shape[:axes] != one.shape[:axes]:
            raise InputError(
                f"{name} must have equal shapes, got {one.shape} for {first!r} and {other.shape} "
                f"for {key!r}. Pass arrays of the same samples."
            )


def labels(name: str, value: Sequence[Any] | None, length: int) -> None:
    """Raise unless ``value`` is None or has ``length`` entries."""
    if value is not None and (isinstance(value, str) or len(value) != length):
        given = repr(value) if isinstance(value, str) else f"{len(value)} entries"
        raise InputError(
            f"{name} must be a list with {length} entries, got {given}. Pass one for each, or None."
        )


def _reject_infinite(name: str, values: Values) -> None:
    if values.dtype.kind != "f":
        return
    too_large = np.abs(values) > min(_MAX_MAGNITUDE, float(np.finfo(values.dtype).max))
    if too_large.any():
        raise InputError(
            f"{name} must be finite and below 1e300, or NaN for a gap, got "
            f"{values[too_large][0]:.4g}. Replace missing values by NaN."
        )
