"""A fitted model of a table in time: units of its columns, parameters, and its last row."""

from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.dynamics import Expected
from thalweg.dynamics.factor_chain import FactorParameters
from thalweg.dynamics.local_processes import LocalParameters

__all__ = ["DynamicState", "LastRow", "column_units", "in_units"]

# Interquartile range of a standard normal variable.
_NORMAL_IQR = 1.349
# Interquartile ranges from the median, in standard deviations, beyond which entries do not count
# for the mean and scale of a column: practically never exceeded by normal noise.
_FAR = 8.0


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
    >>> from thalweg.dynamics.dynamic_state import LastRow
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

    def in_units_of(self, scale: Array, step: float) -> "DynamicState":
        """Return the same parameters for columns and steps of other sizes."""
        ratio, power = self.scale / scale, step / self.step
        factors, own = self.factors, self.local
        walk = own.phi >= 1.0
        return self._replace(
            factors=FactorParameters(
                np.ascontiguousarray(factors.loadings * ratio[:, None]),
                factors.noise * ratio**2,
                factors.phi**power,
            ),
            local=LocalParameters(
                own.phi**power,
                own.variance * ratio**2 * np.where(walk, power, 1.0),
                own.noise * ratio**2,
                own.initial * ratio**2,
            ),
        )


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
    >>> from thalweg.dynamics.dynamic_state import column_units
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


def in_units(state: DynamicState, mean: Array, variance: Array, dtype: Any) -> Expected:
    """Convert moments without noise to those of measurements, in the units of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors
    >>> from thalweg.dynamics.dynamic_state import in_units
    >>> X = 3.0 + np.sin(np.arange(100) * np.pi / 5)[:, None]
    >>> state = AutoregressiveFactors().fit(X, np.arange(100.0), 0)
    >>> in_units(state, np.zeros((1, 1)), np.zeros((1, 1)), float).mean.round(1)
    array([[3.]])
    """
    std = np.sqrt(np.maximum(variance + state.local.noise, 0.0)) * state.scale
    return Expected((mean * state.scale + state.centre).astype(dtype), std.astype(dtype))
