"""How far a subspace has turned."""

import numpy as np

from thalweg._typing import Array

__all__ = ["largest_angle"]


def largest_angle(U: Array, before: Array) -> float:
    """Return the largest principal angle between the column spaces of two bases, in radians.

    Parameters
    ----------
    U, before : arrays of shape (F, K)
        Bases, of full rank.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.angles import largest_angle
    >>> round(largest_angle(np.array([[3.0], [4.0]]), np.array([[1.0], [0.0]])), 12)
    0.927295218002
    """
    P, Q = np.linalg.qr(U)[0], np.linalg.qr(before)[0]
    inside = Q.T @ P
    # the sine is exact for small angles, and the cosine for large ones
    sine = np.linalg.norm(P - Q @ inside, 2)
    cosine = np.linalg.svd(inside, compute_uv=False)[-1]
    return float(np.arctan2(sine, cosine))
