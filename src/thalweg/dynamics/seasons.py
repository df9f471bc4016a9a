"""Seasonal profiles of features, as harmonics of given or detected periods."""

from collections.abc import Sequence

import numpy as np

from thalweg._typing import Array, Mask

__all__ = ["detect_period", "fit_season", "harmonics", "on_grid"]

# Harmonics of a period: a daily profile with peaks of some two hours.
_N_HARMONICS = 8
# Prior variance of a coefficient, in variances of its feature: shrinks the profiles of features
# with few observed entries.
_PRIOR_VARIANCE = 0.05
_ROUNDS = 4  # of reweighting
# Residual with half the weight, in standard deviations of the residuals.
_HALF_WEIGHT = 2.0
# Least number of steps of a period, and least number of its repetitions.
_LEAST_STEPS, _LEAST_REPEATS = 4, 3
# Autocorrelation at the period, and its height above the least at smaller lags.
_LEAST_CORRELATION, _LEAST_RISE = 0.1, 0.1
# A shorter period is preferred to a multiple of it with about the same autocorrelation.
_ABOUT_THE_SAME = 0.8
# Peaks at lags within this ratio are those of one period, split by noise.
_SAME_PEAK = 1.25
# Largest distance of a time from a multiple of the step, in steps, and most steps of the grid, in
# rows of the table.
_OFF_GRID, _MAX_SPARSITY = 0.05, 4
# Largest multiple of a period whose peak makes it more precise, and distance to a whole number of
# rows at which it is taken for one.
_MAX_MULTIPLE, _WHOLE = 8, 0.26


def harmonics(times: Array, periods: Sequence[float], step: float) -> Array:
    """Return cosines and sines of the periods and of fractions of them.

    Parameters
    ----------
    times : array of shape (N,)
        Times.
    periods : sequence of float
        Periods.
    step : float
        Typical step; harmonics of less than two steps are left out.

    Returns
    -------
    array of shape (N, n)
        Two columns for each harmonic.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.seasons import harmonics
    >>> harmonics(np.arange(5.0), [4.0], 1.0).round(6)[:, :2]
    array([[ 1.,  0.],
           [ 0.,  1.],
           [-1.,  0.],
           [-0.,  -1.],
           [ 1., -0.]])
    """
    columns = []
    for period in periods:
        for order in range(1, min(_N_HARMONICS, int(period / (2.0 * step))) + 1):
            angle = 2.0 * np.pi * order * np.asarray(times, np.float64) / period
            columns += [np.cos(angle), np.sin(angle)]
    return np.stack(columns, axis=1) if columns else np.empty((len(times), 0))


def fit_season(Z: Array, observed: Array, basis: Array) -> Array:
    """Return the coefficients of each feature, by reweighted ridge regression with an intercept.

    Parameters
    ----------
    Z : array of shape (N, F)
        Standardised features, finite everywhere.
    observed : boolean array of shape (N, F)
        Observed entries.
    basis : array of shape (N, n)
        Result of :func:`harmonics`.

    Returns
    -------
    array of shape (n, F)
        Coefficients, without the intercepts.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.seasons import fit_season, harmonics
    >>> basis = harmonics(np.arange(2400.0), [24.0], 1.0)
    >>> Z = 1.4 * basis[:, :1]
    >>> bool(abs(fit_season(Z, np.ones(Z.shape, bool), basis)[0, 0] - 1.4) < 0.05)
    True
    """
    n = basis.shape[1]
    B = np.column_stack([basis, np.ones(len(basis))])
    ridge = np.diag(np.append(np.full(n, 1.0 / _PRIOR_VARIANCE), 0.0))
    found = np.zeros((n, Z.shape[1]))
    for f in np.flatnonzero(observed.sum(axis=0) > n):
        rows, z = B[observed[:, f]], Z[observed[:, f], f].astype(np.float64)
        w, coefficients = np.ones(len(z)), np.zeros(n + 1)
        for _ in range(_ROUNDS):
            weighted = rows * w[:, None]
            coefficients = np.linalg.solve(weighted.T @ rows + ridge, weighted.T @ z)
            residual = z - rows @ coefficients
            scale = np.sqrt(np.mean(w * np.square(residual)))
            if not scale > 0.0:
                break
            w = 1.0 / (1.0 + np.square(residual / (_HALF_WEIGHT * scale)))
        found[:, f] = coefficients[:-1]
    return found


