"""Low-rank fit of a matrix by least absolute residuals."""

import numpy as np

from thalweg._linalg import orthonormal
from thalweg._typing import Array, Mask

__all__ = ["least_absolute_residuals"]

# Iterations, and factor of the penalty parameter in each of them: the last residuals that are not
# outliers are 1 / 45 of the typical entry. benchmark: tracking_corruption
_ITERATIONS, _PENALTY_GROWTH = 40, 1.1


def least_absolute_residuals(
    X: Array, observed: Mask, U: Array, size: float
) -> tuple[Array, Array]:
    """Compute a local minimum of sum |x_ij - h_i' u_j| over the observed entries, nearly.

    The alternating direction method of multipliers (ADMM) splits X = H U' + S, as Shen, Wen and
    Zhang (2014) do. S is free at missing entries. In each iteration, S minimises the augmented
    Lagrangian, and H and U follow by one step of subspace iteration: three matrix products,
    whichever entries are missing. The penalty parameter grows, from residuals of the given size on:
    the first iterations treat smaller residuals as noise and find the subspace, and the last ones
    approach least absolute values.

    Parameters
    ----------
    X : array of shape (N, F)
        Samples as rows; zero at missing entries.
    observed : boolean array of shape (N, F)
        Mask of the observed entries.
    U : array of shape (F, K)
        Initial basis.
    size : float
        Typical size of an entry.

    Returns
    -------
    U : array of shape (F, K)
        The basis.
    H : array of shape (N, K)
        Codes with orthonormal columns.
    """
    mask, V = observed.astype(np.float64), orthonormal(U)
    model = (X * mask) @ V @ V.T
    dual, bound = np.zeros_like(X), size
    for _ in range(_ITERATIONS):
        clipped = np.subtract(X, model)
        clipped += dual
        np.clip(clipped, -bound, bound, out=clipped)
        clipped *= mask  # the dual after this iteration, in units of the penalty parameter
        target = np.subtract(model, dual, out=dual)
        target += 2.0 * clipped
        H = orthonormal(target @ V)
        U = target.T @ H
        V = orthonormal(U)
        model = H @ U.T
        dual, bound = clipped, bound / _PENALTY_GROWTH
        dual /= _PENALTY_GROWTH
    return U, H
