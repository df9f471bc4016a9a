"""Sparse points of the data's hull by outer approximation: Algorithm 2 of [A].

The problem (22), min |H - T X|^2 over T in the simplex and H >= 0 with few nonzeros, is what
(17) becomes for a large weight. For a given support Y only T is left:

    F(Y) = min_T sum ((T X - u Y)_+)^2

with upper bounds u, since the best H is the smaller of T X and u Y. F is convex, so that its
subgradients cut off all supports that cannot be better (Proposition 4).
"""

from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple

import numpy as np

from thalweg._typing import Array, Indices, Mask
from thalweg.archetypes.descent import nearest_sparse
from thalweg.archetypes.master import Master
from thalweg.archetypes.problem import State
from thalweg.archetypes.rows import Rows
from thalweg.archetypes.starts import around
from thalweg.prox.simplex import Simplex

__all__ = ["Found", "OuterApproximation", "SupportValue", "largest_norm"]

# Steps on T for one support, at most: a cut is valid, if weaker, after any number of them.
_STEPS = 100


class SupportValue(NamedTuple):
    """F at a support, row by row.

    Attributes
    ----------
    upper, lower : arrays of shape (k,)
        F is between these: a point, and what its slope proves.
    slope : array of shape (k, n)
        For every Y, F(Y) >= lower + <slope, Y - Y0>.
    T : array of shape (k, m)
        The weights at which this was found.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Rows
    >>> from thalweg.archetypes.outer import OuterApproximation
    >>> value = OuterApproximation(1).value(Rows.of(np.eye(2)), np.array([[1.0, 0.0]]))
    >>> bool(value.lower.sum() <= value.upper.sum() < 1e-6)
    True
    """

    upper: Array
    lower: Array
    slope: Array
    T: Array


class Found(NamedTuple):
    """What the outer approximation came to.

    Attributes
    ----------
    state : State
        The best point, with codes that fit.
    upper, lower : float
        The objective of (22) there, and a bound on its minimum.
    gap : float
        (upper - lower) / upper.
    rounds : int
        How many masters were solved.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Rows
    >>> from thalweg.archetypes.outer import OuterApproximation
    >>> X = np.array([[1.0, 0.2, 0.0], [0.1, 0.0, 1.0], [0.5, 0.5, 0.5]])
    >>> found = OuterApproximation(2).run(Rows.of(X), 3)
    >>> round(found.upper, 4), found.gap < 1e-3
    (0.01, True)
    """

    state: State
    upper: float
    lower: float
    gap: float
    rounds: int


def largest_norm(rows: Rows, k: int) -> float:
    """Return the bound sqrt(b) of Proposition 3 on |H|.

    It holds, and is of little use: the bounds here are the largest entries of the columns of X,
    since on its support H is T X.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Rows
    >>> from thalweg.archetypes.outer import largest_norm
    >>> largest_norm(Rows.of(np.eye(2)), 4)
    6.0
    """
    norms = np.sqrt(rows.squares)
    return float(np.sqrt(k) * (norms.max() + np.sqrt(k) * norms.min()))


