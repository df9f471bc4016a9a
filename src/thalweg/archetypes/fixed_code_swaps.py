"""Local search: entries of the archetypes that change places with zeros, [A] 4.3."""

import numpy as np

from thalweg import _kernels
from thalweg._typing import Array

__all__ = ["swap_entries"]


def swap_entries(Q: Array, P: Array, H: Array, free: int, least: float) -> tuple[Array, int]:
    """Lower tr(H'QH) - 2 <P, H> by moving nonzeros to better places; H >= 0 is kept.

    An entry h of slope g that leaves costs q h^2 - 2 h g, q its diagonal entry of Q; one that
    enters at its best value -g/q gains g^2/q ([A] (34)). These numbers are exact for all entries
    at once, and add up over columns. So each column offers its cheapest entry to leave and its
    best one to enter ([A] (35) and (36) offer one of each in all), and they are paired, best with
    cheapest, while a pair gains more than ``least``. Where a column does both, what enters gains
    even more, since nothing in Q is negative. ``free`` entries may enter without any leaving.

    Two entries of one column depend on each other by Q, so that the cheapest to leave and the best
    to enter need not be the best pair. All pairs are looked at in every column that is left, and
    the best one changes places.

    Parameters
    ----------
    Q : array of shape (k, k)
        W'W + weight I.
    P : array of shape (k, n)
        W'X + weight T X.
    H : array of shape (k, n)
        The archetypes; not modified.
    free : int
        How many nonzeros may be added.
    least : float
        What a pair has to gain at least.

    Returns
    -------
    H : array of shape (k, n)
        The archetypes after the swaps.
    count : int
        How many entries entered.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes.fixed_code_swaps import swap_entries
    >>> H, count = swap_entries(np.eye(1), np.array([[1.0, 3.0]]), np.array([[1.0, 0.0]]), 0, 0.0)
    >>> H, count
    (array([[0., 3.]]), 1)
    """
    slopes, n = Q @ H - P, H.shape[1]
    out, into = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
    cost, gain = np.empty(n), np.empty(n)
    _kernels.offer_entries(np.diag(Q).copy(), slopes, H, out, cost, into, gain)
    best, cheapest = np.argsort(-gain, kind="stable"), np.argsort(cost, kind="stable")
    pairs = len(best) - min(free, len(best))
    worth = gain[best[len(best) - pairs :]] - cost[cheapest[:pairs]] > least
    leave = cheapest[: int(np.count_nonzero(worth))]
    enter = best[: min(free, len(best)) + len(leave)]
    enter = enter[gain[enter] > least]
    moved = H.copy()
    moved[out[leave], leave] = 0.0
    rows = into[enter]
    # Of the entries of an entering column one may just have gone; its share of the slope too.
    gone = Q[rows, out[enter]] * (H[out[enter], enter] - moved[out[enter], enter])
    moved[rows, enter] = (gone - slopes[rows, enter]) / np.diag(Q)[rows]
    busy = np.zeros(n, dtype=np.bool_)
    busy[leave] = busy[enter] = True
    exchanged = _kernels.exchange_entries(Q, slopes, moved, busy, least)
    return moved, len(enter) + exchanged
