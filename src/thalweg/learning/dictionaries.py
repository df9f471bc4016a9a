"""Initial dictionaries."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from thalweg._checks import as_numbers, in_words
from thalweg._typing import Array
from thalweg.errors import ParameterError
from thalweg.learning.batches import Batch
from thalweg.prox import Prox
from thalweg.updates.atom_scaling import scale_into

__all__ = ["INITS", "frozen_columns", "given_components", "random_dictionary", "scaled_dictionary"]

INITS = ("auto", "random", "svd", "samples")
# Initial value of a feature that is 0 in the first batch, as a share of the largest mean.
_RARE_FEATURE = 1e-6
# Share of the mean sample in each column of an initial dictionary from singular vectors.
# benchmark: topics
_MEAN_SHARE = 0.5
# Jitter of repeated samples, as a share of their mean.
_JITTER = 0.01


def random_dictionary(
    init: Any, frozen: Array, n_components: int, batch: Batch, constraint: Prox, rng: Any
) -> Array:
    """Return an initial dictionary W (F, K) in the constraint set, the frozen columns first.

    ``"random"`` is uniform on [0, 1] and then scaled into the set; [O] VII-B1 leaves that out, and
    starts with columns of norm far above 1. So is ``"auto"``, since outliers distort singular
    vectors. ``"svd"`` and ``"samples"`` are those of :func:`scaled_dictionary`.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import as_batch
    >>> from thalweg.learning.dictionaries import random_dictionary
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> batch, rng = as_batch(np.ones((5, 3))), np.random.default_rng(0)
    >>> random_dictionary("random", np.empty((3, 0)), 2, batch, L2Ball(), rng).shape
    (3, 2)
    """
    if not isinstance(init, str):
        W = given_components("init", init, (n_components, batch.V.shape[0])).T
    elif init == "samples":
        W = _unit(_samples(batch, n_components, rng))
    elif init == "svd" and n_components < min(batch.V.shape) and batch.V.max() > 0.0:
        W = _unit(_singular_vectors(batch, n_components, rng))
    else:
        W = _unit(rng.random((batch.V.shape[0], n_components)))
    return _finished(W.astype(batch.V.dtype), constraint, frozen)


def scaled_dictionary(
    init: Any, frozen: Array, n_components: int, batch: Batch, constraint: Prox, rng: Any
) -> Array:
    """Return an initial dictionary W (F, K) without zeros, in the scale of each feature.

    ``"svd"`` takes the positive or the negative parts of the leading singular vectors, mixed with
    the mean sample (after C. Boutsidis and E. Gallopoulos, 2008). ``"auto"`` is ``"svd"`` if the
    batch has more samples and features than components, else ``"random"``: uniform numbers times
    the mean of each feature. ``"samples"`` takes samples of the first batch.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import as_batch
    >>> from thalweg.learning.dictionaries import scaled_dictionary
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> batch, rng = as_batch(np.eye(5)[:, :4] + 0.1), np.random.default_rng(0)
    >>> bool(scaled_dictionary("auto", np.empty((4, 0)), 2, batch, L2Ball(), rng).min() > 0.0)
    True
    """
    if not isinstance(init, str):
        W = given_components("init", init, (n_components, batch.V.shape[0])).T
    elif init == "samples":
        W = _unit(_samples(batch, n_components, rng))
    elif init == "random" or n_components >= min(batch.V.shape) or batch.V.max() == 0.0:
        W = _unit(rng.random((batch.V.shape[0], n_components)) * _means(batch)[:, None])
    else:
        W = _unit(_singular_vectors(batch, n_components, rng))
    return _finished(W.astype(batch.V.dtype), constraint, frozen)


def frozen_columns(frozen: Any, n_components: int, n_features: int) -> Array:
    """Return the frozen components that a user gave as rows, as columns; none by default.

    Examples
    --------
    >>> from thalweg.learning.dictionaries import frozen_columns
    >>> frozen_columns([[1.0, 0.0]], n_components=2, n_features=2).ravel()
    array([1., 0.])
    """
    if frozen is None:
        return np.empty((n_features, 0))
    rows = as_numbers(frozen)
    if rows is None or rows.ndim != 2 or len(rows) > n_components:
        raise ParameterError(
            f"frozen_components must be numbers in at most {n_components} rows of {n_features} "
            f"entries, got {in_words(frozen)}. Pass one row for each atom to keep."
        )
    return given_components("frozen_components", rows, (len(rows), n_features)).T


def given_components(parameter: str, given: Any, shape: tuple[int, int]) -> Array:
    """Return nonnegative components that a user gave as rows, in float64.

    Examples
    --------
    >>> from thalweg.learning.dictionaries import given_components
    >>> given_components("init", [[1, 2]], (1, 2))
    array([[1., 2.]])
    """
    array = as_numbers(given)
    fits = array is not None and array.shape == shape
    if array is None or not (fits and np.isfinite(array).all() and (array >= 0.0).all()):
        found = "negative or infinite entries, or NaN" if fits else in_words(given)
        raise ParameterError(
            f"{parameter} must be a finite nonnegative array of shape {shape}, got {found}. "
            "Pass components as rows."
        )
    components: Array = array.astype(np.float64, copy=False)
    return components


def _finished(W: Array, constraint: Prox, frozen: Array) -> Array:
    """Return W in the constraint set, with the frozen columns as they are."""
    W = np.asfortranarray(scale_into(W, constraint))
    W[:, : frozen.shape[1]] = frozen
    return W


def _unit(W: Array) -> Array:
    unit: Array = W / np.maximum(np.linalg.norm(W, axis=0), np.finfo(np.float64).tiny)
    return unit


def _means(batch: Batch) -> Array:
    """Return the mean of each feature's observed entries, at least a share of the largest."""
    B = batch.V.shape[1]
    weight, mask = batch.sample_weight, batch.mask
    if weight is None:
        counts = B if mask is None else np.maximum(mask.sum(axis=1), 1)
        means = np.asarray(batch.V.sum(axis=1, dtype=np.float64)) / counts
    else:
        mass = weight.sum() if mask is None else mask @ weight
        means = np.asarray(batch.V @ weight.astype(np.float64)) / np.where(mass > 0.0, mass, 1.0)
    floored: Array = np.maximum(means, _RARE_FEATURE * means.max(initial=0.0) or 1.0)
    return floored


