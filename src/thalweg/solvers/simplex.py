"""Exact least squares over the simplex for many right-hand sides, in Gram space."""

import numpy as np

from thalweg import _kernels
from thalweg._typing import Array

__all__ = ["simplex_least_squares"]

# Slopes on the support agree to this share of the problem's size, which is about rounding.
_TOL = 1e-11


def simplex_least_squares(
    G: Array, C: Array, W: Array | None = None, steps: int | None = None
) -> tuple[Array, Array]:
    """Return argmin_w w'Gw/2 - c'w over w >= 0 with sum 1, for each row c of C.

    A primal active set: every step is an exact minimum on a support, and no step raises the
    objective, so that a start next to the solution costs a step or two.

    Parameters
    ----------
    G : array of shape (K, K) or (B, K, K)
        One positive semidefinite matrix for all rows, or one for each.
    C : array of shape (B, K)
        Right-hand sides, one per row.
    W : array of shape (B, K), optional
        Where to begin: rows >= 0 with the sum 1. By default the best vertex.
    steps : int, optional
        Cap on the steps of each row; by default it is not met but for rounding.

    Returns
    -------
    W : array of shape (B, K)
        The solutions, in float64; rows sum to 1.
    gaps : array of shape (B,)
        How far each objective is from its minimum at most.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.solvers.simplex import simplex_least_squares
    >>> simplex_least_squares(np.eye(2), np.array([[0.5, 0.25], [3.0, 0.0]]))[0]
    array([[0.625, 0.375],
           [1.   , 0.   ]])
    """
    G = np.ascontiguousarray(G if G.ndim == 3 else G[None], dtype=np.float64)
    C = np.ascontiguousarray(C, dtype=np.float64)
    if W is None:
        diagonals = np.diagonal(G, axis1=1, axis2=2)
        solution = np.zeros(C.shape)
        solution[np.arange(len(C)), np.argmin(diagonals / 2 - C, axis=1)] = 1.0
    else:
        solution = np.array(W, dtype=np.float64, order="C")
    gaps = np.empty(len(C))
    cap = 50 + 4 * C.shape[1] if steps is None else steps
    _kernels.simplex_codes(G, C, solution, cap, _TOL, gaps)
    return solution, gaps
