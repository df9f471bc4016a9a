"""Initial codes: ridge regression, projected into the domain of the penalty."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from thalweg._typing import Array, Mask
from thalweg.encoders.columns import times
from thalweg.prox import Prox
from thalweg.solvers import mean_diagonal

__all__ = ["ridge_codes"]

# Ridge parameter, in units of the mean diagonal entry of W'W. It bounds the condition number by
# 100 K. With 1 all codes are similar, and nothing is learned from them.
# safety margin: any value in 1e-8..0.1 gives about the same results
_RIDGE = 1e-2


def ridge_codes(V: Array, W: Array, observed: Mask | None, penalty: Prox) -> Array:
    """Compute initial codes a prox(g), with g = argmin_h |v - W h|^2/2 + rho |h|^2/2.

    rho is 0.01 d, where d is the mean diagonal entry of W'W, and the prox of the penalty has step
    1 / d; without a penalty it clips negative codes to 0. The factor a >= 0 minimises the squared
    error over the observed entries. So the error is never larger than that of zero codes, and a
    compensates for missing entries, which count as zeros in g.

    Parameters
    ----------
    V : array of shape (F, B)
        Samples.
    W : array of shape (F, K)
        Dictionary.
    observed : boolean array of shape (F, B) or None
        False at missing entries.
    penalty : Prox
        Penalty of the codes.

    Returns
    -------
    array of shape (K, B)
        Codes.

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
    """Return argmin_{a >= 0} |v - a fit|^2 over the observed entries of each column."""
    fit = fit if observed is None else fit * observed
    size = np.einsum("fb,fb->b", fit, fit)
    along = np.maximum(np.einsum("fb,fb->b", fit, V), 0)
    best: Array = np.divide(along, size, out=np.zeros_like(size), where=size > 0)
    return best
