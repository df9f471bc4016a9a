"""Real data: files of the folder that THALWEG_DATA names, or a word on what is missing."""

import os
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["located", "stored"]


def located(file: str) -> Path:
    """Return where a file is; leave if it is not there."""
    folder = os.environ.get("THALWEG_DATA")
    if folder is None or not (Path(folder) / file).exists():
        raise SystemExit(f"this case needs {file}: set THALWEG_DATA to the folder that has it")
    return Path(folder) / file


def stored(file: str) -> Any:
    """Return the open archive of arrays; leave if it is not there."""
    return np.load(located(file), allow_pickle=False)
