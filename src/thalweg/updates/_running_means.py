"""Running means over a stream, as named tuples that end with ``weight`` and ``n_samples``."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from thalweg import _native
from thalweg._typing import Array

__all__ = [
    "BatchShare",
    "add_batch",
    "averaged",
    "batch_share",
    "dead_atoms",
    "merge_means",
    "without_forgetting",
]

S = TypeVar("S", bound=Any)

# An atom is dead if the mean square of its codes is at most this share of the average over atoms.
# safety margin: unused atoms have 0, and used ones far more
_DEAD_ENERGY_SHARE = 1e-8


class BatchShare(NamedTuple):
    """The weight of a batch in the means: ``share``, and 1 - ``share`` for the past.

    ``weight`` and ``n_samples`` are the counts after the batch.
    """

    share: float
    weight: Array
    n_samples: Array


def batch_share(
    weight: Array, n_samples: Array, n: int, forgetting: float, fade: float
) -> BatchShare:
    """Return the weight of n new samples in the means, and the counts after them.

    The weight of the past is multiplied by ``forgetting`` for each new sample, and by
    (n_samples / (n_samples + n))^fade.
    """
    total = n_samples + n
    own = float(n) if forgetting == 1.0 else (1.0 - forgetting**n) / (1.0 - forgetting)
    past = weight * forgetting**n * (n_samples / total) ** fade
    return BatchShare(float(own / (past + own)), np.asarray(past + own), np.asarray(total))


def averaged(
    state: Any, V: Array, R: Array | None, H: Array, share: float
) -> tuple[Array, Array, float]:
    """Return the means A of h h' and B of (v - r) h' with new samples of weight ``share``.

    Also return the mean of |v - r|^2 over the new samples. Without R, there are no outliers.
    """
    dtype, rows = H.dtype, np.ascontiguousarray
    before = rows(state.A.T, dtype), rows(state.B.T, dtype)
    A, B = np.empty_like(before[0]), np.empty_like(before[1])
    outliers = None if R is None else rows(R.T, dtype)
    samples = rows(V.T, dtype), outliers, rows(H.T, dtype)
    square = _native.add_samples(samples, float(share), before, (A, B))
    return A, B.T, square


def merge_means(states: Sequence[S]) -> S:
    """Return the weighted mean of several states."""
    weight = sum((s[-2] for s in states), np.zeros(()))
    if weight == 0.0:
        return states[0]
    means = [
        np.asarray(sum(s[i] * s[i].dtype.type(s[-2] / weight) for s in states))
        for i in range(len(states[0]) - 2)
    ]
    n_samples = sum((s[-1] for s in states), np.zeros(()))
    made: S = type(states[0])(*means, np.asarray(weight), np.asarray(n_samples))
    return made


def without_forgetting(update: S) -> S:
    """Return the update with equal weights of all samples, for the summary of a block."""
    plain: S = replace(update, forgetting=1.0, fade=0.0)
    return plain


def add_batch(past: S, latest: S, forgetting: float, fade: float) -> S:
    """Return the means after a batch, given its means with equal weights."""
    if latest[-1] == 0.0:
        return past
    share, *counts = batch_share(past[-2], past[-1], int(latest[-1]), forgetting, fade)
    means = [
        np.asarray(old.dtype.type(1.0 - share) * old + old.dtype.type(share) * new)
        for old, new in zip(past[:-2], latest[:-2], strict=True)
    ]
    made: S = type(past)(*means, *counts)
    return made


def dead_atoms(state: Any, frozen: int) -> list[int]:
    """Return the indices of the atoms that no sample uses, except the first ``frozen`` ones.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.atom_replacement import dead_atoms
    >>> from thalweg.updates.surrogate import Surrogate
    >>> state = Surrogate().init(np.ones((3, 2)))._replace(A=np.diag([1.0, 0.0]))
    >>> dead_atoms(state, frozen=0)
    [1]
    """
    energy = np.einsum("...kk->...k", state.A)
    energy = energy if energy.ndim == 1 else energy.sum(axis=0)
    least = _DEAD_ENERGY_SHARE * energy.sum() / energy.size
    if energy.min() > least:
        return []
    return [int(k) for k in np.flatnonzero(energy <= least) if k >= frozen]
