"""Matrices of a fixed rank as a smooth manifold: tangent vectors, transport, retraction."""

from typing import NamedTuple

import numpy as np

from thalweg._typing import Array

__all__ = ["Point", "Tangent", "add", "embed", "inner", "project", "retract", "transport"]


class Point(NamedTuple):
    """U diag(s) V' with orthonormal columns in U (F, K) and V (N, K)."""

    U: Array
    s: Array
    V: Array


class Tangent(NamedTuple):
    """U M V' + Up V' + U Vp' at a point, with U'Up = 0 and V'Vp = 0.

    The three terms are orthogonal to one another, so that the inner product of two tangent
    vectors is the sum of those of their parts.
    """

    M: Array
    Up: Array
    Vp: Array


def inner(a: Tangent, b: Tangent) -> float:
    """Return the inner product of two tangent vectors at one point."""
    return float(sum(np.vdot(x, y) for x, y in zip(a, b, strict=True)))


def add(a: Tangent, b: Tangent, factor: float) -> Tangent:
    """Return a + factor b."""
    return Tangent(*(x + factor * y for x, y in zip(a, b, strict=True)))


def project(at: Point, ZV: Array, ZtU: Array) -> Tangent:
    """Return the tangent vector closest to a matrix Z, of which Z V and Z'U are all it takes."""
    M = at.U.T @ ZV
    return Tangent(M, ZV - at.U @ M, ZtU - at.V @ M.T)


def embed(at: Point, vector: Tangent) -> tuple[Array, Array]:
    """Return L (F, 2K) and R (N, 2K) with L R' the matrix that a tangent vector is."""
    left = np.hstack([at.U @ vector.M + vector.Up, at.U])
    return left, np.hstack([at.V, vector.Vp])


def transport(before: Point, vector: Tangent, to: Point) -> Tangent:
    """Return the projection of a tangent vector at one point to the tangents at another."""
    left, right = embed(before, vector)
    return project(to, left @ (right.T @ to.V), right @ (left.T @ to.U))


def retract(at: Point, vector: Tangent, step: float) -> Point:
    """Return the matrix of the manifold's rank that is closest to the point plus step vector.

    The sum has twice the rank, and a core of that size: [U Up] C [V Vp]'. The QR factors are
    those of the whole blocks, since a Up without full rank would leave its own undetermined.
    """
    K = at.s.size
    left, upper = np.linalg.qr(np.hstack([at.U, vector.Up]))
    right, lower = np.linalg.qr(np.hstack([at.V, vector.Vp]))
    eye = step * np.eye(K)
    core = np.block([[np.diag(at.s) + step * vector.M, eye], [eye, np.zeros((K, K))]])
    P, s, Qt = np.linalg.svd(upper @ core @ lower.T)
    return Point(left @ P[:, :K], s[:K], right @ Qt[:K].T)
