"""Decide which p-values are alarms, with a bound on the share of false ones."""

import numpy as np

from thalweg._typing import Array, Mask

__all__ = ["benjamini_hochberg"]


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
