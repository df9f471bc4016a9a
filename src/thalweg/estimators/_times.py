"""Times of rows, bounds of features, and the arguments of fills that depend on them."""

from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.dynamics.bounds import Extent
from thalweg.errors import InputError, ParameterError

__all__ = ["check_bounds", "check_interval", "check_times", "times_of"]


def times_of(X: Any, times: Any) -> Any:
    """Return given times, or the dates in the index of a table that has them, or None."""
    if times is not None:
        return times
    index = getattr(X, "index", None)
    return index if getattr(getattr(index, "dtype", None), "kind", None) == "M" else None


def check_times(times: Any, n_rows: int) -> Array:
    """Return increasing times of rows as numbers; dates in seconds, None counts rows from 0."""
    if times is None:
        return np.arange(float(n_rows))
    if getattr(times, "tz", None) is not None:  # pandas: moments, whatever their time zone
        times = times.tz_convert("UTC").tz_localize(None)
    found = np.asarray(times)
    try:
        if found.dtype.kind in "OU":  # datetime objects, or texts
            found = found.astype("datetime64[ns]")
        if found.dtype.kind == "M":
            found = found.astype("datetime64[ns]").astype(np.int64) * 1e-9
        numbers = found.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"times must be numbers or dates, got an array of {found.dtype}."
        ) from None
    if numbers.shape != (n_rows,):
        raise InputError(
            f"times must have one entry for each of the {n_rows} rows, got the shape "
            f"{numbers.shape}."
        )
    if not np.isfinite(numbers).all() or not (np.diff(numbers) > 0.0).all():
        raise InputError(
            "times must increase from row to row, got equal, decreasing or missing times. "
            "Sort the rows by time, and join rows with the same time."
        )
    return numbers


def check_bounds(bounds: Any, extent: Extent) -> tuple[Array, Array] | None:
    """Return lower and upper bounds of each feature; those of "auto" are in the data."""
    if bounds is None:
        return None
    if isinstance(bounds, str):
        if bounds != "auto":
            raise ParameterError(
                f"bounds must be None, 'auto' or a pair of bounds, got {bounds!r}."
            )
        return extent.sign_bounds()
    try:
        low, high = (np.broadcast_to(np.asarray(b, np.float64), len(extent.low)) for b in bounds)
    except (TypeError, ValueError):
        raise ParameterError(
            "bounds must be None, 'auto' or a pair of numbers or arrays with one entry per "
            f"feature, got {bounds!r}."
        ) from None
    if not (low <= high).all():
        raise ParameterError(f"bounds must be a lower and an upper bound, got {bounds!r}.")
    return np.array(low), np.array(high)


def check_interval(interval: Any) -> float | None:
    """Return the level of intervals, a share of 1."""
    if interval is None:
        return None
    if not isinstance(interval, (int, float)) or not 0.0 < interval < 1.0:
        raise ParameterError(f"interval must be a number between 0 and 1, got {interval!r}.")
    return float(interval)
