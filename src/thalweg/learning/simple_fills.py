"""Errors of the simple fills that others are compared with: column means and lines."""

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.dynamics.calibration import Calibration
from thalweg.dynamics.gaps import gap_lengths, interpolated

__all__ = ["simple_errors"]


def simple_errors(
    X: Array, hidden: Mask, scale: Array, calibration: Calibration
) -> dict[str, Array]:
    """Return the errors of simple fills of hidden entries, in each class of a calibration.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The table; NaN marks missing entries.
    hidden : boolean array of shape (n_samples, n_features)
        Hidden entries.
    scale : array of shape (n_features,)
        Standard deviations of the columns, the units of the errors.
    calibration : Calibration
        Classes of lengths of gaps.

    Returns
    -------
    dict of str to array
        Root mean square errors of the column mean and of linear interpolation.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.calibration import calibrate
    >>> from thalweg.dynamics.scores import Scores
    >>> from thalweg.learning.simple_fills import simple_errors
    >>> X, hidden = np.arange(9.0)[:, None], np.zeros((9, 1), bool)
    >>> hidden[3] = True
    >>> scores = Scores.of(X, X + 1.0, hidden.astype(int), hidden)
    >>> classes = calibrate(scores, np.ones(1))
    >>> simple_errors(X, hidden, np.ones(1), classes)["interpolation"]
    array([0.])
    """
    gaps = np.where(hidden, np.nan, X)
    lengths = gap_lengths(np.isnan(gaps))[hidden]
    classes = np.searchsorted(calibration.lengths, lengths, side="right") - 1
    means, lines = np.zeros(X.shape), interpolated(gaps)
    for f in np.flatnonzero((~np.isnan(gaps)).any(axis=0)):
        means[:, f] = gaps[~np.isnan(gaps[:, f]), f].mean()
    found = {}
    for name, filled in (("column mean", means), ("interpolation", lines)):
        squares = np.square((filled - X) / scale)[hidden]
        groups = [squares[classes == k] for k in range(len(calibration.lengths))]
        found[name] = np.sqrt([np.mean(group) if group.size else np.nan for group in groups])
    return found