def on_grid(X: Array, times: Array) -> tuple[Array, float] | None:
    """Return a table with a row for each step, and the step, if all times are multiples of it.

    Parameters
    ----------
    X : array of shape (N, F)
        The table; NaN marks missing entries.
    times : array of shape (N,)
        Increasing times of the rows.

    Returns
    -------
    tuple of array and float, or None
        Rows that were left out are gaps. None if the times are not on a grid, or too sparse.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.seasons import on_grid
    >>> on_grid(np.ones((3, 1)), np.array([0.0, 2.0, 6.0]))[0].ravel()
    array([ 1.,  1., nan,  1.])
    """
    if len(times) < 2:
        return None
    step = float(np.diff(times).min())
    places = (times - times[0]) / step
    rows = np.rint(places).astype(np.intp)
    if np.abs(places - rows).max() > _OFF_GRID or rows[-1] >= _MAX_SPARSITY * len(times):
        return None
    grid = np.full((rows[-1] + 1, X.shape[1]), np.nan)
    grid[rows] = X
    return grid, step


def detect_period(Z: Array, observed: Mask) -> float | None:
    """Return the period, in rows, with the highest mean autocorrelation, if there is one.

    Parameters
    ----------
    Z : array of shape (N, F)
        Standardised features at equal steps, finite everywhere.
    observed : boolean array of shape (N, F)
        Observed entries.

    Returns
    -------
    float or None
        The first peak of the autocorrelation that is about as high as the highest.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.seasons import detect_period
    >>> rng = np.random.default_rng(0)
    >>> Z = np.sin(2 * np.pi * np.arange(300) / 12)[:, None] + 0.3 * rng.normal(size=(300, 4))
    >>> detect_period(Z, np.ones(Z.shape, bool))
    12.0
    """
    N = len(Z)
    longest = N // _LEAST_REPEATS
    if longest <= _LEAST_STEPS:
        return None
    size = 2 ** int(np.ceil(np.log2(2 * N)))

    def lagged_sums(x: Array) -> Array:
        spectrum = np.abs(np.fft.rfft(x, size, axis=0)) ** 2
        return np.asarray(np.fft.irfft(spectrum.sum(axis=1), size)[: longest + 2])

    products = lagged_sums(np.where(observed, Z, 0.0))
    pairs = np.maximum(lagged_sums(observed.astype(np.float64)), 1.0)
    rho = products / pairs
    if not rho[0] > 0.0:
        return None
    rho = rho / rho[0]
    lags = np.arange(_LEAST_STEPS, longest + 1)
    peak = (rho[lags] >= rho[lags - 1]) & (rho[lags] >= rho[lags + 1])
    rise = rho[lags] - np.minimum.accumulate(rho)[lags]
    good = lags[peak & (rise > _LEAST_RISE) & (rho[lags] > _LEAST_CORRELATION)]
    if good.size == 0:
        return None
    first = good[rho[good] >= _ABOUT_THE_SAME * rho[good].max()][0]
    near = good[(good >= first) & (good <= _SAME_PEAK * first)]
    return _refined(rho, float(near[np.argmax(rho[near])]), longest)


def _refined(rho: Array, period: float, longest: int) -> float:
    """Improve a period by the peaks at its multiples, whose lags are relatively more precise."""
    repeats = 2
    while repeats * (period + 1.0) <= longest and repeats <= _MAX_MULTIPLE:
        low = round(repeats * period) - repeats // 2 - 1
        lag = low + int(np.argmax(rho[low : low + 2 * (repeats // 2) + 3]))
        period, repeats = lag / repeats, 2 * repeats
    return float(round(period)) if abs(period - round(period)) < _WHOLE else period
