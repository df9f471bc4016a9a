"""How well outliers were found: their places, and their sizes."""

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thalweg.errors import InputError
from thalweg.metrics._checks import numbers, require_shape

__all__ = ["OutlierScores", "outlier_error", "outlier_scores"]


class OutlierScores(NamedTuple):
    """How well the places of outliers were found.

    Attributes
    ----------
    precision : float
        Share of what was found that is true.
    recall : float
        Share of what is true that was found.
    f1 : float
        Their harmonic mean, the F-measure.

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
    """Compare the places of outliers, or the pixels of moving objects, with the true ones.

    Masks have any shape. To leave gaps out, index both: ``truth[seen], found[seen]``. Where
    there is nothing to find, or nothing was found, no share of it is wrong and it is 1.

    Parameters
    ----------
    truth_mask, found_mask : boolean arrays of one shape
        Where outliers are, and where they were found.

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
                f"{name} should be boolean, but numbers of type {mask.dtype} came. "
                "Compare first, as in abs(outliers) > 0.1."
            )
    require_shape("found_mask", found, truth.shape, "truth_mask")
    hits = int(np.count_nonzero(truth & found))
    n_found, n_true = int(np.count_nonzero(found)), int(np.count_nonzero(truth))
    return OutlierScores(
        _share(hits, n_found), _share(hits, n_true), _share(2 * hits, n_found + n_true)
    )


def outlier_error(truth: ArrayLike, found: ArrayLike) -> float:
    """Return the relative error of outliers, |s - s^| / |s|, RE in [T] V-A2.

    The norm is over all entries; give one row of each for the error of one sample. 0 when all
    outliers have their true size, 1 when all were missed. Where there is no true outlier, it is
    0 if none was found, and inf otherwise.

    Parameters
    ----------
    truth, found : arrays of one shape
        Outliers s, and what was found for them; zero where there is none. Entries that are NaN
        in either are left out, such as those at gaps.

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
            "truth and found should be finite, but there is inf among them. "
            "Put NaN where an entry is not to be counted."
        )
    error = s - estimate
    counted = ~np.isnan(error)
    if not counted.any():
        raise InputError(
            "truth and found should have an entry that is a number in both, but they have "
            "none. Look for rows that are empty or NaN throughout."
        )
    s, error = s[counted], error[counted]
    largest = np.abs(s).max()  # as unit, so that no square overflows or vanishes
    if largest == 0:
        return inf if error.any() else 0.0
    return float(np.linalg.norm(error / largest) / np.linalg.norm(s / largest))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
