"""The convex problem that every encoder solves, and a certificate of how well."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thalweg._typing import Array, Indices, Mask
from thalweg.encoders.columns import times
from thalweg.prox import Prox
from thalweg.prox.moreau import moreau

__all__ = ["Point", "RobustProblem"]


class Point(NamedTuple):
    """The problem at some codes H, the best outliers put in.

    Attributes
    ----------
    loss : array of shape (B,)
        Objective.
    Z : array of shape (F, B)
        V - W H.
    E : array of shape (F, B)
        V - W H - R, zero at gaps; -W'E is the gradient of the smooth part in H.

    It follows that the outliers are R = Z - E, and that over gaps V - R is W H.
    """

    loss: Array
    Z: Array
    E: Array


@dataclass(frozen=True, eq=False)
class RobustProblem:
    """min over H of env_g(V - W H) + omega(H): the outliers are in the envelope of g."""

    V: Array
    W: Array
    observed: Mask | None
    outliers: Prox
    penalty: Prox

    def at(self, H: Array) -> Point:
        """Evaluate at the codes H."""
        Z = times(self.W, H)
        np.subtract(self.V, Z, out=Z)
        values, E = moreau(self.outliers, Z if self.observed is None else Z * self.observed)
        return Point(values + self._cost(H), Z, E)

    def take(self, columns: Indices | slice) -> "RobustProblem":
        """Return the problem of some of the samples."""
        observed = None if self.observed is None else self.observed.T[columns].T
        return RobustProblem(self.V.T[columns].T, self.W, observed, self.outliers, self.penalty)

    def gap(self, point: Point) -> Array:
        """Return loss minus a lower bound of the optimum, by Fenchel duality.

        For every y that vanishes at gaps, <v, y> - |y|^2/2 - g*(y) - omega*(W'y) is a lower
        bound. The gradient E is such a y at the optimum; elsewhere it is first moved to where
        both conjugates are finite. That needs W >= 0; else there is no bound.
        """
        if self.W.min(initial=0.0) < 0.0:
            return np.full(point.loss.shape, np.inf)
        y = self._admissible(point.E)
        bound = (
            np.einsum("fb,fb->b", self.V, y)
            - 0.5 * np.einsum("fb,fb->b", y, y)
            - self.outliers.conjugate(y)
            - self._dual_cost(times(self.W.T, y))
        )
        gap: Array = point.loss - bound
        return gap

    def certain(self, point: Point, tol: float) -> Mask:
        """Tell where the gap is at most ``tol`` of the loss, up to rounding."""
        energy = 0.5 * np.einsum("fb,fb->b", self.V, self.V)
        rounding = 100.0 * np.finfo(self.V.dtype).eps * energy
        certain: Mask = self.gap(point) <= tol * point.loss + rounding
        return certain

    def _cost(self, H: Array) -> Array:
        """Return omega(H), cheaply where it is linear and quadratic, since codes are feasible."""
        coefficients = getattr(self.penalty, "coefficients", None)
        if coefficients is None:
            return self.penalty.value(H)
        l1, l2 = coefficients
        cost = np.zeros(H.shape[1], dtype=H.dtype)
        if l1:
            cost += l1 * H.sum(axis=0)
        if l2:
            cost += 0.5 * l2 * np.einsum("kb,kb->b", H, H)
        return cost

    def _dual_cost(self, s: Array) -> Array:
        """Return omega*(s); where omega is linear, s was shifted to where that is zero."""
        coefficients = getattr(self.penalty, "coefficients", None)
        if coefficients is None:
            return self.penalty.conjugate(s)
        l1, l2 = coefficients
        if l2 == 0.0:
            return np.zeros(s.shape[1], dtype=s.dtype)
        excess = np.maximum(s - l1, 0.0)
        cost: Array = np.einsum("kb,kb->b", excess, excess) / (2.0 * l2)
        return cost

    def _admissible(self, y: Array) -> Array:
        coefficients = getattr(self.penalty, "coefficients", None)
        if coefficients is not None and coefficients[1] == 0.0:
            y = y - self._excess(y, coefficients[0])
        s = times(self.W.T, y)
        low = np.zeros(y.shape[1], dtype=y.dtype)
        high = np.ones(y.shape[1], dtype=y.dtype)
        fits = self._finite(y, s)
        low[fits] = 1.0
        for _ in range(0 if fits.all() else 40):
            middle = (low + high) / 2
            fits = self._finite(middle * y, middle * s)
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return low * y

    def _finite(self, y: Array, s: Array) -> Mask:
        finite: Mask = np.isfinite(self.outliers.conjugate(y) + self._dual_cost(s))
        return finite

    def _excess(self, y: Array, limit: float) -> Array:
        """Return the shift, on observed entries, after which W'y <= limit; it needs W >= 0."""
        over = times(self.W.T, y) - limit
        if self.observed is None:
            weight = np.broadcast_to(self.W.sum(axis=0)[:, None], over.shape)
        else:
            weight = times(self.W.T, self.observed.astype(y.dtype))
        ratio = np.divide(over, weight, out=np.zeros_like(over), where=(over > 0) & (weight > 0))
        shift = ratio.max(axis=0, initial=0.0)
        where = np.ones(y.shape, dtype=np.bool_) if self.observed is None else self.observed
        shifts: Array = where * shift
        return shifts
