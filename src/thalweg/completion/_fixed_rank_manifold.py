"""The manifold of matrices of a fixed rank: tangent vectors, transport, retraction."""

from typing import NamedTuple

import numpy as np

from thalweg._typing import Array

__all__ = ["Point", "Tangent", "add", "embed", "inner", "project", "retract", "transport"]


class Point(NamedTuple):
    """A matrix U diag(s) V' with orthonormal columns of U (F, K) and V (N, K)."""

    U: Array
    s: Array
    V: Array


class Tangent(NamedTuple):
    """A tangent vector U M V' + Up V' + U Vp' at a point, with U'Up = 0 and V'Vp = 0.

    The three terms are mutually orthogonal, so the inner product of two tangent vectors is the sum
    of the inner products of their terms.
    """

    M: Array
    Up: Array
    Vp: Array


def inner(a: Tangent, b: Tangent) -> float:
    """Return the inner product of two tangent vectors at the same point."""
    return float(sum(np.vdot(x, y) for x, y in zip(a, b, strict=True)))


def add(a: Tangent, b: Tangent, factor: float) -> Tangent:
    """Return a + factor b."""
    return Tangent(*(x + factor * y for x, y in zip(a, b, strict=True)))


def project(at: Point, ZV: Array, ZtU: Array) -> Tangent:
    """Return the projection of a matrix Z onto the tangent space, from Z V and Z'U."""
    M = at.U.T @ ZV
    return Tangent(M, ZV - at.U @ M, ZtU - at.V @ M.T)


def embed(at: Point, vector: Tangent) -> tuple[Array, Array]:
    """Return factors L (F, 2K) and R (N, 2K) of a tangent vector as a matrix L R'."""
    left = np.hstack([at.U @ vector.M + vector.Up, at.U])
    return left, np.hstack([at.V, vector.Vp])


def transport(before: Point, vector: Tangent, to: Point) -> Tangent:
    """Return the projection of a tangent vector onto the tangent space at another point."""
    left, right = embed(before, vector)
    return project(to, left @ (right.T @ to.V), right @ (left.T @ to.U))


def retract(at: Point, vector: Tangent, step: float) -> Point:
    """Return the rank-K matrix nearest to the point plus ``step`` times the tangent vector.

    The sum has rank 2K: it is [U Up] C [V Vp]' with a core C of that size. The QR factors are those
    of the whole blocks, since the QR factors of Up alone are not unique if it is rank-deficient.
    """
    K = at.s.size
    left, upper = np.linalg.qr(np.hstack([at.U, vector.Up]))
    right, lower = np.linalg.qr(np.hstack([at.V, vector.Vp]))
    eye = step * np.eye(K)
    core = np.block([[np.diag(at.s) + step * vector.M, eye], [eye, np.zeros((K, K))]])
    P, s, Qt = np.linalg.svd(upper @ core @ lower.T)
    return Point(left @ P[:, :K], s[:K], right @ Qt[:K].T)
