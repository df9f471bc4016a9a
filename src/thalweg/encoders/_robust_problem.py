"""The convex problem of encoders with outliers, and its duality gap."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thalweg._typing import Array, Indices, Mask, Observed
from thalweg.encoders import Codes
from thalweg.encoders.columns import times
from thalweg.encoders.entry_weights import mask_of, scales_of
from thalweg.prox import Prox
from thalweg.prox.moreau import moreau

__all__ = ["Point", "RobustProblem", "in_data_units", "standardised"]

# Bisections for the largest feasible multiple of a dual point: an accuracy of 2^-40 = 1e-12.
_BISECTIONS = 40
# Rounding error of a duality gap, in machine epsilons of |v|^2 / 2. A sum of F products has an
# error of about sqrt(F) epsilons.
_GAP_ROUNDING = 100.0


class Point(NamedTuple):
    """The objective at codes H, minimised over the outliers.

    Attributes
    ----------
    loss : array of shape (B,)
        Objective.
    Z : array of shape (F, B)
        Residual V - W H.
    E : array of shape (F, B)
        Residual V - W H - R without outliers, 0 at missing entries; -W'E is the gradient of the
        smooth part in H.

    The outliers are R = Z - E, so V - R equals W H at missing entries. With scales, Z and E are in
    units of the standard deviation of each entry.
    """

    loss: Array
    Z: Array
    E: Array


@dataclass(frozen=True, eq=False)
class RobustProblem:
    """The problem min_H env_g(V - W H) + omega(H), with env_g the Moreau envelope of g.

    With ``scales`` s, the square roots of weights, it is min_H env_g(V - s W H) + omega(H): V is
    in units of the standard deviation of each entry, and so are outliers and thresholds.
    """

    V: Array
    W: Array
    observed: Mask | None
    outliers: Prox
    penalty: Prox
    scales: Array | None = None

    def at(self, H: Array) -> Point:
        """Evaluate at the codes H."""
        Z = times(self.W, H)
        if self.scales is not None:
            Z *= self.scales
        np.subtract(self.V, Z, out=Z)
        values, E = moreau(self.outliers, Z if self.observed is None else Z * self.observed)
        return Point(values + self._cost(H), Z, E)

    def take(self, columns: Indices | slice) -> "RobustProblem":
        """Return the problem of the selected samples."""
        observed = None if self.observed is None else self.observed.T[columns].T
        scales = None if self.scales is None else self.scales.T[columns].T
        V = self.V.T[columns].T
        return RobustProblem(V, self.W, observed, self.outliers, self.penalty, scales)

    def in_codes(self, E: Array) -> Array:
        """Return W'E, or W'(s E) with scales s."""
        return times(self.W.T, E if self.scales is None else E * self.scales)

    def gap(self, point: Point) -> Array:
        """Return the duality gap: the loss minus a lower bound of the optimum.

        For every y that is 0 at missing entries, <v, y> - |y|^2/2 - g*(y) - omega*(W'y) is a
        lower bound (Fenchel duality). It is attained at the optimal E; otherwise E is first made
        feasible for both conjugates. That requires W >= 0; otherwise the gap is infinite.
        """
        if self.W.min(initial=0.0) < 0.0:
            return np.full(point.loss.shape, np.inf)
        y = self._admissible(point.E)
        bound = (
            np.einsum("fb,fb->b", self.V, y)
            - 0.5 * np.einsum("fb,fb->b", y, y)
            - self.outliers.conjugate(y)
            - self._dual_cost(self.in_codes(y))
        )
        gap: Array = point.loss - bound
        return gap

    def certain(self, point: Point, tol: float) -> Mask:
        """Return where the gap is at most ``tol`` times the loss, up to rounding errors."""
        energy = 0.5 * np.einsum("fb,fb->b", self.V, self.V)
        rounding = _GAP_ROUNDING * np.finfo(self.V.dtype).eps * energy
        certain: Mask = self.gap(point) <= tol * point.loss + rounding
        return certain

    def _cost(self, H: Array) -> Array:
        """Return omega(H) for feasible codes."""
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
        """Return omega*(s); for linear omega s is feasible, so the value is 0."""
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
        """Return y moved into the domains of both conjugates, by a shift or by bisection."""
        coefficients = getattr(self.penalty, "coefficients", None)
        if coefficients is not None and coefficients[1] == 0.0:
            y = y - self._excess(y, coefficients[0])
        s = self.in_codes(y)
        low = np.zeros(y.shape[1], dtype=y.dtype)
        high = np.ones(y.shape[1], dtype=y.dtype)
        fits = self._finite(y, s)
        low[fits] = 1.0
        for _ in range(0 if fits.all() else _BISECTIONS):
            middle = (low + high) / 2
            fits = self._finite(middle * y, middle * s)
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return low * y

    def _finite(self, y: Array, s: Array) -> Mask:
        finite: Mask = np.isfinite(self.outliers.conjugate(y) + self._dual_cost(s))
        return finite

    def _excess(self, y: Array, limit: float) -> Array:
        """Return the shift of the observed entries after which W'y <= limit, for W >= 0."""
        over = self.in_codes(y) - limit
        if self.observed is None and self.scales is None:
            weight = np.broadcast_to(self.W.sum(axis=0)[:, None], over.shape)
        else:
            every = np.ones(y.shape, y.dtype) if self.observed is None else self.observed
            weight = self.in_codes(every.astype(y.dtype, copy=False))
        ratio = np.divide(over, weight, out=np.zeros_like(over), where=(over > 0) & (weight > 0))
        shift = ratio.max(axis=0, initial=0.0)
        where = np.ones(y.shape, dtype=np.bool_) if self.observed is None else self.observed
        shifts: Array = where * shift
        return shifts


def standardised(
    V: Array, W: Array, observed: Observed | None, outliers: Prox, penalty: Prox
) -> RobustProblem:
    """Return the problem of some samples, in standard deviations if their entries have weights."""
    scales = None if observed is None else scales_of(observed)
    if scales is None:
        return RobustProblem(V, W, observed, outliers, penalty)
    scales = scales.astype(V.dtype, copy=False)
    return RobustProblem(V * scales, W, mask_of(observed), outliers, penalty, scales)


def in_data_units(codes: Codes, V: Array, W: Array, scales: Array | None) -> Codes:
    """Return codes with outliers in the units of the data, V - W H at missing entries."""
    if scales is None:
        return codes
    R = np.asfortranarray(V - times(W, codes.H))
    np.divide(codes.R, scales, out=R, where=scales > 0.0)
    return codes._replace(R=R)
