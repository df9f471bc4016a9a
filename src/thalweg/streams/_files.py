"""Checks that the sources share: files, number types, columns, libraries that may be absent."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from thalweg._checks import need
from thalweg.errors import InputError, ParameterError

__all__ = ["check_dtype", "check_size", "existing", "need", "pick"]


def existing(source: str | PathLike[str]) -> Path:
    """Return the path of a file that is there."""
    path = Path(source)
    if not path.is_file():
        what = "a folder" if path.is_dir() else "nothing"
        raise InputError(
            f"{path} should be a file, but {what} is there. Check the path, from {Path.cwd()}."
        )
    return path


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """Return float32 or float64."""
    if dtype in ("float32", "float64", np.float32, np.float64):
        found: np.dtype[Any] = np.dtype(dtype)
        return found
    raise ParameterError(
        f"dtype should be 'float32' or 'float64', but {dtype!r} came. Use one of these."
    )


def check_size(size: Any) -> None:
    """Raise unless ``size`` is None or a height and a width in pixels."""
    if size is None:
        return
    if len(tuple(size)) != 2 or not all(isinstance(n, int) and n >= 1 for n in size):
        raise ParameterError(
            f"size should be (height, width) in pixels, but {size!r} came. "
            "Give two whole numbers such as size=(120, 160)."
        )


def pick(names: Sequence[str], columns: Sequence[str | int] | None, path: Path) -> list[int]:
    """Return the places of the columns that were asked for by name or place; None is all."""
    if columns is None:
        return list(range(len(names)))
    if isinstance(columns, str) or not len(columns):
        raise ParameterError(
            f"columns should be a list of names or places, but {columns!r} came. "
            f"The columns of {path} are {', '.join(names)}."
        )
    places = []
    for column in columns:
        if isinstance(column, str) and column in names:
            places.append(names.index(column))
        elif not isinstance(column, str) and 0 <= column < len(names):
            places.append(int(column))
        else:
            raise ParameterError(
                f"columns should be in {path}, but {column!r} is not. "
                f"Choose among {', '.join(names)}, or by places from 0 to {len(names) - 1}."
            )
    return places
