"""Errors of forecasts from rows of the past, which calibrate those of the future."""

from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.dynamics.calibration import Calibration, calibrate
from thalweg.dynamics.scores import Scores

__all__ = ["forecast_errors"]

# Steps ahead; the table must have at least this many times as many rows.
_AHEAD, _LEAST_SPANS = (1, 2, 4, 8, 16, 32, 64, 128), 4
# Entries of the last rows of a table that are used, and of the forecasts of each number of steps:
# bounds of the time.
_TABLE_ENTRIES, _MAX_ENTRIES = 2**18, 2**15


def forecast_errors(dynamics: Any, state: Any, X: Array, times: Array, scale: Array) -> Calibration:
    """Return the sizes of errors of forecasts by the number of steps ahead, and by feature.

    Parameters
    ----------
    dynamics : Dynamics
        A model with a method ``hindcast``; others have normal errors.
    state : NamedTuple
        Its parameters.
    X : array of shape (n_samples, n_features)
        The table; NaN marks missing entries.
    times : array of shape (n_samples,)
        Increasing times of the rows.
    scale : array of shape (n_features,)
        Standard deviations of the columns.

    Returns
    -------
    Calibration
        Its lengths are numbers of steps.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors
    >>> from thalweg.learning.forecast_errors import forecast_errors
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> model, times = AutoregressiveFactors(), np.arange(600.0)
    >>> errors = forecast_errors(model, model.fit(X, times, 0), X, times, np.ones(2))
    >>> bool(abs(errors.interval_factor(0.9, np.ones(2, int)).mean() - 1.645) < 0.2)
    True
    """
    X, times = X[-(_TABLE_ENTRIES // X.shape[1]) :], times[-(_TABLE_ENTRIES // X.shape[1]) :]
    ahead = [steps for steps in _AHEAD if _LEAST_SPANS * steps < len(X)]
    most, parts = max(1, _MAX_ENTRIES // X.shape[1]), []
    found = dynamics.hindcast(state, X, times, ahead, most) if hasattr(dynamics, "hindcast") else ()
    for steps, (rows, expected) in zip(ahead, found, strict=False):
        known = ~np.isnan(X[rows])
        lengths = np.full(known.shape, steps, np.intp)
        scores = Scores.of(expected.mean - X[rows], expected.std, lengths, known)
        # forecasts that overlap have errors in common
        parts.append(scores._replace(gaps=rows[np.nonzero(known)[0]] // steps))
    if not parts:
        return calibrate(Scores.of(X[:0], X[:0], X[:0].astype(np.intp), X[:0] > 0), scale)
    return calibrate(Scores.join(parts), scale)
