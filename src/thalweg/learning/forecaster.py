"""The model of forecasts, chosen by forecasts of rows that it was not fitted to."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.learning.hidden_trials import MAX_ERROR, HiddenTrials, Trial

__all__ = ["choose_forecaster"]

_FITTED = 2 / 3  # share of the rows that models are fitted to; the others are forecast
# Steps ahead, and forecasts of each number of steps.
_AHEAD, _MAX_FORECASTS = (1, 4, 16), 512
# Error of another model over that of the best one for fills, below which it is taken.
_REQUIRED_GAIN = 0.97


def choose_forecaster(table: HiddenTrials, timed: Trial) -> Trial:
    """Return the model in time that forecasts best: another season than that of fills may help.

    Parameters
    ----------
    table : HiddenTrials
        The trials.
    timed : Trial
        The best model in time for fills.

    Returns
    -------
    Trial
        The best one for each set of periods is compared.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors
    >>> from thalweg.learning.forecaster import choose_forecaster
    >>> from thalweg.learning.hidden_trials import HiddenTrials
    >>> rng, times = np.random.default_rng(0), np.arange(480.0)
    >>> X = np.sin(2 * np.pi * times / 24)[:, None] + 0.1 * rng.normal(size=(480, 2))
    >>> table = HiddenTrials(X, times, rng)
    >>> first = table.timed(AutoregressiveFactors(), 0)
    >>> second = table.timed(AutoregressiveFactors(periods=(24.0,)), 0)
    >>> choose_forecaster(table, first) is second
    True
    """
    best: dict[Any, Trial] = {timed.dynamics.periods: timed}
    for trial in table.trials:
        if trial.dynamics is not None:
            before = best.setdefault(trial.dynamics.periods, trial)
            if before is not timed and trial.error < before.error:
                best[trial.dynamics.periods] = trial
    if len(best) == 1:
        return timed
    errors = {id(trial): _error(table, trial) for trial in best.values()}
    found = min(best.values(), key=lambda trial: errors[id(trial)])
    return found if errors[id(found)] < _REQUIRED_GAIN * errors[id(timed)] else timed


def _error(table: HiddenTrials, trial: Trial) -> float:
    """Return the root mean square error of forecasts, in standard deviations of the columns."""
    n = int(_FITTED * len(table.X))
    dynamics = trial.dynamics
    state = dynamics.fit(table.X[:n], table.times[:n], trial.n_components, trial.state)
    squares: list[Array] = []
    ahead: Sequence[int] = [steps for steps in _AHEAD if 2 * steps < len(table.X) - n]
    most = int(_MAX_FORECASTS / (1.0 - _FITTED))
    for rows, expected in dynamics.hindcast(state, table.X, table.times, ahead, most):
        later = rows >= n
        errors = (expected.mean[later] - table.X[rows[later]]) / table.scale
        squares.append(np.square(np.clip(errors[~np.isnan(errors)], -MAX_ERROR, MAX_ERROR)))
    total = np.concatenate(squares) if squares else np.zeros(0)
    return float(np.sqrt(np.mean(total))) if total.size else np.inf
