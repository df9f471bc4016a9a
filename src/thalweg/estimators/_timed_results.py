"""Results of fills and forecasts: values, standard errors and intervals, within bounds."""

from typing import Any, NamedTuple

import numpy as np

from thalweg._checks import check_count
from thalweg._typing import Array
from thalweg.dynamics import Expected
from thalweg.dynamics.calibration import Calibration
from thalweg.errors import ParameterError
from thalweg.estimators._times import check_times
from thalweg.learning.forecasts import Forecasts

__all__ = ["Bounds", "fill_results", "forecast_results", "forecast_times"]


class Bounds(NamedTuple):
    """Lower and upper bounds of each feature; none by default."""

    lower: Array | float = -np.inf
    upper: Array | float = np.inf

    def clip(self, values: Array) -> Array:
        """Return values within the bounds."""
        return np.clip(values, self.lower, self.upper).astype(values.dtype, copy=False)

    def clip_fills(self, values: Array, X: Array) -> Array:
        """Return filled rows, whose fills are within the bounds; observed entries stay."""
        return np.where(np.isnan(X), self.clip(values), values)


def fill_results(
    rows: Array,
    expected: Expected,
    calibration: Calibration,
    lengths: Array,
    bounds: Bounds,
    *,
    return_std: bool,
    level: float | None,
) -> Any:
    """Return the table with filled gaps, then standard errors and intervals where asked for.

    The calibration is by lengths of gaps.
    """
    gaps = np.isnan(rows)
    results = [np.where(gaps, bounds.clip(expected.mean), rows)]
    if return_std:
        results.append(np.where(gaps, expected.std * calibration.std_factor(lengths), 0.0))
    if level is not None:
        half = expected.std * calibration.interval_factor(level, lengths)
        ends = expected.mean - half, expected.mean + half
        results += [np.where(gaps, bounds.clip(end), rows) for end in ends]
    return _one_or_all(results, rows.dtype)


def forecast_results(
    times: Array,
    forecasts: Forecasts,
    bounds: Bounds,
    dtype: Any,
    *,
    return_std: bool,
    level: float | None,
) -> Any:
    """Return expected rows, then standard deviations and intervals where asked for."""
    found = forecasts.expected(times)
    results = [bounds.clip(found.mean)]
    if return_std:
        results.append(found.std)
    if level is not None:
        results += [bounds.clip(end) for end in forecasts.interval(times, level)]
    return _one_or_all(results, dtype)


def forecast_times(steps: Any, state: Any) -> Array:
    """Return the times of a number of rows after the last one, or given times after it."""
    if np.ndim(steps) == 0:
        ahead = np.arange(1, check_count("steps", steps) + 1) * state.step
        times: Array = state.last.time + ahead
        return times
    times = check_times(steps, len(steps))
    if times[0] <= state.last.time:
        raise ParameterError(
            f"steps must be times after that of the last row, {state.last.time:g}, got "
            f"{times[0]:g}."
        )
    return times


def _one_or_all(results: list[Array], dtype: Any) -> Any:
    results = [part.astype(dtype, copy=False) for part in results]
    return results[0] if len(results) == 1 else tuple(results)
