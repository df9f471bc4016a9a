"""Local search with fixed codes: swap nonzeros of the archetypes with zeros, [A] 4.3."""

import numpy as np

from thalweg import _native
from thalweg._typing import Array

__all__ = ["swap_entries"]


def swap_entries(Q: Array, P: Array, H: Array, free: int, least: float) -> tuple[Array, int]:
    """Decrease tr(H'QH) - 2 <P, H> over H >= 0 by swapping nonzeros with zeros.

    Removing an entry h with derivative g increases the objective by q h^2 - 2 h g, where q is its
    diagonal entry of Q. Adding an entry at its optimal value -g/q decreases it by g^2/q ([A] (34)).
    These changes are exact and add up over columns. So each column proposes its best entry to
    remove and its best entry to add ([A] (35) and (36) propose one of each in all), and they are
    paired in order while a pair gains more than ``least``. If both are in one column, the gain is
    even larger, since Q is nonnegative. ``free`` entries may be added without a removal.

    Two entries of one column are coupled by Q, so the best removal and the best addition need not
    be the best pair. In each remaining column all pairs are compared, and the best one is swapped.

    Parameters
    ----------
    Q : array of shape (k, k)
        W'W + weight I.
    P : array of shape (k, n)
        W'X + weight T X.
    H : array of shape (k, n)
        The archetypes; not modified.
    free : int
        Number of nonzeros that may be added.
    least : float
        Smallest gain of a swap.

    Returns
    -------
    H : array of shape (k, n)
        The archetypes after the swaps.
    count : int
        Number of added entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes.fixed_code_swaps import swap_entries
    >>> H, count = swap_entries(np.eye(1), np.array([[1.0, 3.0]]), np.array([[1.0, 0.0]]), 0, 0.0)
    >>> H, count
    (array([[0., 3.]]), 1)
    """
    H, slopes, n = np.ascontiguousarray(H), np.ascontiguousarray(Q @ H - P), H.shape[1]
    out, into = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
    cost, gain = np.empty(n), np.empty(n)
    _native.propose_swaps(np.diag(Q).copy(), slopes, H, (out, cost, into, gain))
    best, cheapest = np.argsort(-gain, kind="stable"), np.argsort(cost, kind="stable")
    pairs = len(best) - min(free, len(best))
    worth = gain[best[len(best) - pairs :]] - cost[cheapest[:pairs]] > least
    leave = cheapest[: int(np.count_nonzero(worth))]
    enter = best[: min(free, len(best)) + len(leave)]
    enter = enter[gain[enter] > least]
    moved = H.copy()
    moved[out[leave], leave] = 0.0
    rows = into[enter]
    # If another entry of the same column was removed, its part of the slope is removed, too.
    gone = Q[rows, out[enter]] * (H[out[enter], enter] - moved[out[enter], enter])
    moved[rows, enter] = (gone - slopes[rows, enter]) / np.diag(Q)[rows]
    busy = np.zeros(n, dtype=np.bool_)
    busy[leave] = busy[enter] = True
    exchanged = _native.swap_best_pairs(np.ascontiguousarray(Q), slopes, moved, busy, least)
    return moved, len(enter) + exchanged
