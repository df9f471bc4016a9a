"""The quadratic that matrix solvers minimise."""

import numpy as np

from thalweg._typing import Array
from thalweg.prox import Prox

__all__ = ["objective", "settled"]


def objective(A: Array, B: Array, W: Array, g: Prox) -> float:
    """Return tr(W' W A)/2 - tr(W' B) + sum_k g(w_k).

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.orthant import Orthant
    >>> from thalweg.solvers._quadratic import objective
    >>> objective(np.eye(1), np.ones((2, 1)), np.ones((2, 1)), Orthant())
    -1.0
    """
    return float(0.5 * np.vdot(W @ A, W) - np.vdot(W, B) + g.value(W).sum())


def settled(previous: float, current: float, constant: float, tol: float) -> bool:
    """Tell whether the objective, with its constant part, decreased by less than ``tol``.

    The constant matters: without it the objective is negative, and a decrease relative to it
    is met after one step ([O] VII-B2 as printed).
    """
    return abs(previous - current) <= tol * abs(previous + constant)
