"""Dictionaries that least squares find hard: dependent, zero, wide or badly conditioned."""

from typing import Any

import numpy as np


def dictionaries() -> dict[str, Any]:
    """Return small dictionaries by name, atoms as columns."""
    rng = np.random.default_rng(5)
    W = rng.random((8, 5))
    zero = W.copy()
    zero[:, [1, 3]] = 0.0
    rows = np.arange(6.0)
    return {
        "random": W,
        "signed": rng.normal(size=(8, 5)),
        "wide": rng.random((3, 6)),
        "one-row": rng.random((1, 6)),
        "one-column": W[:, :1],
        "zero-columns": zero,
        "all-zero": np.zeros((4, 3)),
        "duplicates": W[:, [0, 1, 0, 2, 1, 0]],
        "nearly-duplicates": np.hstack([W[:, :3], W[:, :2] + 1e-7 * W[:, 3:]]),
        "low-rank": rng.random((8, 2)) @ rng.random((2, 6)),
        "ones": np.ones((5, 4)),
        "hilbert": 1.0 / (1.0 + rows[:, None] + rows),
        "sparse": W * (rng.random(W.shape) < 0.4),
    }
