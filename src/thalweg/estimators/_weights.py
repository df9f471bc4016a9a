"""Weights of samples and of entries: checked, and joined with the data."""

from typing import Any

import numpy as np
from scipy import sparse

from thalweg._checks import as_numbers, in_words
from thalweg._typing import Array
from thalweg.errors import InputError
from thalweg.learning.batches import WeightedRows

__all__ = ["check_sample_weight", "weighted"]


def weighted(X: Any, sample_weight: Any, weights: Any) -> Any:
    """Return validated data with their weights; without rows of weight 0.

    Weights that are all 1 are left out, so that they change nothing.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Validated data.
    sample_weight : array-like of shape (n_samples,) or None
        Weights of the rows.
    weights : array-like or sparse matrix of the shape of X, or None
        Weights of the entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.estimators._weights import weighted
    >>> weighted(np.ones((3, 2)), [2, 0, 1], None).sample_weight
    array([2., 1.])
    """
    if sample_weight is None and weights is None:
        return X
    rows = X
    if weights is not None:
        entries = _check_entry_weights(weights, X)
        values = entries.data if sparse.issparse(entries) else entries
        if sparse.issparse(entries) or (values != 1.0).any():
            rows = WeightedRows(X, entries)
    if sample_weight is None:
        return rows
    each = check_sample_weight(sample_weight, X.shape[0])
    kept = each > 0.0
    if not kept.all():
        rows, each = rows[kept], each[kept]
    if (each == 1.0).all():
        return rows
    entries = rows.weights if isinstance(rows, WeightedRows) else None
    return WeightedRows(rows.X if isinstance(rows, WeightedRows) else rows, entries, each)


def check_sample_weight(sample_weight: Any, n_samples: int) -> Array:
    """Return weights of samples as numbers; raise unless they are valid.

    Examples
    --------
    >>> from thalweg.estimators._weights import check_sample_weight
    >>> check_sample_weight([1, 2], 2)
    array([1., 2.])
    """
    found = as_numbers(sample_weight)
    if found is None or found.shape != (n_samples,):
        raise InputError(
            f"sample_weight must be numbers of shape ({n_samples},), got "
            f"{in_words(sample_weight)}. Pass one weight for each row of X."
        )
    each: Array = found.astype(np.float64)
    _check_values("sample_weight", each)
    return each


def _check_entry_weights(weights: Any, X: Any) -> Any:
    """Return weights of entries in the type of the data; raise unless they are valid."""
    found = sparse.csr_array(weights) if sparse.issparse(weights) else as_numbers(weights)
    if found is None or found.shape != X.shape:
        raise InputError(
            f"weights must be numbers of shape {X.shape}, got {in_words(weights)}. "
            "Pass one weight for each entry of X, such as 1 / variance, and 0 at gaps."
        )
    entries = found.astype(X.dtype)
    _check_values("weights", entries.data if sparse.issparse(entries) else entries)
    return entries


def _check_values(name: str, values: Array) -> None:
    if not (np.isfinite(values).all() and (values >= 0.0).all()):
        wrong = values[~(np.isfinite(values) & (values >= 0.0))].ravel()[0]
        raise InputError(
            f"{name} must be finite and 0 or more, got {wrong:g}. Use 0 for what is missing."
        )
    if not (values > 0.0).any():
        raise InputError(
            f"{name} must have a positive number, got only weights of zero. Leave {name} out for "
            "equal weights."
        )
