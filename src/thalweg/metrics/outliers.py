"""Scores of detected outliers: their positions and their values."""

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thalweg.errors import InputError
from thalweg.metrics._checks import numbers, require_shape

__all__ = ["OutlierScores", "outlier_error", "outlier_scores"]


class OutlierScores(NamedTuple):
    """Precision, recall and F-measure of detected outliers.

    Attributes
    ----------
    precision : float
        Share of the detected outliers that are true.
    recall : float
        Share of the true outliers that were detected.
    f1 : float
        The F-measure: the harmonic mean of precision and recall.

    Examples
    --------
    >>> from thalweg.metrics import outlier_scores
    >>> outlier_scores([True, True, False], [True, False, False]).recall
    0.5
    """

    precision: float
    recall: float
    f1: float


def outlier_scores(truth_mask: ArrayLike, found_mask: ArrayLike) -> OutlierScores:
    """Return precision, recall and F-measure of detected outliers, or of foreground pixels.

    Masks have any shape. To leave gaps out, index both: ``truth[observed], found[observed]``. A
    ratio with denominator 0 is 1: the recall without true outliers, and the precision without
    detected ones.

    Parameters
    ----------
    truth_mask, found_mask : boolean arrays of one shape
        True at the true outliers, and at the detected ones.

    Examples
    --------
    >>> from thalweg.metrics import outlier_scores
    >>> outlier_scores([[True, True], [False, False]], [[True, False], [True, False]])
    OutlierScores(precision=0.5, recall=0.5, f1=0.5)
    """
    truth, found = np.asarray(truth_mask), np.asarray(found_mask)
    for name, mask in (("truth_mask", truth), ("found_mask", found)):
        if mask.dtype != np.bool_:
            raise InputError(
                f"{name} must be boolean, got dtype {mask.dtype}. "
                "Compare with a threshold first, as in abs(outliers) > 0.1."
            )
    require_shape("found_mask", found, truth.shape, "truth_mask")
    hits = int(np.count_nonzero(truth & found))
    n_found, n_true = int(np.count_nonzero(found)), int(np.count_nonzero(truth))
    return OutlierScores(
        _share(hits, n_found), _share(hits, n_true), _share(2 * hits, n_found + n_true)
    )


def outlier_error(truth: ArrayLike, found: ArrayLike) -> float:
    """Return the relative error of estimated outliers, |s - s^| / |s|, RE in [T] V-A2.

    The norm is over all entries; pass one row of each for the error of one sample. The error is 0
    if all outliers have their true values, and 1 if all estimates are 0. If all true outliers are
    0, it is 0 if all estimates are 0, and inf otherwise.

    Parameters
    ----------
    truth, found : arrays of one shape
        The outliers s and their estimates s^, 0 where there is no outlier. Entries that are NaN in
        either array are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.metrics import outlier_error
    >>> outlier_error([[4.0, 0.0, 3.0]], [[4.0, 1.0, 3.0]])
    0.2
    >>> outlier_error([[4.0, 0.0, 3.0]], [[2.0, np.nan, np.nan]])
    0.5
    """
    s, estimate = numbers("truth", truth), numbers("found", found)
    require_shape("found", estimate, s.shape, "truth")
    if np.isinf(s).any() or np.isinf(estimate).any():
        raise InputError(
            "truth and found must be finite, got inf among their entries. "
            "Use NaN for entries to leave out."
        )
    error = s - estimate
    counted = ~np.isnan(error)
    if not counted.any():
        raise InputError(
            "truth and found must have an entry that is a number in both, got none. "
            "Check for arrays that are empty or NaN throughout."
        )
    s, error = s[counted], error[counted]
    largest = np.abs(s).max()  # the unit: squares neither overflow nor underflow
    if largest == 0:
        return inf if error.any() else 0.0
    return float(np.linalg.norm(error / largest) / np.linalg.norm(s / largest))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
