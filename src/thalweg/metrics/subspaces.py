"""Distances between subspaces, which do not depend on the bases."""

from math import inf

import numpy as np
from numpy.typing import ArrayLike

from thalweg._typing import Array
from thalweg.errors import InputError
from thalweg.metrics._checks import matrix, require_shape

__all__ = ["principal_angles", "sep", "subspace_error"]


def principal_angles(estimate: ArrayLike, truth: ArrayLike) -> Array:
    """Return the principal angles of two subspaces in radians, the largest first.

    Their cosines are the singular values of P Q', where the rows of P and Q are orthonormal
    bases. The subspaces have the same dimension. Sines and cosines together keep the error near
    1e-15 for all angles; the arc cosine alone has an error of 1e-8 for small angles.

    Parameters
    ----------
    estimate, truth : arrays of shape (n_components, n_features)
        Bases of the two subspaces, one basis vector per row, like ``components_``. The rows must
        be linearly independent, but need not be orthonormal.

    Returns
    -------
    array of shape (n_components,)
        Angles in [0, pi / 2].

    Examples
    --------
    >>> from thalweg.metrics import principal_angles
    >>> principal_angles([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    array([0.78539816, 0.        ])
    """
    inside, outside = _parts(estimate, truth)
    cosines = np.linalg.svd(inside, compute_uv=False)
    sines = np.linalg.svd(outside, compute_uv=False)
    # Near 0 the angle follows from the sine and near pi / 2 from the cosine, where each is steep.
    angles: Array = np.arctan2(sines, cosines[::-1])
    return angles


def subspace_error(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Return the sine of the largest angle between two subspaces, SE in [T] V-A.

    |P (I - Q'Q)|_2, where the rows of P and Q are orthonormal bases. It is 0 for equal subspaces,
    and 1 if a direction of one is orthogonal to the other. The rounding error is about 1e-15, for
    small angles too.

    Parameters
    ----------
    estimate, truth : arrays of shape (n_components, n_features)
        Bases of the two subspaces, one basis vector per row, like ``components_``. The rows must
        be linearly independent, but need not be orthonormal.

    Notes
    -----
    Erratum of [T]: the printed formula takes the largest cosine over both subspaces. It belongs to
    the *smallest* angle, and is 1 as soon as the subspaces share one direction. The intended
    distance is the sine of the largest angle.

    Examples
    --------
    >>> from thalweg.metrics import subspace_error
    >>> round(subspace_error([[3.0, 4.0]], [[1.0, 0.0]]), 12)
    0.8
    """
    _, outside = _parts(estimate, truth)
    return min(float(np.linalg.norm(outside, 2)), 1.0)


def sep(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Return the subspace estimation performance (SEP) of [T] V-A; lower is better.

    tr(P (I - Q'Q) P') / tr(P Q'Q P'), where the rows of P and Q are orthonormal bases of
    estimate and truth. This is sum(sin^2) / sum(cos^2) of the principal angles: 0 for equal
    subspaces, inf for orthogonal ones. [T] reports the mean over runs.

    Parameters
    ----------
    estimate, truth : arrays of shape (n_components, n_features)
        Bases of the two subspaces, one basis vector per row, like ``components_``. The rows must
        be linearly independent, but need not be orthonormal.

    Examples
    --------
    >>> from thalweg.metrics import sep
    >>> round(sep([[1.0, 0.0, 0.0], [0.0, 3.0, 4.0]], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), 12)
    0.219512195122
    """
    inside, outside = _parts(estimate, truth)
    shared = float(np.sum(np.square(inside)))
    return float(np.sum(np.square(outside))) / shared if shared > 0 else inf


def _parts(estimate: ArrayLike, truth: ArrayLike) -> tuple[Array, Array]:
    """Return P Q' and P - P Q'Q: the estimate's components inside and outside of the truth.

    Their singular values are the cosines and the sines of the principal angles. The sines are not
    computed as sqrt(1 - cos^2), which would lose those below 1e-8.
    """
    Q = _orthonormal("truth", truth)
    P = _orthonormal("estimate", estimate)
    require_shape("estimate", P, Q.shape, "truth")
    inside = P @ Q.T
    return inside, P - inside @ Q


def _orthonormal(name: str, basis: ArrayLike) -> Array:
    """Return an orthonormal basis of the row space, as rows."""
    rows = matrix(name, basis)
    if np.isnan(rows).any():
        raise InputError(f"{name} must be finite, got NaN among its entries. Check the fit.")
    # Scale the rows to equal size: only their directions matter for the rank.
    largest = np.abs(rows).max(axis=1, keepdims=True)
    _, sizes, Q = np.linalg.svd(rows / np.where(largest > 0, largest, 1.0), full_matrices=False)
    least = max(rows.shape) * np.finfo(np.float64).eps * sizes[0]
    rank = int(np.count_nonzero(sizes > least))
    if rank < len(rows):
        raise InputError(
            f"{name} must have linearly independent rows, got {len(rows)} rows of rank {rank}. "
            "Basis vectors are rows: check whether it is transposed, or remove components that "
            "are zero or repeated."
        )
    orthonormal: Array = Q
    return orthonormal
