"""Exact least squares over the simplex for many right-hand sides, in Gram space."""

import numpy as np

from thalweg import _native
from thalweg._typing import Array

__all__ = ["simplex_least_squares"]

# Relative tolerance of the optimality conditions, above rounding errors.
# Safety margin: the tests also pass with 1e-12 and 1e-10.
_TOL = 1e-11
# Iteration limit: four times the number of weights, and this many more for small problems.
# Safety margin: the tests also pass with 20 and 200.
_EXTRA_STEPS = 50


def simplex_least_squares(
    G: Array, C: Array, W: Array | None = None, steps: int | None = None
) -> tuple[Array, Array]:
    """Return argmin_w w'Gw/2 - c'w over w >= 0 with sum 1, for each row c of C.

    A primal active-set method: each step minimises exactly on a support, and never increases the
    objective. A warm start near the solution takes one or two steps.

    Parameters
    ----------
    G : array of shape (K, K) or (B, K, K)
        One positive semidefinite matrix for all rows, or one for each.
    C : array of shape (B, K)
        Right-hand sides, one per row.
    W : array of shape (B, K), optional
        Initial values: rows >= 0 with sum 1. By default the best vertex of the simplex.
    steps : int, optional
        Largest number of steps for each row. The default is reached only through rounding errors.

    Returns
    -------
    W : array of shape (B, K)
        The solutions, in float64; rows sum to 1.
    gaps : array of shape (B,)
        Upper bounds of the distance of each objective to its minimum.

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
    limit = _EXTRA_STEPS + 4 * C.shape[1] if steps is None else steps
    settings = _native.SimplexSettings(max_steps=limit, tol=_TOL)
    _native.simplex_codes(G, C, solution, gaps, settings)
    return solution, gaps
