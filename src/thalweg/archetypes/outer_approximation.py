"""Sparse points near the convex hull by outer approximation: Algorithm 2 of [A].

The problem (22), min |H - T X|^2 over T in the simplex and sparse H >= 0, is the limit of (17) for
a large weight. For a given support Y it becomes

    F(Y) = min_T sum ((T X - u Y)_+)^2

with upper bounds u of the entries, since the optimal H is min(T X, u Y). F is convex, so its
subgradients give cuts that exclude supports that are not better (Proposition 4).
"""

from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple

import numpy as np

from thalweg._typing import Array, Indices
from thalweg.archetypes.block_descent import nearest_sparse
from thalweg.archetypes.data_matrix import DataMatrix
from thalweg.archetypes.initialisation import from_archetypes
from thalweg.archetypes.master_problem import Master
from thalweg.archetypes.objective import State
from thalweg.prox.simplex import Simplex
from thalweg.solvers.simplex import simplex_least_squares

__all__ = ["OuterApproximation", "OuterResult", "SupportValue", "largest_norm", "relative_gap"]

# Maximum number of steps on T for a support, and steps between two computations of the gap. After
# fewer steps a cut is weaker, but valid.
_MAX_STEPS, _GAP_INTERVAL = 100, 10
# The steps stop at this share of the relative gap of the outer iteration.
_INNER_GAP_SHARE = 0.1
# Differences below this share of the largest |x|^2 are rounding errors.
_ROUNDING = 1e-12


class SupportValue(NamedTuple):
    """Bounds and a subgradient of F at a support, for each row.

    Attributes
    ----------
    upper, lower : arrays of shape (k,)
        Upper and lower bounds of F.
    slope : array of shape (k, n)
        Subgradient: F(Y) >= lower + <slope, Y - Y0> for every Y.
    T : array of shape (k, m)
        The weights of the upper bound.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.outer_approximation import OuterApproximation
    >>> value = OuterApproximation(1).value(DataMatrix.of(np.eye(2)), np.array([[1.0, 0.0]]))
    >>> bool(value.lower.sum() <= value.upper.sum() < 1e-6)
    True
    """

    upper: Array
    lower: Array
    slope: Array
    T: Array


class OuterResult(NamedTuple):
    """The result of the outer approximation.

    Attributes
    ----------
    state : State
        The best point, with optimal codes.
    upper, lower : float
        Objective of (22) at the point, and a lower bound of its minimum.
    gap : float
        OG of [A] 4.2.1, (upper - lower) / upper; 0 if both are equal up to rounding errors.
    rounds : int
        Number of master problems solved.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.outer_approximation import OuterApproximation
    >>> X = np.array([[1.0, 0.2, 0.0], [0.1, 0.0, 1.0], [0.5, 0.5, 0.5]])
    >>> found = OuterApproximation(2).run(DataMatrix.of(X), 3)
    >>> round(found.upper, 4), found.gap < 1e-3
    (0.01, True)
    """

    state: State
    upper: float
    lower: float
    gap: float
    rounds: int


def largest_norm(rows: DataMatrix, k: int) -> float:
    """Return the upper bound sqrt(b) of |H| of Proposition 3.

    :class:`OuterApproximation` uses tighter bounds, the largest entries of the columns of X, since
    H equals T X on its support.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.outer_approximation import largest_norm
    >>> largest_norm(DataMatrix.of(np.eye(2)), 4)
    6.0
    """
    norms = np.sqrt(rows.squares)
    return float(np.sqrt(k) * (norms.max() + np.sqrt(k) * norms.min()))


def relative_gap(upper: float, lower: float, size: float) -> float:
    """Return OG of [A] 4.2.1, (upper - lower) / upper, or 0 if they agree up to rounding errors.

    Rounding errors are relative to ``size``, the largest |x|^2 of the data.

    Examples
    --------
    >>> from thalweg.archetypes.outer_approximation import relative_gap
    >>> relative_gap(4.0, 3.0, 1.0), relative_gap(1e-20, 0.0, 1.0)
    (0.25, 0.0)
    """
    return 0.0 if upper - lower <= _ROUNDING * size else (upper - lower) / upper


