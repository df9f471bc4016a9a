"""Fills of a table by the models that were chosen for it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.dynamics import Expected
from thalweg.dynamics.gaps import gap_lengths
from thalweg.learning.dynamic_completion import Choice
from thalweg.learning.forecasts import Forecasts

__all__ = ["TimedFills", "fit_fills"]


class TimedFills(NamedTuple):
    """The models of a choice, fitted to a whole table.

    Attributes
    ----------
    choice : Choice
        The models, and the errors of their fills.
    states : tuple
        Parameters of each member of the blend; None for one without time.
    forecasts : Forecasts
        The model of forecasts, and their errors.

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
    forecasts: Forecasts

    def expected(self, X: Array, times: Array, static: Callable[[Array], Array] | None) -> Expected:
        """Return the moments of all entries; ``static`` fills rows without time."""
        parts = []
        for member, state in zip(self.choice.blend.members, self.states, strict=True):
            if member.dynamics is not None:
                parts.append(member.dynamics.smooth(state, X, times))
            elif static is not None:
                values = static(X)
                parts.append(Expected(values, np.broadcast_to(self.forecasts.state.scale, X.shape)))
        return self.choice.blend.combine(parts, gap_lengths(np.isnan(X)))


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
    states = tuple(fitted.get(id(trial)) for trial in choice.blend.members)
    forecasts = Forecasts.of(choice.timed.dynamics, fitted[id(choice.timed)], X, times)
    return TimedFills(_without_states(choice), states, forecasts)


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
