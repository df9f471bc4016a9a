"""From the columns of Arrow to rows of numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.errors import InputError
from thalweg.streams._files import need, pick

__all__ = ["block_size", "numeric_places", "rows", "unreadable"]

_ENTRIES = 2**16  # that are converted at a time, for small batches cost much


def numeric_places(schema: Any, columns: Sequence[str | int] | None, path: Path) -> list[int]:
    """Return the places of the columns asked for, if all of them hold numbers."""
    types = need("pyarrow", "pyarrow").types
    tests = (
        types.is_integer,
        types.is_floating,
        types.is_boolean,
        types.is_decimal,
        types.is_null,
    )
    places = pick(schema.names, columns, path)
    for place in places:
        field = schema.field(place)
        if not any(test(field.type) for test in tests):
            raise InputError(
                f"{path} should have numbers in column {field.name!r}, but it holds {field.type}. "
                "Choose other columns with columns=[...]."
            )
    return places


def block_size(size: int, n_columns: int) -> int:
    """Return how many rows to convert at a time for batches of a size."""
    return max(size, _ENTRIES // n_columns)


def rows(batch: Any, dtype: np.dtype[Any]) -> Array:
    """Return a record batch as rows of an array, with NaN for nulls."""
    target = need("pyarrow", "pyarrow").from_numpy_dtype(dtype)
    found = np.empty((batch.num_rows, batch.num_columns), dtype=dtype)
    for place, column in enumerate(batch.columns):
        # unsafe: whole numbers beyond 2^53 are rounded rather than refused
        found[:, place] = column.cast(target, safe=False).to_numpy(zero_copy_only=False)
    return found


def unreadable(path: Path, kind: str, error: Exception) -> InputError:
    """Return the error for a file that pyarrow cannot read."""
    return InputError(
        f"{path} should be {kind}, but it cannot be read: {str(error).splitlines()[0]} "
        "Check that it was written and copied to its end."
    )