@dataclass(frozen=True, eq=False)
class OuterApproximation:
    """Minimise (22), optionally near given samples.

    F is the sum of the same function over the k rows, so the minimum may consist of k equal
    archetypes, a poor initial state for (17). With ``anchors``, row i of T has at least ``share``
    of its weight on anchor i, which gives k different problems and k different archetypes.

    Parameters
    ----------
    k : int
        Number of archetypes.
    anchors : array of shape (k,), optional
        Indices of the anchor samples.
    share : float
        Smallest weight of the anchors.
    seconds : float
        Time limit; at the limit the best support so far is returned.
    gap : float
        Relative gap at which to stop.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.outer_approximation import OuterApproximation
    >>> found = OuterApproximation(2, anchors=np.array([0, 1])).run(DataMatrix.of(np.eye(3)), 2)
    >>> found.state.H
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """

    k: int
    anchors: Indices | None = None
    share: float = 0.5
    seconds: float = 60.0
    gap: float = 1e-3

    def run(self, rows: DataMatrix, nonzeros: int, start: Array | None = None) -> OuterResult:
        """Alternate between evaluations of F at a support and the master problem."""
        deadline = monotonic() + self.seconds
        size = float(rows.squares.max(initial=0.0))
        # The unit of the cuts: a power of 2 near the mean square of an entry.
        unit = 2.0 ** round(np.log2(size / rows.shape[1])) if size > 0.0 else 1.0
        alike = self.anchors is None
        master = Master(self.k, rows.shape[1], nonzeros, alike=alike, unit=unit)
        supports = self._first(rows, nonzeros) if start is None else [(start > 0).astype(float)]
        best, lower, rounds = self._visit(rows, supports, master, None), 0.0, 0
        while relative_gap(best.value, lower, size) > self.gap and monotonic() < deadline:
            found = master.solve(deadline - monotonic())
            if found is None:
                break
            lower, rounds = max(lower, found[1]), rounds + 1
            if relative_gap(best.value, lower, size) > self.gap:
                best = self._visit(rows, [found[0]], master, best)
        lower = min(lower, best.value)  # it may be larger by rounding errors
        gap = relative_gap(best.value, lower, size)
        return OuterResult(self._state(rows, best.Y, best.T), best.value, lower, gap, rounds)

    def _visit(
        self, rows: DataMatrix, supports: list[Array], master: Master, best: "_Best | None"
    ) -> "_Best":
        """Evaluate F at supports, add their cuts to the master, and return the best so far."""
        for Y in supports:
            value = self.value(rows, Y, None if best is None else best.last)
            master.cut(Y, value)
            found = _Best(float(value.upper.sum()), Y, value.T, value.T)
            if best is None or found.value < best.value:
                best = found
            best = best._replace(last=value.T)
        assert best is not None
        return best

    def value(self, rows: DataMatrix, Y: Array, T: Array | None = None) -> SupportValue:
        """Return bounds and a subgradient of F at Y; exact for a binary Y and few samples.

        The sum phi(T, Y) above is jointly convex, so its tangent plane at any T is a lower bound.
        The minimum of the plane over T is phi minus the gap <slope, T> - min slope. A cut is
        therefore valid for any T.
        """
        bounds = self._bounds(rows)[None] * Y
        whole = rows.gram is not None and bool(np.all((Y == 0.0) | (Y == 1.0)))
        V = self._solved(rows, Y, T) if whole else self._descended(rows, bounds, T)
        upper, gaps, excess = self._certified(rows, bounds, V)
        lower = np.maximum(upper - gaps, 0.0)
        return SupportValue(upper, lower, -2.0 * self._bounds(rows) * excess, self._weights(V))

    def _solved(self, rows: DataMatrix, Y: Array, T: Array | None) -> Array:
        """Minimise |T X|^2 outside the support: (25) for a binary Y."""
        # Without initial weights the active set starts from a vertex, and T becomes sparse.
        start = None if T is None else self._shares(rows, T)
        solution = np.empty((self.k, rows.shape[0]))
        for i, chosen in enumerate(Y):
            outside = rows.columns(np.flatnonzero(chosen == 0.0).tolist())
            gram = outside @ outside.T
            target = np.zeros((1, len(gram)))
            if self.anchors is not None:
                target[0] = -self.share * (1.0 - self.share) * gram[self.anchors[i]]
            gram *= (1.0 - self._kept) ** 2
            begin = None if start is None else start[i : i + 1]
            solution[i], _ = simplex_least_squares(gram, target, begin)
        return solution

    def _descended(self, rows: DataMatrix, bounds: Array, T: Array | None) -> Array:
        """Take accelerated projected gradient steps until the gap is small."""
        V = self._shares(rows, T)
        curve = 2.0 * (1.0 - self._kept) ** 2 * self._norm(rows) ** 2
        ahead, t = V, 1.0
        for step in range(1, _MAX_STEPS + 1):
            moved = Simplex().prox((ahead - self._slope(rows, ahead, bounds)[0] / curve).T).T
            if np.vdot(ahead - moved, moved - V) > 0:  # restart if the momentum is an ascent
                t = 1.0
            t_next = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
            ahead, V, t = moved + (t - 1.0) / t_next * (moved - V), moved, t_next
            if step % _GAP_INTERVAL == 0:
                upper, gaps, _ = self._certified(rows, bounds, V)
                if gaps.sum() <= _INNER_GAP_SHARE * self.gap * upper.sum():
                    break
        return V

    def _certified(self, rows: DataMatrix, bounds: Array, V: Array) -> tuple[Array, Array, Array]:
        """Return phi of each row, an upper bound of its suboptimality, and the excess."""
        slope, excess = self._slope(rows, V, bounds)
        gaps = np.einsum("ij,ij->i", slope, V) - slope.min(axis=1)
        return np.sum(excess**2, axis=1), gaps, excess

    @property
    def _kept(self) -> float:
        return 0.0 if self.anchors is None else self.share

    def _slope(self, rows: DataMatrix, V: Array, bounds: Array) -> tuple[Array, Array]:
        """Return the gradient in V, and the excess of T X over its bounds."""
        excess = np.maximum(rows.mixed(self._weights(V)) - bounds, 0.0)
        return 2.0 * (1.0 - self._kept) * rows.correlated(excess), excess

    def _weights(self, V: Array) -> Array:
        """Return T from its free part V and the weights of the anchors."""
        if self.anchors is None:
            return V
        T = (1.0 - self.share) * V
        T[np.arange(self.k), self.anchors] += self.share
        return T

    def _shares(self, rows: DataMatrix, T: Array | None) -> Array:
        if T is None:
            return np.full((self.k, rows.shape[0]), 1.0 / rows.shape[0])
        if self.anchors is None:
            return T
        V = T.copy()
        V[np.arange(self.k), self.anchors] -= self.share
        free: Array = np.maximum(V, 0.0) / (1.0 - self.share)
        return free

    def _first(self, rows: DataMatrix, nonzeros: int) -> list[Array]:
        """Return initial supports: those of the anchors, or of the mean and of one sample.

        The sample has the smallest loss when it is truncated to its share of the nonzeros.
        """
        m, n = rows.shape
        if self.anchors is not None:
            firsts = [rows.take(self.anchors)]
        else:
            kept = min(max(nonzeros // self.k, 1), n)
            parts = [np.partition(block**2, n - kept, axis=1) for _, block in rows.blocks()]
            least = np.argmin(np.concatenate([part[:, : n - kept].sum(axis=1) for part in parts]))
            one = [rows.mixed(np.full((1, m), 1.0 / m)), rows.take([int(least)])]
            firsts = [np.tile(row, (self.k, 1)) for row in one]
        return [(nearest_sparse(H, nonzeros) > 0).astype(float) for H in firsts]

    def _state(self, rows: DataMatrix, Y: Array, T: Array) -> State:
        H = np.minimum(rows.mixed(T), self._bounds(rows) * Y)
        return from_archetypes(rows, H)._replace(T=T)

    def _bounds(self, rows: DataMatrix) -> Array:
        top = np.zeros(rows.shape[1])
        for _, block in rows.blocks():
            np.maximum(top, block.max(axis=0), out=top)
        return top

    def _norm(self, rows: DataMatrix) -> float:
        if rows.gram is not None:
            return float(np.sqrt(max(np.linalg.eigvalsh(rows.gram)[-1], np.finfo(float).tiny)))
        return float(np.sqrt(rows.squares.sum()))


class _Best(NamedTuple):
    """The best support so far, its value and weights, and the latest weights."""

    value: float
    Y: Array
    T: Array
    last: Array
