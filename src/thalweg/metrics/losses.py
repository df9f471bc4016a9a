"""Losses of a factorisation with respect to the data or to the clean data."""

from math import inf, log10

import numpy as np
from numpy.typing import ArrayLike

from thalweg._typing import Array, Mask
from thalweg.encoders.fast import Fast
from thalweg.errors import InputError, ThalwegError
from thalweg.metrics._checks import (
    matrix,
    numbers,
    require_nonnegative,
    require_positive,
    require_shape,
)
from thalweg.prox.l1 import L1

__all__ = ["empirical_loss", "psnr", "reconstruction_loss", "surrogate_loss"]

# Rows per block, which bounds the memory.
_BLOCK_SIZE = 1024


def psnr(clean: ArrayLike, estimate: ArrayLike, *, peak: float = 1.0) -> float:
    """Return the peak signal-to-noise ratio of an estimate in decibels, [O] (47).

    -10 log10(mean((clean - estimate)^2) / peak^2), which is inf for a perfect estimate. For
    streams, [O] (48) is the same with the estimate ``codes @ components``, where the codes are
    those of the online pass and the components are the final ones.

    Parameters
    ----------
    clean, estimate : arrays of one shape
        The clean data and their estimate. Entries that are NaN in either array are left out.
    peak : float
        The largest value that the data can take.

    Examples
    --------
    >>> from thalweg.metrics import psnr
    >>> round(psnr([[0.0, 0.5], [1.0, 0.2]], [[0.1, 0.4], [0.9, 0.3]]), 6)
    20.0
    """
    require_positive(peak=peak)
    truth, found = numbers("clean", clean), numbers("estimate", estimate)
    require_shape("estimate", found, truth.shape, "clean")
    error = (truth - found) / peak
    error = error[~np.isnan(error)]
    if error.size == 0:
        raise InputError(
            "clean and estimate must have an entry that is a number in both, got none. "
            "Check for arrays that are empty or NaN throughout."
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
        The codes h.
    components : array of shape (n_components, n_features)
        The dictionary W, one component per row.

    Examples
    --------
    >>> from thalweg.metrics import reconstruction_loss
    >>> reconstruction_loss([[1.0, 2.0], [3.0, 3.0]], [[1.0], [2.0]], [[1.0, 1.0]])
    0.75
    """
    V = matrix("clean", clean)
    error = V - _product(V, "clean", codes, components)
    return 0.5 * _total_square(error, ~np.isnan(V)) / len(V)


def surrogate_loss(
    X: ArrayLike,
    codes: ArrayLike,
    outliers: ArrayLike,
    components: ArrayLike,
    *,
    outlier_weight: float,
) -> float:
    """Return the mean of |v - W h - r|^2 / 2 + outlier_weight |r|_1, [O] (11).

    With the codes and outliers of the online pass this is the objective of the dictionary update.
    It is at least :func:`empirical_loss`.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Data, NaN at missing entries. Outliers at missing entries do not count.
    codes : array of shape (n_samples, n_components)
        The codes h.
    outliers : array of shape (n_samples, n_features)
        The outliers r.
    components : array of shape (n_components, n_features)
        The dictionary W, one component per row.
    outlier_weight : float
        Weight of the outliers (lambda in [O]), >= 0.

    Examples
    --------
    >>> from thalweg.metrics import surrogate_loss
    >>> surrogate_loss([[1.0, 9.0]], [[1.0]], [[0.0, 6.0]], [[1.0, 1.0]], outlier_weight=0.5)
    5.0
    """
    require_nonnegative(outlier_weight=outlier_weight)
    V, R = matrix("X", X), matrix("outliers", outliers)
    require_shape("outliers", R, V.shape, "X")
    observed = ~np.isnan(V)
    error = V - _product(V, "X", codes, components) - R
    cost = outlier_weight * float(np.sum(np.abs(R), where=observed))
    return (0.5 * _total_square(error, observed) + cost) / len(V)


def empirical_loss(
    X: ArrayLike,
    components: ArrayLike,
    *,
    outlier_weight: float,
    outlier_bound: float = inf,
    tol: float = 1e-8,
) -> float:
    """Return the mean over samples of the smallest loss with these components, [O] (7).

    The loss of a sample v is the minimum over h >= 0 and |r| <= outlier_bound of
    |v - W h - r|^2 / 2 + outlier_weight |r|_1. Each minimum is certified by its duality gap.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Data, NaN at missing entries.
    components : array of shape (n_components, n_features)
        The dictionary W, one component per row, >= 0.
    outlier_weight : float
        Weight of the outliers (lambda in [O]), >= 0.
    outlier_bound : float
        Largest absolute value of an outlier (M in [O]).
    tol : float
        Relative accuracy of each minimum.

    Examples
    --------
    >>> from thalweg.metrics import empirical_loss
    >>> round(empirical_loss([[1.0, 1.0, 9.0]], [[1.0, 1.0, 1.0]], outlier_weight=0.1), 6)
    0.7925
    """
    require_nonnegative(outlier_weight=outlier_weight)
    require_positive(tol=tol)
    encoder = Fast(outliers=L1(outlier_weight, outlier_bound), tol=tol, exit="gap")
    V, W = matrix("X", X), matrix("components", components)
    require_shape("components", W, (W.shape[0], V.shape[1]), "X")
    if not np.all(W >= 0):
        raise InputError(
            f"components must be >= 0 and not NaN, got a smallest entry of {np.nanmin(W)}. "
            "Set negative entries to 0, or fit a nonnegative dictionary."
        )
    total = 0.0
    for start in range(0, len(V), _BLOCK_SIZE):
        block = V[start : start + _BLOCK_SIZE].T
        missing = np.isnan(block)
        observed = ~missing if missing.any() else None
        codes = encoder.encode(np.where(missing, 0.0, block), W.T, observed=observed)
        if not codes.solved.all():
            raise ThalwegError(
                f"{np.sum(~codes.solved)} of {block.shape[1]} minima did not reach the relative "
                f"accuracy tol={tol!r} within the iteration limit. Use a larger tol."
            )
        total += float(codes.loss.sum())
    return total / len(V)


def _product(V: Array, name: str, codes: ArrayLike, components: ArrayLike) -> Array:
    """Return codes @ components, which has the shape of V."""
    H, W = matrix("codes", codes), matrix("components", components)
    require_shape("components", W, (W.shape[0], V.shape[1]), name)
    require_shape("codes", H, (len(V), W.shape[0]), f"{name} and components")
    product: Array = H @ W
    return product


def _total_square(error: Array, observed: Mask) -> float:
    total = float(np.sum(np.square(error), where=observed))
    if np.isnan(total):
        raise InputError(
            "codes, components and outliers must be finite, got NaN at an observed entry. "
            "Check the fit."
        )
    return total
