"""Alternating direction method of multipliers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from thalweg._typing import Array, Mask
from thalweg.prox import Prox
from thalweg.solvers import Status
from thalweg.solvers._quadratic import objective, quadratic, settled

__all__ = ["MatrixAdmm"]


@dataclass(frozen=True)
class MatrixAdmm:
    """Minimise tr(W' W A)/2 - tr(W' B) + sum_k g(w_k) by [O] (33)-(35).

    Returns the feasible copy Q with the lowest objective. The penalty parameter rho_3 is relative
    to the mean diagonal entry of A; the absolute one of the paper makes the result depend on the
    units of the data.

    Parameters
    ----------
    tol : float
        Relative change of the objective below which the iteration stops.
    max_iter : int
        Largest number of iterations.
    rho : float
        Penalty parameter of the augmented Lagrangian, relative to the mean diagonal entry of A.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.solvers.admm import MatrixAdmm
    >>> W, status = MatrixAdmm(tol=1e-9).solve(
    ...     np.eye(1), np.array([[3.0], [4.0]]), np.zeros((2, 1)), L2Ball(), np.array([True])
    ... )
    >>> W.ravel().round(6), status.name
    (array([0.6, 0.8]), 'CONVERGED')
    """

    name: ClassVar[str] = "admm"

    tol: float = 1e-4
    max_iter: int = 200
    rho: float = 1.0

    def solve(
        self, A: Array, B: Array, W: Array, g: Prox, free: Mask, constant: float = 0.0
    ) -> tuple[Array, Status]:
        """Minimise, starting at W; see :class:`thalweg.solvers.MatrixSolver`."""
        rho = self.rho * float(np.trace(A)) / max(len(A), 1)
        if rho == 0.0 or not free.any():
            return W.copy(), Status.CONVERGED
        # The fixed columns contribute to the linear term.
        target = B[:, free] - W[:, ~free] @ A[np.ix_(~free, free)]
        inner = np.ascontiguousarray(A[np.ix_(free, free)])
        new, status = self._solve(inner, target, W[:, free], g, rho, constant)
        result = W.copy()
        result[:, free] = new
        return result, status

    def _solve(
        self, A: Array, B: Array, W: Array, g: Prox, rho: float, constant: float
    ) -> tuple[Array, Status]:
        factor = cho_factor(A + rho * np.eye(len(A), dtype=A.dtype))
        Q, D = W, np.zeros_like(W)
        best, lowest = W, objective(A, B, W, g)
        value, fit = lowest, quadratic(A, B, W)
        for _ in range(self.max_iter):
            W = cho_solve(factor, (B - D + rho * Q).T).T  # (33)
            Q = g.prox(W + D / rho, 1.0 / rho)  # (34)
            D = D + rho * (W - Q)  # (35)
            previous, value = value, objective(A, B, Q, g)
            if value < lowest:
                best, lowest = Q, value
            last, fit = fit, quadratic(A, B, W)
            # Q may stay at a corner of g while W and D still change.
            stationary = settled(last, fit, constant, self.tol)
            if stationary and settled(previous, value, constant, self.tol):
                return best, Status.CONVERGED
        return best, Status.CAPPED
