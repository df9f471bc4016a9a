"""Exact nonnegative least squares for many right-hand sides, in Gram space."""

from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from thalweg import _kernels
from thalweg._typing import Array, Mask

__all__ = ["Gram", "nnls", "prepare"]

# Above this condition number (in the Frobenius norm) the inverse is not used.
_TRUSTED = 1e8
_NOTHING = np.empty((0, 0))


class Gram(NamedTuple):
    """Gram matrices ready for :func:`nnls`.

    Attributes
    ----------
    G : array of shape (1, K, K) or (B, K, K)
        One matrix for all right-hand sides, or one for each.
    inverse : array of shape (K, K) or (0, 0)
        The inverse of the shared matrix; empty when it is too ill-conditioned to be used.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.solvers.nnls import prepare
    >>> prepare(np.ones((2, 2))).inverse.size
    0
    """

    G: Array
    inverse: Array


def prepare(G: Array) -> Gram:
    """Prepare a Gram matrix (K, K), or one for each right-hand side (B, K, K).

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.solvers.nnls import prepare
    >>> prepare(np.diag([2.0, 4.0])).inverse
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    G = np.ascontiguousarray(G, dtype=np.float64)
    if G.ndim == 3:
        return Gram(G, _NOTHING)
    return Gram(G[None], _trusted_inverse(G))


def nnls(gram: Gram, C: Array, passive: Mask | None = None) -> tuple[Array, Mask, Mask]:
    """Return argmin_h h'Gh/2 - c'h over h >= 0, for each column c of C.

    Block principal pivoting finds the support; while fewer than half of the entries are held
    at zero, each trial support costs a system in the *held* entries only, through the inverse
    Gram matrix. Where pivoting fails (dependent columns), a primal active set takes over.

    Parameters
    ----------
    gram : Gram
        From :func:`prepare`.
    C : array of shape (K, B)
        Right-hand sides, one per column.
    passive : boolean array of shape (K, B), optional
        First guess of the support of the solution.

    Returns
    -------
    H : array of shape (K, B)
        The solutions, in float64.
    passive : boolean array of shape (K, B)
        Their supports, to be handed to the next call.
    solved : boolean array of shape (B,)
        False where the iteration cap was reached.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.solvers.nnls import nnls, prepare
    >>> H, _, solved = nnls(prepare(np.eye(2)), np.array([[3.0], [-1.0]]))
    >>> H.ravel(), solved
    (array([3., 0.]), array([ True]))
    """
    rows = np.ascontiguousarray(C.T, dtype=np.float64)
    H = np.empty_like(rows)
    capped = np.empty(len(rows), dtype=np.int64)
    U = rows @ gram.inverse if gram.inverse.size else _NOTHING
    if passive is not None:
        support = np.array(passive.T, order="C")
    else:  # the signs of the unconstrained solution are the best guess there is
        support = U > 0.0 if U.size else np.ones(rows.shape, dtype=np.bool_)
    _kernels.nonnegative_codes(
        gram.G, gram.inverse, rows, U, H, support, capped, 50 + 2 * rows.shape[1]
    )
    return H.T, support.T, capped == _kernels.SOLVED


def _trusted_inverse(G: Array) -> Array:
    factor, broken = lapack.dpotrf(G, lower=1, clean=1)
    if broken:
        return _NOTHING
    root, broken = lapack.dtrtri(factor, lower=1, overwrite_c=1)
    inverse = root.T @ root
    # The negation also catches NaN.
    return _NOTHING if broken or not _norm(G) * _norm(inverse) < _TRUSTED else inverse


def _norm(G: Array) -> float:
    return sqrt(float(np.vdot(G, G)))
