"""Projected gradient descent with a fixed step size."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.prox import Prox
from thalweg.solvers import Status
from thalweg.solvers._quadratic import objective, settled

__all__ = ["ProjectedGradient"]


@dataclass(frozen=True)
class ProjectedGradient:
    """Minimise tr(W' W A)/2 - tr(W' B) + sum_k g(w_k) by [O] (20)-(22).

    The step size is kappa / |A|_F. (After (22) the paper prints the constant L of the encoder
    instead of |A|_F.)

    Parameters
    ----------
    tol : float
        Relative decrease below which the iteration stops.
    max_iter : int
        Largest number of iterations.
    kappa : float
        Step size times the Lipschitz bound, in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.solvers.projected_gradient import ProjectedGradient
    >>> W, status = ProjectedGradient().solve(
    ...     np.eye(1), np.array([[3.0], [4.0]]), np.zeros((2, 1)), L2Ball(), np.array([True])
    ... )
    >>> W.ravel(), status.name
    (array([0.6, 0.8]), 'CONVERGED')
    """

    name: ClassVar[str] = "pgd"

    tol: float = 1e-4
    max_iter: int = 200
    kappa: float = 0.7

    def solve(
        self, A: Array, B: Array, W: Array, g: Prox, free: Mask, constant: float = 0.0
    ) -> tuple[Array, Status]:
        """Minimise, starting at W; see :class:`thalweg.solvers.MatrixSolver`."""
        size = float(np.hypot.reduce(A, axis=None))  # no overflow or underflow of squares
        if size == 0.0:
            return W.copy(), Status.CONVERGED
        eta = self.kappa / size
        # The fixed columns need not be feasible.
        value = objective(A, B, W, g, free)
        for _ in range(self.max_iter):
            W = np.where(free, g.prox(W - eta * (W @ A - B), eta), W)  # (21)
            previous, value = value, objective(A, B, W, g, free)
            if settled(previous, value, constant, self.tol):
                return W, Status.CONVERGED
        return W, Status.CAPPED
