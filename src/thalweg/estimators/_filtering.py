"""Trackers that use the past of a stream: codes, fills with error bars, and forecasts."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from thalweg._rooms import resolve
from thalweg._typing import Array
from thalweg.dynamics import Dynamics, Expected
from thalweg.dynamics.bounds import Extent
from thalweg.dynamics.dynamic_state import column_units
from thalweg.dynamics.gaps import gap_ages
from thalweg.errors import InputError, ParameterError
from thalweg.estimators._timed_results import (
    Bounds,
    fill_results,
    forecast_results,
    forecast_times,
)
from thalweg.estimators._times import check_bounds, check_interval
from thalweg.estimators._tracking import Tracking
from thalweg.estimators._weights import weighted
from thalweg.estimators.fitting import is_auto
from thalweg.estimators.validation import check_data
from thalweg.learning.batches import unweighted
from thalweg.learning.row_fill import RowFill
from thalweg.learning.stream_filter import FilterState, StreamFilter
from thalweg.learning.tracking import TrackingLearner

__all__ = ["FilteringTracker"]

_LEAST_ROWS = 16  # rows that a forecast needs


class FilteringTracker(Tracking):
    """Base of the trackers with ``dynamics``: filters beside the tracker, in ``filter_``.

    Fills and forecasts are within ``bounds``, which with "auto" follow from ``extent_``.
    """

    bounds: Any
    filter_: FilterState
    extent_: Extent

    @property
    def bounds_(self) -> tuple[Array, Array] | None:
        """Lower and upper bounds of the fills of each feature, or None."""
        auto = is_auto(self.bounds)
        check_is_fitted(self, "extent_" if auto else None)
        extent = self.extent_ if auto else Extent.none(self.n_features_in_)
        return check_bounds(self.bounds, extent)

    def transform(self, X: Any, weights: Any = None, *, past: bool = True) -> Array:
        """Return the codes of X.

        With ``dynamics`` they are the codes of the filtered low-rank part: each row is a sample
        given the samples before it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data with the features of the training data; ``NaN`` marks missing entries.
        weights : array-like or sparse matrix of the shape of X, optional
            Weights of the entries, 0 or 1; not with ``dynamics``.
        past : bool, default=True
            With ``dynamics``: whether the rows follow those that were learned. Otherwise they
            begin another stream.

        Returns
        -------
        array of shape (n_samples, n_components)
            The codes. Without ``dynamics``, each row depends only on its own sample.
        """
        if self.dynamics is None or not self._is_timed():
            codes: Array = super().transform(X, weights)
            return codes
        _no_weights(weights)
        rows = _dense(check_data(self, X, reset=False))
        found = self._filter().filter(self.filter_, rows, past=past)[-1]
        weights = 1.0 / np.broadcast_to(self.noise_scale_, rows.shape[1])
        centred = found.low_rank - getattr(self, "mean_", 0.0)
        W, V = (self.components_ * weights).T, (centred * weights).T
        return np.asarray(np.linalg.lstsq(W, V, rcond=None)[0].T, rows.dtype)

    def fill(
        self,
        X: Any,
        weights: Any = None,
        *,
        past: bool = True,
        return_std: bool = False,
        interval: Any = None,
    ) -> Any:
        """Return X with missing entries filled; the model is not changed.

        Without ``dynamics`` each row is filled by itself. With ``dynamics``, a missing entry has
        its expected value given the other entries of its row and the rows before it. Fills are
        within ``bounds_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data with the features of the training data; ``NaN`` marks missing entries.
        weights : array-like or sparse matrix of the shape of X, optional
            Weights of the entries, 0 or 1; not with ``dynamics``.
        past : bool, default=True
            With ``dynamics``: whether the rows follow those that were learned. Otherwise they
            begin another stream.
        return_std : bool, default=False
            Whether to return standard errors, which needs ``dynamics``.
        interval : float or None, default=None
            Level of intervals, such as 0.9, which need ``dynamics``. They are calibrated by hidden
            entries of the stream (split conformal prediction), by feature and by the number of
            rows since it was observed.

        Returns
        -------
        array of shape (n_samples, n_features), or tuple of such arrays
            X at observed entries, and the fills elsewhere; then the standard errors, which are 0 at
            observed entries; then lower and upper ends of the intervals.
        """
        level = check_interval(interval)
        if self.dynamics is None:
            if return_std or level is not None:
                raise ParameterError(
                    "return_std and interval must be False and None without dynamics, got "
                    f"{return_std!r} and {interval!r}. Set dynamics='auto' and fit again."
                )
            return self._bounded_fill(X, weights)
        check_is_fitted(self)
        _no_weights(weights)
        rows = _dense(check_data(self, X, reset=False))
        tail = self.filter_.window if past else rows[:0]
        ages = gap_ages(np.isnan(np.vstack([tail, rows])))[len(tail) :]
        expected, errors = self._expected(rows, ages, past), self.filter_.calibration
        limits = self._limits()
        return fill_results(
            rows, expected, errors, ages, limits, return_std=return_std, level=level
        )

    def forecast(self, steps: Any, *, return_std: bool = False, interval: Any = None) -> Any:
        """Continue the stream.

        Parameters
        ----------
        steps : int
            Number of rows.
        return_std : bool, default=False
            Whether to return standard deviations.
        interval : float or None, default=None
            Level of intervals. They are calibrated by forecasts of the latest rows from those
            before them, by number of steps and feature.

        Returns
        -------
        array of shape (steps, n_features), or tuple of such arrays
            Expected values; then standard deviations; then lower and upper ends of the intervals.
        """
        level = check_interval(interval)
        check_is_fitted(self)
        if self.dynamics is None:
            raise ParameterError(
                "forecast needs dynamics, got dynamics=None. Set dynamics='auto' and fit again."
            )
        if len(self.filter_.window) < _LEAST_ROWS:
            raise InputError(
                f"forecast needs at least {_LEAST_ROWS} rows, got {len(self.filter_.window)}. "
                "Call partial_fit with more rows first."
            )
        forecasts = self._filter().forecasts(self.filter_, len(self.components_))
        times, dtype = forecast_times(steps, forecasts.state), self.components_.dtype
        return forecast_results(
            times, forecasts, self._limits(), dtype, return_std=return_std, level=level
        )

    def complete(self, X: Any, *, epochs: int = 3) -> Array:
        """Learn from all of X in several epochs, and return it with its gaps filled.

        One basis has to fit all rows, so jumps are recorded, but do not reset it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data; ``NaN`` marks missing entries.
        epochs : int
            Number of passes over the rows; the last basis fills the gaps.

        Returns
        -------
        array of shape (n_samples, n_features)
            X at observed entries, and at missing ones the low-rank part, or with ``dynamics`` the
            result of :meth:`fill` from the first row on.
        """
        self._learn_epochs(X, epochs)
        filled: Array = self.fill(X, past=False)
        return filled

    def _initialise(self, learner: TrackingLearner, X: Any) -> None:
        check_bounds(self.bounds, Extent.none(X.shape[1]))
        super()._initialise(learner, X)

    def _limits(self) -> Bounds:
        bounds = self.bounds_
        return Bounds() if bounds is None else Bounds(*bounds)

    def _bounded_fill(self, X: Any, weights: Any) -> Array:
        """Return rows filled by themselves, within the bounds."""
        values: Array = super().fill(X, weights)
        if self.bounds is None:
            return values
        known = unweighted(weighted(check_data(self, X, reset=False), None, weights))
        return self._limits().clip_fills(values, _dense(known))

    def _is_timed(self) -> bool:
        """Return whether the past is used at present."""
        check_is_fitted(self)
        return bool(self.filter_.blend.weights[:, 1:].any())

    def _expected(self, rows: Array, ages: Array, past: bool) -> Expected:
        """Return the moments of all entries."""
        state = self.filter_
        scale = state.scale if state.n_checks else column_units(state.window)[1]
        still = Expected(super().fill(rows), np.broadcast_to(scale, rows.shape))
        found = [part.expected for part in self._filter().filter(state, rows, past=past)]
        return state.blend.combine([still, *found], ages) if found else still

    def _filter(self) -> StreamFilter:
        """Return the learner of the model in time; the parameter is checked."""
        if isinstance(self.dynamics, str) and self.dynamics == "auto":
            return StreamFilter()
        given = resolve("thalweg.dynamics", self.dynamics, "dynamics")
        if not isinstance(given, Dynamics) or not hasattr(given, "filter"):
            raise ParameterError(
                "dynamics must be None, 'auto' or a model of thalweg.dynamics with a method "
                f"filter, got {given!r}."
            )
        return StreamFilter(given, auto=False)

    def _learn_and_follow(self, learner: TrackingLearner, X: Any, n_total: int | None) -> None:
        """Learn from validated rows, and follow them by the filter and by their extent."""
        learn = self._learn if self.dynamics is None else self._learn_in_time
        learn(learner, X, n_total)
        if is_auto(self.bounds):
            before = getattr(self, "extent_", None) or Extent.none(X.shape[1])
            self.extent_ = before.extended(X)

    def _learn_in_time(self, learner: TrackingLearner, X: Any, n_total: int | None) -> None:
        """Learn a block up to a check of the filter at a time."""
        filters = self._filter()
        if not hasattr(self, "filter_"):
            n_features, dtype = X.shape[1], self.components_.dtype
            self.filter_ = filters.init(n_features, dtype, seed=self.state_.seed)
        start = 0
        while start < X.shape[0]:
            until = self.filter_.next_check - self.filter_.n_samples
            stop = min(X.shape[0], start + until)
            self._learn(learner, X[start:stop], n_total)
            row_fill = RowFill.of(learner.tracker, self.state_.tracker)
            self.filter_ = filters.learn(self.filter_, _dense(X[start:stop]), row_fill)
            start = stop


def _dense(X: Any) -> Array:
    rows: Array = X.toarray() if sparse.issparse(X) else X
    return rows


def _no_weights(weights: Any) -> None:
    if weights is not None:
        raise ParameterError(
            "weights must be None with dynamics, got an array. Mark missing entries with NaN."
        )
