"""The minimum of (22) of [A] for a given support, with bounds and a subgradient.

For a given support Y the problem (22), min |H - T X|^2 over T in the simplex and sparse H >= 0,
becomes

    F(Y) = min_T sum ((T X - u Y)_+)^2

with upper bounds u of the entries, since the optimal H is min(T X, u Y). F is convex, so its
subgradients give cuts that exclude supports that are not better (Proposition 4).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from thalweg._typing import Array, Indices
from thalweg.archetypes.data_matrix import DataMatrix
from thalweg.prox.simplex import Simplex
from thalweg.solvers.simplex import simplex_least_squares

__all__ = ["SupportFunction", "SupportValue"]

# Maximum number of steps on T for a support, and steps between two computations of the gap. After
# fewer steps a cut is weaker, but valid.
_MAX_STEPS, _GAP_INTERVAL = 100, 10
# The steps stop at this share of the relative gap of the outer iteration.
_INNER_GAP_SHARE = 0.1


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
    >>> from thalweg.archetypes.support_value import SupportFunction
    >>> value = SupportFunction(DataMatrix.of(np.eye(2)), 1).value(np.array([[1.0, 0.0]]))
    >>> bool(value.lower.sum() <= value.upper.sum() < 1e-6)
    True
    """

    upper: Array
    lower: Array
    slope: Array
    T: Array


@dataclass(frozen=True, eq=False)
class SupportFunction:
    """The function F of the support, for given data.

    Parameters
    ----------
    rows : DataMatrix
        The data.
    k : int
        Number of archetypes.
    anchors : array of shape (k,), optional
        Indices of samples; row i of T has at least ``share`` of its weight on anchor i.
    share : float
        Smallest weight of the anchors.
    gap : float
        Relative gap of the outer iteration, to a tenth of which F is computed.

    Examples
    --------
    The archetype must be the only sample, of which the support leaves out an entry of 0.5:

    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.support_value import SupportFunction
    >>> F = SupportFunction(DataMatrix.of(np.array([[1.0, 0.5]])), 1)
    >>> F.value(np.array([[1.0, 0.0]])).upper
    array([0.25])
    """

    rows: DataMatrix
    k: int
    anchors: Indices | None = None
    share: float = 0.5
    gap: float = 1e-3

    def value(self, Y: Array, T: Array | None = None) -> SupportValue:
        """Return bounds and a subgradient of F at Y; exact for a binary Y and few samples.

        The sum phi(T, Y) above is jointly convex, so its tangent plane at any T is a lower bound.
        The minimum of the plane over T is phi minus the gap <slope, T> - min slope. A cut is
        therefore valid for any T.
        """
        bounds = self.rows.top * Y
        whole = self.rows.gram is not None and bool(np.all((Y == 0.0) | (Y == 1.0)))
        V = self._solved(Y, T) if whole else self._descended(bounds, T)
        upper, gaps, excess = self._certified(bounds, V)
        lower = np.maximum(upper - gaps, 0.0)
        return SupportValue(upper, lower, -2.0 * self.rows.top * excess, self._weights(V))

    def _solved(self, Y: Array, T: Array | None) -> Array:
        """Minimise |T X|^2 outside the support: (25) for a binary Y."""
        # Without initial weights the active set starts from a vertex, and T becomes sparse.
        start = None if T is None else self._shares(T)
        solution = np.empty((self.k, self.rows.shape[0]))
        for i, chosen in enumerate(Y):
            outside = self.rows.columns(np.flatnonzero(chosen == 0.0).tolist())
            gram = outside @ outside.T
            target = np.zeros((1, len(gram)))
            if self.anchors is not None:
                target[0] = -self.share * (1.0 - self.share) * gram[self.anchors[i]]
            gram *= (1.0 - self._kept) ** 2
            begin = None if start is None else start[i : i + 1]
            solution[i], _ = simplex_least_squares(gram, target, begin)
        return solution

    def _descended(self, bounds: Array, T: Array | None) -> Array:
        """Take accelerated projected gradient steps until the gap is small."""
        V = self._shares(T)
        curve = 2.0 * (1.0 - self._kept) ** 2 * self._norm**2
        ahead, t = V, 1.0
        for step in range(1, _MAX_STEPS + 1):
            moved = Simplex().prox((ahead - self._slope(ahead, bounds)[0] / curve).T).T
            if np.vdot(ahead - moved, moved - V) > 0:  # restart if the momentum is an ascent
                t = 1.0
            t_next = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
            ahead, V, t = moved + (t - 1.0) / t_next * (moved - V), moved, t_next
            if step % _GAP_INTERVAL == 0:
                upper, gaps, _ = self._certified(bounds, V)
                if gaps.sum() <= _INNER_GAP_SHARE * self.gap * upper.sum():
                    break
        return V

    def _certified(self, bounds: Array, V: Array) -> tuple[Array, Array, Array]:
        """Return phi of each row, an upper bound of its suboptimality, and the excess."""
        slope, excess = self._slope(V, bounds)
        gaps = np.einsum("ij,ij->i", slope, V) - slope.min(axis=1)
        return np.sum(excess**2, axis=1), gaps, excess

    @property
    def _kept(self) -> float:
        return 0.0 if self.anchors is None else self.share

    def _slope(self, V: Array, bounds: Array) -> tuple[Array, Array]:
        """Return the gradient in V, and the excess of T X over its bounds."""
        excess = np.maximum(self.rows.mixed(self._weights(V)) - bounds, 0.0)
        return 2.0 * (1.0 - self._kept) * self.rows.correlated(excess), excess

    def _weights(self, V: Array) -> Array:
        """Return T from its free part V and the weights of the anchors."""
        if self.anchors is None:
            return V
        T = (1.0 - self.share) * V
        T[np.arange(self.k), self.anchors] += self.share
        return T

    def _shares(self, T: Array | None) -> Array:
        if T is None:
            return np.full((self.k, self.rows.shape[0]), 1.0 / self.rows.shape[0])
        if self.anchors is None:
            return T
        V = T.copy()
        V[np.arange(self.k), self.anchors] -= self.share
        free: Array = np.maximum(V, 0.0) / (1.0 - self.share)
        return free

    @cached_property
    def _norm(self) -> float:
        """An upper bound of the spectral norm of X."""
        gram = self.rows.gram
        if gram is None:
            return float(np.sqrt(self.rows.squares.sum()))
        return float(np.sqrt(max(np.linalg.eigvalsh(gram)[-1], np.finfo(float).tiny)))
