"""Candidate swaps, ranked by their change of the objective at fixed codes."""

from typing import NamedTuple

import numpy as np

from thalweg._typing import Array, Indices

__all__ = ["Swap", "candidates"]

Entry = tuple[int, int]

# Pairs within columns that are compared at a time (2 MB).
# speed only: results do not depend on it
_CHUNK_PAIRS = 2**18


class Swap(NamedTuple):
    """An entry that leaves the support of the archetypes, and one that enters it.

    Attributes
    ----------
    leaves : pair of int or None
        Row and column; None if the support may grow.
    enters : pair of int
        Row and column.

    Examples
    --------
    >>> from thalweg.archetypes.swap_candidates import Swap
    >>> Swap(leaves=None, enters=(0, 3)).enters
    (0, 3)
    """

    leaves: Entry | None
    enters: Entry

    def possible(self, H: Array, nonzeros: int) -> bool:
        """Return whether the swap is still possible for the archetypes H."""
        room = np.count_nonzero(H) < nonzeros if self.leaves is None else H[self.leaves] > 0.0
        return bool(room and H[self.enters] == 0.0)


def candidates(Q: Array, P: Array, H: Array, free: int, count: int) -> list[Swap]:
    """Return the ``count`` best swaps by their change of tr(H'QH) - 2 <P, H>, after that of [A].

    The first swap is that of [A] (35) and (36): the smallest nonzero leaves, and the zero with the
    smallest derivative enters. If the support may grow by ``free`` entries, none has to leave.
    Removing an entry h with derivative g and curvature q costs q h^2 - 2 h g; adding one gains
    g^2/q, counted as a loss if g > 0. Within a column, a removal changes the derivative of the
    entering entry.

    Parameters
    ----------
    Q : array of shape (k, k)
        W'W + weight I.
    P : array of shape (k, n)
        W'X + weight T X.
    H : array of shape (k, n)
        The archetypes.
    free : int
        Number of nonzeros that may be added.
    count : int
        Number of swaps besides the first.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes.swap_candidates import candidates
    >>> candidates(np.eye(1), np.array([[1.0, 3.0]]), np.array([[1.0, 0.0]]), 0, 1)
    [Swap(leaves=(0, 0), enters=(0, 1))]
    """
    slopes, curves = Q @ H - P, np.maximum(np.diag(Q), np.finfo(float).tiny)[:, None]
    gain = np.where(H > 0.0, -np.inf, _gain(slopes, curves))
    if np.all(H > 0.0):
        return []
    steepest = _entry(np.argmin(np.where(H > 0.0, np.inf, slopes)), H)
    if free > 0:
        best = _least(-gain.ravel(), count)
        return _once([Swap(None, steepest), *(Swap(None, _entry(i, H)) for i in best)])
    cost = np.where(H > 0.0, H * (curves * H - 2.0 * slopes), np.inf)
    smallest = _entry(np.argmin(np.where(H > 0.0, H, np.inf)), H)
    ranked = _across(cost, gain, count) + _within(Q, slopes, curves, H, cost, count)
    ranked.sort(key=lambda pair: pair[0])
    return _once([Swap(smallest, steepest), *(swap for _, swap in ranked[:count])])


def _across(cost: Array, gain: Array, count: int) -> list[tuple[float, Swap]]:
    """Return the best pairs of entries in different columns, with their changes."""
    out, into = _least(cost.ravel(), count), _least(-gain.ravel(), count)
    change = cost.flat[out][:, None] - gain.flat[into]
    apart = out[:, None] % cost.shape[1] != into % cost.shape[1]
    order = _least(np.where(apart, change, np.inf).ravel(), count)
    pairs = zip(change.flat[order], *np.unravel_index(order, change.shape), strict=True)
    return [(c, Swap(_entry(out[a], cost), _entry(into[b], cost))) for c, a, b in pairs]


def _within(
    Q: Array, slopes: Array, curves: Array, H: Array, cost: Array, count: int
) -> list[tuple[float, Swap]]:
    """Return the best pairs of entries in the same column, with their changes."""
    k, n = H.shape
    found = list[tuple[float, Swap]]()
    width = max(1, _CHUNK_PAIRS // k**2)
    for begin in range(0, n, width):
        part = slice(begin, begin + width)
        left = slopes[:, None, part] - Q.T[:, :, None] * H[None, :, part]  # (enters, leaves, n)
        change = cost[None, :, part] - _gain(left, curves[:, None])
        change = np.where(H[:, None, part] > 0.0, np.inf, change)
        order = _least(change.ravel(), count)
        pairs = zip(change.flat[order], *np.unravel_index(order, change.shape), strict=True)
        for c, b, a, j in pairs:
            found.append((c, Swap((int(a), begin + int(j)), (int(b), begin + int(j)))))
    return found


def _gain(slopes: Array, curves: Array) -> Array:
    gain: Array = -slopes * np.abs(slopes) / curves
    return gain


def _least(values: Array, count: int) -> Indices:
    """Return the indices of the smallest finite values, in ascending order of the values."""
    if count < len(values):
        places = np.sort(np.argpartition(values, count)[:count])
    else:
        places = np.arange(len(values))
    places = places[np.isfinite(values[places])]
    return places[np.argsort(values[places], kind="stable")]


def _entry(place: Indices | np.intp, H: Array) -> Entry:
    i, j = divmod(int(place), H.shape[1])
    return i, j


def _once(swaps: list[Swap]) -> list[Swap]:
    return list(dict.fromkeys(swaps))
