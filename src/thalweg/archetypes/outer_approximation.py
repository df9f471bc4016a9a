"""Sparse points near the convex hull by outer approximation: Algorithm 2 of [A].

The problem (22), min |H - T X|^2 over T in the simplex and sparse H >= 0, is the limit of (17) for
a large weight. Its minimum F(Y) for a given support Y is convex in Y, so subgradients of F give
cuts that exclude supports that are not better (Proposition 4).
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
from thalweg.archetypes.support_value import SupportFunction

__all__ = ["OuterApproximation", "OuterResult", "relative_gap"]

# Differences below this share of the largest |x|^2 are rounding errors.
_ROUNDING = 1e-12


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

    Entries are bounded by the largest ones of the columns of X, since H equals T X on its support:
    these bounds are tighter than that of |H| in Proposition 3.

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
        F = SupportFunction(rows, self.k, self.anchors, self.share, self.gap)
        supports = self._first(rows, nonzeros) if start is None else [(start > 0).astype(float)]
        best, lower, rounds = _visit(F, supports, master, None), 0.0, 0
        while relative_gap(best.value, lower, size) > self.gap and monotonic() < deadline:
            found = master.solve(deadline - monotonic())
            if found is None:
                break
            lower, rounds = max(lower, found[1]), rounds + 1
            if relative_gap(best.value, lower, size) > self.gap:
                best = _visit(F, [found[0]], master, best)
        lower = min(lower, best.value)  # it may be larger by rounding errors
        gap = relative_gap(best.value, lower, size)
        return OuterResult(_state(rows, best.Y, best.T), best.value, lower, gap, rounds)

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


class _Best(NamedTuple):
    """The best support so far, its value and weights, and the latest weights."""

    value: float
    Y: Array
    T: Array
    last: Array


def _visit(F: SupportFunction, supports: list[Array], master: Master, best: _Best | None) -> _Best:
    """Evaluate F at supports, add their cuts to the master, and return the best so far."""
    for Y in supports:
        value = F.value(Y, None if best is None else best.last)
        master.cut(Y, value)
        found = _Best(float(value.upper.sum()), Y, value.T, value.T)
        if best is None or found.value < best.value:
            best = found
        best = best._replace(last=value.T)
    assert best is not None
    return best


def _state(rows: DataMatrix, Y: Array, T: Array) -> State:
    H = np.minimum(rows.mixed(T), rows.top * Y)
    return from_archetypes(rows, H)._replace(T=T)
