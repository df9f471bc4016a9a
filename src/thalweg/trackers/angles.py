"""How far a subspace has turned."""

import numpy as np

from thalweg._typing import Array

__all__ = ["largest_angle", "orthonormal"]

# Of the longest column, how far the others have to be away from those before them: for once to do,
# and for twice.
_FAR_APART, _APART = 0.5, 0.01
# Rounding errors in the squared cosine that are few beside the squared sine.
_MANY = 1e9


def orthonormal(U: Array) -> Array:
    """Return a basis with orthonormal columns of what the columns of U span.

    It is U times the inverse factor of its Gram matrix. Where columns are not far apart that is
    done twice, so that rounding is no more than in Householder's way, which takes longer and is
    left to columns that are nearly dependent.

    Parameters
    ----------
    U : array of shape (F, K)
        A basis.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.angles import orthonormal
    >>> orthonormal(np.array([[2.0, 3.0], [0.0, 4.0]])).round(12)
    array([[1., 0.],
           [0., 1.]])
    """
    Q = U
    for _ in range(2):
        factor = _factor(Q)
        if factor is None:
            return np.linalg.qr(U)[0]
        Q = Q @ np.linalg.inv(factor).T
        if _distance(factor) >= _FAR_APART:
            break
    return Q


def _factor(Q: Array) -> Array | None:
    """Return the Cholesky factor of the Gram matrix, or None if it says too little."""
    with np.errstate(over="ignore", invalid="ignore"):
        gram = Q.T @ Q
    if not np.isfinite(gram).all():
        return None
    try:
        factor = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return None
    return factor if _distance(factor) >= _APART else None


def _distance(factor: Array) -> float:
    """Return how near a column comes to those before it, over the longest such way."""
    pivots = np.diag(factor)
    return float(pivots.min() / pivots.max())


def largest_angle(P: Array, Q: Array) -> float:
    """Return the largest principal angle between two subspaces, in radians.

    Parameters
    ----------
    P, Q : arrays of shape (F, K)
        Their bases, with orthonormal columns.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.angles import largest_angle
    >>> round(largest_angle(np.array([[0.6], [0.8]]), np.array([[1.0], [0.0]])), 12)
    0.927295218002
    """
    inside = Q.T @ P
    cosine = np.linalg.svd(inside, compute_uv=False)[-1]
    square = (1.0 - cosine) * (1.0 + cosine)
    if square < _MANY * np.finfo(inside.dtype).eps:  # too small an angle for its cosine to tell
        outside = P - Q @ inside
        square = max(np.linalg.eigvalsh(outside.T @ outside)[-1], 0.0)
    return float(np.arctan2(np.sqrt(square), cosine))
