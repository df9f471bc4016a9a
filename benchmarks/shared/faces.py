"""Faces from the folder of the data, and the salt and pepper of [O] VII-D5."""

from typing import Any

import numpy as np

from benchmarks.shared.data import stored

__all__ = ["faces", "salted"]


def faces(name: str) -> tuple[Any, tuple[int, ...]]:
    """Return faces as rows in [0, 1], each divided by its maximum, and the shape of one."""
    with stored(f"{name}.npz") as data:
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
