"""Exact nonnegative least squares for many right-hand sides, in Gram space."""

from typing import NamedTuple

import numpy as np

from thalweg import _native
from thalweg._typing import Array, Indices, Mask

__all__ = ["Gram", "invert", "nnls", "prepare"]

# Largest condition number (in the Frobenius norm) for which the inverse is used: about
# 1 / sqrt(eps), so that solutions keep half of the digits. The tests of the kernels pass with 1e6
# too; with 1e9, the KKT residual of ill-conditioned matrices exceeds 1e-9.
_MAX_CONDITION = 1e8
# Iteration limit: twice the number of entries, and this many more for small problems.
# Safety margin: the tests also pass with 20 and 200.
_EXTRA_STEPS = 50
# Empty indices: one matrix for all right-hand sides.
_SHARED = np.empty(0, dtype=np.int64)


class Gram(NamedTuple):
    """Gram matrices and their inverses, prepared for :func:`nnls`.

    Attributes
    ----------
    G : array of shape (n, K, K)
        The Gram matrices.
    inverse : array of shape (n, K, K)
        Their inverses, valid where ``trusted``.
    trusted : boolean array of shape (n,)
        True where the matrix was inverted and is well-conditioned.
    place : integer array of shape (B,) or (0,)
        The index of the matrix of each right-hand side; if empty, all use the first.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.solvers.nnls import prepare
    >>> prepare(np.ones((2, 2))).trusted
    array([False])
    """

    G: Array
    inverse: Array
    trusted: Mask
    place: Indices = _SHARED

    def of(self, columns: Indices) -> "Gram":
        """Return the Gram matrices of a subset of the right-hand sides."""
        return self._replace(place=self.place[columns]) if self.place.size else self

    def each(self) -> Array:
        """Return the common matrix (K, K), or one for each right-hand side (B, K, K)."""
        each: Array = self.G[self.place] if self.place.size else self.G[0]
        return each


def prepare(G: Array) -> Gram:
    """Prepare a Gram matrix (K, K), or one for each right-hand side (B, K, K).

    A common matrix is inverted. Separate matrices are not: each has one right-hand side, for which
    an inverse does not pay off.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.solvers.nnls import prepare
    >>> prepare(np.diag([2.0, 4.0])).inverse[0]
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    G = np.ascontiguousarray(G, dtype=np.float64)
    if G.ndim == 3:
        return Gram(G, np.empty_like(G), np.zeros(len(G), dtype=np.bool_), np.arange(len(G)))
    return invert(G[None], _SHARED)


def invert(G: Array, place: Indices) -> Gram:
    """Invert Gram matrices that several right-hand sides share; ``place`` holds their indices.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.solvers.nnls import invert
    >>> invert(np.array([[[2.0]], [[4.0]]]), np.array([1, 0, 1])).inverse.ravel()
    array([0.5 , 0.25])
    """
    inverse, trusted = np.empty_like(G), np.empty(len(G), dtype=np.bool_)
    _native.definite_inverses(G, _MAX_CONDITION, inverse, trusted)
    return Gram(G, inverse, trusted, place)


def nnls(gram: Gram, C: Array, passive: Mask | None = None) -> tuple[Array, Mask, Mask]:
    """Return argmin_h h'Gh/2 - c'h over h >= 0, for each column c of C.

    Block principal pivoting finds the support. While fewer than half of the entries are fixed at
    zero, each trial support solves a system in the *fixed* entries only, with the inverse Gram
    matrix. Where pivoting fails (dependent columns), a primal active-set method takes over.

    Parameters
    ----------
    gram : Gram
        From :func:`prepare`.
    C : array of shape (K, B)
        Right-hand sides, one per column.
    passive : boolean array of shape (K, B), optional
        Initial guess of the support of the solutions (warm start).

    Returns
    -------
    H : array of shape (K, B)
        The solutions, in float64.
    passive : boolean array of shape (K, B)
        Their supports, for a warm start of the next call.
    solved : boolean array of shape (B,)
        False where the iteration limit was reached.

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
    solved = np.empty(len(rows), dtype=np.bool_)
    support = np.empty(rows.shape, np.bool_) if passive is None else np.array(passive.T, order="C")
    limit = _EXTRA_STEPS + 2 * rows.shape[1]
    _native.nonnegative_codes(gram, rows, passive is not None, H, support, solved, limit)
    return H.T, support.T, solved
