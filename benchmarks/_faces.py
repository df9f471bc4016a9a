"""Faces from the folder of the data, and the salt and pepper of [O] VII-D5."""

import os
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["faces", "salted", "stored"]


def stored(name: str) -> Any:
    """Return the open file of a data set, or end with a word on where it should be."""
    folder = os.environ.get("THALWEG_DATA")
    path = Path(folder or ".") / f"{name}.npz"
    if folder is None or not path.exists():
        raise SystemExit(f"{name}.npz is needed: set THALWEG_DATA to the folder that has it")
    return np.load(path, allow_pickle=False)


def faces(name: str) -> tuple[Any, tuple[int, ...]]:
    """Return faces as rows in [0, 1], each divided by its maximum, and the shape of one."""
    with stored(name) as data:
        images = data["images"]
    rows = images.reshape(len(images), -1) / 255.0
    return rows / rows.max(axis=1, keepdims=True), images.shape[1:]


def salted(clean: Any, contaminated: float, density: float, rng: np.random.Generator) -> Any:
    """Return the rows with uniform noise on a share of the entries of a share of them."""
    noisy = clean.copy()
    n, p = clean.shape
    few = int(density * p)
    for i in rng.permutation(n)[: int(contaminated * n)]:
        hit = rng.permutation(p)[:few]
        noisy[i, hit] += rng.uniform(-1.0, 1.0, few)
    return np.clip(noisy, 0.0, 1.0)
