"""Validation of data and codes: arrays for the learners, or one clear error."""

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from thalweg._checks import as_numbers, in_words, unmasked
from thalweg._typing import Array
from thalweg.errors import InputError
from thalweg.estimators.fitting import warn_caller

__all__ = ["check_codes", "check_data", "check_fit_data", "filled", "validated"]

# Range of the largest entry of the data: from tiny ** 0.3 to max ** 0.4 of their type. Then sums of
# squares neither overflow nor vanish, and entries whose squares vanish are below the rounding error
# of the largest one. Safety margin: overflow begins at max ** 0.5.
_UPPER_EXPONENT, _LOWER_EXPONENT = 0.4, 0.3


class _InputTypeError(InputError, TypeError):
    """Data of an invalid type; scikit-learn's checks require a TypeError for objects."""


def check_data(estimator: Any, X: Any, *, reset: bool, dtype: Any = None) -> Any:
    """Return X as a float array or CSR matrix with the right number of features.

    Raises :class:`~thalweg.InputError` for negative entries, unless the estimator is signed, and
    for entries whose squares overflow. With ``reset``, also for data whose squares all vanish.

    Parameters
    ----------
    estimator : estimator
        Holds ``n_features_in_``, which ``reset`` sets.
    X : array-like or sparse matrix
        The data.
    reset : bool
        Whether these are the first data of a fit.
    dtype : dtype, optional
        Type that the data will be converted to; by default that of ``components_``.

    Returns
    -------
    array or CSR matrix of float32 or float64
        The data, in native byte order.

    Examples
    --------
    >>> from thalweg import RobustOnlineNMF
    >>> from thalweg.estimators.validation import check_data
    >>> check_data(RobustOnlineNMF(1), [[1, 2], [3, 4]], reset=True).dtype
    dtype('float64')
    """
    # Fast path: arrays of floats need none of scikit-learn's checks.
    plain = not reset and type(X) is np.ndarray and X.dtype in (np.float64, np.float32)
    shaped = plain and X.ndim == 2 and len(X) > 0 and X.shape[1] == estimator.n_features_in_
    if not shaped or hasattr(estimator, "feature_names_in_") or np.isinf(X).any():
        X = validated(estimator, X, reset=reset)
        X = X.astype(X.dtype.newbyteorder("="), copy=False)  # required by compiled loops
    values = X.data if sparse.issparse(X) else X
    smallest = np.fmin.reduce(values, axis=None, initial=0.0)
    largest = np.fmax.reduce(values, axis=None, initial=0.0)
    if dtype is None and not reset and hasattr(estimator, "components_"):
        dtype = estimator.components_.dtype
    _check_size(float(max(largest, -smallest)), np.dtype(dtype or values.dtype), learning=reset)
    if smallest < 0.0 and not estimator.signed:
        raise InputError(
            f"Negative values in data passed to {type(estimator).__name__}: entries must be "
            f"zero or more, got a smallest entry of {smallest:.6g}. Shift the data, split them "
            "into positive and negative parts, or mark wrong entries as missing with NaN."
        )
    return X


def check_fit_data(estimator: Any, X: Any, *, low_rank: bool = True) -> Any:
    """Return the checked data of a whole fit; warn if they cannot determine the model.

    Parameters
    ----------
    estimator : estimator
        Its ``n_components`` is compared with the shape of the data.
    X : array-like or sparse matrix
        All data of the fit.
    low_rank : bool, default=True
        Whether the number of components is bounded by the rank of the data. That of archetypes is
        not: a polygon in two dimensions has any number of corners.

    Returns
    -------
    array or CSR matrix of float32 or float64
        The data, as :func:`check_data` returns them.

    Examples
    --------
    >>> import warnings
    >>> from thalweg import RobustOnlineNMF
    >>> from thalweg.estimators.validation import check_fit_data
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     X = check_fit_data(RobustOnlineNMF(3), [[1.0, 2.0], [3.0, 4.0]])
    >>> print(caught[0].message)
    n_components should be at most min(n_samples, n_features) = 2, got 3. The data do not determine
    more components.
    """
    X = check_data(estimator, X, reset=True)
    most, count = min(X.shape), estimator.n_components
    if low_rank and isinstance(count, Integral) and count > most:
        warn_caller(
            f"n_components should be at most min(n_samples, n_features) = {most}, got {count}. "
            "The data do not determine more components."
        )
    if np.isnan(X.data if sparse.issparse(X) else X).all() and X.size > 0:
        warn_caller("X should have observed entries, got only missing ones. Nothing is learned.")
    return X


