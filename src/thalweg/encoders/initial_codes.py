"""Codes to begin with: least squares with a ridge, kept in the domain of the penalty."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from thalweg._typing import Array, Mask
from thalweg.encoders.columns import times
from thalweg.prox import Prox
from thalweg.solvers import mean_diagonal

__all__ = ["ridge_codes"]

# Ridge beside the mean diagonal entry of W'W. It bounds the condition number by 100 K; from 1e-8 to
# 0.1 it makes no difference to speak of, and with 1 codes are too much alike to learn from.
_RIDGE = 1e-2


def ridge_codes(V: Array, W: Array, observed: Mask | None, penalty: Prox) -> Array:
    """Return a prox(g), g = argmin over h of |v - W h|^2/2 + rho |h|^2/2, for each column of V.

    rho is a hundredth of d, the mean diagonal entry of W'W, and the prox of the penalty has step
    1 / d; without a penalty it sets negative codes to zero. The multiple a >= 0 has the least
    squared error over observed entries. So the result is no worse than no codes, and a makes good
    what gaps, which count as zeros in g, have taken off.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.initial_codes import ridge_codes
    >>> from thalweg.prox.orthant import Orthant
    >>> ridge_codes(np.array([[2.0], [-1.0]]), np.eye(2), None, Orthant()).ravel()
    array([2., 0.])
    """
    V = V if observed is None else np.where(observed.T, V.T, V.dtype.type(0)).T
    G = W.T @ W
    unit = mean_diagonal(G)
    factor = cho_factor(G + _RIDGE * unit * np.eye(len(G), dtype=G.dtype))
    H = penalty.prox(cho_solve(factor, times(W.T, V)).astype(V.dtype, copy=False), 1.0 / unit)
    return np.asfortranarray(H * _best_multiple(V, times(W, H), observed))


def _best_multiple(V: Array, fit: Array, observed: Mask | None) -> Array:
    """Return argmin over a >= 0 of |v - a fit|^2 over the observed entries of each column."""
    fit = fit if observed is None else fit * observed
    size = np.einsum("fb,fb->b", fit, fit)
    along = np.maximum(np.einsum("fb,fb->b", fit, V), 0)
    best: Array = np.divide(along, size, out=np.zeros_like(size), where=size > 0)
    return best
