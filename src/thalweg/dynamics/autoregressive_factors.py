"""Autoregressive codes, and an autoregressive deviation of each feature from the low-rank part."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.dynamics import Expected, factor_chain as chain, local_processes as local
from thalweg.dynamics.factor_chain import CodeMoments, FactorParameters
from thalweg.dynamics.local_processes import LocalMoments, LocalParameters
from thalweg.dynamics.seasons import fit_season, harmonics
from thalweg.errors import ParameterError

__all__ = ["AutoregressiveFactors", "DynamicState", "LastRow", "column_units"]

# Interquartile range of a standard normal variable.
_NORMAL_IQR = 1.349
# Interquartile ranges from the median, in standard deviations, beyond which entries do not count
# for the mean and scale of a column: practically never exceeded by normal noise.
_FAR = 8.0
# Threshold of the first half of the iterations, when outliers still enlarge the noise.
# tests: dynamics/test_autoregressive_factors.py
_FIRST_THRESHOLD = 2.5
# Rounds of reweighting, and iterations of EM in each, of the local processes.
_LOCAL_ROUNDS, _LOCAL_ITERATIONS = 3, 2
_CODE_ROUNDS = 3  # rounds of reweighting of codes for given parameters


class LastRow(NamedTuple):
    """Moments at the last row of a table, from which forecasts start.

    Attributes
    ----------
    time : float
        Time of the row.
    code_mean, code_covariance : array of shape (K,) and (K, K)
        Moments of the codes.
    local_mean, local_variance : array of shape (F,)
        Moments of the local deviations.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.autoregressive_factors import LastRow
    >>> LastRow(3.0, np.zeros(1), np.eye(1), np.zeros(2), np.ones(2)).time
    3.0
    """

    time: float
    code_mean: Array
    code_covariance: Array
    local_mean: Array
    local_variance: Array


class DynamicState(NamedTuple):
    """A fitted model of a table.

    Attributes
    ----------
    centre, scale : array of shape (F,)
        Units of the columns; all that follows is in standardised units.
    step : float
        Median step between rows: the unit of time of phi.
    season : array of shape (n, F)
        Coefficients of the harmonics.
    factors : FactorParameters
        Parameters of the codes.
    local : LocalParameters
        Parameters of the local deviations.
    last : LastRow
        Moments at the last row.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors
    >>> X = np.outer(np.sin(np.arange(50.0) / 5), [1.0, 2.0])
    >>> AutoregressiveFactors().fit(X, np.arange(50.0), 1).factors.loadings.shape
    (2, 1)
    """

    centre: Array
    scale: Array
    step: float
    season: Array
    factors: FactorParameters
    local: LocalParameters
    last: LastRow


class _Parts(NamedTuple):
    """Moments of a table in standardised units."""

    low_rank: Array
    codes: CodeMoments
    deviation: LocalMoments


@dataclass(frozen=True)
class AutoregressiveFactors:
    """The model X = centre + season + codes @ components + local + outliers + noise.

    Each code is a stationary autoregression of first order. So is ``local``, the deviation of each
    feature from the low-rank part, or a random walk. Codes are estimated by EM with the deviations
    as a part of the noise (the quasi-likelihood of Doz, Giannone and Reichlin, 2012), and then the
    deviations from what the codes leave; both by exact Kalman recursions.

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

    def fit(self, X: Array, times: Array, n_components: int) -> DynamicState:
        """Estimate the parameters."""
        centre, scale = column_units(X)
        observed = ~np.isnan(X)
        Z = np.where(observed, (X - centre) / scale, 0.0).astype(np.float64)
        step = float(np.median(np.diff(times))) if len(times) > 1 else 1.0
        basis = harmonics(times, self.periods, step)
        season = fit_season(Z, observed, basis)
        Z = np.where(observed, Z - basis @ season, 0.0)
        steps = np.diff(times) / step
        factors, moments = self._learn_codes(Z, observed, steps, n_components)
        left = np.where(observed, Z - moments.mean @ factors.loadings.T, 0.0)
        own, deviation = self._learn_local(left, observed, steps)
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
        observed = ~np.isnan(X)
        season = harmonics(times, self.periods, state.step) @ state.season
        Z = np.where(observed, (X - state.centre) / state.scale - season, 0.0)
        parts = self._moments(state, Z.astype(np.float64), observed, np.diff(times) / state.step)
        mean = season + parts.low_rank + parts.deviation.mean.T
        variance = chain.code_variance(state.factors.loadings, parts.codes.covariance)
        variance = variance + parts.deviation.variance.T
        return _in_units(state, mean, variance, X.dtype)

    def forecast(self, state: DynamicState, times: Array) -> Expected:
        """Return the moments of rows after the last one."""
        ahead = (np.asarray(times, np.float64) - state.last.time)[:, None] / state.step
        season = harmonics(times, self.periods, state.step) @ state.season
        last, own, W = state.last, state.local, state.factors.loadings
        a = np.where(state.factors.phi > 0.0, state.factors.phi, 0.0) ** ahead
        low_rank = (a * last.code_mean) @ W.T
        P = a[:, :, None] * last.code_covariance * a[:, None, :]
        diagonal = np.arange(W.shape[1])
        P[:, diagonal, diagonal] += 1.0 - np.square(a)
        b = own.phi**ahead
        added = np.where(own.phi < 1.0, 1.0 - np.square(b), ahead) * own.variance
        variance = chain.code_variance(W, P) + np.square(b) * last.local_variance + added
        mean = season + low_rank + b * last.local_mean
        return _in_units(state, mean, variance, state.centre.dtype)

    def _learn_codes(
        self, Z: Array, observed: Mask, steps: Array, n_components: int
    ) -> tuple[FactorParameters, CodeMoments]:
        """Estimate the codes by EM with weights."""
        follow = self.codes is not None
        start = chain.initial_factors(
            _interpolated(Z, observed), n_components, steps, autoregressive=follow
        )
        if n_components == 0:
            return start, _no_codes(len(Z))
        parameters = start
        weights: Array = observed.astype(np.float64)
        for i in range(self.max_iter):
            moments = chain.smooth_codes(Z, weights, steps, parameters)
            threshold = self._early(i, self.max_iter)
            weights = self._code_weights(Z, observed, weights, parameters, moments, threshold)
            parameters = chain.improve_factors(
                Z, weights, steps, parameters, moments, autoregressive=follow
            )
        return parameters, chain.smooth_codes(Z, weights, steps, parameters)

    def _learn_local(
        self, left: Array, observed: Mask, steps: Array
    ) -> tuple[LocalParameters, LocalMoments]:
        """Estimate the deviations by EM with weights; without them, the noise is all there is."""
        Y = np.ascontiguousarray(left.T)
        weights: Array = np.ascontiguousarray(observed.T, np.float64)
        walk = self.local == "random-walk"
        parameters = local.initial_parameters(Y, weights, steps, random_walk=walk)
        if self.local is None:
            total = parameters.variance + parameters.noise
            parameters = parameters._replace(variance=np.zeros_like(total), noise=total)
            return parameters, local.smooth_local(Y, weights, steps, parameters)
        for i in range(_LOCAL_ROUNDS):
            parameters, _ = local.learn_local(Y, weights, steps, parameters, _LOCAL_ITERATIONS)
            moments = local.smooth_local(Y, weights, steps, parameters)
            threshold = self._early(i, _LOCAL_ROUNDS)
            squares = local.leave_one_out(Y, weights, parameters, moments)
            weights = observed.T * _weights(squares, threshold)
        return parameters, local.smooth_local(Y, weights, steps, parameters)

    def _moments(self, state: DynamicState, Z: Array, observed: Mask, steps: Array) -> _Parts:
        """Return codes and deviations for given parameters, with weights from their residuals."""
        factors = state.factors
        weights: Array = observed.astype(np.float64)
        codes = _no_codes(len(Z))
        if len(factors.phi):
            for _ in range(_CODE_ROUNDS):
                codes = chain.smooth_codes(Z, weights, steps, factors)
                if self.threshold == np.inf:
                    break
                weights = self._code_weights(Z, observed, weights, factors, codes, self.threshold)
        low_rank = codes.mean @ factors.loadings.T
        left = np.ascontiguousarray(np.where(observed, Z - low_rank, 0.0).T)
        weights = np.ascontiguousarray(observed.T, np.float64)
        deviation = local.smooth_local(left, weights, steps, state.local)
        for _ in range(_CODE_ROUNDS if self.threshold < np.inf else 0):
            squares = local.leave_one_out(left, weights, state.local, deviation)
            weights = observed.T * _weights(squares, self.threshold)
            deviation = local.smooth_local(left, weights, steps, state.local)
        return _Parts(low_rank, codes, deviation)

    def _code_weights(
        self,
        Z: Array,
        observed: Mask,
        weights: Array,
        parameters: FactorParameters,
        moments: CodeMoments,
        threshold: float,
    ) -> Array:
        if threshold == np.inf:
            return weights
        residual = Z - moments.mean @ parameters.loadings.T
        variance = chain.code_variance(parameters.loadings, moments.covariance)
        squares = local.squared_residuals(residual, weights, parameters.noise, variance)
        return np.asarray(observed * _weights(squares, threshold))

    def _early(self, i: int, n: int) -> float:
        """Return the threshold of iteration i out of n."""
        early = self.threshold < np.inf and 2 * i < n
        return min(_FIRST_THRESHOLD, self.threshold) if early else self.threshold


