"""Projected gradient with a fixed step."""

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

    The step is kappa over the Frobenius norm of A (the paper prints the encoder's constant L in
    its place after (22)).

    Parameters
    ----------
    tol : float
        Relative decrease below which the iteration ends.
    max_iter : int
        Cap on the number of steps.
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
        """Descend from W; see :class:`thalweg.solvers.MatrixSolver`."""
        size = float(np.hypot.reduce(A, axis=None))  # whose squares may be out of range
        if size == 0.0:
            return W.copy(), Status.CONVERGED
        eta = self.kappa / size
        # Columns that are kept need not be in the set.
        value = objective(A, B, W, g, free)
        for _ in range(self.max_iter):
            W = np.where(free, g.prox(W - eta * (W @ A - B), eta), W)  # (21)
            previous, value = value, objective(A, B, W, g, free)
            if settled(previous, value, constant, self.tol):
                return W, Status.CONVERGED
        return W, Status.CAPPED
