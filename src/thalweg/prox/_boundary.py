"""Projections onto {u >= 0 : l1 sum(u) + l2/2 sum(u^2) <= 1} and onto its boundary (= 1).

The simplex and the l1 ball are the case l2 = 0; the elastic-net ball is the general case.
"""

from math import frexp, hypot, ldexp, sqrt
from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.prox._norms import column_squares


def cost(x: Array, l1: float, l2: float) -> Any:
    """Return l1 sum(x) + l2/2 sum(x^2) of each column in double precision."""
    with np.errstate(over="ignore"):
        linear = l1 * np.sum(x, axis=0, dtype=np.float64)
        # The condition avoids 0 * inf = NaN after an overflow.
        return linear + l2 / 2 * column_squares(x) if l2 else linear


def lone_entry(l1: float, l2: float) -> float:
    """Return the t with l1 t + l2/2 t^2 = 1, the largest entry that the set allows."""
    return 2 / (l1 + hypot(l1, sqrt(2 * l2)))


def in_units(l1: float, l2: float) -> tuple[float, float, float]:
    """Return a unit of about the size of the set, and the weights for vectors in this unit.

    Both rescaled weights are at most 2, so that their squares do not overflow. The unit is a power
    of two, so that the rescaling does not round.
    """
    unit = ldexp(1.0, frexp(lone_entry(l1, l2))[1] - 1)
    return unit, float(l1) * unit, float(l2) * unit * unit


def project_into(x: Array, l1: float, l2: float) -> Array:
    """Return argmin_u |u - x| subject to u >= 0, cost(u) <= 1."""
    u = np.maximum(x, 0.0)
    columns = u[:, None] if u.ndim == 1 else u
    outside = cost(columns, l1, l2) > 1
    columns[:, outside] = project_onto(columns[:, outside], l1, l2)
    return u


def project_onto(x: Array, l1: float, l2: float, offset: float = 1.0) -> Array:
    """Return argmin_u |u - x| subject to u >= 0, cost(u) = 1, in double precision.

    By the KKT conditions u = max(x - mu l1, 0) / (1 + mu l2). With t the largest entry of u
    instead of mu as the unknown, each entry is max(a t - b, 0), where a and b depend on the
    entry of x only, and the cost of k active entries is 1 when

        l1 t + l2/2 t^2 = (1 + l1/2 sum b (1 + a)) / sum a^2.

    No cancellation occurs, whatever the size of x; t and b are in units of the set. The entries
    of ``x`` must be >= 0 unless l2 = 0. With ``offset=0`` the result is the limit for s x with
    s -> inf, which is the point of the set farthest in the direction x.
    """
    if x.size == 0:
        return x.astype(np.float64)
    unit, l1, l2 = in_units(l1, l2)
    wide = x.astype(np.float64)
    top = wide.max(axis=0)
    # An entry whose b overflows is far from active; inf and NaN exclude it as well.
    with np.errstate(over="ignore", invalid="ignore"):
        a, b = _lines(wide, top, l1, l2, offset * unit)
        u: Array = a * _largest_entry(wide, top, l1, l2, offset * unit)
    u -= b
    np.maximum(u, 0.0, out=u)
    # The rounding error of t counts once per active entry: rescale u onto the boundary.
    linear = l1 * u.sum(axis=0)
    u *= 2 * unit / (linear + np.sqrt(linear**2 + 2 * l2 * column_squares(u)))
    return u


def _lines(x: Array, top: Any, l1: float, l2: float, offset: float) -> tuple[Array, Array]:
    span = offset * l1 + l2 * top
    return (offset * l1 + l2 * x) / span, l1 * ((top - x) / span)


def _largest_entry(x: Array, top: Any, l1: float, l2: float, offset: float) -> Any:
    a, b = _lines(-np.sort(-x, axis=0), top, l1, l2, offset)
    price = (1 + l1 / 2 * np.cumsum(b * (1 + a), axis=0)) / np.cumsum(a * a, axis=0)
    t = 2 * price / (l1 + np.sqrt(l1**2 + 2 * l2 * price))
    # Inactive entries would have a negative cost: too many entries raise t, and so do too few.
    return np.fmin.reduce(t, axis=0)
