"""How far a subspace has turned."""

import numpy as np

from thalweg._typing import Array

__all__ = ["largest_angle"]


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
    outside = P - Q @ inside
    # the sine is exact for small angles, and the cosine for large ones
    sine = np.sqrt(max(np.linalg.eigvalsh(outside.T @ outside)[-1], 0.0))
    cosine = np.linalg.svd(inside, compute_uv=False)[-1]
    return float(np.arctan2(sine, cosine))
