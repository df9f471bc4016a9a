"""Fills of a table by the models that were chosen for it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.dynamics import Expected
from thalweg.dynamics.calibration import Calibration
from thalweg.dynamics.gaps import gap_lengths
from thalweg.learning.dynamic_completion import Choice
from thalweg.learning.forecast_errors import forecast_errors

__all__ = ["TimedFills", "fit_fills"]


class TimedFills(NamedTuple):
    """The models of a choice, fitted to a whole table.

    Attributes
    ----------
    choice : Choice
        The models, and the errors of their fills.
    states : tuple
        Parameters of each member of the blend; None for one without time.
    forecaster : NamedTuple
        Parameters of the model of forecasts.
    ahead : Calibration
        Sizes of errors of forecasts.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.dynamic_completion import choose
    >>> from thalweg.learning.timed_fills import fit_fills
    >>> X, times = np.sin(np.arange(200.0) / 9)[:, None], np.arange(200.0)
    >>> X[50:60] = np.nan
    >>> choice = choose(X, times, [0], None, rng=np.random.default_rng(0))
    >>> fit_fills(choice, X, times).expected(X, times, None).mean.shape
    (200, 1)
    """

    choice: Choice
    states: tuple[Any, ...]
    forecaster: Any
    ahead: Calibration

    def expected(self, X: Array, times: Array, static: Callable[[Array], Array] | None) -> Expected:
        """Return the moments of all entries; ``static`` fills rows without time."""
        parts = []
        for member, state in zip(self.choice.blend.members, self.states, strict=True):
            if member.dynamics is not None:
                parts.append(member.dynamics.smooth(state, X, times))
            elif static is not None:
                values = static(X)
                parts.append(Expected(values, np.broadcast_to(self.forecaster.scale, X.shape)))
        return self.choice.blend.combine(parts, gap_lengths(np.isnan(X)))

    def forecast(self, times: Array) -> Expected:
        """Return the moments of rows after the last one, with calibrated standard deviations."""
        found = self.choice.timed.dynamics.forecast(self.forecaster, times)
        return Expected(found.mean, found.std * self.ahead.std_factor(self.steps(times)))

    def forecast_interval(self, times: Array, level: float) -> tuple[Array, Array]:
        """Return lower and upper ends of intervals of a forecast."""
        found = self.choice.timed.dynamics.forecast(self.forecaster, times)
        half = found.std * self.ahead.interval_factor(level, self.steps(times))
        return found.mean - half, found.mean + half

    def steps(self, times: Array) -> Array:
        """Return how many steps each time is ahead of the last row, as a column."""
        ahead = (np.asarray(times) - self.forecaster.last.time) / self.forecaster.step
        return np.asarray(np.maximum(np.rint(ahead), 1).astype(np.intp)[:, None])


def fit_fills(choice: Choice, X: Array, times: Array) -> TimedFills:
    """Fit the chosen models to a whole table, from the parameters of the trials.

    Parameters
    ----------
    choice : Choice
        The models.
    X : array of shape (n_samples, n_features)
        The table; NaN marks missing entries.
    times : array of shape (n_samples,)
        Increasing times of the rows.

    Returns
    -------
    TimedFills
        The fitted models.

    Examples
    --------
    See :class:`TimedFills`.

    >>> from thalweg.learning.timed_fills import fit_fills
    >>> fit_fills.__name__
    'fit_fills'
    """
    fitted: dict[int, Any] = {}
    for trial in (*choice.blend.members, choice.timed):
        if trial.dynamics is not None and id(trial) not in fitted:
            warm = {} if trial.state is None else {"start": trial.state}
            state = trial.dynamics.fit(X, times, trial.n_components, **warm)
            fitted[id(trial)] = state
    forecaster = fitted[id(choice.timed)]
    states = tuple(fitted.get(id(trial)) for trial in choice.blend.members)
    ahead = forecast_errors(choice.timed.dynamics, forecaster, X, times, forecaster.scale)
    return TimedFills(_without_states(choice), states, forecaster, ahead)


def _without_states(choice: Choice) -> Choice:
    """Return the choice without the parameters of trials, which would fill files of models."""
    blend = choice.blend._replace(
        members=tuple(trial._replace(state=None) for trial in choice.blend.members)
    )
    return choice._replace(
        blend=blend,
        timed=choice.timed._replace(state=None),
        trials=[trial._replace(state=None) for trial in choice.trials],
    )
