"""Autoregressive codes, and an autoregressive deviation of each feature from the low-rank part."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.dynamics import Expected, factor_chain as chain, local_processes as local
from thalweg.dynamics.dynamic_state import DynamicState, LastRow, column_units, in_units
from thalweg.dynamics.factor_chain import CodeMoments, FactorParameters
from thalweg.dynamics.factor_learning import improve_factors, initial_factors
from thalweg.dynamics.gaps import interpolated
from thalweg.dynamics.local_learning import initial_parameters, learn_local
from thalweg.dynamics.local_processes import LocalMoments, LocalParameters
from thalweg.dynamics.reweighting import TableMoments, code_weights, local_weights, table_moments
from thalweg.dynamics.row_filter import Filtered, filter_rows
from thalweg.dynamics.seasons import fit_season, harmonics
from thalweg.errors import ParameterError

__all__ = ["AutoregressiveFactors"]

# Threshold of the first half of the iterations, when outliers still enlarge the noise.
# tests: dynamics/test_autoregressive_factors.py
_FIRST_THRESHOLD = 2.5
# Rounds of reweighting, and iterations of EM in each, of the local processes.
_LOCAL_ROUNDS, _LOCAL_ITERATIONS = 3, 2
# Iterations of EM from the parameters of a similar table or model.
# tests: dynamics/test_autoregressive_factors.py
_WARM_ITERATIONS = 5
# Gain of log-likelihood per observed entry at which EM stops.
# Safety margin: any value in 1e-4..1e-3 gives the same fills.
_LEAST_GAIN = 5e-4


@dataclass(frozen=True)
class AutoregressiveFactors:
    """The model X = centre + season + codes @ components + local + outliers + noise.

    Each code is a stationary autoregression of first order. So is ``local``, the deviation of each
    feature from the low-rank part, or a random walk. Codes are estimated by EM with the deviations
    as a part of the noise (the quasi-likelihood of Doz, Giannone and Reichlin, 2012), and then the
    deviations from the residuals of the codes; both by exact Kalman recursions.

    An entry whose residual from all others exceeds ``threshold`` standard deviations has the weight
    (threshold / residual)^4, so that outliers are not interpolated.

    Parameters
    ----------
    local : {"autoregression", "random-walk"} or None, default="autoregression"
        Process of the deviations; None for none.
    codes : {"autoregression"} or None, default="autoregression"
        Process of the codes; None for independent rows.
    periods : tuple of float, default=()
        Periods of the seasonal profile of each feature, in units of the times.
    threshold : float, default=6.0
        Residual from which entries are outliers, in standard deviations; inf for no outliers.
    max_iter : int, default=15
        Iterations of EM.

    Examples
    --------
    A gap of one feature follows the other feature and its own neighbours:

    >>> import numpy as np
    >>> from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors
    >>> times = np.arange(300.0)
    >>> X = np.outer(np.sin(times / 9), [1.0, 2.0, -1.0]) + np.sin(times / 40)[:, None]
    >>> gaps = X.copy()
    >>> gaps[100:110, 0] = np.nan
    >>> model = AutoregressiveFactors()
    >>> filled = model.smooth(model.fit(gaps, times, 1), gaps, times).mean
    >>> bool(np.abs(filled - X)[100:110, 0].max() < 0.3)
    True
    """

    local: Literal["autoregression", "random-walk"] | None = "autoregression"
    codes: Literal["autoregression"] | None = "autoregression"
    periods: tuple[float, ...] = ()
    threshold: float = 6.0
    max_iter: int = 15
    name: ClassVar[str] = "autoregressive-factors"

    def __post_init__(self) -> None:
        if self.local not in ("autoregression", "random-walk", None):
            raise ParameterError(
                f"local must be 'autoregression', 'random-walk' or None, got {self.local!r}."
            )
        if self.codes not in ("autoregression", None):
            raise ParameterError(f"codes must be 'autoregression' or None, got {self.codes!r}.")
        if not all(period > 0.0 for period in self.periods):
            raise ParameterError(f"periods must be positive numbers, got {self.periods!r}.")
        if not self.threshold > 0.0:
            raise ParameterError(f"threshold must be a positive number, got {self.threshold!r}.")
        if self.max_iter < 1:
            raise ParameterError(f"max_iter must be a positive integer, got {self.max_iter!r}.")

    def fit(
        self, X: Array, times: Array, n_components: int, start: DynamicState | None = None
    ) -> DynamicState:
        """Estimate the parameters, from those of a similar table or model if they are given."""
        centre, scale = column_units(X)
        observed = ~np.isnan(X)
        Z = np.where(observed, (X - centre) / scale, 0.0).astype(np.float64)
        step = float(np.median(np.diff(times))) if len(times) > 1 else 1.0
        basis = harmonics(times, self.periods, step)
        season = fit_season(Z, observed, basis)
        Z = np.where(observed, Z - basis @ season, 0.0)
        steps = np.diff(times) / step
        warm = None if start is None else start.in_units_of(scale, step)
        factors, moments = self._learn_codes(Z, observed, steps, n_components, warm)
        left = np.where(observed, Z - moments.mean @ factors.loadings.T, 0.0)
        own, deviation = self._learn_local(left, observed, steps, warm)
        last = LastRow(
            float(times[-1]),
            moments.mean[-1],
            moments.covariance[-1],
            deviation.mean[:, -1],
            deviation.variance[:, -1],
        )
        return DynamicState(centre, scale, step, season, factors, own, last)

    def smooth(self, state: DynamicState, X: Array, times: Array) -> Expected:
        """Return the moments of all entries given the observed ones."""
        Z, observed, steps, season = self._standardised(state, X, times)
        parts = self._moments(state, Z, observed, steps)
        mean = season + parts.low_rank + parts.deviation.mean.T
        variance = chain.code_variance(state.factors.loadings, parts.codes.covariance)
        variance = variance + parts.deviation.variance.T
        return in_units(state, mean, variance, X.dtype)

    def forecast(self, state: DynamicState, times: Array) -> Expected:
        """Return the moments of rows after the last one."""
        last, n = state.last, len(times)
        codes = np.repeat(last.code_mean[None], n, axis=0), last.code_covariance[None]
        own = last.local_mean[None], last.local_variance[None]
        ahead = np.asarray(times, np.float64) - last.time
        return self._ahead(state, np.asarray(times), ahead, codes, own)

    def filter(self, state: DynamicState, X: Array, times: Array) -> Filtered:
        """Return rows that follow the last one, each given the rows up to it."""
        return filter_rows(state, X, times, self.periods, self.threshold)

    def hindcast(
        self, state: DynamicState, X: Array, times: Array, ahead: Sequence[int], most: int
    ) -> Iterator[tuple[Any, Expected]]:
        """Yield rows, and their moments given the rows up to some steps before them.

        Parameters
        ----------
        state : DynamicState
            Result of ``fit``.
        X : array of shape (n_samples, n_features)
            The table; NaN marks missing entries.
        times : array of shape (n_samples,)
            Increasing times of the rows.
        ahead : sequence of int
            Numbers of steps.
        most : int
            Largest number of rows for each number of steps.

        Yields
        ------
        rows : integer array of shape (n,)
            Rows.
        Expected
            Their means and standard deviations.
        """
        codes, own = self._filtered(state, X, times)
        for steps in ahead:
            last = len(X) - steps - 1
            origins = np.unique(np.linspace(0, last, min(most, last + 1)).astype(np.intp))
            start = codes.mean[origins], codes.covariance[origins]
            deviation = own.mean.T[origins], own.variance.T[origins]
            later = times[origins + steps]
            found = self._ahead(state, later, later - times[origins], start, deviation)
            yield origins + steps, found

    def _ahead(
        self,
        state: DynamicState,
        times: Array,
        ahead: Array,
        codes: tuple[Array, Array],
        deviation: tuple[Array, Array],
    ) -> Expected:
        """Return the moments of rows, from those of codes and deviations some time before."""
        steps = ahead[:, None] / state.step
        season = harmonics(times, self.periods, state.step) @ state.season
        own, W = state.local, state.factors.loadings
        a = np.where(state.factors.phi > 0.0, state.factors.phi, 0.0) ** steps
        P = a[:, :, None] * codes[1] * a[:, None, :]
        diagonal = np.arange(W.shape[1])
        P[:, diagonal, diagonal] += 1.0 - np.square(a)
        b = own.phi**steps
        added = np.where(own.phi < 1.0, 1.0 - np.square(b), steps) * own.variance
        variance = chain.code_variance(W, P) + np.square(b) * deviation[1] + added
        mean = season + (a * codes[0]) @ W.T + b * deviation[0]
        return in_units(state, mean, variance, state.centre.dtype)

    def _filtered(
        self, state: DynamicState, X: Array, times: Array
    ) -> tuple[CodeMoments, LocalMoments]:
        """Return the moments of each row given those before it, without outliers."""
        Z, observed, steps = self._standardised(state, X, times)[:3]
        parts = self._moments(state, Z, observed, steps)
        codes = CodeMoments.none(len(Z))
        if len(state.factors.phi):
            codes = chain.filter_codes(Z, parts.code_weights, steps, state.factors)
        left = np.where(observed, Z - codes.mean @ state.factors.loadings.T, 0.0)
        weights = parts.local_weights
        return codes, local.filter_local(np.ascontiguousarray(left.T), weights, steps, state.local)

    def _standardised(
        self, state: DynamicState, X: Array, times: Array
    ) -> tuple[Array, Mask, Array, Array]:
        """Return rows without season in units of the model, observed entries, steps and season."""
        observed = ~np.isnan(X)
        season = harmonics(times, self.periods, state.step) @ state.season
        Z = np.where(observed, (X - state.centre) / state.scale - season, 0.0)
        return Z.astype(np.float64), observed, np.diff(times) / state.step, season

    def _learn_codes(
        self, Z: Array, observed: Mask, steps: Array, n_components: int, warm: DynamicState | None
    ) -> tuple[FactorParameters, CodeMoments]:
        """Estimate the codes by EM with weights."""
        follow = self.codes is not None
        if warm is not None and not _is_start(warm.factors, n_components, follow):
            warm = None
        if warm is None:
            filled = interpolated(np.where(observed, Z, np.nan))
            parameters = initial_factors(filled, n_components, steps, autoregressive=follow)
        else:
            parameters = warm.factors
        if n_components == 0:
            return parameters, CodeMoments.none(len(Z))
        weights: Array = observed.astype(np.float64)
        least, before = _LEAST_GAIN * np.count_nonzero(observed), -np.inf
        n_iter = self.max_iter if warm is None else min(self.max_iter, _WARM_ITERATIONS)
        for i in range(n_iter):
            moments = chain.smooth_codes(Z, weights, steps, parameters)
            late = warm is not None or not self._early(i, n_iter)
            if late and moments.log_likelihood - before < least:
                return parameters, moments
            before = moments.log_likelihood if late else before
            threshold = self._threshold(late=late)
            weights = code_weights(Z, observed, weights, parameters, moments, threshold)
            parameters = improve_factors(
                Z, weights, steps, parameters, moments, autoregressive=follow
            )
        return parameters, chain.smooth_codes(Z, weights, steps, parameters)

    def _learn_local(
        self, left: Array, observed: Mask, steps: Array, warm: DynamicState | None
    ) -> tuple[LocalParameters, LocalMoments]:
        """Estimate the deviations by EM with weights; without deviations, only the noise."""
        Y = np.ascontiguousarray(left.T)
        weights: Array = np.ascontiguousarray(observed.T, np.float64)
        walk = self.local == "random-walk"
        parameters = initial_parameters(Y, weights, steps, random_walk=walk)
        if self.local is None:
            total = parameters.variance + parameters.noise
            parameters = parameters._replace(variance=np.zeros_like(total), noise=total)
            return parameters, local.smooth_local(Y, weights, steps, parameters)
        rounds = _LOCAL_ROUNDS
        if warm is not None and _is_walk(warm.local) == walk and warm.local.variance.all():
            parameters, rounds = warm.local, 1
            moments = local.smooth_local(Y, weights, steps, parameters)
            weights = local_weights(Y, observed, weights, parameters, moments, self.threshold)
        for i in range(rounds):
            parameters, _ = learn_local(Y, weights, steps, parameters, _LOCAL_ITERATIONS)
            moments = local.smooth_local(Y, weights, steps, parameters)
            threshold = self._threshold(late=rounds == 1 or not self._early(i, rounds))
            weights = local_weights(Y, observed, weights, parameters, moments, threshold)
        return parameters, local.smooth_local(Y, weights, steps, parameters)

    def _moments(self, state: DynamicState, Z: Array, observed: Mask, steps: Array) -> TableMoments:
        return table_moments(state.factors, state.local, Z, observed, steps, self.threshold)

    def _threshold(self, *, late: bool) -> float:
        return self.threshold if late else min(_FIRST_THRESHOLD, self.threshold)

    def _early(self, i: int, n: int) -> bool:
        """Whether iteration i out of n has the first threshold."""
        return self.threshold < np.inf and 2 * i < n


def _is_start(factors: FactorParameters, n_components: int, follow: bool) -> bool:
    """Whether parameters are of the same kind."""
    return len(factors.phi) == n_components and bool(factors.phi.any()) == follow


def _is_walk(parameters: LocalParameters) -> bool:
    return bool((parameters.phi >= 1.0).all())
