"""Read hyperspectral images."""

from math import prod
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.apps._run import Run
from thalweg.apps._streams import open_source, read_all
from thalweg.errors import InputError

__all__ = ["read_cube"]


def read_cube(run: Run) -> Any:
    """Return an array (height, width, bands); a folder has one image per band."""
    stream: Any = open_source(run, key=_only_cube(run))
    shape = tuple(getattr(stream, "shape", ()))
    rows = read_all(stream, run, "Use a crop of the image.")
    if hasattr(stream, "paths"):
        return np.moveaxis(rows.reshape(-1, *shape), 0, -1)
    if len(shape) != 2 or prod(shape) == 0:
        raise InputError(
            f"{run.title} must be an array of shape (height, width, bands), got samples of shape "
            f"{shape}. Pass an array with three axes."
        )
    return rows.reshape(-1, *shape)


def _only_cube(run: Run) -> str | None:
    """Return the name of the only three-dimensional array in an .npz file, without unpacking."""
    path = run.source
    named = isinstance(path, (str, PathLike)) and Path(path).suffix.lower() == ".npz"
    if not named or "key" in run.read or not Path(path).is_file():
        return None
    from thalweg.streams.arrays import shapes

    cubes = [name for name, shape in shapes(Path(path)).items() if len(shape) == 3]
    return cubes[0] if len(cubes) == 1 else None
