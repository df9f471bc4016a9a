"""Decide which p-values are alarms, with a bound on the share of false ones."""

import numpy as np

from thalweg._typing import Array, Mask

__all__ = ["benjamini_hochberg", "combined"]

# Smallest p-value in a sum of logarithms: the logarithm of 0 is infinite.
_SMALLEST_P = 1e-300


def benjamini_hochberg(p_values: Array, fdr: float = 0.05) -> Mask:
    """Select p-values such that at most a share ``fdr`` of them is expected to be false.

    The procedure of Benjamini and Hochberg (1995): of m p-values in each row, those up to the
    largest ``p_(i) <= fdr i / m``. NaN is no p-value.

    Parameters
    ----------
    p_values : array of shape (..., m)
        p-values; each row is a family of its own.
    fdr : float
        False discovery rate.

    Returns
    -------
    boolean array of the same shape
        The discoveries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.noise.false_discoveries import benjamini_hochberg
    >>> benjamini_hochberg(np.array([0.001, 0.02, 0.5, 0.8, np.nan]))
    array([ True,  True, False, False, False])
    """
    known = ~np.isnan(p_values)
    ordered = np.sort(np.where(known, p_values, np.inf), axis=-1)
    number = np.maximum(np.count_nonzero(known, axis=-1, keepdims=True), 1)
    passes = ordered <= fdr * np.arange(1, p_values.shape[-1] + 1) / number
    threshold = np.where(passes, ordered, -np.inf).max(axis=-1, keepdims=True, initial=-np.inf)
    found: Mask = known & (p_values <= threshold)
    return found


def combined(p_values: Array) -> tuple[Array, Array]:
    """Combine the p-values of each row into one, with the contributions of its entries.

    Without any deviation, the sum of ``-log p`` over m entries has a gamma law of shape m (Fisher),
    and the least p is below x with the probability ``1 - (1 - x)^m`` (Tippett). The first finds
    many small deviations, the second a single large one; twice the smaller of the two probabilities
    is returned, at most 1.

    Parameters
    ----------
    p_values : array of shape (n, m)
        p-values; NaN is none.

    Returns
    -------
    p_values : array of shape (n,)
        The combined p-values; NaN for rows without any.
    contributions : array of shape (n, m)
        ``-log p``, 0 for NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.noise.false_discoveries import combined
    >>> combined(np.array([[1e-6, 0.5, 0.5], [0.4, np.nan, 0.6]]))[0].round(6)
    array([6.e-06, 1.e+00])
    """
    known = ~np.isnan(p_values)
    parts: Array = -np.log(np.where(known, np.maximum(p_values, _SMALLEST_P), 1.0))
    number = np.count_nonzero(known, axis=1)
    m = np.maximum(number, 1)
    from scipy.special import gammaincc  # the command line imports this module, not SciPy

    fisher, least = gammaincc(m, parts.sum(axis=1)), np.exp(-parts.max(axis=1))
    with np.errstate(divide="ignore"):  # the log of 0, if the least p-value is 1
        tippett = -np.expm1(m * np.log1p(-least))
    both = np.minimum(2.0 * np.minimum(fisher, tippett), 1.0)
    return np.where(number > 0, both, np.nan), parts
