"""Losses and scores of what was found, beside what was there.

Rows are samples. NaN means missing: such an entry is left out of every sum.
"""

from math import inf, log10
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thalweg._typing import Array, Mask
from thalweg.encoders.fast import Fast
from thalweg.errors import InputError, ParameterError, ThalwegError
from thalweg.prox.l1 import L1

__all__ = [
    "OutlierScores",
    "empirical_loss",
    "outlier_scores",
    "psnr",
    "reconstruction_loss",
    "surrogate_loss",
]

# Rows that are encoded together, so that memory does not grow with their number.
_ROWS = 1024


def psnr(clean: ArrayLike, estimate: ArrayLike, *, peak: float = 1.0) -> float:
    """Return the peak signal-to-noise ratio of an estimate in decibels, [O] (47).

    -10 log10(mean((clean - estimate)^2) / peak^2), inf for a perfect estimate. The form (48)
    for streams is the same on ``codes @ components``, with the codes kept as they were found
    and the last components.

    Parameters
    ----------
    clean, estimate : arrays of one shape
        The truth, and what was found. Entries that are NaN in either are left out.
    peak : float
        The largest value that the data can take.

    Examples
    --------
    >>> from thalweg.metrics import psnr
    >>> round(psnr([[0.0, 0.5], [1.0, 0.2]], [[0.1, 0.4], [0.9, 0.3]]), 6)
    20.0
    """
    _require_positive(peak=peak)
    truth, found = _numbers("clean", clean), _numbers("estimate", estimate)
    _require_shape("estimate", found, truth.shape, "clean")
    error = (truth - found) / peak
    error = error[~np.isnan(error)]
    if error.size == 0:
        raise InputError(
            "clean and estimate should have an entry that is a number in both, but they have "
            "none. Look for rows that are empty or NaN throughout."
        )
    mean = float(np.mean(np.square(error, out=error)))
    return -10.0 * log10(mean) if mean > 0 else inf


def reconstruction_loss(clean: ArrayLike, codes: ArrayLike, components: ArrayLike) -> float:
    """Return the mean over samples of |v - W h|^2 / 2 with clean data v, [O] (46).

    Parameters
    ----------
    clean : array of shape (n_samples, n_features)
        Data without outliers and noise.
    codes : array of shape (n_samples, n_components)
        The codes h, as they were found.
    components : array of shape (n_components, n_features)
        The dictionary W, one component a row.

    Examples
    --------
    >>> from thalweg.metrics import reconstruction_loss
    >>> reconstruction_loss([[1.0, 2.0], [3.0, 3.0]], [[1.0], [2.0]], [[1.0, 1.0]])
    0.75
    """
    V = _matrix("clean", clean)
    error = V - _product(V, "clean", codes, components)
    return 0.5 * _total_square(error, seen=~np.isnan(V)) / len(V)


def surrogate_loss(
    X: ArrayLike,
    codes: ArrayLike,
    outliers: ArrayLike,
    components: ArrayLike,
    *,
    outlier_weight: float,
) -> float:
    """Return the mean of |v - W h - r|^2 / 2 + outlier_weight |r|_1, [O] (11).

    With codes and outliers as they were found on the way this is what the dictionary update
    minimises; it is never less than :func:`empirical_loss`.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Data; where NaN stands, outliers cost nothing, whatever they are.
    codes : array of shape (n_samples, n_components)
        The codes h.
    outliers : array of shape (n_samples, n_features)
        The outliers r.
    components : array of shape (n_components, n_features)
        The dictionary W, one component a row.
    outlier_weight : float
        Weight of the outliers (lambda in [O]), >= 0.

    Examples
    --------
    >>> from thalweg.metrics import surrogate_loss
    >>> surrogate_loss([[1.0, 9.0]], [[1.0]], [[0.0, 6.0]], [[1.0, 1.0]], outlier_weight=0.5)
    5.0
    """
    _require_nonnegative(outlier_weight=outlier_weight)
    V, R = _matrix("X", X), _matrix("outliers", outliers)
    _require_shape("outliers", R, V.shape, "X")
    seen = ~np.isnan(V)
    error = V - _product(V, "X", codes, components) - R
    cost = outlier_weight * float(np.sum(np.abs(R), where=seen))
    return (0.5 * _total_square(error, seen) + cost) / len(V)


