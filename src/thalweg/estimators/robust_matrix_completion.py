"""Robust completion of a whole matrix, as an estimator."""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from thalweg._checks import check_count, check_flag, check_tol, generator
from thalweg._rooms import resolve
from thalweg._threads import few_threads
from thalweg._typing import Array, Mask
from thalweg.completion import Completed
from thalweg.dynamics import Dynamics
from thalweg.dynamics.bounds import Extent
from thalweg.dynamics.gaps import gap_lengths
from thalweg.encoders import Encoder
from thalweg.errors import ParameterError
from thalweg.estimators._completion import CompletionEstimator
from thalweg.estimators._timed_results import (
    Bounds,
    fill_results,
    forecast_results,
    forecast_times,
)
from thalweg.estimators._times import check_bounds, check_interval, check_times, times_of
from thalweg.estimators._weights import weighted
from thalweg.estimators.fitting import rollback_on_error, warn_max_iter
from thalweg.estimators.validation import check_data, check_fit_data, filled
from thalweg.learning.batches import unweighted
from thalweg.learning.dynamic_completion import RANKS, Choice, choose
from thalweg.learning.robust_completion import Alternation, code_size, encoder_at
from thalweg.learning.static_trials import StaticTrials
from thalweg.learning.timed_fills import TimedFills, fit_fills
from thalweg.trackers.noise_scale import truncated_noise_scale
from thalweg.trackers.petrels_admm import PetrelsADMMTracker

__all__ = ["RobustMatrixCompletion"]


