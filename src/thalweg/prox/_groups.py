"""The penalty l1 |x|_1 + l2 sum_a sqrt(size_a) |x_a|_2 of both group lassos."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg._typing import Array
from thalweg.errors import ParameterError
from thalweg.prox._elastic import elastic_value, soft_threshold
from thalweg.prox._membership import indicator, tolerance
from thalweg.prox._parameters import require_rows


class Partition(NamedTuple):
    """The groups of the rows of an array; ``order`` sorts the rows by group."""

    group: NDArray[np.intp]  # the group number of each row
    order: NDArray[np.intp]
    starts: NDArray[np.intp]  # the first of the sorted rows of each group
    roots: Array  # the square root of the size of each group


def partition(group: NDArray[np.intp]) -> Partition:
    """Return the partition of rows with the group numbers 0, 1, ..."""
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    return Partition(group, np.argsort(group, kind="stable"), starts, np.sqrt(sizes))


def number_labels(labels: Any) -> NDArray[np.intp]:
    """Return the group number of each row; groups are numbered by first occurrence."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.intp)


def keep_labels(labels: Any) -> tuple[Hashable, ...] | None:
    """Return the labels as a tuple of hashable objects, or None if ``labels`` is None."""
    try:
        kept = None if labels is None else tuple(labels)
        hash(kept)
    except TypeError as error:
        raise ParameterError(
            f"groups must be a sequence with one hashable label per row, got {labels!r}. "
            "Use a list such as groups=[0, 0, 1], or None for one group of all rows."
        ) from error
    return kept


@dataclass(frozen=True)
class GroupPenalty:
    """The penalty with both terms; the group lasso and the sparse group lasso are special cases."""

    l1: float
    l2: float
    labels: tuple[Hashable, ...] | None
    positive: bool

    @cached_property
    def _partition(self) -> Partition:
        return partition(number_labels(self.labels))

    def _rows(self, x: Array) -> Partition:
        if self.labels is None:
            return partition(np.zeros(len(x), dtype=np.intp))
        require_rows("groups", self.labels, x)
        return self._partition

    def value(self, x: Array) -> Array:
        """Return the penalty of each column."""
        rows = self._rows(x)
        norms: Array = self.l2 * (rows.roots @ _group_norms(x, rows))
        return norms + elastic_value(x, self.l1, 0.0, self.positive)

    def prox(self, x: Array, step: float) -> Array:
        """Return argmin_u penalty(u) + |u - x|^2 / (2 step): soft-threshold, then shrink."""
        rows = self._rows(x)
        u = soft_threshold(x, float(self.l1 * step), self.positive)
        norms = _group_norms(u, rows)
        kept = np.maximum(norms - self.l2 * step * _upright(rows.roots, x), 0)
        u *= (kept / np.where(norms > 0, norms, 1.0))[rows.group]
        return u

    def conjugate(self, y: Array) -> Array:
        """Return 0 where each group's excess over l1 has a norm of l2 sqrt(size) or less."""
        rows = self._rows(y)
        norms = _group_norms(soft_threshold(y.astype(np.float64), self.l1, self.positive), rows)
        limit = self.l2 + tolerance(y) * (self.l1 + self.l2)
        return indicator(np.all(norms <= limit * _upright(rows.roots, y), axis=0))


def _group_norms(x: Array, rows: Partition) -> Array:
    size = np.abs(x[rows.order]).astype(np.float64)
    peak = np.maximum.reduceat(size, rows.starts, axis=0)
    # Scaled to at most 1, the squares do not overflow, and not all underflow.
    size /= np.where(peak > 0, peak, 1.0)[rows.group[rows.order]]
    norms: Array = peak * np.sqrt(np.add.reduceat(size * size, rows.starts, axis=0))
    return norms


def _upright(values: Array, x: Array) -> Array:
    return values[:, None] if x.ndim == 2 else values
