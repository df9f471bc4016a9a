"""Convert Arrow columns to rows of numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.errors import InputError
from thalweg.streams._files import column_indices, need

__all__ = ["block_size", "numeric_columns", "rows", "unreadable"]

_BLOCK_ENTRIES = 2**16  # entries converted at a time; converting small blocks is slow


def numeric_columns(schema: Any, columns: Sequence[str | int] | None, path: Path) -> list[int]:
    """Return the indices of the selected columns; raise if one of them is not numeric."""
    types = need("pyarrow", "pyarrow").types
    tests = (
        types.is_integer,
        types.is_floating,
        types.is_boolean,
        types.is_decimal,
        types.is_null,
    )
    indices = column_indices(schema.names, columns, path)
    for index in indices:
        field = schema.field(index)
        if not any(test(field.type) for test in tests):
            raise InputError(
                f"{path} must have numbers in column {field.name!r}, got {field.type}. "
                "Choose other columns with columns=[...]."
            )
    return indices


def block_size(size: int, n_columns: int) -> int:
    """Return the number of rows to convert at a time for batches of ``size`` rows."""
    return max(size, _BLOCK_ENTRIES // n_columns)


def rows(batch: Any, dtype: np.dtype[Any]) -> Array:
    """Convert a record batch to an array of rows, with NaN for nulls."""
    target = need("pyarrow", "pyarrow").from_numpy_dtype(dtype)
    values = np.empty((batch.num_rows, batch.num_columns), dtype=dtype)
    for index, column in enumerate(batch.columns):
        # safe=False rounds integers above 2^53 instead of raising
        values[:, index] = column.cast(target, safe=False).to_numpy(zero_copy_only=False)
    return values


def unreadable(path: Path, kind: str, error: Exception) -> InputError:
    """Return the error for a file that pyarrow cannot read."""
    return InputError(
        f"{path} must be {kind}, got an unreadable file: {str(error).splitlines()[0]} "
        "Check that the file is complete."
    )
