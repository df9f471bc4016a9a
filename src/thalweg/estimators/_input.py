"""Validation of what users hand in: one clear error, or arrays the maths can use."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from thalweg._typing import Array, Mask
from thalweg.errors import InputError

__all__ = ["Batch", "as_batch", "check_codes", "check_data", "filled", "whole_number"]


class Batch(NamedTuple):
    """Samples as columns, zero where nothing was seen; ``seen`` is None without gaps."""

    V: Array
    seen: Mask | None


def check_data(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X as a float array or CSR matrix of the right width.

    Negative entries are refused, unless the estimator calls itself signed.
    """
    try:
        X = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            accept_sparse="csr",
            ensure_all_finite="allow-nan",
        )
    except ValueError as error:
        raise InputError(f"{error} {_advice(str(error))}".rstrip()) from error
    if estimator.signed:
        return X
    values = X.data if sparse.issparse(X) else X
    smallest = np.fmin.reduce(values, axis=None, initial=0.0)
    if smallest < 0.0:
        raise InputError(
            f"Negative values in data passed to {type(estimator).__name__}: entries should be "
            f"zero or more, but the smallest is {smallest:.6g}. Shift the data, split them into "
            "positive and negative parts, or mark wrong entries as missing with NaN."
        )
    return X


def as_batch(X: Any) -> Batch:
    """Return rows of validated data as columns, gaps marked."""
    rows = X.toarray() if sparse.issparse(X) else X
    rows = np.ascontiguousarray(rows)
    gaps = np.isnan(rows)
    if not gaps.any():
        return Batch(rows.T, None)
    return Batch(np.where(gaps, rows.dtype.type(0), rows).T, ~gaps.T)


def filled(X: Any, low_rank: Array) -> Array:
    """Return validated data as a dense array, with its gaps filled."""
    rows = X.toarray() if sparse.issparse(X) else X
    return np.where(np.isnan(rows), low_rank, rows)


def check_codes(codes: Any, n_components: int) -> Array:
    """Return codes as a float array with one column per component."""
    array = np.asarray(codes)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != 2 or array.shape[1] != n_components:
        raise InputError(
            f"codes should have the shape (n_samples, {n_components}), but {array.shape} came. "
            "Pass what transform returned."
        )
    return array


def whole_number(value: Any) -> bool:
    """Tell whether a parameter is a positive whole number."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and int(value) >= 1


def _advice(message: str) -> str:
    if "infinity" in message:
        return "Replace infinite entries, or mark them as missing with NaN."
    if "features as input" in message:
        return "Every batch needs the columns of the first one."
    if "could not convert" in message:
        return "Convert text to numbers first, and mark missing cells with NaN."
    return ""