def _in_units(state: DynamicState, mean: Array, variance: Array, dtype: Any) -> Expected:
    """Convert moments without noise to those of measurements, in the units of the data."""
    std = np.sqrt(np.maximum(variance + state.local.noise, 0.0)) * state.scale
    return Expected((mean * state.scale + state.centre).astype(dtype), std.astype(dtype))


def column_units(X: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of each column, without distant entries.

    Parameters
    ----------
    X : array of shape (N, F)
        The table; NaN marks missing entries.

    Returns
    -------
    centre, scale : array of shape (F,)
        A column without observed entries has 0 and 1, a constant one the scale 1.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.autoregressive_factors import column_units
    >>> X = np.array([[0.0], [1.0], [2.0], [1.0], [1e6], [np.nan]])
    >>> [float(part[0].round(3)) for part in column_units(X)]
    [1.0, 0.707]
    """
    centre, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
    for f in range(X.shape[1]):
        x = X[~np.isnan(X[:, f]), f].astype(np.float64)
        if x.size == 0:
            continue
        low, median, high = np.quantile(x, [0.25, 0.5, 0.75])
        # a mostly constant column has equal quartiles: then all entries count
        limit = _FAR * (high - low) / _NORMAL_IQR if high > low else np.inf
        near = x[np.abs(x - median) <= limit]
        centre[f] = near.mean()
        std = near.std()
        scale[f] = std if std > 0.0 else 1.0
    return centre, scale


def _weights(squares: Array, threshold: float) -> Array:
    """Return min(1, (threshold / residual)^4) for squared residuals."""
    return np.asarray(np.square(np.minimum(1.0, threshold**2 / np.maximum(squares, 1e-300))))


def _no_codes(n: int) -> CodeMoments:
    return CodeMoments(np.empty((n, 0)), np.empty((n, 0, 0)), np.empty((max(n - 1, 0), 0)), 0.0)


def _interpolated(Z: Array, observed: Mask) -> Array:
    """Fill the gaps of each column by straight lines."""
    rows = np.arange(len(Z))
    filled = Z.copy()
    for f in range(Z.shape[1]):
        known = observed[:, f]
        if known.any() and not known.all():
            filled[:, f] = np.interp(rows, rows[known], Z[known, f])
    return filled
