"""Rows of a stream, given those before them: exact filters of codes and local deviations."""

from typing import NamedTuple

import numpy as np

from thalweg import _native
from thalweg._typing import Array, Mask
from thalweg.dynamics import Expected
from thalweg.dynamics.dynamic_state import DynamicState, LastRow, in_units
from thalweg.dynamics.seasons import harmonics

__all__ = ["Filtered", "at_rest", "filter_rows"]


class Filtered(NamedTuple):
    """Rows given those before them and their own observed entries.

    Attributes
    ----------
    expected : Expected
        Means and standard deviations of the entries.
    low_rank : array of shape (n_samples, n_features)
        Centre, season and codes, without the deviations.
    state : DynamicState
        The model with the moments of the last row.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics import Expected
    >>> from thalweg.dynamics.row_filter import Filtered
    >>> zeros = np.zeros((1, 2))
    >>> Filtered(Expected(zeros, zeros), zeros, None).low_rank.shape
    (1, 2)
    """

    expected: Expected
    low_rank: Array
    state: DynamicState


def filter_rows(
    state: DynamicState,
    X: Array,
    times: Array,
    periods: tuple[float, ...] = (),
    threshold: float = np.inf,
) -> Filtered:
    """Return rows that follow the last one, each given the rows up to it: Kalman filters.

    The codes of a row are filtered with the deviations as a part of the noise, and then each
    deviation from the residuals of the codes. It takes O(F K^2) time and no memory per row.

    Parameters
    ----------
    state : DynamicState
        The model, with the moments of the row before.
    X : array of shape (n_samples, n_features)
        The rows; NaN marks missing entries.
    times : array of shape (n_samples,)
        Increasing times of the rows, after that of the last one.
    periods : tuple of float
        Periods of the season.
    threshold : float
        Residual from the rows before, and from the others of its row, beyond which an entry is an
        outlier, in standard deviations. Its weight is (threshold / residual)^4.

    Returns
    -------
    Filtered
        Moments of the rows, and the state after them.

    Examples
    --------
    A gap is filled from the past:

    >>> import numpy as np
    >>> from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors
    >>> from thalweg.dynamics.row_filter import filter_rows
    >>> times = np.arange(400.0)
    >>> X = np.sin(times / 20)[:, None]
    >>> state = AutoregressiveFactors().fit(X[:300], times[:300], 0)
    >>> X[305, 0] = np.nan
    >>> found = filter_rows(state, X[300:], times[300:])
    >>> bool(abs(found.expected.mean[5, 0] - np.sin(305 / 20)) < 0.2)
    True
    """
    observed: Mask = ~np.isnan(X)
    season = harmonics(times, periods, state.step) @ state.season
    Z = np.where(observed, (X - state.centre) / state.scale - season, 0.0).astype(np.float64)
    steps = np.diff(times, prepend=state.last.time) / state.step
    low_rank, deviation, variance = (np.empty(Z.shape) for _ in range(3))
    last = LastRow(float(times[-1]) if len(times) else state.last.time, *_copies(state.last[1:]))
    loadings, noise, phi = (np.ascontiguousarray(part, np.float64) for part in state.factors)
    series = Z, observed.astype(np.float64), steps
    found = low_rank, deviation, variance
    parameters = (loadings, noise, phi), state.local
    _native.filter_rows(series, *parameters, float(threshold), last[1:], found)
    low_rank += season
    expected = in_units(state, low_rank + deviation, variance, X.dtype)
    rows = (low_rank * state.scale + state.centre).astype(X.dtype)
    return Filtered(expected, rows, state._replace(last=last))


def at_rest(state: DynamicState, time: float) -> DynamicState:
    """Return the model before any row, whose moments are those of the stationary processes.

    Parameters
    ----------
    state : DynamicState
        The model.
    time : float
        Time of the first row.

    Returns
    -------
    DynamicState
        The model with other moments of the last row.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors
    >>> from thalweg.dynamics.row_filter import at_rest
    >>> X = np.sin(np.arange(100.0))[:, None]
    >>> state = AutoregressiveFactors().fit(X, np.arange(100.0), 0)
    >>> at_rest(state, 7.0).last.local_mean
    array([0.])
    """
    own, K = state.local, len(state.factors.phi)
    variance = np.where(own.phi < 1.0, own.variance, own.initial)
    last = LastRow(time, np.zeros(K), np.eye(K), np.zeros(len(variance)), variance)
    return state._replace(last=last)


def _copies(parts: tuple[Array, ...]) -> list[Array]:
    """Return contiguous copies, which the filter overwrites."""
    return [np.array(part, np.float64, order="C") for part in parts]
