"""Accelerated proximal gradient method for many quadratics at once."""

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.prox import Prox

__all__ = ["accelerated"]


def accelerated(
    G: Array,
    C: Array,
    g: Prox,
    start: Array,
    tol: float,
    max_iter: int = 10_000,
    bound: float | None = None,
) -> tuple[Array, Mask]:
    """Return argmin_h h'Gh/2 - c'h + g(h) for each column c of C.

    Uses Nesterov acceleration. A column restarts when its step points against its momentum. A
    column has converged when the proximal gradient step changes it by at most ``tol`` times its
    largest entry. It then stays fixed, so that columns do not depend on one another.

    Parameters
    ----------
    G : array of shape (K, K) or (B, K, K)
        One Gram matrix for all columns, or one for each.
    C : array of shape (K, B)
        Linear terms.
    g : Prox
        The nonsmooth part.
    start : array of shape (K, B)
        Initial values.
    tol : float
        Relative change of a column below which it has converged.
    max_iter : int
        Largest number of iterations.
    bound : float, optional
        Upper bound of the eigenvalues of G. The default is the largest eigenvalue over all
        columns; the rounding errors of a column then depend on the other Gram matrices.

    Returns
    -------
    H : array of shape (K, B)
        The minimisers.
    solved : boolean array of shape (B,)
        False where ``max_iter`` was reached.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l1 import L1
    >>> from thalweg.solvers.proximal_gradient import accelerated
    >>> C = np.array([[3.0], [0.5]])
    >>> H, _ = accelerated(np.eye(2), C, L1(1.0), np.zeros((2, 1)), 1e-9)
    >>> H.ravel()
    array([2., 0.])
    """
    L = float(np.linalg.eigvalsh(G)[..., -1].max(initial=0.0)) if bound is None else bound
    if L == 0.0:  # only g is left: return its prox at 0
        return g.prox(np.zeros_like(start)), np.ones(C.shape[1], dtype=np.bool_)
    H, extrapolated = start.copy(), start.copy()
    momentum = np.ones(C.shape[1])
    running = np.ones(C.shape[1], dtype=np.bool_)
    for _ in range(max_iter):
        new = g.prox(extrapolated - (_apply(G, extrapolated) - C) / L, 1.0 / L)
        moved = np.abs(new - extrapolated).max(axis=0, initial=0.0)
        against = np.einsum("kb,kb->b", extrapolated - new, new - H) > 0.0
        next_momentum = np.where(against, 1.0, (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0)
        inertia = np.where(against, 0.0, (momentum - 1.0) / next_momentum)
        extrapolated = np.where(running, new + inertia * (new - H), extrapolated)
        momentum = np.where(running, next_momentum, momentum)
        H = np.where(running, new, H)
        running &= moved > tol * np.abs(new).max(axis=0, initial=0.0)
        if not running.any():
            break
    return H, ~running


def _apply(G: Array, H: Array) -> Array:
    if G.ndim == 2:
        return G @ H
    product: Array = np.einsum("bij,jb->ib", G, H)
    return product
