"""Images with many bands."""

from math import prod
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.apps._run import Run
from thalweg.apps._streams import everything, open_source
from thalweg.errors import InputError

__all__ = ["read_cube"]


def read_cube(run: Run) -> Any:
    """Return an array (height, width, bands); a folder of images has a band in each."""
    stream: Any = open_source(run, key=_only_cube(run))
    shape = tuple(getattr(stream, "shape", ()))
    rows = everything(stream, run, "Cut a piece out of it.")
    if hasattr(stream, "paths"):
        return np.moveaxis(rows.reshape(-1, *shape), 0, -1)
    if len(shape) != 2 or prod(shape) == 0:
        raise InputError(
            f"{run.title} should be an image with bands, an array of shape (height, width, bands), "
            f"but its rows have the shape {shape}. Give one with three axes."
        )
    return rows.reshape(-1, *shape)


def _only_cube(run: Run) -> str | None:
    """Return the name of the only array with three axes in an .npz file, without unpacking it."""
    path = run.source
    named = isinstance(path, (str, PathLike)) and Path(path).suffix.lower() == ".npz"
    if not named or "key" in run.read or not Path(path).is_file():
        return None
    from thalweg.streams.arrays import shapes

    deep = [name for name, shape in shapes(Path(path)).items() if len(shape) == 3]
    return deep[0] if len(deep) == 1 else None
