"""How many components a table has, told by entries that are hidden on purpose."""

from typing import Any

import numpy as np

from thalweg._typing import Array

__all__ = ["choose_rank"]

# Rows that are looked at, share of their entries that is hidden, and ranks that are tried.
_ROWS, _HIDDEN = 1000, 0.1
_RANKS = (1, 2, 3, 4, 6, 8, 12, 16)
# The median error of hidden entries, some of which are outliers, has to fall to this share for a
# larger rank: the smallest of equals is taken.
_GAIN = 0.95


def choose_rank(Z: Array, seed: int) -> int:
    """Return the rank at which hidden entries of some rows are best filled in.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Rows with columns of scale 1; NaN marks gaps.
    seed : int
        Seed of which entries are hidden.
    """
    from thalweg.estimators import RobustMatrixCompletion

    rng = np.random.default_rng(seed)
    Z = Z[rng.permutation(len(Z))[:_ROWS]]
    hidden = (rng.random(Z.shape) < _HIDDEN) & ~np.isnan(Z)
    known = np.where(hidden, np.nan, Z)
    ranks = [k for k in _RANKS if 2 * k <= min(Z.shape)]
    if len(ranks) < 2 or not hidden.any():
        return 1
    best, least = 1, np.inf
    for rank in ranks:
        model = RobustMatrixCompletion(rank, random_state=seed)
        error = _error(model.complete(known), Z, hidden)
        if error < _GAIN * least:
            best, least = rank, error
    return best


def _error(filled: Array, Z: Array, hidden: Any) -> float:
    return float(np.median(np.abs(filled - Z)[hidden]))