@dataclass(frozen=True, eq=False)
class OuterApproximation:
    """Minimises (22), or that around given samples.

    F is the sum of one and the same function over the k rows: whatever one row finds to be best
    is best for all of them, and the minimum may well be one archetype k times. So (22) alone
    makes a poor start. With ``anchors`` row i of T has at least ``share`` of its weight on
    sample i of these: k different problems, and k different archetypes.

    Parameters
    ----------
    k : int
        Number of archetypes.
    anchors : array of shape (k,), optional
        Samples to stay with.
    share : float
        How much of the weight they keep.
    seconds : float
        Cap on the time; the best support so far is returned.
    gap : float
        Relative gap at which to end.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Rows
    >>> from thalweg.archetypes.outer import OuterApproximation
    >>> found = OuterApproximation(2, anchors=np.array([0, 1])).run(Rows.of(np.eye(3)), 2)
    >>> found.state.H
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """

    k: int
    anchors: Indices | None = None
    share: float = 0.5
    seconds: float = 60.0
    gap: float = 1e-3

    def run(self, rows: Rows, nonzeros: int, start: Array | None = None) -> Found:
        """Alternate between F at a support and the best support by all cuts so far."""
        deadline = monotonic() + self.seconds
        master = Master(self.k, rows.shape[1], nonzeros, alike=self.anchors is None)
        Y = self._first(rows, nonzeros) if start is None else (start > 0).astype(float)
        best, T, lower, rounds = None, None, 0.0, 0
        while True:
            value = self.value(rows, Y, T)
            T = value.T
            if best is None or value.upper.sum() < best[0]:
                best = float(value.upper.sum()), Y, T
            master.cut(Y, value)
            left = deadline - monotonic()
            if best[0] - lower <= self.gap * best[0] + 1e-12 * rows.squares.max() or left <= 0:
                break
            found = master.solve(left)
            if found is None:
                break
            Y, lower, rounds = found[0], max(lower, found[1]), rounds + 1
            if best[0] - lower <= self.gap * best[0]:
                break
        upper, Y, T = best
        gap = (upper - lower) / upper if upper > 0 else 0.0
        return Found(self._state(rows, Y, T), upper, lower, max(gap, 0.0), rounds)

    def value(self, rows: Rows, Y: Array, T: Array | None = None) -> SupportValue:
        """Return F at Y, by accelerated projected gradient steps on T, with a certificate.

        With phi(T, Y) the sum above, jointly convex, the tangent plane at any T lies below it;
        its minimum over T is phi minus the gap <slope, T> - min slope. So a cut is valid
        however far from the best T it was made.
        """
        X, bounds = rows, self._bounds(rows)[None] * Y
        V = self._shares(rows, T)
        curve = 2.0 * (1.0 - self._kept) ** 2 * self._norm(X) ** 2
        ahead, t = V, 1.0
        for step in range(_STEPS):
            moved = Simplex().prox((ahead - self._slope(X, ahead, bounds)[0] / curve).T).T
            if np.vdot(ahead - moved, moved - V) > 0:  # the momentum points uphill: start again
                t = 1.0
            t_next = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
            ahead, V, t = moved + (t - 1.0) / t_next * (moved - V), moved, t_next
            if step % 10 == 9 or step == _STEPS - 1:
                slope, excess = self._slope(X, V, bounds)
                upper = np.sum(excess**2, axis=1)
                gaps = np.einsum("ij,ij->i", slope, V) - slope.min(axis=1)
                if gaps.sum() <= 0.1 * self.gap * upper.sum():
                    break
        lower = np.maximum(upper - gaps, 0.0)
        return SupportValue(upper, lower, -2.0 * self._bounds(rows) * excess, self._weights(V))

    @property
    def _kept(self) -> float:
        return 0.0 if self.anchors is None else self.share

    def _slope(self, rows: Rows, V: Array, bounds: Array) -> tuple[Array, Array]:
        """Return the gradient in V, and by how much T X exceeds its bounds."""
        excess = np.maximum(rows.mixed(self._weights(V)) - bounds, 0.0)
        return 2.0 * (1.0 - self._kept) * rows.correlated(excess), excess

    def _weights(self, V: Array) -> Array:
        """Return T: the weights that are free, and those of the anchors."""
        if self.anchors is None:
            return V
        T = (1.0 - self.share) * V
        T[np.arange(self.k), self.anchors] += self.share
        return T

    def _shares(self, rows: Rows, T: Array | None) -> Array:
        if T is None:
            return np.full((self.k, rows.shape[0]), 1.0 / rows.shape[0])
        if self.anchors is None:
            return T
        V = T.copy()
        V[np.arange(self.k), self.anchors] -= self.share
        free: Array = np.maximum(V, 0.0) / (1.0 - self.share)
        return free

    def _first(self, rows: Rows, nonzeros: int) -> Array:
        if self.anchors is None:
            H = np.tile(rows.mixed(np.full((1, rows.shape[0]), 1.0 / rows.shape[0])), (self.k, 1))
        else:
            H = rows.take(self.anchors)
        first: Mask = nearest_sparse(H, nonzeros) > 0
        return first.astype(float)

    def _state(self, rows: Rows, Y: Array, T: Array) -> State:
        H = np.minimum(rows.mixed(T), self._bounds(rows) * Y)
        return around(rows, H)._replace(T=T)

    def _bounds(self, rows: Rows) -> Array:
        top = np.zeros(rows.shape[1])
        for _, block in rows.blocks():
            np.maximum(top, block.max(axis=0), out=top)
        return top

    def _norm(self, rows: Rows) -> float:
        if rows.gram is not None:
            return float(np.sqrt(max(np.linalg.eigvalsh(rows.gram)[-1], np.finfo(float).tiny)))
        return float(np.sqrt(rows.squares.sum()))
