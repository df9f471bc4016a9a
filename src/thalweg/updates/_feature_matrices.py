"""Matrices of the codes' squares, one for all features or one for each."""

import numpy as np

from thalweg import _native
from thalweg._typing import Array

__all__ = ["times_grams", "with_squares"]


def with_squares(A: Array, weights: Array, H: Array, F: int) -> Array:
    """Return A plus the sum of w h h' over the samples; one matrix if all rows share w.

    Parameters
    ----------
    A : array of shape (K, K) or (F, K, K)
        Matrices to add to.
    weights : array of shape (1, B) or (F, B)
        Weights w of the samples, for all rows or for each.
    H : array of shape (K, B)
        Codes h.
    F : int
        Number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates._feature_matrices import with_squares
    >>> with_squares(np.zeros((1, 1)), np.array([[1.0], [3.0]]), np.array([[2.0]]), 2).ravel()
    array([ 4., 12.])
    """
    rows = np.ascontiguousarray(H.T)
    if len(weights) == 1:
        shared: Array = A + (weights * H) @ rows
        return shared
    each = np.broadcast_to(A, (F, *A.shape[-2:])).copy()
    _native.weighted_grams(np.ascontiguousarray(weights, H.dtype), rows, 1.0, 1.0, each)
    return each


def times_grams(W: Array, A: Array) -> Array:
    """Return W A, or each row of W times its own matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates._feature_matrices import times_grams
    >>> times_grams(np.ones((2, 1)), np.array([[[2.0]], [[3.0]]])).ravel()
    array([2., 3.])
    """
    product: Array = W @ A if A.ndim == 2 else np.einsum("fkl,fl->fk", A, W)
    return product
