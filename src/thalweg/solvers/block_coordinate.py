"""Exact minimisation over one column after the other."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg import _kernels
from thalweg._typing import Array, Mask
from thalweg.prox import Prox
from thalweg.solvers import Status
from thalweg.solvers._quadratic import settled

__all__ = ["BlockCoordinate"]


@dataclass(frozen=True)
class BlockCoordinate:
    """Minimise tr(W' W A)/2 - tr(W' B) + sum_k g(w_k), one column at a time.

    For one column the quadratic is a multiple of a squared distance, so its minimum with g is
    one prox. Nonnegative l2 balls of any radius, the orthant among them, the simplex, l1 and
    elastic-net balls are swept in compiled code; other functions of a column go through their
    prox.

    Parameters
    ----------
    tol : float
        Relative decrease in a sweep below which the iteration ends.
    max_iter : int
        Cap on the number of sweeps.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.solvers.block_coordinate import BlockCoordinate
    >>> W, status = BlockCoordinate().solve(
    ...     np.eye(1), np.array([[3.0], [4.0]]), np.zeros((2, 1)), L2Ball(), np.array([True])
    ... )
    >>> W.ravel(), status.name
    (array([0.6, 0.8]), 'CONVERGED')
    """

    name: ClassVar[str] = "fast"

    tol: float = 1e-4
    max_iter: int = 200

    def solve(
        self, A: Array, B: Array, W: Array, g: Prox, free: Mask, constant: float = 0.0
    ) -> tuple[Array, Status]:
        """Descend from W; see :class:`thalweg.solvers.MatrixSolver`."""
        A = np.ascontiguousarray(A)
        rows = W.T.copy(order="C")
        linear = np.ascontiguousarray(B.T)
        sweep = _by_prox
        if hasattr(g, "l2_radius"):
            sweep = _compiled
        elif hasattr(g, "border"):
            sweep = _bordered
        for _ in range(self.max_iter):
            value, fall = sweep(A, linear, rows, g, free)
            if settled(value, value - fall, constant, self.tol):
                return rows.T, Status.CONVERGED
        return rows.T, Status.CAPPED


def _compiled(A: Array, linear: Array, rows: Array, g: Prox, free: Mask) -> tuple[float, float]:
    """Sweep once; return the quadratic part before, and what it has fallen by.

    What g adds is zero for a constraint, and else only sets a scale.
    """
    radius = rows.dtype.type(g.l2_radius)  # type: ignore[attr-defined]
    value, fall = _kernels.sweep_atoms(A, linear, rows, radius, free)
    return float(value), float(fall)


def _bordered(A: Array, linear: Array, rows: Array, g: Prox, free: Mask) -> tuple[float, float]:
    """Do the same for a simplex, an l1 ball or an elastic-net ball."""
    l1, l2, full = g.border  # type: ignore[attr-defined]
    value, fall = _kernels.sweep_bordered(A, linear, rows, l1, l2, full, free)
    return float(value), float(fall)


def _by_prox(A: Array, linear: Array, rows: Array, g: Prox, free: Mask) -> tuple[float, float]:
    """Do the same by the prox of each column."""
    slope = linear - A @ rows  # minus the gradient, a row for each column of W
    value = -0.5 * float(np.vdot(rows, slope) + np.vdot(rows, linear))
    fall = 0.0
    usable = np.diag(A) >= np.finfo(A.dtype).tiny  # below that the inverse may be infinite
    for k in np.flatnonzero(free & usable):
        new = g.prox(rows[k] + slope[k] / A[k, k], 1.0 / float(A[k, k]))
        step = new - rows[k]
        fall += float(np.vdot(step, slope[k]) - 0.5 * A[k, k] * np.vdot(step, step))
        slope -= np.outer(A[k], step)
        rows[k] = new
    return value, fall
