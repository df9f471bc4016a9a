"""Multiplicative updates: minimise a separable majoriser with two powers."""

import numpy as np

from thalweg._typing import Array

__all__ = ["rescale"]

# Newton steps on a convex increasing function of log r; the convergence is quadratic.
# Safety margin: 6 or more give the same factors to rounding, for coefficients of 1e-8 to 1e8.
_STEPS = 12


def rescale(
    neg: Array, pos: Array, growth: tuple[float, float], l1: float = 0.0, l2: Array | float = 0.0
) -> Array:
    """Return the factors r >= 0 with pos r^up - neg r^-down + l1 r^up + l2 r = 0.

    The update ``x * r`` minimises a majoriser of the type of Fevotte and Idier at ``x``. The linear
    l1 penalty is majorised by a power too, which gives the term ``l1 * r^up``. The squared penalty
    is kept as it is. Without it, r is the power of a ratio of the classical multiplicative update.

    Parameters
    ----------
    neg, pos : array
        Nonnegative arrays with gradient ``pos - neg``.
    growth : tuple of float
        The exponents (up, down).
    l1 : float
        Weight of the l1 penalty, sum(x).
    l2 : array or float
        Weight of the squared penalty, |x|^2 / 2, times the current ``x``.

    Returns
    -------
    array
        The factors; 1 where both parts are 0.

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
        denominator = pos + l2 if np.any(l2) else pos
        ratio = np.where((denominator == 0.0) & (neg == 0.0), neg.dtype.type(1), neg / denominator)
    # Keep the ratio finite where the denominator is 0 or subnormal.
    ratio = np.minimum(ratio, np.finfo(neg.dtype).max)
    r: Array = ratio if up + down == 1.0 else ratio ** (1.0 / (up + down))
    if denominator is pos:
        return r
    return _refine(r, neg, pos, l2, up, down)


def _refine(r: Array, neg: Array, pos: Array, l2: Array | float, up: float, down: float) -> Array:
    """Solve log(pos r^up + l2 r) + down log r = log(neg), convex in log r, by Newton's method."""
    positive = (neg > 0.0) & (r > 0.0)
    x = np.log(r, out=np.zeros_like(r), where=positive)
    log_neg = np.log(neg, out=np.zeros_like(neg), where=positive)
    for _ in range(_STEPS):
        linear, quadratic = pos * np.exp(up * x), l2 * np.exp(x)
        total = linear + quadratic
        derivative = (up * linear + quadratic) / np.where(total > 0.0, total, 1) + down
        derivative = np.where(derivative > 0.0, derivative, 1)  # both terms are 0
        excess = np.log(total, out=np.zeros_like(total), where=positive) + down * x - log_neg
        x = x - np.where(positive, excess / derivative, 0)
    return np.where(positive, np.exp(x), 0).astype(r.dtype, copy=False)