class RobustMatrixCompletion(CompletionEstimator):
    """Fill the missing entries of a low-rank matrix with outliers, [T] V-B.

    Minimises the sum of min(e^2, c^2) over the residuals e = x - (codes @ components_) of the
    observed entries, where c is ``threshold`` times the noise scale. A robust initial subspace is
    estimated from all samples. Each iteration then rejects the outliers of each sample, as
    :class:`thalweg.PetrelsADMM` does, and fits every feature by least squares on the remaining
    entries. Outliers may have any size. They must be fewer than about half of the observed
    entries, or somewhat more if they are no larger than the signal.

    With ``dynamics`` the rows are consecutive in time, and :meth:`fill` uses the model
    ``X = centre + season + codes @ loadings + local + outliers + noise``, where codes and the local
    deviation of each feature are autoregressions: see
    :class:`thalweg.dynamics.autoregressive_factors.AutoregressiveFactors`. Then fills have standard
    errors and intervals, and :meth:`forecast` continues the table. ``components_``,
    :meth:`transform` and :meth:`decompose` are those of the model without time.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Rank of the low-rank part. ``"auto"`` takes the smallest number whose error at hidden
        entries is within one standard error of the smallest error; see ``rank_evidence_``. With
        ``dynamics`` it is chosen with the model in time, for which it may be 0.
    noise : {"common", "per-feature"}, default="common"
        Whether all features have the same noise scale, as in [T], or each has its own, by which it
        is weighed and its outliers are judged.
    center : bool, default=False
        Whether the model has a robust mean of each feature, ``mean_``, fitted with the basis:
        X = mean_ + codes @ components_ + outliers.
    huber_threshold : float, default=0.5
        Huber threshold of the robust fit (the weight of the l1 norm of the outliers), in units of
        the noise scale.
    threshold : float, default=2.5
        Residual beyond which an entry is an outlier, in units of the noise scale.
    dynamics : None, "auto" or Dynamics, default=None
        Model in time. "auto" decides by hidden entries, in a pattern like that of the gaps, whether
        time helps, and about season and outliers. None takes rows for independent.
    bounds : None, "auto" or pair, default=None
        Lower and upper bounds of fills: two numbers, or two arrays with an entry per feature.
        "auto" fills features without negative entries nonnegatively, and those without positive
        ones nonpositively.
    tol : float, default=1e-4
        The fit stops when an iteration rotates the subspace by at most this angle, in radians.
        0 runs all ``max_iter`` iterations.
    max_iter : int, default=10
        Maximum number of iterations.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the initial subspace, and of hidden entries.
    n_jobs : int or None, default=None
        Number of threads, with the meaning of scikit-learn: None is 1 unless a
        ``joblib.parallel_config`` says otherwise, -1 all cores. Results do not depend on it.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal basis of the subspace; zero rows beyond the rank that the shape of the data
        allows.
    n_components_ : int
        Number of components.
    mean_ : array of shape (n_features,)
        With ``center=True``: the mean of each feature.
    rank_evidence_ : RankEvidence
        With ``n_components="auto"``: the numbers that were tried, with loss and standard error.
    noise_scale_ : float, or array of shape (n_features,)
        Standard deviation of the noise, estimated from the entries that are not outliers; of each
        feature with ``noise="per-feature"``.
    relative_scales_ : array of shape (n_features,), or None
        Noise scales of the features in units of their median, by which they are weighed; None if
        all are weighed the same.
    code_size_ : float
        Median squared norm of the codes: the prior variance of codes with few observed entries.
    outlier_share_ : float
        Share of outliers among the observed entries.
    residual_law_ : ResidualLaw
        Law of the residuals, from which p-values are computed: noise scales of the features, and
        the tail that they share.
    choice_ : Choice
        With ``dynamics``: the candidates, their errors on hidden entries, and the calibration of
        errors by length of gap.
    dynamics_ : Dynamics
        With ``dynamics``: the model in time of forecasts.
    timed_fills_ : TimedFills
        With ``dynamics``: the fitted models, and the calibration of forecasts.
    bounds_ : tuple of two arrays, or None
        Bounds of fills.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the stopping criterion was met.
    n_samples_seen_, n_features_in_ : int
        Numbers of samples and features.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import RobustMatrixCompletion
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 80))
    >>> X = np.where(rng.random(clean.shape) < 0.2, 10.0, clean)
    >>> X[rng.random(clean.shape) < 0.5] = np.nan
    >>> model = RobustMatrixCompletion(2, random_state=0).fit(X)
    >>> bool(np.allclose(model.decompose(X).low_rank, clean, atol=1e-2))
    True

    A table in time, filled with standard errors and continued:

    >>> times = np.arange(200.0)
    >>> X = np.outer(np.sin(times / 9), [1.0, 2.0, -1.0]) + 0.1 * rng.normal(size=(200, 3))
    >>> gaps = X.copy()
    >>> gaps[50:60, 0] = np.nan
    >>> model = RobustMatrixCompletion("auto", dynamics="auto", random_state=0).fit(gaps)
    >>> values, std = model.fill(gaps, return_std=True)
    >>> bool((np.abs(values - X)[50:60, 0] < 4 * std[50:60, 0]).all())
    True
    >>> model.forecast(5).shape
    (5, 3)
    """

    _criterion = "the subspace rotated by"

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        noise: str = "common",
        center: bool = False,
        huber_threshold: float = 0.5,
        threshold: float = 2.5,
        dynamics: Any = None,
        bounds: Any = None,
        tol: float = 1e-4,
        max_iter: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.noise = noise
        self.center = center
        self.huber_threshold = huber_threshold
        self.threshold = threshold
        self.dynamics = dynamics
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, *, times: Any = None) -> Self:
        """Learn from all samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data; ``NaN`` marks missing entries.
        y : ignored
            Present for scikit-learn.
        times : array-like of shape (n_samples,) or None, default=None
            Increasing times of the rows, numbers or dates; used with ``dynamics``. Rows that are
            left out are gaps. None takes the dates in the index of a DataFrame, and otherwise
            counts rows.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit(X, times_of(X, times))
        return self

    def complete(self, X: Any, *, times: Any = None) -> Array:
        """Learn from all samples, and return them with missing entries filled.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data; ``NaN`` marks missing entries.
        times : array-like of shape (n_samples,) or None, default=None
            Increasing times of the rows; used with ``dynamics``.

        Returns
        -------
        array of shape (n_samples, n_features)
            X at observed entries. Elsewhere the low-rank part with the codes of the fit, or with
            ``dynamics`` the result of :meth:`fill`.
        """
        times = times_of(X, times)
        checked, found = self._fit(X, times)
        if hasattr(self, "timed_fills_"):
            values: Array = self.fill(checked, times=times)
            return values
        return self._bounded(filled(checked, found.low_rank.T), checked)

    def fill(
        self,
        X: Any,
        weights: Any = None,
        *,
        times: Any = None,
        return_std: bool = False,
        interval: Any = None,
    ) -> Any:
        """Return X with missing entries filled; the model is not changed.

        Without ``dynamics`` each row is filled independently. With ``dynamics``, a missing entry
        has its expected value given all observed entries of X, before and after it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data with the features of the training data; ``NaN`` marks missing entries.
        weights : array-like or sparse matrix of the shape of X, optional
            Weights of the entries, as inverse variances of their noise; not with ``dynamics``.
        times : array-like of shape (n_samples,) or None, default=None
            Increasing times of the rows, as those of ``fit``. None counts rows from 0.
        return_std : bool, default=False
            Whether to return standard errors, which needs ``dynamics``.
        interval : float or None, default=None
            Level of intervals, such as 0.9, which need ``dynamics``. They are calibrated by hidden
            entries (split conformal prediction), by length of gap and feature.

        Returns
        -------
        array of shape (n_samples, n_features), or tuple of such arrays
            X at observed entries, and the fills elsewhere; then the standard errors, which are 0 at
            observed entries; then lower and upper ends of the intervals.
        """
        level = check_interval(interval)
        check_is_fitted(self)
        if not hasattr(self, "timed_fills_"):
            if return_std or level is not None:
                raise ParameterError(
                    "return_std and interval must be False and None without dynamics, got "
                    f"{return_std!r} and {interval!r}. Set dynamics='auto'."
                )
            rows = weighted(check_data(self, X, reset=False), None, weights)
            return self._bounded(super().fill(X, weights), unweighted(rows))
        if weights is not None:
            raise ParameterError(
                "weights must be None with dynamics, got an array. Mark missing entries with NaN."
            )
        rows = _dense(check_data(self, X, reset=False))
        fills: TimedFills = self.timed_fills_
        when = check_times(times_of(X, times), len(rows))
        found = fills.expected(rows, when, super().fill)
        calibration, lengths = fills.choice.calibration, gap_lengths(np.isnan(rows))
        limits = self._limits()
        return fill_results(
            rows, found, calibration, lengths, limits, return_std=return_std, level=level
        )

    def forecast(self, steps: Any, *, return_std: bool = False, interval: Any = None) -> Any:
        """Continue the table of the fit.

        Parameters
        ----------
        steps : int or array-like of times
            Number of rows, at the median step of the table; or increasing times after the last row,
            in the units of the times of ``fit``.
        return_std : bool, default=False
            Whether to return standard deviations.
        interval : float or None, default=None
            Level of intervals. They are calibrated by forecasts from rows of the past, by number
            of steps and feature.

        Returns
        -------
        array of shape (n_steps, n_features), or tuple of such arrays
            Expected values; then standard deviations; then lower and upper ends of the intervals.
        """
        level = check_interval(interval)
        check_is_fitted(self)
        if not hasattr(self, "timed_fills_"):
            raise ParameterError(
                "forecast needs dynamics, got dynamics=None. Set dynamics='auto' and fit again."
            )
        forecasts, dtype = self.timed_fills_.forecasts, self.components_.dtype
        times = forecast_times(steps, forecasts.state)
        return forecast_results(
            times, forecasts, self._limits(), dtype, return_std=return_std, level=level
        )

    def _fit(self, X: Any, times: Any) -> tuple[Any, Completed]:
        with rollback_on_error(self):
            X = check_fit_data(self, X)
            found = self._learn(X, times)
        if self._stopped(found):
            warn_max_iter(self, f"{self._criterion} less than tol={self.tol:g}")
        return X, found

    def _learn(self, X: Any, times: Any) -> Completed:
        """Choose the model, and fit those with and without time."""
        automatic = isinstance(self.n_components, str)
        if automatic and self.n_components != "auto":
            raise ParameterError(
                f"n_components must be a positive integer or 'auto', got {self.n_components!r}."
            )
        for name in ("dynamics_", "choice_", "timed_fills_", "rank_evidence_"):
            self.__dict__.pop(name, None)
        self.bounds_ = check_bounds(self.bounds, Extent.none(X.shape[1]).extended(X))
        if self.dynamics is None:
            return self._solve(X)
        rows = _dense(X)
        when = check_times(times, len(rows))
        ranks = RANKS if automatic else (check_count("n_components", self.n_components),)
        seed = int(generator(self.random_state).integers(2**31))
        trials = StaticTrials(self._method(), seed)
        with few_threads(rows.shape[1], max(ranks), len(rows), self.n_jobs):
            choice = self._choose(rows, when, ranks, trials)
            self.timed_fills_ = fit_fills(choice, rows, when)
            self.choice_ = self.timed_fills_.choice
            self.dynamics_ = choice.timed.dynamics
            members = choice.blend.members
            static = [trial for trial in members if trial.dynamics is None]
            rank = max(1, (static or members)[0].n_components)
            return self._solve(X, rank, None if static else trials.further(rank))

    def _choose(
        self, rows: Array, times: Array, ranks: tuple[int, ...], trials: StaticTrials
    ) -> Choice:
        given = self.dynamics if self.dynamics != "auto" else None
        if given is not None:
            given = resolve("thalweg.dynamics", given, "dynamics")
            if not isinstance(given, Dynamics):
                raise ParameterError(
                    f"dynamics must be None, 'auto' or a model of thalweg.dynamics, got {given!r}."
                )
        static = None if given is not None else trials.fill
        return choose(rows, times, ranks, given, static=static, rng=generator(self.random_state))

    def _limits(self) -> Bounds:
        return Bounds() if self.bounds_ is None else Bounds(*self.bounds_)

    def _bounded(self, values: Array, X: Any) -> Array:
        """Apply bounds to fills, not to observed entries."""
        return values if self.bounds_ is None else self._limits().clip_fills(values, _dense(X))

    def _method(self) -> Alternation:
        max_iter = check_count("max_iter", self.max_iter)
        return Alternation(
            self._tracker(), check_tol(self.tol), max_iter, check_flag("center", self.center)
        )

    def _tracker(self) -> PetrelsADMMTracker:
        return PetrelsADMMTracker(
            1.0,
            noise=self.noise,
            huber_threshold=self.huber_threshold,
            threshold=self.threshold,
        )

    def _encoder(self) -> Encoder:
        scales, noise = self.relative_scales_, np.atleast_1d(self.noise_scale_)
        common = float(noise[0] if scales is None else noise[0] / scales[0])
        return encoder_at(self._tracker(), self.components_.T, common, self.code_size_, scales)

    def _publish_residuals(self, V: Array, mask: Mask, found: Completed) -> None:
        residual, scales = V - found.U @ found.H, found.relative_scales
        if scales is not None:
            residual = residual / scales[:, None]
        n_fitted = min(len(found.H), *V.shape) * sum(V.shape)
        common = truncated_noise_scale(residual[mask], self.threshold, n_fitted)
        self.relative_scales_ = scales
        self.noise_scale_ = common if scales is None else common * scales
        self.code_size_ = code_size(found.H, mask)


def _dense(X: Any) -> Array:
    rows: Array = X.toarray() if sparse.issparse(X) else X
    return rows
