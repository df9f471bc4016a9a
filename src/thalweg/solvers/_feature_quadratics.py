"""Coordinate descent over the columns of a dictionary whose rows have quadratics of their own."""

from math import inf

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.prox import EntrywiseBox, Prox
from thalweg.prox.box import Box

__all__ = ["sweep_features", "weighted_projection"]

# Newton steps on the multiplier of a constraint. Safety margin: about ten are usual, since the
# function is convex and decreasing.
_MAX_STEPS = 100
# Features with less than this share of the largest curvature keep their entry of the column.
_NO_CURVATURE = 1e-12


def sweep_features(
    A: Array, linear: Array, rows: Array, g: Prox, free: Mask
) -> tuple[float, float]:
    """Lower sum_f (w_f' A_f w_f / 2 - b_f' w_f) + sum_k g(w^k), one column w^k after the other.

    Return the quadratic before the sweep, and by how much it decreases. Each column is minimised
    exactly for sets of bounded sums or squares and for boxes; for other g, by a proximal step.

    Parameters
    ----------
    A : array of shape (F, K, K)
        Matrices of the features.
    linear : array of shape (K, F)
        Linear terms b.
    rows : array of shape (K, F)
        The columns of the dictionary, changed in place.
    g : Prox
        Function of each column.
    free : boolean array of shape (K,)
        Columns that change.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.orthant import Orthant
    >>> from thalweg.solvers._feature_quadratics import sweep_features
    >>> A, rows = np.array([[[2.0]], [[4.0]]]), np.zeros((1, 2))
    >>> sweep_features(A, np.array([[4.0, 4.0]]), rows, Orthant(), np.array([True]))
    (0.0, 6.0)
    >>> rows
    array([[2., 1.]])
    """
    slope = linear - np.einsum("fkl,lf->kf", A, rows)  # the negative gradient
    value = 0.0 - 0.5 * float(np.vdot(rows, slope) + np.vdot(rows, linear))
    decrease = 0.0
    for k in np.flatnonzero(free):
        bend = A[:, k, k]
        if not bend.max(initial=0.0) >= np.finfo(A.dtype).tiny:
            continue
        step = _minimised(rows[k], slope[k], bend, g) - rows[k]
        decrease += float(np.vdot(step, slope[k]) - 0.5 * np.vdot(step, bend * step))
        slope -= (A[:, k] * step[:, None]).T
        rows[k] += step
    return value, decrease


def _minimised(w: Array, slope: Array, bend: Array, g: Prox) -> Array:
    """Return the argmin of sum_f bend_f (u_f - w_f)^2 / 2 - slope_f (u_f - w_f) + g(u)."""
    largest = bend.max()
    curved = bend > _NO_CURVATURE * largest
    shift = np.divide(slope, bend, out=np.zeros_like(slope), where=curved)
    if hasattr(g, "border") or hasattr(g, "l2_radius"):
        return weighted_projection(w + shift, np.maximum(bend, _NO_CURVATURE * largest), g)
    if isinstance(g, (Box, EntrywiseBox)):
        return g.prox(w + shift)
    return g.prox(w + slope / largest, 1.0 / float(largest))


def weighted_projection(target: Array, bend: Array, g: Prox) -> Array:
    """Return the argmin of sum_f bend_f (u_f - target_f)^2 / 2 over a set with a ``border``.

    The set is {u >= 0 : a sum(u) + b |u|^2 / 2 <= 1}, with equality for a simplex, or the orthant.
    The solution is max(0, (bend target - m a) / (bend + m b)) with a multiplier m, which Newton's
    method finds from below: the left side of the constraint is convex and decreasing in m.

    Parameters
    ----------
    target, bend : arrays of shape (F,)
        The free minimum, and the positive curvature of each entry.
    g : Prox
        The set.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l1_ball import L1Ball
    >>> from thalweg.solvers._feature_quadratics import weighted_projection
    >>> weighted_projection(np.array([1.0, 1.0]), np.array([1.0, 3.0]), L1Ball())
    array([0.25, 0.75])
    """
    if getattr(g, "l2_radius", None) == inf:
        return np.maximum(target, 0.0)
    a, b, full = g.border  # type: ignore[attr-defined]
    wide, bends = np.asarray(target, np.float64), np.asarray(bend, np.float64)
    m = 0.0
    if full:  # with this multiplier, the largest entry alone fills the set
        k = int(np.argmax(wide))
        m = min(0.0, float(bends[k] * (wide[k] - 1.0 / a) / a))
    for _ in range(_MAX_STEPS):
        u = np.maximum(0.0, (bends * wide - m * a) / (bends + m * b))
        excess = a * u.sum() + 0.5 * b * (u @ u) - 1.0
        if excess <= np.finfo(np.float64).eps:
            break
        outward = a + b * u[u > 0.0]
        m += float(excess / np.sum(outward**2 / (bends[u > 0.0] + m * b)))
    found: Array = u.astype(target.dtype)
    return found
