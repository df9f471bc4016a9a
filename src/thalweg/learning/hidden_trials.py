"""Candidates for the fills of a table, compared on entries that were hidden."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.dynamics import Dynamics, Expected
from thalweg.dynamics.dynamic_state import column_units
from thalweg.dynamics.gaps import gap_lengths, hide_like_gaps

__all__ = [
    "MAX_ERROR",
    "HiddenTrials",
    "StaticFill",
    "Trial",
    "contiguous_rows",
    "error_ratio",
]

# Entries of consecutive rows that candidates are compared on, which bounds the time, and least
# number of rows.
_TRIAL_ENTRIES, _TRIAL_ROWS = 2**17, 500
# Largest error that counts, in standard deviations of a column: hidden entries may be outliers.
MAX_ERROR = 5.0
# The same in comparisons of two candidates, in typical errors of the better one.
_MAX_RATIO = 6.0
_NORMAL_MEDIAN = 0.6745  # of the modulus of a standard normal variable
_TINY = 1e-12  # least error, in standard deviations of a column

# Fills a table (rows are samples, NaN at gaps) by a model of this rank without time.
StaticFill = Callable[[Array, int], Array]


class Trial(NamedTuple):
    """One candidate.

    Attributes
    ----------
    dynamics : Dynamics or None
        The model in time; None for one without.
    n_components : int
        Rank.
    error : float
        Root mean square error of hidden entries, in standard deviations of their columns; errors
        beyond five count as five.
    state : NamedTuple or None
        Parameters of the model in time.

    Examples
    --------
    >>> from thalweg.learning.hidden_trials import Trial
    >>> Trial(None, 2, 0.3).error
    0.3
    """

    dynamics: Any
    n_components: int
    error: float
    state: Any = None


def contiguous_rows(n_rows: int, n_features: int) -> slice:
    """Return the rows in the middle of a table that candidates are compared on.

    Examples
    --------
    >>> from thalweg.learning.hidden_trials import contiguous_rows
    >>> contiguous_rows(2000, 1), contiguous_rows(2000, 2**17)
    (slice(0, 2000, None), slice(750, 1250, None))
    """
    n = min(n_rows, max(_TRIAL_ROWS, _TRIAL_ENTRIES // n_features))
    start = (n_rows - n) // 2
    return slice(start, start + n)


class HiddenTrials:
    """A table with hidden entries, and what candidates make of them.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The table; NaN marks missing entries.
    times : array of shape (n_samples,)
        Increasing times of the rows.
    rng : Generator
        Chooses the entries to hide.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors
    >>> from thalweg.learning.hidden_trials import HiddenTrials
    >>> X = np.sin(np.arange(200.0) / 9)[:, None]
    >>> table = HiddenTrials(X, np.arange(200.0), np.random.default_rng(0))
    >>> bool(table.timed(AutoregressiveFactors(), 0).error < 0.1)
    True
    """

    def __init__(self, X: Array, times: Array, rng: np.random.Generator) -> None:
        self.X, self.times = X, times
        missing = np.isnan(X)
        self.hidden: Mask = hide_like_gaps(missing, rng)
        self.gaps = np.where(self.hidden, np.nan, X)
        self.scale = column_units(X)[1]
        self.lengths = gap_lengths(missing | self.hidden)
        self.trials: list[Trial] = []
        self._fills: list[Expected] = []

    def timed(self, dynamics: Dynamics, rank: int, start: Any = None) -> Trial:
        """Fit and try a model in time, from the parameters of a similar one if there is one."""
        warm = {} if start is None else {"start": start}
        state = dynamics.fit(self.gaps, self.times, rank, **warm)
        return self._add(dynamics, rank, dynamics.smooth(state, self.gaps, self.times), state)

    def static(self, fill: StaticFill, rank: int) -> Trial:
        """Try a model without time."""
        std = np.broadcast_to(self.scale, self.X.shape)
        return self._add(None, rank, Expected(fill(self.gaps, rank), std), None)

    def expected(self, trial: Trial) -> Expected:
        """Return the fills of a trial."""
        return self._fills[next(i for i, t in enumerate(self.trials) if t is trial)]

    def errors(self, filled: Array) -> Array:
        """Return errors of hidden entries in standard deviations of the columns, as a vector."""
        wide = np.where(self.hidden, (filled - self.X) / self.scale, 0.0)
        return np.asarray(wide[self.hidden], np.float64)

    def ratio(self, trial: Trial, other: Trial) -> float:
        """Return the error of a trial over that of another one."""
        one, two = (self.errors(self.expected(t).mean) for t in (trial, other))
        return error_ratio(one, two)

    def _add(self, dynamics: Any, rank: int, expected: Expected, state: Any) -> Trial:
        trial = Trial(dynamics, rank, _root_mean_square(self.errors(expected.mean)), state)
        self._fills.append(expected)
        self.trials.append(trial)
        return trial


def error_ratio(one: Array, two: Array) -> float:
    """Return the size of errors over that of others, in standard deviations of columns.

    It is the geometric mean of two ratios of root mean square errors: one with errors up to a few
    standard deviations of a column, and one with errors up to a multiple of the typical error of
    the better candidate, so that hidden outliers do not decide.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.hidden_trials import error_ratio
    >>> round(error_ratio(np.full(9, 0.1), np.full(9, 0.2)), 3)
    0.5
    """
    if not one.size:
        return 1.0
    one, two = np.abs(one), np.abs(two)
    most = _MAX_RATIO * min(np.median(one), np.median(two)) / _NORMAL_MEDIAN
    small = [np.sqrt(np.mean(np.square(np.minimum(errors, most)))) for errors in (one, two)]
    whole = [_root_mean_square(errors) for errors in (one, two)]
    ratios = [(pair[0] + _TINY) / (pair[1] + _TINY) for pair in (small, whole)]
    return float(np.sqrt(ratios[0] * ratios[1]))


def _root_mean_square(errors: Array) -> float:
    squares = np.square(np.minimum(np.abs(errors), MAX_ERROR))
    return float(np.sqrt(np.mean(squares))) if errors.size else 0.0
