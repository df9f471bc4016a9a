"""Sums over samples for batch methods, and outliers at missing entries."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array, Mask

__all__ = ["Sums", "fill_missing"]


class Sums(NamedTuple):
    """Sums over the samples of a block, from which the dictionary is updated.

    Attributes
    ----------
    A : array of shape (K, K)
        Sum of h h'.
    B : array of shape (F, K)
        Sum of x h', with x a vector per sample that depends on the method.
    n : int
        Number of samples.
    """

    A: Array
    B: Array
    n: int

    @staticmethod
    def merge(parts: Sequence["Sums"]) -> "Sums":
        """Return the sums over all blocks, added in their order."""
        first, *others = parts
        total: Any = first
        for part in others:
            total = Sums(*(one + two for one, two in zip(total, part, strict=True)))
        summed: Sums = total
        return summed


def fill_missing(R: Array, V: Array, product: Array, observed: Mask | None) -> Array:
    """Return R with the residual V - W H at missing entries, where outliers are free."""
    return R if observed is None else np.where(observed.T, R.T, (V - product).T).T
