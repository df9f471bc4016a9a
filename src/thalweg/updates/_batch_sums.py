"""What the batch algorithms share."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array, Mask

__all__ = ["Sums", "fill"]


class Sums(NamedTuple):
    """Sums over the samples of a block, of which the dictionary is moved.

    Attributes
    ----------
    A : array of shape (K, K)
        Of h h'.
    B : array of shape (F, K)
        Of what is linear in the codes.
    n : int
        Of ones.
    """

    A: Array
    B: Array
    n: int

    @staticmethod
    def merge(parts: Sequence["Sums"]) -> "Sums":
        """Return the sums over all samples, added in the order of the blocks."""
        first, *others = parts
        total: Any = first
        for part in others:
            total = Sums(*(one + two for one, two in zip(total, part, strict=True)))
        summed: Sums = total
        return summed


def fill(R: Array, V: Array, product: Array, observed: Mask | None) -> Array:
    """Let the outliers take all that is left over gaps, where they cost nothing."""
    return R if observed is None else np.where(observed.T, R.T, (V - product).T).T
