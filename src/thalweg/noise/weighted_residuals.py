"""Residuals of entries with weights, in units of the noise of a weight of 1."""

import numpy as np

from thalweg import _native
from thalweg._typing import Array

__all__ = ["weighted_residuals"]

# Smallest share of the noise left in a fitted residual, as for samples without weights.
_LEAST_FREEDOM = 0.05
# Ridge, in units of the trace, that keeps the matrix of few fitted entries definite.
_RIDGE = 1e-10


def weighted_residuals(
    V: Array, W: Array, H: Array, R: Array, weights: Array, scales: Array | None = None
) -> Array:
    """Return the residuals sqrt(w) (V - W H), each divided by its standard deviation.

    The prediction of an entry has the variance ``q = w_f W_f inv(G) W_f'`` in units of the noise of
    the entry, with ``G = W' diag(w) W`` over the fitted entries and nonzero codes of the sample. A
    fitted entry is part of its own prediction: its residual has the variance ``1 - q``; that of an
    outlier has ``1 + q``. Samples without more fitted entries than codes have residuals of 0.

    Parameters
    ----------
    V, R : arrays of shape (F, B)
        Samples as columns, and their outliers; entries with nonzero ones were not fitted.
    W, H : arrays of shapes (F, K) and (K, B)
        Dictionary and codes.
    weights : array of shape (F, B)
        Weights of the entries, 0 at missing ones.
    scales : array of shape (F,), optional
        Relative noise scales of the features, by which the fit has weighed them as well.

    Returns
    -------
    array of shape (F, B)
        The residuals, 0 at missing entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.noise.weighted_residuals import weighted_residuals
    >>> V, W = np.array([[3.0], [0.0], [0.0]]), np.ones((3, 1))
    >>> weights = np.array([[4.0], [1.0], [1.0]])
    >>> weighted_residuals(V, W, np.array([[2.0]]), np.zeros((3, 1)), weights).ravel().round(2)
    array([ 3.46, -2.19, -2.19])
    """
    fitted = (R == 0) & (weights > 0.0)
    used = H.T != 0.0
    K = W.shape[1]
    atoms = np.ascontiguousarray(W, np.float64)
    G = np.zeros((H.shape[1], K, K))
    effective = weights if scales is None else weights / scales[:, None] ** 2
    each = np.ascontiguousarray((effective * fitted).T, np.float64)
    _native.weighted_grams(each, atoms, 0.0, 1.0, G)
    G *= used[:, :, None] & used[:, None, :]
    ridge = _RIDGE * np.trace(G, axis1=1, axis2=2) + np.finfo(float).tiny
    np.einsum("bkk->bk", G)[...] += np.where(used, ridge[:, None], 1.0)
    inverse = np.linalg.inv(G) * (used[:, :, None] & used[:, None, :])
    variance = effective * np.einsum("fk,bkl,fl->fb", atoms, inverse, atoms, optimize=True)
    left = np.where(fitted, np.maximum(1.0 - variance, _LEAST_FREEDOM), 1.0 + variance)
    residuals = np.sqrt(weights) * (V - W @ H) / np.sqrt(left)
    informative = fitted.sum(axis=0) > used.sum(axis=1)
    return np.where(informative, residuals, 0.0).astype(V.dtype, copy=False)
