"""What the batch algorithms share."""

import numpy as np

from thalweg._typing import Array, Mask

__all__ = ["fill"]


def fill(R: Array, V: Array, product: Array, seen: Mask | None) -> Array:
    """Let the outliers take all that is left over gaps, where they cost nothing."""
    return R if seen is None else np.where(seen.T, R.T, (V - product).T).T
