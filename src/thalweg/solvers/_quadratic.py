"""The objective of the matrix solvers."""

from math import inf

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.prox import Prox

__all__ = ["mean_diagonal", "objective", "quadratic", "settled"]


def mean_diagonal(A: Array) -> float:
    """Return tr(A) / K of a K x K Hessian, the unit of the penalty parameter of ADMM.

    Returns 1 if the Hessian is 0 or subnormal.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.solvers._quadratic import mean_diagonal
    >>> mean_diagonal(np.diag([1.0, 3.0])), mean_diagonal(np.zeros((2, 2)))
    (2.0, 1.0)
    """
    mean = float(np.trace(A)) / max(len(A), 1)
    return mean if mean >= np.finfo(A.dtype).tiny else 1.0


def quadratic(A: Array, B: Array, W: Array) -> float:
    """Return tr(W' W A)/2 - tr(W' B).

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.solvers._quadratic import quadratic
    >>> quadratic(np.eye(1), np.ones((2, 1)), np.ones((2, 1)))
    -1.0
    """
    return float(0.5 * np.vdot(W @ A, W) - np.vdot(W, B))


def objective(A: Array, B: Array, W: Array, g: Prox, free: Mask | slice = slice(None)) -> float:
    """Return tr(W' W A)/2 - tr(W' B) + sum_k g(w_k), with the sum over the free columns.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.orthant import Orthant
    >>> from thalweg.solvers._quadratic import objective
    >>> objective(np.eye(1), np.ones((2, 1)), np.ones((2, 1)), Orthant())
    -1.0
    """
    return quadratic(A, B, W) + float(g.value(W[:, free]).sum())


def settled(previous: float, current: float, constant: float, tol: float) -> bool:
    """Test whether the relative change of the objective, constant included, is at most ``tol``.

    Without the constant the objective is negative, and the relative criterion can be met after one
    step ([O] VII-B2 as printed). An infinite previous objective, from an infeasible initial value,
    never meets it.
    """
    return previous < inf and abs(previous - current) <= tol * abs(previous + constant)