def validated(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Apply scikit-learn's checks; return a float array or CSR matrix, with NaN at masked entries.

    Examples
    --------
    >>> from thalweg import RobustNMF
    >>> from thalweg.estimators.validation import validated
    >>> validated(RobustNMF(1), [[1, 2]], reset=True)
    array([[1., 2.]])
    """
    X = unmasked(X)
    try:
        if _has_times(X):
            raise ValueError("Data must be real numbers, got dates or durations.")
        with np.errstate(invalid="ignore"):  # inf - inf, before the error is raised
            return validate_data(
                estimator,
                X,
                reset=reset,
                dtype=[np.float64, np.float32],
                accept_sparse="csr",
                ensure_all_finite="allow-nan",
            )
    except TypeError as error:
        raise _InputTypeError(_worded(str(error))) from error
    except (OverflowError, ValueError) as error:
        raise InputError(_worded(str(error))) from error


def _has_times(X: Any) -> bool:
    """Whether there are dates or durations, which NumPy would convert to numbers."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return any(map(_is_time, X.dtypes))
    dtype = X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype
    if dtype == np.object_:
        return any(isinstance(e, (np.datetime64, np.timedelta64)) for e in np.asarray(X).flat)
    return _is_time(dtype)


def _is_time(dtype: Any) -> bool:
    temporal = getattr(dtype, "is_temporal", None)  # dtypes of polars have no kind
    return bool(temporal()) if temporal else getattr(dtype, "kind", None) in ("m", "M")


def _check_size(largest: float, dtype: np.dtype[Any], *, learning: bool) -> None:
    """Raise unless sums of squares of the data can be represented in their type."""
    limits = np.finfo(dtype)
    high, low = float(limits.max) ** _UPPER_EXPONENT, float(limits.tiny) ** _LOWER_EXPONENT
    if largest > high or (learning and 0.0 < largest < low):
        raise InputError(
            f"Entries of type {dtype} must have sizes between {low:.0e} and {high:.0e}, or be "
            f"zero, got a largest entry of {largest:.6g}. Use other units or float64, "
            "or mark wrong entries as missing with NaN."
        )


def filled(X: Any, low_rank: Array) -> Array:
    """Return validated data as a dense array, with missing entries filled.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.estimators.validation import filled
    >>> filled(np.array([[1.0, np.nan]]), np.array([[9.0, 2.0]]))
    array([[1., 2.]])
    """
    rows = X.toarray() if sparse.issparse(X) else X
    return np.where(np.isnan(rows), low_rank, rows)


def check_codes(codes: Any, n_components: int) -> Array:
    """Return codes as a float array with one column per component.

    Examples
    --------
    >>> from thalweg.estimators.validation import check_codes
    >>> check_codes([[1, 2]], n_components=2)
    array([[1., 2.]])
    """
    array = as_numbers(codes)
    if array is None or array.ndim != 2 or array.shape[1] != n_components:
        raise InputError(
            f"codes must be numbers of shape (n_samples, {n_components}), got "
            f"{in_words(codes)}. Pass the result of transform."
        )
    codes_array: Array = array
    return codes_array


# Advice to add to messages of scikit-learn, by a part of the message.
_ADVICE = {
    "infinity": "Replace infinite entries, or mark them as missing with NaN.",
    "features as input": "Every batch needs the columns of the first one.",
    "could not convert": "Convert text to numbers first, and mark missing cells with NaN.",
    "minimum of 1 is required": "Pass at least one row and one column.",
    "dim <= 2": "Pass one row for each sample.",
    "inhomogeneous": "Pass rows of equal length, with NaN at missing entries.",
    "argument must be": "Pass an array or a table of numbers, with NaN at missing entries.",
    "dates or durations": "Pass numbers, such as the seconds since the first date.",
    "too large to convert": "Convert the data to other units.",
}


def _worded(message: str) -> str:
    """Return a message of scikit-learn with advice."""
    if "Complex data" in message:  # the original message prints all data
        return "Complex data not supported. Take real and imaginary parts, or sizes, as features."
    advice = next((advice for part, advice in _ADVICE.items() if part in message), "")
    return f"{message.rstrip('.')}. {advice}" if advice else message
