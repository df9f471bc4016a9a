"""Whether and how time helps to fill a table: rank, season and robustness by hidden entries."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.dynamics import Dynamics, Expected
from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors, column_units
from thalweg.dynamics.calibration import Calibration, calibrate
from thalweg.dynamics.gaps import gap_lengths, hide_like_gaps
from thalweg.dynamics.seasons import detect_period

__all__ = [
    "RANKS",
    "Choice",
    "Trial",
    "choose",
    "sign_bounds",
    "simple_errors",
]

RANKS = (0, 1, 2, 4, 8, 16)  # candidates
# Entries of consecutive rows that candidates are compared on, which bounds the time, and least
# number of rows.
_TRIAL_ENTRIES, _TRIAL_ROWS = 2**18, 500
# A candidate must reduce the error to this share: among equals, the simplest is chosen.
_REQUIRED_GAIN = 0.99
_REQUIRED_RANK_GAIN = 0.97  # the same for a larger rank, and for a model without time
_DECISIVE_RANK = 4  # smaller ranks are all tried; from here on, one that is no better ends it
_LARGE_RANK = 8  # largest rank of further models without time, which take most of the time
# Errors of a model without time, in those with time, below which further ranks of it are tried.
_CLOSE = 1.05
# Largest error that counts, in standard deviations of a column: hidden entries may be outliers.
_MAX_ERROR = 5.0
# The same in comparisons of two candidates, in typical errors of the better one.
_MAX_RATIO = 6.0
_NORMAL_MEDIAN = 0.6745  # of the modulus of a standard normal variable
_TINY = 1e-12  # least error, in standard deviations of a column
_PERIODS_PER_WEEK = 7  # a week is tried where a day was found
_LEAST_WEEKS = 4

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

    Examples
    --------
    >>> from thalweg.learning.dynamic_completion import Trial
    >>> Trial(None, 2, 0.3).error
    0.3
    """

    dynamics: Any
    n_components: int
    error: float


class Choice(NamedTuple):
    """The best candidate, and the errors of its fills.

    Attributes
    ----------
    best : Trial
        The candidate with the smallest error; a simpler one if it is as good.
    timed : Trial
        The best of those with time, for forecasts.
    trials : list of Trial
        All candidates.
    calibration : Calibration
        Sizes of the errors of the best candidate.
    baselines : dict of str to array
        Root mean square errors of the mean of the column and of linear interpolation, in each class
        of the calibration, in standard deviations of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.dynamic_completion import choose
    >>> X = np.outer(np.sin(np.arange(200.0) / 9), [1.0, 2.0, -1.0])
    >>> X[50:60, 1] = np.nan
    >>> choose(X, np.arange(200.0), [1], None, rng=np.random.default_rng(0)).best.n_components
    1
    """

    best: Trial
    timed: Trial
    trials: list[Trial]
    calibration: Calibration
    baselines: dict[str, Array]


