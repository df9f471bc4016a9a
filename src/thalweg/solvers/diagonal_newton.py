"""Projected Newton steps with the diagonal of the Hessian."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg._typing import Array, Indices, Mask
from thalweg.prox import Prox
from thalweg.solvers import Status
from thalweg.solvers._quadratic import objective, settled

__all__ = ["DiagonalNewton"]


@dataclass(frozen=True)
class DiagonalNewton:
    """Minimise tr(W' W A)/2 - tr(W' B) + sum_k g(w_k) by steps in units of 1 / A_kk.

    All columns move at once, each as if the others stood still; [R] IV-F calls it OMF-DA (Wang et
    al., 2011). As printed the step has no factor, and where codes go together it overshoots by up
    to the number of columns. Here the factor is halved until the quadratic with the diagonal lies
    above the true one at the new point, so that the objective never rises. In this metric each
    column has one unit, and its nearest point in a set is the usual one.

    Parameters
    ----------
    tol : float
        Relative decrease below which the iteration ends.
    max_iter : int
        Cap on the number of steps.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.solvers.diagonal_newton import DiagonalNewton
    >>> W, status = DiagonalNewton().solve(
    ...     np.eye(1), np.array([[3.0], [4.0]]), np.zeros((2, 1)), L2Ball(), np.array([True])
    ... )
    >>> W.ravel(), status.name
    (array([0.6, 0.8]), 'CONVERGED')
    """

    name: ClassVar[str] = "diagonal-newton"

    tol: float = 1e-4
    max_iter: int = 200

    def solve(
        self, A: Array, B: Array, W: Array, g: Prox, free: Mask, constant: float = 0.0
    ) -> tuple[Array, Status]:
        """Descend from W; see :class:`thalweg.solvers.MatrixSolver`."""
        curve = np.diag(A).astype(np.float64)
        moving = np.flatnonzero(free & (curve >= np.finfo(A.dtype).tiny))
        W, factor = W.copy(), 1.0
        value = objective(A, B, W, g, free)
        for _ in range(self.max_iter):
            slope = W @ A - B
            while True:
                move = _moved(W, slope, g, moving, factor / curve[moving]) - W
                squares = np.einsum("fk,fk->k", move, move, dtype=np.float64)
                bent = float(np.vdot(move @ A, move))
                # A is at most its diagonal times the number of columns.
                if factor * len(A) <= 1.0 or factor * bent <= float(curve @ squares):
                    break
                factor /= 2.0
            W = W + move
            previous, value = value, objective(A, B, W, g, free)
            if settled(previous, value, constant, self.tol):
                return W, Status.CONVERGED
        return W, Status.CAPPED


def _moved(W: Array, slope: Array, g: Prox, moving: Indices, steps: Array) -> Array:
    """Return W with some columns after a step of their own and the prox of g."""
    new = W.copy()
    tried = W[:, moving] - steps.astype(W.dtype) * slope[:, moving]
    if hasattr(g, "border"):  # for a set the step does not matter
        new[:, moving] = g.prox(tried)
        return new
    for column, k, step in zip(tried.T, moving, steps, strict=True):
        new[:, k] = g.prox(column.copy(), float(step))
    return new