def empirical_loss(
    X: ArrayLike,
    components: ArrayLike,
    *,
    outlier_weight: float,
    outlier_bound: float = inf,
    tol: float = 1e-8,
) -> float:
    """Return the mean over samples of the least loss with these components, [O] (7).

    The loss of a sample v is the minimum over h >= 0 and |r| <= outlier_bound of
    |v - W h - r|^2 / 2 + outlier_weight |r|_1. Each minimum is certified by its duality gap.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Data; NaN at gaps.
    components : array of shape (n_components, n_features)
        The dictionary W, one component a row, >= 0.
    outlier_weight : float
        Weight of the outliers (lambda in [O]), >= 0.
    outlier_bound : float
        Largest modulus of an outlier (M in [O]).
    tol : float
        Relative accuracy of each minimum.

    Examples
    --------
    >>> from thalweg.metrics import empirical_loss
    >>> round(empirical_loss([[1.0, 1.0, 9.0]], [[1.0, 1.0, 1.0]], outlier_weight=0.1), 6)
    0.7925
    """
    _require_nonnegative(outlier_weight=outlier_weight)
    _require_positive(tol=tol)
    encoder = Fast(outliers=L1(outlier_weight, outlier_bound), tol=tol, exit="gap")
    V, W = _matrix("X", X), _matrix("components", components)
    _require_shape("components", W, (W.shape[0], V.shape[1]), "X")
    if not np.all(W >= 0):
        raise InputError(
            f"components should be >= 0, but {np.nanmin(W)} is among them, or NaN. "
            "Set negative entries to zero, or fit a nonnegative dictionary."
        )
    total = 0.0
    for start in range(0, len(V), _ROWS):
        block = V[start : start + _ROWS].T
        gaps = np.isnan(block)
        seen = ~gaps if gaps.any() else None
        codes = encoder.encode(np.where(gaps, 0.0, block), W.T, seen=seen)
        if not codes.solved.all():
            raise ThalwegError(
                f"{np.sum(~codes.solved)} minima should have been found to a relative accuracy "
                f"of tol={tol!r}, but the iteration cap came first. Give a larger tol."
            )
        total += float(codes.loss.sum())
    return total / len(V)


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
    _require_shape("found_mask", found, truth.shape, "truth_mask")
    hits = int(np.count_nonzero(truth & found))
    n_found, n_true = int(np.count_nonzero(found)), int(np.count_nonzero(truth))
    return OutlierScores(
        _share(hits, n_found), _share(hits, n_true), _share(2 * hits, n_found + n_true)
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _product(V: Array, name: str, codes: ArrayLike, components: ArrayLike) -> Array:
    """Return codes @ components, which has the shape of V."""
    H, W = _matrix("codes", codes), _matrix("components", components)
    _require_shape("components", W, (W.shape[0], V.shape[1]), name)
    _require_shape("codes", H, (len(V), W.shape[0]), f"{name} and components")
    product: Array = H @ W
    return product


def _total_square(error: Array, seen: Mask) -> float:
    total = float(np.sum(np.square(error), where=seen))
    if np.isnan(total):
        raise InputError(
            "codes, components and outliers should be finite, but there is NaN among them where "
            "the data are not missing. Look whether the fit went well."
        )
    return total


def _numbers(name: str, values: ArrayLike) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} should be an array of numbers, but {type(values).__name__} came that is "
            "none. Give rows of equal length, NaN where a number is missing."
        ) from None


def _matrix(name: str, values: ArrayLike) -> Array:
    matrix = _numbers(name, values)
    if matrix.ndim != 2 or matrix.size == 0:
        raise InputError(
            f"{name} should be a matrix with a row or more, but an array of shape "
            f"{matrix.shape} came. Give one row for each sample or component."
        )
    if np.isinf(matrix).any():
        raise InputError(
            f"{name} should be finite, but there is inf in it. Put NaN where data are missing."
        )
    return matrix


def _require_positive(**parameters: float) -> None:
    for name, value in parameters.items():
        if not (isinstance(value, Real) and 0 < value < inf):
            raise ParameterError(
                f"{name} should be a positive finite number, but {value!r} came. "
                f"Give one, or leave {name} out."
            )


def _require_nonnegative(**parameters: float) -> None:
    for name, value in parameters.items():
        if not (isinstance(value, Real) and 0 <= value < inf):
            raise ParameterError(
                f"{name} should be a finite number >= 0, but {value!r} came. "
                f"Give the value that the fit used, or a number such as {name}=0.1."
            )


def _require_shape(name: str, array: Array | Mask, shape: tuple[int, ...], like: str) -> None:
    if array.shape != shape:
        raise InputError(
            f"{name} should have shape {shape} to go with {like}, but {array.shape} came. "
            "Rows are samples, or components; look whether one of the two is transposed."
        )
