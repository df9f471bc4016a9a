"""Whether and how time helps to fill a table: rank, season and robustness by hidden entries."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.dynamics import Dynamics
from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors
from thalweg.dynamics.calibration import Calibration, calibrate
from thalweg.dynamics.dynamic_state import column_units
from thalweg.dynamics.gaps import gap_starts
from thalweg.dynamics.scores import Scores
from thalweg.dynamics.seasons import detect_period, on_grid
from thalweg.learning.blending import Blend, blend_trials
from thalweg.learning.forecaster import choose_forecaster
from thalweg.learning.hidden_trials import HiddenTrials, StaticFill, Trial, contiguous_rows
from thalweg.learning.simple_fills import simple_errors

__all__ = ["RANKS", "Choice", "choose"]

RANKS = (0, 1, 2, 4, 8, 16)  # candidates
# A candidate must reduce the error to this share: among equals, the simplest is chosen.
_REQUIRED_GAIN = 0.99
_REQUIRED_RANK_GAIN = 0.97  # the same for a larger rank, and for a model without time
_DECISIVE_RANK = 4  # smaller ranks are all tried; from here on, one that is no better ends it
_LARGE_RANK = 8  # largest rank of the first model without time: these take most of the time
# Errors of a model without time, in those with time, below which further ranks of it are tried.
_CLOSE = 1.05
# Median correlation of deviations over a step from which a random walk is tried.
_NEAR_WALK = 0.98
_PERIODS_PER_WEEK = 7  # a week is tried where a day was found
_LEAST_WEEKS = 4
# Times that entries are hidden to calibrate errors, at most, and number of their entries at which
# this ends: small tables have few gaps at a time.
_MAX_FOLDS, _FOLD_ENTRIES = 4, 2**17


class Choice(NamedTuple):
    """The best candidates, and the errors of their fills.

    Attributes
    ----------
    blend : Blend
        The candidate with the smallest error (a simpler one if it is as good), and perhaps another
        that makes it better.
    timed : Trial
        The one with time that forecasts best.
    trials : list of Trial
        All candidates.
    calibration : Calibration
        Sizes of the errors of the blend.
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

    blend: Blend
    timed: Trial
    trials: list[Trial]
    calibration: Calibration
    baselines: dict[str, Array]

    @property
    def best(self) -> Trial:
        """The best single candidate."""
        return self.blend.members[0]


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
        The best candidates.

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
    rows = contiguous_rows(*X.shape)
    table = HiddenTrials(X[rows], times[rows], rng)
    ranks = [k for k in ranks if 3 * k <= 2 * min(table.X.shape)] or [min(ranks)]
    first = AutoregressiveFactors() if dynamics is None else dynamics
    timed = _best(table, _ladder(table, first, ranks))
    best = timed
    if dynamics is None:
        timed = _refined(table, timed)
        best = _with_independent_codes(table, ranks, timed)
        timed = choose_forecaster(table, timed)
    if static is not None and table.X.shape[1] > 1:
        still = _best_static(table, static, [k for k in ranks if k > 0] or [1], best)
        best = still if table.ratio(still, best) < _REQUIRED_RANK_GAIN else best
    blend = blend_trials(table, best) if dynamics is None else _alone(best)
    scores = _scores(table, blend, static, rng)
    calibration = calibrate(scores, table.scale)
    baselines = simple_errors(table.X, table.hidden, table.scale, calibration)
    return Choice(blend, timed, table.trials, calibration, baselines)


def _alone(trial: Trial) -> Blend:
    return Blend((trial,), np.ones(1, np.intp), np.ones((1, 1)))


def _scores(
    table: HiddenTrials, blend: Blend, static: StaticFill | None, rng: np.random.Generator
) -> Scores:
    """Return the errors of a blend, of entries that are hidden several times if they are few."""
    parts = [_fold_scores(table, blend, [table.expected(m) for m in blend.members])]
    while len(parts) < _MAX_FOLDS and (len(parts) + 1) * table.X.size <= _FOLD_ENTRIES:
        fold = HiddenTrials(table.X, table.times, rng)
        for member in blend.members:
            if member.dynamics is not None:
                fold.timed(member.dynamics, member.n_components)
            elif static is not None:
                fold.static(static, member.n_components)
        parts.append(_fold_scores(fold, blend, [fold.expected(t) for t in fold.trials]))
    return Scores.join(parts)


