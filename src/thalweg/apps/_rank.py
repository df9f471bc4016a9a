"""Choose the number of components by cross-validation on hidden entries."""

from typing import Any
from warnings import catch_warnings, filterwarnings

import numpy as np

from thalweg._typing import Array

__all__ = ["choose_rank"]

# Size of the sample, which bounds the time: entries, and minimum and maximum number of rows.
_SAMPLE_ENTRIES, _SAMPLE_ROWS = 2**15, (200, 1000)
_HIDDEN_FRACTION = 0.1  # of the observed entries
_RANKS = (1, 2, 3, 4, 6, 8, 12, 16)  # candidates
# A larger rank must reduce the error to this fraction: among equal ranks the smallest is chosen.
_REQUIRED_GAIN = 0.95
_PATIENCE = 2  # candidates without improvement that end the search


def choose_rank(Z: Array, seed: int) -> int:
    """Choose the rank with the smallest median error on hidden entries.

    The median is robust to hidden entries that are outliers.

    Parameters
    ----------
    Z : array of shape (n_samples, n_features)
        Rows with columns of scale 1; NaN marks gaps.
    seed : int
        Seed for the choice of rows and hidden entries.
    """
    from thalweg.estimators import RobustMatrixCompletion

    rng = np.random.default_rng(seed)
    n = int(np.clip(_SAMPLE_ENTRIES // Z.shape[1], *_SAMPLE_ROWS))
    Z = Z[rng.permutation(len(Z))[:n]]
    hidden = (rng.random(Z.shape) < _HIDDEN_FRACTION) & ~np.isnan(Z)
    observed = np.where(hidden, np.nan, Z)
    ranks = [k for k in _RANKS if 2 * k <= min(Z.shape)]
    if len(ranks) < 2 or not hidden.any():
        return 1
    best, best_error, n_worse = 1, np.inf, 0
    for rank in ranks:
        model = RobustMatrixCompletion(rank, random_state=seed, n_jobs=-1)
        with catch_warnings():
            # Errors can be compared before the fits converge.
            filterwarnings("ignore", message=".* stopped after max_iter")
            error = _error(model.complete(observed), Z, hidden)
        if error < _REQUIRED_GAIN * best_error:
            best, best_error, n_worse = rank, error, 0
        else:
            n_worse += 1
        if n_worse == _PATIENCE:
            break
    return best


def _error(filled: Array, Z: Array, hidden: Any) -> float:
    return float(np.median(np.abs(filled - Z)[hidden]))
