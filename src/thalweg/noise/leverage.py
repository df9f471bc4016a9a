"""Residuals in units of the noise, corrected for the share of the noise that a fit absorbs."""

from typing import Any

import numpy as np
from scipy.linalg import lapack

from thalweg._typing import Array, Mask
from thalweg.noise.weighted_residuals import weighted_residuals

__all__ = [
    "LEAST_FREEDOM",
    "full_variance",
    "leverages",
    "prediction_variances",
    "studentised",
    "unfitted",
]

# Smallest share of the noise left in a residual: below it, the fit reproduces the entry almost
# exactly. Safety margin: any share in 0.01..0.1 gives the same alarms.
LEAST_FREEDOM = 0.05
# Directions of W with less than this share of the largest singular value are ignored.
# Safety margin: rounding leaves about 1e-15 in float64 and 1e-7 in float32.
_NO_DIRECTION = 1e-6


# Smallest pivot of a Cholesky factor, as a share of the largest, with which it is accurate.
_GOOD_PIVOT = 1e-3


def leverages(W: Array) -> Array:
    """Return the share of the noise of each entry that a least-squares fit absorbs.

    It is the diagonal of ``W inv(W'W) W'``; the sum is the rank of W.

    Parameters
    ----------
    W : array of shape (F, K)
        Basis or dictionary.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.noise.leverage import leverages
    >>> leverages(np.ones((4, 1)))
    array([0.25, 0.25, 0.25, 0.25])
    """
    gram = np.asarray(W.T @ W, dtype=np.float64)
    factor, failed = lapack.dpotrf(gram, lower=True)
    pivots = np.diagonal(factor)
    if not failed and pivots.min() > _GOOD_PIVOT * pivots.max():
        directions = W @ lapack.dtrtri(factor, lower=True)[0].T
    else:
        values, vectors = np.linalg.eigh(gram)
        used = values > _NO_DIRECTION**2 * max(values[-1], np.finfo(float).tiny)
        directions = W @ (vectors[:, used] / np.sqrt(values[used]))
    squares: Array = np.einsum("fk,fk->f", directions, directions, dtype=np.float64)
    return squares


def studentised(
    V: Array,
    W: Array,
    H: Array,
    R: Array,
    observed: Any = None,
    scales: Array | None = None,
) -> Array:
    """Return the residuals V - W H, each divided by its standard deviation in units of the noise.

    Let a be the variance of the prediction of an entry from the others, in units of the noise: with
    its leverage l, ``a = l / (1 - l)``. The residual has the variance ``1 / (1 + a)`` if the entry
    was fitted, and ``1 + a`` if it is an outlier, which was not. Gaps, outliers and codes of 0
    change a: it is that of a full sample, times the share of nonzero codes, divided by the share of
    fitted entries. Samples without more fitted entries
    than codes have residuals of 0: any such sample fits.

    Parameters
    ----------
    V : array of shape (F, B)
        Samples as columns.
    W : array of shape (F, K)
        Dictionary.
    H : array of shape (K, B)
        Codes.
    R : array of shape (F, B)
        Outliers; nonzero entries were not fitted.
    observed : array of shape (F, B), optional
        Mask of the observed entries, or their weights; see
        :func:`thalweg.noise.weighted_residuals.weighted_residuals`. The others have residuals of 0.
    scales : array of shape (F,), optional
        Relative noise scales of the features, by which the fit has weighed them.

    Returns
    -------
    array of shape (F, B)
        The residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.noise.leverage import studentised
    >>> V = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    >>> studentised(V, np.ones((4, 1)), np.zeros((1, 1)), np.zeros((4, 1))).ravel()
    array([ 1., -1.,  1., -1.])
    """
    if observed is not None and observed.dtype != np.bool_:
        return weighted_residuals(V, W, H, R, observed, scales)
    variance, factor = prediction_variances(W, H, R, observed, scales)
    deviation = np.sqrt(1.0 + variance[:, None] * np.maximum(factor, 0.0))
    residuals = (V - W @ H) * np.where(R == 0, deviation, 1.0 / deviation)
    informative = factor >= 0.0
    if observed is None:
        return np.where(informative, residuals, 0.0)
    return np.where(observed & informative, residuals, 0.0)


def prediction_variances(
    W: Array,
    H: Array,
    R: Array,
    observed: Mask | None = None,
    scales: Array | None = None,
) -> tuple[Array, Array]:
    """Return the variance of predicting an entry from the others, and its factor in each sample.

    Parameters
    ----------
    W, H : arrays of shapes (F, K) and (K, B)
        Dictionary and codes.
    R : array of shape (F, B)
        Outliers; nonzero entries were not fitted.
    observed : boolean array of shape (F, B), optional
        Mask of the observed entries.
    scales : array of shape (F,), optional
        Relative noise scales of the features, by which the fit has weighed them.

    Returns
    -------
    variance : array of shape (F,)
        ``l / (1 - l)`` for the leverages l of full samples, in units of the noise.
    factor : array of shape (B,)
        Share of codes over share of fitted entries; -1 for samples without more fitted entries
        than codes.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.noise.leverage import prediction_variances
    >>> R = np.zeros((4, 2))
    >>> R[:2, 1] = 5.0
    >>> prediction_variances(np.ones((4, 1)), np.ones((1, 2)), R)[1]
    array([1., 2.])
    """
    fitted = R == 0
    if observed is not None:
        fitted &= observed
    n_fitted, n_codes = np.count_nonzero(fitted, axis=0), np.count_nonzero(H, axis=0)
    factor = (n_codes / W.shape[1]) * (len(W) / np.maximum(n_fitted, 1))
    factor[n_fitted <= n_codes] = -1.0
    return full_variance(W, scales), factor


def full_variance(W: Array, scales: Array | None = None) -> Array:
    """Return the variance of predicting an entry from the others of a full sample.

    Parameters
    ----------
    W : array of shape (F, K)
        Basis or dictionary.
    scales : array of shape (F,), optional
        Relative noise scales of the features, by which the fit has weighed them.

    Returns
    -------
    array of shape (F,)
        ``l / (1 - l)`` for the leverages l, in units of the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.noise.leverage import full_variance
    >>> full_variance(np.ones((5, 1)))
    array([0.25, 0.25, 0.25, 0.25, 0.25])
    """
    weighed = W if scales is None else W / scales[:, None]
    lever = np.minimum(leverages(weighed), 1.0 - LEAST_FREEDOM)
    variance: Array = lever / (1.0 - lever)
    return variance


def unfitted(residuals: Array, n_observed: Array | float, n_components: int) -> Array:
    """Correct residuals of samples to which the dictionary itself was fitted.

    A row of the dictionary has K parameters and is fitted to n entries: it absorbs a share
    ``K / n`` of their noise.

    Parameters
    ----------
    residuals : array of shape (F, B)
        Residuals.
    n_observed : number or array of shape (F,)
        Number n of entries of each feature that the dictionary was fitted to.
    n_components : int
        Number K of components.

    Returns
    -------
    array of shape (F, B)
        The residuals, divided by ``sqrt(1 - K / n)``.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.noise.leverage import unfitted
    >>> unfitted(np.ones((2, 1)), 100, 19).ravel().round(3)
    array([1.111, 1.111])
    """
    n = np.maximum(np.broadcast_to(n_observed, len(residuals)), n_components + 1)
    corrected: Array = residuals / np.sqrt(1.0 - n_components / n)[:, None]
    return corrected
