"""How far apart two subspaces are, whatever bases they are given by."""

from math import inf

import numpy as np
from numpy.typing import ArrayLike

from thalweg._typing import Array
from thalweg.errors import InputError
from thalweg.metrics._checks import matrix, require_shape

__all__ = ["principal_angles", "sep", "subspace_error"]


def principal_angles(estimate: ArrayLike, truth: ArrayLike) -> Array:
    """Return the angles between two subspaces of one dimension, in radians, the largest first.

    Their cosines are the singular values of P Q', where the rows of P and Q are orthonormal
    bases. Tiny angles and right angles have an error of about 1e-15, and not of 1e-8 as the
    arc cosine alone would.

    Parameters
    ----------
    estimate, truth : arrays of shape (n_components, n_features)
        Bases of the two subspaces, one basis vector a row, like ``components_``. They need not
        be orthonormal, but no row may be a combination of the others.

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
    # Near 0 the sine decides and near pi / 2 the cosine, each where it is steep.
    angles: Array = np.arctan2(sines, cosines[::-1])
    return angles


def subspace_error(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Return the sine of the largest angle between two subspaces, SE in [T] V-A.

    |P (I - Q'Q)|_2, where the rows of P and Q are orthonormal bases: 0 for equal subspaces, 1
    when one has a direction that is orthogonal to all of the other. The error is about 1e-15
    for small angles too.

    Parameters
    ----------
    estimate, truth : arrays of shape (n_components, n_features)
        Bases of the two subspaces, one basis vector a row, like ``components_``. They need not
        be orthonormal, but no row may be a combination of the others.

    Notes
    -----
    An erratum of [T]: the largest cosine over both subspaces, as printed, belongs to the
    *smallest* angle, and is 1 as soon as the subspaces have one direction in common. The
    distance of subspaces that is meant there has the sine of the largest angle.

    Examples
    --------
    >>> from thalweg.metrics import subspace_error
    >>> round(subspace_error([[3.0, 4.0]], [[1.0, 0.0]]), 12)
    0.8
    """
    _, outside = _parts(estimate, truth)
    return min(float(np.linalg.norm(outside, 2)), 1.0)


def sep(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Return the subspace estimation performance, [T] V-A: lower is better.

    tr(P (I - Q'Q) P') / tr(P Q'Q P'), where the rows of P and Q are orthonormal bases of
    estimate and truth. This is sum(sin^2) / sum(cos^2) of the principal angles: 0 for equal
    subspaces, inf for orthogonal ones. [T] takes the mean of it over runs.

    Parameters
    ----------
    estimate, truth : arrays of shape (n_components, n_features)
        Bases of the two subspaces, one basis vector a row, like ``components_``. They need not
        be orthonormal, but no row may be a combination of the others.

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
    """Return P Q', what the estimate has inside of the truth, and P - P Q'Q, what outside.

    The singular values of the first are the cosines of the principal angles, those of the
    second their sines: 1 - cos^2 would lose all sines below 1e-8.
    """
    Q = _orthonormal("truth", truth)
    P = _orthonormal("estimate", estimate)
    require_shape("estimate", P, Q.shape, "truth")
    inside = P @ Q.T
    return inside, P - inside @ Q


def _orthonormal(name: str, basis: ArrayLike) -> Array:
    """Return an orthonormal basis of the space of the rows, as rows."""
    rows = matrix(name, basis)
    if np.isnan(rows).any():
        raise InputError(
            f"{name} should be finite, but there is NaN in it. Look whether the fit went well."
        )
    # Rows of very different lengths are a good basis when their directions are.
    largest = np.abs(rows).max(axis=1, keepdims=True)
    _, sizes, Q = np.linalg.svd(rows / np.where(largest > 0, largest, 1.0), full_matrices=False)
    least = max(rows.shape) * np.finfo(np.float64).eps * sizes[0]
    rank = int(np.count_nonzero(sizes > least))
    if rank < len(rows):
        raise InputError(
            f"{name} should have rows that are linearly independent, but {len(rows)} came that "
            f"span {rank} dimensions. Basis vectors are rows: look whether it is transposed, or "
            "leave out components that are zero or repeated."
        )
    orthonormal: Array = Q
    return orthonormal
