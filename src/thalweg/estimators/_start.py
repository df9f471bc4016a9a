"""The dictionary to begin with."""

from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.errors import ParameterError
from thalweg.estimators._input import Batch
from thalweg.prox import Prox

__all__ = ["dictionary", "frozen_columns"]

# A feature that the first batch lacks starts with this share of the most common one's mean.
_RARE = 1e-6


def dictionary(
    init: Any,
    frozen: Any,
    n_components: int,
    batch: Batch,
    constraint: Prox,
    rng: np.random.Generator,
    by_feature: bool = False,
) -> Array:
    """Return W (F, K) in the constraint set, with the frozen columns first.

    ``"random"`` is uniform on [0, 1], then put into the set ([O] VII-B1 leaves that out, and
    begins with columns of norm far above 1); ``"samples"`` are samples of the first batch. With
    ``by_feature`` each entry of a random one is first multiplied by the mean of its feature, and
    columns are scaled into the set where that can be done.
    """
    F, dtype = len(batch.V), batch.V.dtype
    if isinstance(init, str):
        drawn = _samples if init == "samples" else _uniform
        W = drawn(batch, n_components, rng)
        if by_feature and init == "random":
            W = W * _means(batch)[:, None]
        W = W / np.maximum(np.linalg.norm(W, axis=0), np.finfo(np.float64).tiny)
    else:
        W = _given("init", init, (n_components, F)).T
    W = np.asarray(W, dtype=dtype)
    if by_feature and hasattr(constraint, "gauge"):
        size = constraint.gauge(W)  # the nearest point of a simplex has zeros
        W = W / np.where(size > 0.0, size, 1.0).astype(dtype)
    W = np.asfortranarray(constraint.prox(W))
    fixed = frozen_columns(frozen, n_components, F)
    W[:, : fixed.shape[1]] = fixed
    return W


def frozen_columns(frozen: Any, n_components: int, n_features: int) -> Array:
    """Return the given atoms as columns; none by default."""
    if frozen is None:
        return np.empty((n_features, 0))
    atoms = np.asarray(frozen, dtype=np.float64)
    if atoms.ndim != 2 or len(atoms) > n_components:
        raise ParameterError(
            f"frozen_components should have at most {n_components} rows of {n_features} entries, "
            f"but the shape {atoms.shape} came. Give one row for each atom to keep."
        )
    return _given("frozen_components", atoms, (len(atoms), n_features)).T


def _uniform(batch: Batch, n_components: int, rng: np.random.Generator) -> Array:
    return rng.random((len(batch.V), n_components))


def _means(batch: Batch) -> Array:
    """Return the mean of each feature over the entries seen, none below a share of the largest.

    A loss that is infinite at zero needs all of them.
    """
    B = batch.V.shape[1]
    counts = B if batch.seen is None else np.maximum(batch.seen.sum(axis=1), 1)
    means = batch.V.sum(axis=1, dtype=np.float64) / counts
    floored: Array = np.maximum(means, _RARE * means.max(initial=0.0) or 1.0)
    return floored


def _samples(batch: Batch, n_components: int, rng: np.random.Generator) -> Array:
    """Return samples in random order, repeated with jitter when there are too few."""
    B = batch.V.shape[1]
    order = np.concatenate([rng.permutation(B) for _ in range(-(-n_components // B))])
    W = batch.V[:, order[:n_components]].astype(np.float64)
    jittered: Array = W + 0.01 * W.mean() * rng.random(W.shape)
    return jittered


def _given(parameter: str, atoms: Any, shape: tuple[int, int]) -> Array:
    array = np.asarray(atoms, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all() or (array < 0.0).any():
        raise ParameterError(
            f"{parameter} should be a finite nonnegative array of shape {shape}, but one of shape "
            f"{array.shape} came, or with other entries. Pass components as rows."
        )
    return array
