"""Block coordinate descent with exact minimisation over each column."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from thalweg import _native
from thalweg._typing import Array, Mask
from thalweg.prox import Prox
from thalweg.solvers import Status
from thalweg.solvers._feature_quadratics import sweep_features

__all__ = ["BlockCoordinate"]


@dataclass(frozen=True)
class BlockCoordinate:
    """Minimise tr(W' W A)/2 - tr(W' B) + sum_k g(w_k) by block coordinate descent.

    In one column the quadratic is a multiple of a squared distance, so that the exact minimum is
    one prox of g. Sweeps are compiled for nonnegative l2 balls (the orthant has infinite radius),
    simplices, l1 balls and elastic-net balls. For other g, each column calls ``g.prox``.

    With a matrix A for each row of W, the quadratic is that of each row, sum_f w_f A_f w_f' / 2.

    Parameters
    ----------
    tol : float
        Relative decrease per sweep below which the iteration stops.
    max_iter : int
        Largest number of sweeps.

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
        """Minimise, starting at W; see :class:`thalweg.solvers.MatrixSolver`."""
        A = np.ascontiguousarray(A)
        rows = W.T.copy(order="C")
        linear = np.ascontiguousarray(B.T)
        if A.ndim == 2 and hasattr(g, "l2_radius"):
            _, _, converged = _native.descend_atoms(
                A, linear, rows, g.l2_radius, free, self.tol, constant, self.max_iter
            )
            return rows.T, Status.CONVERGED if converged else Status.CAPPED
        shared = _sweep_border if hasattr(g, "border") else _sweep_prox
        sweep = shared if A.ndim == 2 else sweep_features
        for _ in range(self.max_iter):
            value, decrease = sweep(A, linear, rows, g, free)
            # relative to the objective with its constant: [O] VII-B2 leaves that out
            if value < inf and abs(decrease) <= self.tol * abs(value + constant):
                return rows.T, Status.CONVERGED
        return rows.T, Status.CAPPED


def _sweep_border(A: Array, linear: Array, rows: Array, g: Prox, free: Mask) -> tuple[float, float]:
    """Update each column once; return the quadratic before the sweep, and its decrease.

    This is for a simplex, an l1 ball or an elastic-net ball, in compiled code. The value of g is
    not included: it is 0 for a constraint.
    """
    l1, l2, equality = g.border  # type: ignore[attr-defined]
    constraint = _native.ElasticNetSet(l1=l1, l2=l2, equality=equality)
    value, decrease = _native.sweep_elastic_net_atoms(A, linear, rows, constraint, free)
    return float(value), float(decrease)


def _sweep_prox(A: Array, linear: Array, rows: Array, g: Prox, free: Mask) -> tuple[float, float]:
    """Do the same for any g, with its prox."""
    slope = linear - A @ rows  # the negative gradient; row k is for column k of W
    value = -0.5 * float(np.vdot(rows, slope) + np.vdot(rows, linear))
    decrease = 0.0
    usable = np.diag(A) >= np.finfo(A.dtype).tiny  # below, the inverse may overflow
    for k in np.flatnonzero(free & usable):
        new = g.prox(rows[k] + slope[k] / A[k, k], 1.0 / float(A[k, k]))
        step = new - rows[k]
        decrease += float(np.vdot(step, slope[k]) - 0.5 * A[k, k] * np.vdot(step, step))
        slope -= np.outer(A[k], step)
        rows[k] = new
    return value, decrease
