"""Shared checks of the sources: files, dtypes, columns, optional libraries."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from thalweg._checks import need
from thalweg.errors import InputError, ParameterError

__all__ = ["check_dtype", "check_size", "column_indices", "existing_file", "need"]


def existing_file(source: str | PathLike[str]) -> Path:
    """Return the path of a file; raise if it does not exist."""
    path = Path(source)
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "a path that does not exist"
        raise InputError(
            f"{path} must be a file, got {kind}. Relative paths start at {Path.cwd()}."
        )
    return path


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the NumPy dtype; raise unless it is float32 or float64."""
    if dtype in ("float32", "float64", np.float32, np.float64):
        checked: np.dtype[Any] = np.dtype(dtype)
        return checked
    raise ParameterError(f"dtype must be 'float32' or 'float64', got {dtype!r}.")


def check_size(size: Any) -> None:
    """Raise unless ``size`` is None or a height and a width in pixels."""
    if size is None:
        return
    if len(tuple(size)) != 2 or not all(isinstance(n, int) and n >= 1 for n in size):
        raise ParameterError(
            f"size must be (height, width), two positive integers in pixels, got {size!r}. "
            "Example: size=(120, 160)."
        )


def column_indices(
    names: Sequence[str], columns: Sequence[str | int] | None, path: Path
) -> list[int]:
    """Return the indices of columns selected by name or index; None selects all."""
    if columns is None:
        return list(range(len(names)))
    if isinstance(columns, str) or not len(columns):
        raise ParameterError(
            f"columns must be a non-empty list of names or indices, got {columns!r}. "
            f"The columns of {path} are {', '.join(names)}."
        )
    indices = []
    for column in columns:
        if isinstance(column, str) and column in names:
            indices.append(names.index(column))
        elif not isinstance(column, str) and 0 <= column < len(names):
            indices.append(int(column))
        else:
            raise ParameterError(
                f"columns must be columns of {path}, got {column!r}. "
                f"Choose among {', '.join(names)}, or indices from 0 to {len(names) - 1}."
            )
    return indices
