"""Running means over a stream, as named tuples that end with ``weight`` and ``n_samples``."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from thalweg import _native
from thalweg._typing import Array, Observed
from thalweg.encoders.divergence_problem import weighted_codes
from thalweg.encoders.entry_weights import are_weights

__all__ = [
    "BatchShare",
    "add_batch",
    "averaged",
    "batch_share",
    "code_squares",
    "dead_atoms",
    "mean_of",
    "merge_means",
    "shares_of",
    "total",
    "weighted_means",
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
    weight: Array,
    n_samples: Array,
    n: int,
    forgetting: float,
    fade: float,
    mean_weight: float = 1.0,
) -> BatchShare:
    """Return the weight of n new samples in the means, and the counts after them.

    The weight of the past is multiplied by ``forgetting`` for each new sample, and by
    (n_samples / (n_samples + n))^fade, where samples count with their weights.
    """
    total = n_samples + n * mean_weight
    own = float(n) if forgetting == 1.0 else (1.0 - forgetting**n) / (1.0 - forgetting)
    own *= mean_weight
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


def add_batch(
    past: S, latest: S, forgetting: float, fade: float, n_samples: int | None = None
) -> S:
    """Return the means after a batch of ``n_samples``, given its means without forgetting."""
    if latest[-1] == 0.0:
        return past
    n = int(latest[-1]) if n_samples is None else n_samples
    mean_weight = float(latest[-1]) / n
    share, *counts = batch_share(past[-2], past[-1], n, forgetting, fade, mean_weight)
    means = [
        np.asarray(old.dtype.type(1.0 - share) * old + old.dtype.type(share) * new)
        for old, new in zip(past[:-2], latest[:-2], strict=True)
    ]
    made: S = type(past)(*means, *counts)
    return made


def mean_of(sample_weight: Array | None) -> float:
    """Return the mean weight of samples, 1 without weights."""
    return 1.0 if sample_weight is None else float(np.mean(sample_weight, dtype=np.float64))


def shares_of(sample_weight: Array | None) -> Array | None:
    """Return weights of samples with a mean of 1; None if they are equal."""
    if sample_weight is None:
        return None
    shares: Array = sample_weight / np.mean(sample_weight, dtype=np.float64)
    return shares


def code_squares(
    A: Array, H: Array, observed: Observed | None, shares: Array | None, kept: float, own: float
) -> Array:
    """Return kept A + own sum_n u_n h_n h_n', or with u_n w_fn for each feature f.

    ``shares`` are the weights u of the samples. One matrix becomes one for each feature once
    entries have weights w.
    """
    if A.ndim == 2 and (observed is None or not are_weights(observed)):
        G = H if shares is None else weighted_codes(H, shares)
        return H.dtype.type(kept) * A + H.dtype.type(own) * (G @ H.T)
    F = len(A) if observed is None else len(observed)
    weights = np.ones((F, H.shape[1]), H.dtype) if observed is None else observed
    each = np.ascontiguousarray(weighted_codes(weights, shares), H.dtype)
    grams = np.array(np.broadcast_to(A, (F, *A.shape[-2:])), order="C")
    _native.weighted_grams(each, np.ascontiguousarray(H.T), kept, own, grams)
    return grams


def weighted_means(
    state: Any,
    clean: Array,
    H: Array,
    share: float,
    observed: Observed | None,
    shares: Array | None,
) -> tuple[Array, Array, float]:
    """Return the same as :func:`averaged`, for weights of samples and of entries.

    ``clean`` are the samples without their outliers. Once entries have weights, each feature has a
    matrix A of its own, in which missing entries have no part.
    """
    kept, own = 1.0 - share, share / H.shape[1]
    by_feature = state.A.ndim == 3 or (observed is not None and are_weights(observed))
    if not by_feature:
        if shares is None:
            return averaged(state, clean, None, H, share)
        roots = np.sqrt(shares)  # squares weigh u times as much in units of sqrt(u)
        return averaged(state, weighted_codes(clean, roots), None, weighted_codes(H, roots), share)
    fitted = weighted_codes(clean if observed is None else clean * observed, shares)
    square = float(np.vdot(fitted.T, clean.T)) / H.shape[1]
    B = (H.dtype.type(kept) * state.B.T + H.dtype.type(own) * (H @ fitted.T)).T
    return code_squares(state.A, H, observed, shares, kept, own), B, square


def total(values: Array, shares: Array | None) -> float:
    """Return the sum of one value per sample, each times its weight."""
    return float(values.sum() if shares is None else values @ shares)


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