def _samples(batch: Batch, n_components: int, rng: np.random.Generator) -> Array:
    """Return samples in random order, repeated with jitter if there are too few."""
    B = batch.V.shape[1]
    order = np.concatenate([rng.permutation(B) for _ in range(-(-n_components // B))])
    drawn: Any = batch.V[:, order[:n_components]]
    W = (drawn.toarray() if sparse.issparse(drawn) else drawn).astype(np.float64)
    jittered: Array = W + _JITTER * W.mean() * rng.random(W.shape)
    return jittered


def _singular_vectors(batch: Batch, n_components: int, rng: np.random.Generator) -> Array:
    """Return the larger one-signed part of each singular vector, mixed with the mean sample."""
    means = _means(batch)
    V: Any = batch.V.astype(np.float64)
    if batch.observed is not None:
        V = np.where(batch.observed, V, means[:, None])
    if batch.sample_weight is not None:  # squares weigh u times as much in units of sqrt(u)
        roots = np.sqrt(batch.sample_weight)
        V = V.multiply(roots).tocsc() if sparse.issparse(V) else V * roots
    left, _, right = svds(V, n_components, v0=rng.standard_normal(min(V.shape)))
    W = np.empty_like(left)
    for k in range(n_components):
        parts = [(np.maximum(s * left[:, k], 0), np.maximum(s * right[k], 0)) for s in (1, -1)]
        W[:, k] = max(parts, key=lambda uv: np.linalg.norm(uv[0]) * np.linalg.norm(uv[1]))[0]
    W /= np.maximum(W.sum(axis=0), np.finfo(np.float64).tiny)
    mean = (means / means.sum())[:, None] * rng.uniform(0.5, 1.5, W.shape)
    mixed: Array = (1.0 - _MEAN_SHARE) * W + _MEAN_SHARE * mean
    return mixed
