"""Exact nonnegative least squares for many right-hand sides, in Gram space."""

from typing import NamedTuple

import numpy as np

from thalweg import _kernels
from thalweg._typing import Array, Indices, Mask

__all__ = ["Gram", "invert", "nnls", "prepare"]

# Above this condition number (in the Frobenius norm) the inverse is not used.
_TRUSTED = 1e8
_ALL_THE_FIRST = np.empty(0, dtype=np.int64)


class Gram(NamedTuple):
    """Gram matrices ready for :func:`nnls`.

    Attributes
    ----------
    G : array of shape (n, K, K)
        The matrices.
    inverse : array of shape (n, K, K)
        Their inverses, of use where they are trusted.
    trusted : boolean array of shape (n,)
        Where there is an inverse that is not too ill-conditioned.
    place : integer array of shape (B,) or (0,)
        The matrix of each right-hand side; if empty, all have the first.

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
    place: Indices = _ALL_THE_FIRST

    def of(self, columns: Indices) -> "Gram":
        """Return the matrices of some of the right-hand sides."""
        return self._replace(place=self.place[columns]) if self.place.size else self

    def each(self) -> Array:
        """Return the matrix of all right-hand sides (K, K), or of each (B, K, K)."""
        each: Array = self.G[self.place] if self.place.size else self.G[0]
        return each


def prepare(G: Array) -> Gram:
    """Prepare a Gram matrix (K, K), or one for each right-hand side (B, K, K).

    The inverse pays when supports are looked for more than once, so that many matrices are not
    inverted.

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
    return invert(G[None], _ALL_THE_FIRST)


def invert(G: Array, place: Indices) -> Gram:
    """Prepare matrices that are used again and again, and tell which each right-hand side has.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.solvers.nnls import invert
    >>> invert(np.array([[[2.0]], [[4.0]]]), np.array([1, 0, 1])).inverse.ravel()
    array([0.5 , 0.25])
    """
    inverse, trusted = np.empty_like(G), np.empty(len(G), dtype=np.bool_)
    _kernels.definite_inverses(G, _TRUSTED, inverse, trusted)
    return Gram(G, inverse, trusted, place)


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
    support = np.empty(rows.shape, np.bool_) if passive is None else np.array(passive.T, order="C")
    _kernels.nonnegative_codes(
        tuple(gram), rows, passive is not None, H, support, capped, 50 + 2 * rows.shape[1]
    )
    return H.T, support.T, capped == _kernels.SOLVED
