"""Forecasts of a fitted model in time, whose errors are calibrated by its past."""

from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.dynamics import Expected
from thalweg.dynamics.calibration import Calibration
from thalweg.learning.forecast_errors import forecast_errors

__all__ = ["Forecasts"]


class Forecasts(NamedTuple):
    """A model in time, and the sizes of the errors of its forecasts.

    Attributes
    ----------
    dynamics : Dynamics
        The model.
    state : NamedTuple
        Its parameters, with the moments of the last row.
    ahead : Calibration
        Sizes of errors by number of steps and feature.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors
    >>> from thalweg.learning.forecasts import Forecasts
    >>> X, model, times = (
    ...     np.sin(np.arange(200.0) / 9)[:, None],
    ...     AutoregressiveFactors(),
    ...     np.arange(200.0),
    ... )
    >>> forecasts = Forecasts.of(model, model.fit(X, times, 0), X, times)
    >>> forecasts.expected(np.array([200.0, 201.0])).mean.shape
    (2, 1)
    """

    dynamics: Any
    state: Any
    ahead: Calibration

    @classmethod
    def of(cls, dynamics: Any, state: Any, X: Array, times: Array) -> "Forecasts":
        """Return forecasts, calibrated by those of the rows of X from earlier ones."""
        return cls(dynamics, state, forecast_errors(dynamics, state, X, times, state.scale))

    def expected(self, times: Array) -> Expected:
        """Return the moments of rows after the last one, with calibrated standard deviations."""
        found = self.dynamics.forecast(self.state, times)
        return Expected(found.mean, found.std * self.ahead.std_factor(self.steps(times)))

    def interval(self, times: Array, level: float) -> tuple[Array, Array]:
        """Return lower and upper ends of intervals."""
        found = self.dynamics.forecast(self.state, times)
        half = found.std * self.ahead.interval_factor(level, self.steps(times))
        return found.mean - half, found.mean + half

    def steps(self, times: Array) -> Array:
        """Return how many steps each time is ahead of the last row, as a column."""
        ahead = (np.asarray(times) - self.state.last.time) / self.state.step
        return np.asarray(np.maximum(np.rint(ahead), 1).astype(np.intp)[:, None])
