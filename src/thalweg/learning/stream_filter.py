"""Learn a model in time from the latest rows of a stream, and filter the rows that follow."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.dynamics import Expected
from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors
from thalweg.dynamics.calibration import Calibration
from thalweg.dynamics.gaps import gap_ages, gap_starts, hide_like_gaps
from thalweg.dynamics.row_filter import Filtered, at_rest
from thalweg.dynamics.scores import Scores
from thalweg.learning.blending import Blend
from thalweg.learning.filter_errors import FilterErrors
from thalweg.learning.forecasts import Forecasts
from thalweg.learning.row_fill import RowFill

__all__ = ["FilterState", "StreamFilter"]

# Rows between two checks, counted from the first one so that the result does not depend on how the
# stream is split into calls; the first check is earlier.
_CHECK_EVERY, _FIRST_CHECK = 256, 128
# Latest rows that parameters are learned from, and number of the longest periods in them.
_WINDOW_ROWS, _LEAST_PERIODS = 512, 4
# Rows until the next trial after time has not helped: doubled each time, up to so many.
_LONGEST_PAUSE = 2**14
# Checks over which the scales of features are averaged.
_SCALE_MEMORY = 16


class FilterState(NamedTuple):
    """All that changes while rows are filtered.

    Attributes
    ----------
    n_samples : int
        Number of rows, which is the time of the next one.
    window : array of shape (n, F)
        The latest rows.
    models : tuple of NamedTuples
        Parameters in time, with the moments of the latest row; none before the first check, and
        while time does not help.
    anchors : tuple of NamedTuples
        The same at the latest check.
    checked, next_check : int
        Numbers of rows at the latest check and at the next one.
    pause : int
        Rows until the next trial, if time does not help.
    errors : FilterErrors
        Errors of hidden entries.
    scale : array of shape (F,)
        Standard deviations of the features, root mean squares of those at the latest checks.
    n_checks : int
        Number of checks.
    seed : int
        Seed of the hidden entries.
    blend : Blend
        Weights, by age, of fills of the row alone and by each model.
    calibration : Calibration
        Sizes of the errors of the blend.
    row_fill : RowFill or None
        The subspace at the latest check.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.stream_filter import StreamFilter
    >>> StreamFilter().init(3, np.float64, seed=0).window.shape
    (0, 3)
    """

    n_samples: int
    window: Array
    models: tuple[Any, ...]
    anchors: tuple[Any, ...]
    checked: int
    next_check: int
    pause: int
    errors: FilterErrors
    scale: Array
    n_checks: int
    seed: int
    blend: Blend
    calibration: Calibration
    row_fill: RowFill | None = None


@dataclass(frozen=True)
class StreamFilter:
    """Filter a stream by a model in time, learned from its latest rows.

    At each check, entries of the rows since the latest one are hidden in the pattern of the gaps,
    and filled from the past, by parameters that have not seen these rows. Their errors calibrate
    intervals, and with ``auto`` they decide, by the time since an entry was observed, how much the
    past counts beside the fill of the row alone. If it does not help, the next trial is after twice
    as many rows, and no row in between is filtered. Otherwise EM improves the parameters on the
    latest rows.

    Parameters
    ----------
    dynamics : Dynamics
        A model with a method ``filter``.
    auto : bool
        Whether errors decide how much the past counts, with codes and with deviations alone.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.row_fill import RowFill
    >>> from thalweg.learning.stream_filter import StreamFilter
    >>> from thalweg.trackers.petrels_admm import PetrelsADMMTracker
    >>> rng, learner = np.random.default_rng(0), StreamFilter()
    >>> X = np.cumsum(rng.normal(size=(600, 4)), axis=0)
    >>> tracker = PetrelsADMMTracker()
    >>> row_fill = RowFill.of(tracker, tracker.init(np.ones((4, 1)) / 2.0))
    >>> state = learner.learn(learner.init(4, X.dtype, seed=0), X, row_fill)
    >>> state.errors.time_helps
    True
    """

    dynamics: Any = field(default_factory=AutoregressiveFactors)
    auto: bool = True

    def init(self, n_features: int, dtype: Any, *, seed: int) -> FilterState:
        """Return the state before the first row."""
        window = np.empty((0, n_features), dtype)
        none, ones = FilterErrors.none(1 + len(self._ranks(0))), np.ones(n_features)
        blend = self._blend(none, timed=False)
        sizes = none.calibration(blend, n_features)
        return FilterState(
            0, window, (), (), 0, _FIRST_CHECK, _CHECK_EVERY, none, ones, 0, seed, blend, sizes
        )

    def learn(self, state: FilterState, X: Array, row_fill: RowFill) -> FilterState:
        """Return the state after further rows.

        Parameters
        ----------
        state : FilterState
            State before the rows; it is not modified.
        X : array of shape (n_samples, n_features)
            Rows; NaN marks missing entries.
        row_fill : RowFill
            The subspace after the rows.
        """
        start = 0
        while start < len(X):
            stop = min(len(X), start + state.next_check - state.n_samples)
            state = self._learned(state, X[start:stop], row_fill)
            start = stop
        return state

    def _learned(self, state: FilterState, X: Array, row_fill: RowFill) -> FilterState:
        """Return the state after rows that end at the next check, or before it."""
        n = state.n_samples + len(X)
        times = np.arange(float(state.n_samples), n)
        models = tuple(self.dynamics.filter(model, X, times).state for model in state.models)
        window = np.vstack([state.window, X.astype(state.window.dtype)])[-self._n_rows :]
        state = state._replace(n_samples=n, window=window, models=models)
        return self._checked(state, row_fill) if n == state.next_check else state

    def _ranks(self, n_components: int) -> tuple[int, ...]:
        """Return the numbers of codes of the models."""
        return (0, n_components) if self.auto else (n_components,)

    @property
    def _n_rows(self) -> int:
        """Return the number of rows that are kept."""
        longest = max(getattr(self.dynamics, "periods", ()), default=0.0)
        return max(_WINDOW_ROWS, int(np.ceil(_LEAST_PERIODS * longest)))

    def _checked(self, state: FilterState, row_fill: RowFill) -> FilterState:
        """Return the state with new errors and parameters."""
        n, window, n_components = state.n_samples, state.window, row_fill.U.shape[1]
        first, before = len(window) - (n - state.checked), state.anchors
        if not before:
            first = len(window) // 2
            before = self._fitted(window[:first], n - len(window), n_components, ())
        state = _with_scale(state)
        errors = state.errors.added(self._errors(state, before, first, row_fill))
        timed = errors.time_helps or not self.auto
        blend = self._blend(errors, timed=timed)
        state = state._replace(
            errors=errors,
            checked=n,
            row_fill=row_fill,
            blend=blend,
            calibration=errors.calibration(blend, window.shape[1]),
        )
        if not timed:
            pause = min(2 * state.pause, _LONGEST_PAUSE)
            later = n + (state.pause if n >= _CHECK_EVERY else _CHECK_EVERY - n)
            return state._replace(models=(), anchors=(), pause=pause, next_check=later)
        later = _CHECK_EVERY * (n // _CHECK_EVERY + 1)
        models = self._fitted(window, n - len(window), n_components, before)
        return state._replace(models=models, anchors=models, pause=_CHECK_EVERY, next_check=later)

    def _fitted(
        self, X: Array, first: int, n_components: int, starts: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """Return the parameters of rows, from those of earlier ones."""
        times = np.arange(float(first), first + len(X))
        warm = isinstance(self.dynamics, AutoregressiveFactors)
        ranks = self._ranks(n_components)
        if not (warm and starts):
            return tuple(self.dynamics.fit(X, times, rank) for rank in ranks)
        pairs = zip(ranks, starts, strict=True)
        return tuple(self.dynamics.fit(X, times, rank, start) for rank, start in pairs)

    def _errors(
        self, state: FilterState, models: tuple[Any, ...], first: int, row_fill: RowFill
    ) -> list[Scores]:
        """Return the errors of hidden entries of the latest rows, without and with the past."""
        window, rng = state.window, np.random.default_rng([state.seed, state.n_samples])
        hidden = hide_like_gaps(np.isnan(window), rng)
        hidden[:first] = False
        gaps = np.where(hidden, np.nan, window)
        times = np.arange(float(state.n_samples - len(window) + first), state.n_samples)
        X, new, rows, missing = window[first:], hidden[first:], gaps[first:], np.isnan(gaps)
        still = (state.row_fill or row_fill).low_rank(rows)  # of a subspace that has not seen them
        fills = [Expected(still, np.broadcast_to(state.scale, X.shape))]
        fills += [self.dynamics.filter(model, rows, times).expected for model in models]
        ages, starts = gap_ages(missing)[first:], gap_starts(missing)[first:]
        return [
            Scores.of((fill.mean - X) / state.scale, fill.std / state.scale, ages, new, starts)
            for fill in fills
        ]

    def filter(self, state: FilterState, X: Array, *, past: bool) -> list[Filtered]:
        """Return rows that follow the stream, or begin another one, by each model in use."""
        times = np.arange(float(state.n_samples), state.n_samples + len(X))
        models = state.models if past else [at_rest(model, times[0]) for model in state.models]
        return [self.dynamics.filter(model, X, times) for model in models]

    def _blend(self, errors: FilterErrors, *, timed: bool) -> Blend:
        """Return the weights of all fills; without time only the row alone has one."""
        if self.auto and timed:
            return errors.blend()
        weights = np.zeros((1, errors.errors.shape[1]))
        weights[0, -1 if timed else 0] = 1.0
        return Blend((), np.ones(1, np.intp), weights)

    def forecasts(self, state: FilterState, n_components: int) -> Forecasts:
        """Return forecasts of the rows after the latest one, also if time does not help fills."""
        first = state.n_samples - len(state.window)
        times = np.arange(float(first), state.n_samples)
        models = state.models or self._fitted(state.window, first, n_components, ())
        model = models[state.errors.best - 1]
        return Forecasts.of(self.dynamics, model, state.window, times)


def _with_scale(state: FilterState) -> FilterState:
    """Return the state with the scales of the features in the latest rows averaged in."""
    n, observed = state.n_checks + 1, ~np.isnan(state.window)
    count, X = np.maximum(observed.sum(axis=0), 1), np.where(observed, state.window, 0.0)
    centred = np.where(observed, X - X.sum(axis=0) / count, 0.0)
    variance = np.square(state.scale)
    latest = np.square(centred).sum(axis=0) / count
    latest = np.where(latest > 0.0, latest, variance)
    variance = variance + (latest - variance) / min(n, _SCALE_MEMORY)
    return state._replace(scale=np.sqrt(variance), n_checks=n)