class _Hidden:
    """Some rows of a table with hidden entries, and what candidates make of them."""

    def __init__(self, X: Array, times: Array, rng: np.random.Generator) -> None:
        n = min(len(X), max(_TRIAL_ROWS, _TRIAL_ENTRIES // X.shape[1]))
        start = (len(X) - n) // 2
        self.X, self.times = X[start : start + n], times[start : start + n]
        missing = np.isnan(self.X)
        self.hidden: Mask = hide_like_gaps(missing, rng)
        self.gaps = np.where(self.hidden, np.nan, self.X)
        self.scale = column_units(X)[1]
        self.lengths = gap_lengths(missing | self.hidden)
        self.trials: list[Trial] = []
        self.fills: list[Expected] = []
        self.absolute: list[Array] = []

    def timed(self, dynamics: Dynamics, rank: int) -> Trial:
        state = dynamics.fit(self.gaps, self.times, rank)
        return self._note(dynamics, rank, dynamics.smooth(state, self.gaps, self.times))

    def static(self, fill: StaticFill, rank: int) -> Trial:
        std = np.broadcast_to(self.scale, self.X.shape)
        return self._note(None, rank, Expected(fill(self.gaps, rank), std))

    def ratio(self, trial: Trial, other: Trial) -> float:
        """Return the error of a trial over that of another one.

        It is the geometric mean of two ratios of root mean square errors: one with errors up to
        a few standard deviations of a column, and one with errors up to a multiple of the typical
        error of the better trial, so that hidden outliers do not decide.
        """
        one, two = (self.absolute[self.trials.index(t)] for t in (trial, other))
        if not one.size:
            return 1.0
        most = _MAX_RATIO * min(np.median(one), np.median(two)) / _NORMAL_MEDIAN
        small = [np.sqrt(np.mean(np.square(np.minimum(errors, most)))) for errors in (one, two)]
        ratios = [(small[0] + _TINY) / (small[1] + _TINY)]
        ratios.append((trial.error + _TINY) / (other.error + _TINY))
        return float(np.sqrt(ratios[0] * ratios[1]))

    def errors(self, filled: Array) -> Array:
        """Return errors in standard deviations of the columns, 0 where nothing was hidden."""
        return np.where(self.hidden, (filled - self.X) / self.scale, 0.0)

    def calibration(self, trial: Trial) -> Calibration:
        expected = self.fills[self.trials.index(trial)]
        errors = np.where(self.hidden, expected.mean - self.X, 0.0)
        return calibrate(errors, expected.std, self.lengths, self.hidden, self.scale)

    def _note(self, dynamics: Any, rank: int, expected: Expected) -> Trial:
        errors = np.abs(self.errors(expected.mean)[self.hidden])
        squares = np.square(np.minimum(errors, _MAX_ERROR))
        trial = Trial(dynamics, rank, float(np.sqrt(np.mean(squares))) if errors.size else 0.0)
        self.fills.append(expected)
        self.absolute.append(errors.astype(np.float64))
        self.trials.append(trial)
        return trial


def choose(
    X: Array,
    times: Array,
    ranks: Sequence[int],
    dynamics: Dynamics | None,
    *,
    static: StaticFill | None = None,
    rng: np.random.Generator,
) -> Choice:
    """Return the best model of a table on hidden entries, in a pattern like that of its gaps.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The table; NaN marks missing entries.
    times : array of shape (n_samples,)
        Increasing times of the rows.
    ranks : sequence of int
        Ranks to try, increasing.
    dynamics : Dynamics or None
        The model in time; None tries several.
    static : callable or None
        Fills a table by a model of a rank without time; None for models with time only.
    rng : Generator
        Chooses the hidden entries.

    Returns
    -------
    Choice
        The best candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors
    >>> from thalweg.learning.dynamic_completion import choose
    >>> rng = np.random.default_rng(0)
    >>> X = np.cumsum(rng.normal(size=(300, 1)), axis=0) @ rng.normal(size=(1, 6))
    >>> X += 0.1 * rng.normal(size=X.shape)
    >>> model = AutoregressiveFactors()
    >>> choose(X, np.arange(300.0), [0, 1, 2], model, rng=rng).best.n_components
    1
    """
    table = _Hidden(X, times, rng)
    ranks = [k for k in ranks if 2 * k <= min(table.X.shape)] or [min(ranks)]
    first = AutoregressiveFactors() if dynamics is None else dynamics
    timed = _best(table, (table.timed(first, k) for k in ranks))
    if dynamics is None:
        timed = _refined(table, timed)
    best = timed
    if static is not None:
        still = _best_static(table, static, [k for k in ranks if k > 0] or [1], timed)
        best = still if table.ratio(still, timed) < _REQUIRED_RANK_GAIN else timed
    calibration = table.calibration(best)
    baselines = simple_errors(table.X, table.hidden, table.scale, calibration)
    return Choice(best, timed, table.trials, calibration, baselines)


def simple_errors(
    X: Array, hidden: Mask, scale: Array, calibration: Calibration
) -> dict[str, Array]:
    """Return the errors of simple fills of hidden entries, in each class of a calibration.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The table; NaN marks missing entries.
    hidden : boolean array of shape (n_samples, n_features)
        Hidden entries.
    scale : array of shape (n_features,)
        Standard deviations of the columns, the units of the errors.
    calibration : Calibration
        Classes of lengths of gaps.

    Returns
    -------
    dict of str to array
        Root mean square errors of the column mean and of linear interpolation.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.calibration import calibrate
    >>> from thalweg.learning.dynamic_completion import simple_errors
    >>> X, hidden = np.arange(9.0)[:, None], np.zeros((9, 1), bool)
    >>> hidden[3] = True
    >>> classes = calibrate(X, X + 1.0, hidden.astype(int), hidden, np.ones(1))
    >>> simple_errors(X, hidden, np.ones(1), classes)["interpolation"]
    array([0.])
    """
    gaps = np.where(hidden, np.nan, X)
    lengths = gap_lengths(np.isnan(gaps))[hidden]
    classes = np.searchsorted(calibration.lengths, lengths, side="right") - 1
    rows = np.arange(len(X))
    means, lines = np.zeros(X.shape), np.zeros(X.shape)
    for f in np.flatnonzero((~np.isnan(gaps)).any(axis=0)):
        known = ~np.isnan(gaps[:, f])
        means[:, f] = gaps[known, f].mean()
        lines[:, f] = np.interp(rows, rows[known], gaps[known, f])
    found = {}
    for name, filled in (("column mean", means), ("interpolation", lines)):
        squares = np.square((filled - X) / scale)[hidden]
        some = np.unique(classes)
        found[name] = np.sqrt(np.array([np.mean(squares[classes == k]) for k in some]))
    return found


def _best(table: _Hidden, trials: Iterator[Trial]) -> Trial:
    """Return the best of models of increasing rank; the search ends when they get no better."""
    best = next(trials)
    for trial in trials:
        if table.ratio(trial, best) < _REQUIRED_RANK_GAIN:
            best = trial
        elif trial.n_components >= _DECISIVE_RANK:
            break
    return best


def _best_static(table: _Hidden, static: StaticFill, ranks: Sequence[int], timed: Trial) -> Trial:
    """Return the best model without time, of a rank near that of the best one with time."""
    place = int(np.argmin([abs(k - timed.n_components) for k in ranks]))
    best = table.static(static, ranks[place])
    if table.ratio(best, timed) < _CLOSE:
        near = [k for k in (place - 1, place + 1) if 0 <= k < len(ranks)]
        for k in near:
            if ranks[k] <= _LARGE_RANK:
                trial = table.static(static, ranks[k])
                best = trial if table.ratio(trial, best) < 1.0 else best
    return best


def _refined(table: _Hidden, best: Trial) -> Trial:
    """Try a season, and a model without outliers."""
    for change in _changes(table):
        trial = table.timed(replace(best.dynamics, **change), best.n_components)
        if table.ratio(trial, best) < _REQUIRED_GAIN:
            best = trial
        elif "periods" in change:
            break  # no week without a day
    trial = table.timed(replace(best.dynamics, threshold=np.inf), best.n_components)
    return trial if table.ratio(trial, best) < _REQUIRED_GAIN else best


def _changes(table: _Hidden) -> list[dict[str, Any]]:
    """Return the seasons to try: a detected period, and seven of them."""
    steps = np.diff(table.times)
    if len(steps) == 0 or not np.allclose(steps, steps[0]):
        return []
    observed = ~np.isnan(table.gaps)
    centre, scale = column_units(table.gaps)
    Z = np.where(observed, (table.gaps - centre) / scale, 0.0)
    rows = detect_period(Z, observed)
    if rows is None:
        return []
    day = rows * float(steps[0])
    week = _PERIODS_PER_WEEK * day
    enough = table.times[-1] - table.times[0] >= _LEAST_WEEKS * week
    return [{"periods": (day,)}, *([{"periods": (day, week)}] if enough else [])]


def sign_bounds(X: Array) -> tuple[Array, Array]:
    """Return lower and upper bounds of each feature: 0 if no entry has the other sign.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The table; NaN marks missing entries.

    Returns
    -------
    lower, upper : array of shape (n_features,)
        Bounds, infinite where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.dynamic_completion import sign_bounds
    >>> sign_bounds(np.array([[1.0, -2.0], [0.0, 3.0]]))
    (array([  0., -inf]), array([inf, inf]))
    """
    low = np.fmin.reduce(X, axis=0, initial=np.inf)
    high = np.fmax.reduce(X, axis=0, initial=-np.inf)
    lower = np.where((low >= 0.0) & (high > 0.0), 0.0, -np.inf)
    return lower, np.where((high <= 0.0) & (low < 0.0), 0.0, np.inf)