def _fold_scores(table: HiddenTrials, blend: Blend, parts: Sequence[Any]) -> Scores:
    expected = blend.combine(parts, table.lengths)
    errors, starts = expected.mean - table.X, gap_starts(np.isnan(table.gaps))
    return Scores.of(errors, expected.std, table.lengths, table.hidden, starts)


def _ladder(table: HiddenTrials, dynamics: Dynamics, ranks: Sequence[int]) -> Iterator[Trial]:
    """Yield trials of increasing rank, each with the deviations of the one before as a start."""
    state = None
    for k in ranks:
        trial = table.timed(dynamics, k, state)
        state = trial.state if isinstance(dynamics, AutoregressiveFactors) else None
        yield trial


def _best(table: HiddenTrials, trials: Iterator[Trial]) -> Trial:
    """Return the best of models of increasing rank; the search ends when they get no better."""
    best = next(trials)
    for trial in trials:
        if table.ratio(trial, best) < _REQUIRED_RANK_GAIN:
            best = trial
        elif trial.n_components >= _DECISIVE_RANK:
            break
    return best


def _with_independent_codes(table: HiddenTrials, ranks: Sequence[int], timed: Trial) -> Trial:
    """Try codes without memory, of the same and of larger ranks: they suit long gaps."""
    dynamics, best, before = replace(timed.dynamics, codes=None), timed, None
    for k in ranks:
        if k >= max(timed.n_components, _DECISIVE_RANK) or k == ranks[-1] > 0:
            trial = table.timed(dynamics, k, timed.state)
            better = before is None or table.ratio(trial, before) < 1.0
            best, before = trial if table.ratio(trial, best) < _REQUIRED_GAIN else best, trial
            if not better:
                break
    return best


def _best_static(
    table: HiddenTrials, static: StaticFill, ranks: Sequence[int], timed: Trial
) -> Trial:
    """Return the best model without time, of a rank near that of the best one with time."""
    wanted = min(timed.n_components, _LARGE_RANK)
    place = int(np.argmin([abs(k - wanted) for k in ranks]))
    best = table.static(static, ranks[place])
    if table.ratio(best, timed) < _CLOSE:
        most = max(timed.n_components, _LARGE_RANK)
        for k in (place - 1, place + 1):
            if 0 <= k < len(ranks) and ranks[k] <= most:
                trial = table.static(static, ranks[k])
                best = trial if table.ratio(trial, best) < 1.0 else best
    return best


def _refined(table: HiddenTrials, best: Trial) -> Trial:
    """Try a season, a random walk, and a model without outliers."""
    for periods in _seasons(table):
        dynamics = replace(best.dynamics, periods=periods)
        trial = table.timed(dynamics, best.n_components, best.state)
        if table.ratio(trial, best) >= _REQUIRED_GAIN:
            break  # no week without a day
        best = trial
    changes: list[dict[str, Any]] = [{"threshold": np.inf}]
    if np.median(best.state.local.phi) > _NEAR_WALK:
        changes.insert(0, {"local": "random-walk"})
    for change in changes:
        dynamics = replace(best.dynamics, **change)
        trial = table.timed(dynamics, best.n_components, best.state)
        best = trial if table.ratio(trial, best) < _REQUIRED_GAIN else best
    return best


def _seasons(table: HiddenTrials) -> list[tuple[float, ...]]:
    """Return the periods to try: a detected one, and also seven of them."""
    grid = on_grid(table.gaps, table.times)
    if grid is None:
        return []
    gaps, step = grid
    observed = ~np.isnan(gaps)
    centre, scale = column_units(gaps)
    Z = np.where(observed, (gaps - centre) / scale, 0.0)
    rows = detect_period(Z, observed)
    if rows is None:  # a trend hides a season, but not from the differences
        both = observed[1:] & observed[:-1]
        rows = detect_period(np.where(both, np.diff(Z, axis=0), 0.0), both)
    if rows is None:
        return []
    day = rows * step
    week = _PERIODS_PER_WEEK * day
    enough = table.times[-1] - table.times[0] >= _LEAST_WEEKS * week
    return [(day,), *([(day, week)] if enough else [])]
