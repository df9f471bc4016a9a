"""Chunks of samples and their sums for batch methods, and outliers at missing entries."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from thalweg._threads import map_in_threads
from thalweg._typing import Array, Observed
from thalweg.encoders.columns import chunks
from thalweg.encoders.divergence_problem import weighted_codes

__all__ = ["Sums", "empty_like", "fill_missing", "some_columns", "visit_chunks"]


class Sums(NamedTuple):
    """Sums over the samples of a block, from which the dictionary is updated.

    Attributes
    ----------
    A : array of shape (K, K)
        Sum of h h'.
    B : array of shape (F, K)
        Sum of x h', with x a vector per sample that depends on the method.
    n : float
        Number of samples, or the sum of their weights.
    """

    A: Array
    B: Array
    n: float

    @staticmethod
    def of(H: Array, X: Array, sample_weight: Array | None = None) -> "Sums":
        """Return the sums over the samples with codes H and vectors X."""
        G = weighted_codes(H, sample_weight)
        n = H.shape[1] if sample_weight is None else float(sample_weight.sum())
        return Sums(G @ H.T, X @ G.T, n)

    @staticmethod
    def merge(parts: Sequence["Sums"]) -> "Sums":
        """Return the sums over all blocks, added in their order."""
        first, *others = parts
        total: Any = first
        for part in others:
            total = Sums(*(one + two for one, two in zip(total, part, strict=True)))
        summed: Sums = total
        return summed


def visit_chunks(
    visit: Callable[[slice], tuple[tuple[Array, ...], Sums]], V: Array, results: tuple[Array, ...]
) -> Sums:
    """Visit the samples in chunks, on several threads; return the sums over all.

    ``visit`` returns arrays with a column for each sample of its chunk, which go into ``results``.
    """

    def visit_chunk(columns: slice) -> Sums:
        parts, sums = visit(columns)
        for result, part in zip(results, parts, strict=True):
            result[:, columns] = part
        return sums

    pieces = chunks(V, max(len(result) for result in results)) or [slice(0)]
    return Sums.merge(list(map_in_threads(visit_chunk, pieces)))


def empty_like(X: Array) -> Array:
    """Return an array of the same shape whose columns are contiguous."""
    return np.empty(X.shape[::-1], X.dtype).T


def some_columns(columns: slice, *arrays: Any) -> Any:
    """Return the columns of each array; None for None."""
    return [None if array is None else array[:, columns] for array in arrays]


def fill_missing(R: Array, V: Array, product: Array, observed: Observed | None) -> Array:
    """Return R with the residual V - W H at missing entries, where outliers are free."""
    return R if observed is None else np.where(observed.T, R.T, (V - product).T).T
