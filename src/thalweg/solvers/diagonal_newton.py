"""Projected Newton method with the diagonal of the Hessian."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg import _native
from thalweg._typing import Array, Indices, Mask
from thalweg.prox import Prox
from thalweg.solvers import Status
from thalweg.solvers._quadratic import settled

__all__ = ["DiagonalNewton"]


@dataclass(frozen=True)
class DiagonalNewton:
    """Minimise tr(W' W A)/2 - tr(W' B) + sum_k g(w_k) by diagonally scaled steps.

    Step k is w_k <- prox(w_k - factor / A_kk * gradient_k), for all columns at once; [R] IV-F calls
    it OMF-DA (Wang et al., 2011). The printed step has factor 1, and for correlated codes it
    overshoots by up to the number of columns. Here the factor is halved until the diagonal
    quadratic majorises the objective at the new point, so that the objective never increases. The
    metric is a multiple of the identity within each column, so that projections are Euclidean.

    Parameters
    ----------
    tol : float
        Relative decrease below which the iteration stops.
    max_iter : int
        Largest number of iterations.

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
        """Minimise, starting at W; see :class:`thalweg.solvers.MatrixSolver`."""
        diagonal = np.diag(A).astype(np.float64)
        moving = np.flatnonzero(free & (diagonal >= np.finfo(A.dtype).tiny))
        # atoms as rows: each is contiguous in memory
        atoms, target, factor = np.ascontiguousarray(W.T), np.ascontiguousarray(B.T), 1.0
        product = A @ atoms
        value = _value(atoms, product, target, g, free)
        for _ in range(self.max_iter):
            gradient = product - target
            while True:
                move = _moved(atoms, gradient, g, moving, factor / diagonal[moving]) - atoms
                squares = np.einsum("kf,kf->k", move, move, dtype=np.float64)
                move_product = A @ move
                curvature = float(np.vdot(move_product, move))
                # A <= len(A) diag(A) in the Loewner order: factor <= 1 / len(A) always suffices.
                if factor * len(A) <= 1.0 or factor * curvature <= float(diagonal @ squares):
                    break
                factor /= 2.0
            atoms, product = atoms + move, product + move_product
            previous, value = value, _value(atoms, product, target, g, free)
            if settled(previous, value, constant, self.tol):
                return atoms.T, Status.CONVERGED
        return atoms.T, Status.CAPPED


def _value(atoms: Array, product: Array, target: Array, g: Prox, free: Mask) -> float:
    """Return tr(W' W A)/2 - tr(W' B) + sum_k g(w_k) from the product A W'; atoms are rows."""
    smooth = 0.5 * np.vdot(product, atoms) - np.vdot(atoms, target)
    return float(smooth + g.value(atoms[free].T).sum())


def _moved(atoms: Array, gradient: Array, g: Prox, moving: Indices, steps: Array) -> Array:
    """Return the atoms after a gradient step and the prox of g in the rows ``moving``."""
    new = atoms.copy()
    constraint = _elastic_net_set(g)  # the step has no effect on a projection
    new[moving] -= steps.astype(new.dtype)[:, None] * gradient[moving]
    for k, step in zip(moving, steps, strict=True):
        if constraint is None:
            new[k] = g.prox(new[k], float(step))
        else:
            _native.project_elastic_net(new[k], constraint)
    return new


def _elastic_net_set(g: Prox) -> _native.ElasticNetSet | None:
    """Return the set that g is the indicator of, if it is a simplex or a ball."""
    if not hasattr(g, "border"):
        return None
    l1, l2, equality = g.border
    return _native.ElasticNetSet(l1=l1, l2=l2, equality=equality)
