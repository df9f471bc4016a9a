"""The dictionary to begin with."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from thalweg._typing import Array
from thalweg.errors import ParameterError
from thalweg.estimators._input import Batch, as_numbers, in_words
from thalweg.prox import Prox
from thalweg.updates.atom_scaling import scale_into

__all__ = ["dictionary", "frozen_columns", "given", "scaled_dictionary"]

# A feature that the first batch lacks starts with this share of the most common one's mean.
_RARE = 1e-6
# Share of the mean sample in each atom of a start from singular vectors.
_MEAN = 0.5


def dictionary(
    init: Any,
    frozen: Any,
    n_components: int,
    batch: Batch,
    constraint: Prox,
    rng: np.random.Generator,
) -> Array:
    """Return W (F, K) in the constraint set, with the frozen columns first.

    ``"random"`` is uniform on [0, 1], then put into the set ([O] VII-B1 leaves that out, and
    begins with columns of norm far above 1); ``"samples"`` are samples of the first batch.
    """
    if isinstance(init, str):
        W = (
            _samples(batch, n_components, rng)
            if init == "samples"
            else _uniform(batch, n_components, rng)
        )
        W = _unit(W)
    else:
        W = given("init", init, (n_components, batch.V.shape[0])).T
    return _finished(W.astype(batch.V.dtype), constraint, frozen)


def scaled_dictionary(
    init: Any,
    frozen: Any,
    n_components: int,
    batch: Batch,
    constraint: Prox,
    rng: np.random.Generator,
) -> Array:
    """Return W (F, K) for a loss that is at home on a logarithmic scale, and bears no zeros.

    ``"svd"`` takes the signs of the leading singular vectors apart and mixes in the mean sample
    (after C. Boutsidis and E. Gallopoulos, 2008); ``"auto"`` does so where the batch has enough
    rows. ``"random"`` is uniform times the mean of each feature.
    """
    if not isinstance(init, str):
        W = given("init", init, (n_components, batch.V.shape[0])).T
    elif init == "samples":
        W = _unit(_samples(batch, n_components, rng))
    elif init == "random" or n_components >= min(batch.V.shape) or batch.V.max() == 0.0:
        W = _unit(_uniform(batch, n_components, rng) * _means(batch)[:, None])
    else:
        W = _unit(_singular(batch, n_components, rng))
    return _finished(W.astype(batch.V.dtype), constraint, frozen)


def frozen_columns(frozen: Any, n_components: int, n_features: int) -> Array:
    """Return the given atoms as columns; none by default."""
    if frozen is None:
        return np.empty((n_features, 0))
    atoms = as_numbers(frozen)
    if atoms is None or atoms.ndim != 2 or len(atoms) > n_components:
        raise ParameterError(
            f"frozen_components must be numbers in at most {n_components} rows of {n_features} "
            f"entries, got {in_words(frozen)}. Pass one row for each atom to keep."
        )
    return given("frozen_components", atoms, (len(atoms), n_features)).T


def _finished(W: Array, constraint: Prox, frozen: Any) -> Array:
    """Return W in the set, but for the frozen columns, which stay as they were given."""
    W = np.asfortranarray(scale_into(W, constraint))
    fixed = frozen_columns(frozen, W.shape[1], len(W))
    W[:, : fixed.shape[1]] = fixed
    return W


def _unit(W: Array) -> Array:
    unit: Array = W / np.maximum(np.linalg.norm(W, axis=0), np.finfo(np.float64).tiny)
    return unit


def _uniform(batch: Batch, n_components: int, rng: np.random.Generator) -> Array:
    return rng.random((batch.V.shape[0], n_components))


def _means(batch: Batch) -> Array:
    """Return the mean of each feature's observed entries, at least a share of the largest."""
    B = batch.V.shape[1]
    counts = B if batch.observed is None else np.maximum(batch.observed.sum(axis=1), 1)
    means = np.asarray(batch.V.sum(axis=1, dtype=np.float64)) / counts
    floored: Array = np.maximum(means, _RARE * means.max(initial=0.0) or 1.0)
    return floored


def _samples(batch: Batch, n_components: int, rng: np.random.Generator) -> Array:
    """Return samples in random order, repeated with jitter when there are too few."""
    B = batch.V.shape[1]
    order = np.concatenate([rng.permutation(B) for _ in range(-(-n_components // B))])
    drawn: Any = batch.V[:, order[:n_components]]
    W = (drawn.toarray() if sparse.issparse(drawn) else drawn).astype(np.float64)
    jittered: Array = W + 0.01 * W.mean() * rng.random(W.shape)
    return jittered


def _singular(batch: Batch, n_components: int, rng: np.random.Generator) -> Array:
    """Return the larger one-signed part of each singular vector, and of the mean, half and half."""
    means = _means(batch)
    V: Any = batch.V.astype(np.float64)
    if batch.observed is not None:
        V = np.where(batch.observed, V, means[:, None])
    left, _, right = svds(V, n_components, v0=rng.standard_normal(min(V.shape)))
    W = np.empty_like(left)
    for k in range(n_components):
        parts = [(np.maximum(s * left[:, k], 0), np.maximum(s * right[k], 0)) for s in (1, -1)]
        W[:, k] = max(parts, key=lambda uv: np.linalg.norm(uv[0]) * np.linalg.norm(uv[1]))[0]
    W /= np.maximum(W.sum(axis=0), np.finfo(np.float64).tiny)
    mean = (means / means.sum())[:, None] * rng.uniform(0.5, 1.5, W.shape)
    mixed: Array = (1.0 - _MEAN) * W + _MEAN * mean
    return mixed


def given(parameter: str, atoms: Any, shape: tuple[int, int]) -> Array:
    """Return the components that a user gave as rows."""
    array = as_numbers(atoms)
    fits = array is not None and array.shape == shape
    if array is None or not (fits and np.isfinite(array).all() and (array >= 0.0).all()):
        found = "negative or infinite entries, or NaN" if fits else in_words(atoms)
        raise ParameterError(
            f"{parameter} must be a finite nonnegative array of shape {shape}, got {found}. "
            "Pass components as rows."
        )
    return array.astype(np.float64, copy=False)
