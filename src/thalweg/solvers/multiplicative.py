"""The minimum of a separable majoriser with two powers."""

import numpy as np

from thalweg._typing import Array

__all__ = ["rescale"]

# Newton's method on a convex increasing function of log r; each step at least squares the error.
_STEPS = 12


def rescale(
    neg: Array, pos: Array, growth: tuple[float, float], l1: float = 0.0, l2: Array | float = 0.0
) -> Array:
    """Return the factors r >= 0 with pos r^up - neg r^-down + l1 r^up + l2 r = 0.

    That is where a majoriser of Fevotte and Idier's kind is least: ``x r`` is the new point when
    the old one is ``x``. The l1 weight grows with r^up, since a tangent power of r lies above
    the line; the slope ``l2`` is that of a squared penalty, its weight times ``x``. Without the
    latter the factor is a power of a ratio: the multiplicative update.

    Parameters
    ----------
    neg, pos : array
        The two parts of the gradient, both nonnegative; ``pos - neg`` is the gradient.
    growth : tuple of float
        The exponents (up, down).
    l1 : float
        Weight of the sum of the unknowns.
    l2 : array or float
        Weight of half their squares, times the old point.

    Returns
    -------
    array
        The factors; 1 where both parts vanish.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.solvers.multiplicative import rescale
    >>> rescale(np.array([4.0]), np.array([1.0]), (0.0, 2.0))
    array([2.])
    """
    up, down = growth
    neg, pos = np.broadcast_arrays(neg, pos)
    pos = pos + pos.dtype.type(l1) if l1 else pos
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        heavy = pos + l2 if np.any(l2) else pos
        ratio = np.where((heavy == 0.0) & (neg == 0.0), neg.dtype.type(1), neg / heavy)
    # Beyond the largest number the majoriser has no minimum worth the name.
    ratio = np.minimum(ratio, np.finfo(neg.dtype).max)
    r: Array = ratio if up + down == 1.0 else ratio ** (1.0 / (up + down))
    if heavy is pos:
        return r
    return _refine(r, neg, pos, l2, up, down)


def _refine(r: Array, neg: Array, pos: Array, l2: Array | float, up: float, down: float) -> Array:
    """Solve log(pos r^up + l2 r) + down log r = log(neg), convex in log r, from both sides."""
    known = (neg > 0.0) & (r > 0.0)
    x = np.log(r, out=np.zeros_like(r), where=known)
    log_neg = np.log(neg, out=np.zeros_like(neg), where=known)
    for _ in range(_STEPS):
        linear, quadratic = pos * np.exp(up * x), l2 * np.exp(x)
        total = linear + quadratic
        rise = (up * linear + quadratic) / np.where(total > 0.0, total, 1) + down
        rise = np.where(rise > 0.0, rise, 1)  # neither part has anything
        excess = np.log(total, out=np.zeros_like(total), where=known) + down * x - log_neg
        x = x - np.where(known, excess / rise, 0)
    return np.where(known, np.exp(x), 0).astype(r.dtype, copy=False)
