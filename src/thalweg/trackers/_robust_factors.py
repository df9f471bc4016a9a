"""Factors of a few samples with gaps and outliers, by least absolute values and rejection."""

from typing import NamedTuple

import numpy as np

from thalweg import _native
from thalweg._linalg import pack_rows
from thalweg._typing import Array, Mask
from thalweg.trackers._least_absolute_residuals import least_absolute_residuals
from thalweg.trackers._probabilistic_pca import probable_codes
from thalweg.trackers.noise_scale import truncated_noise_scale

__all__ = [
    "FEW_ENTRIES_PER_CODE",
    "RELATIVE_HUBER_THRESHOLD",
    "THRESHOLD",
    "Data",
    "Factors",
    "huber_fit",
    "huber_threshold_of",
    "inliers_of",
    "robust_codes",
    "typical_sizes",
]

# Initial bases: one of singular vectors, the others random. benchmark: tracking_corruption
_N_GUESSES = 2
_MAX_ITERATIONS = 15  # of alternating fits by least absolute values
_REFINING_ITERATIONS = 10  # with rejection of outliers
_HUBER_STEPS = 6  # of each fit, which is a warm start of the next one
_RELATIVE_DECREASE = 1e-3  # of the loss, or of the noise scale, below which iterations stop
# A residual beyond this many typical sizes may be an outlier before any fit.
# benchmark: tracking_corruption
_SUSPECT_SIZE = 3.0
# Quantile of absolute entries that estimates a typical size, and the median of the absolute value
# of a normal variable over that quantile: outliers do not reach the quantile.
_LOW_QUANTILE, _MEDIAN_TO_LOW_QUANTILE = 0.25, 2.117
# Smallest typical size of an entry, as a share of the overall size: a row may be nearly zero.
# Safety margin: any value in 0.03..0.3 gives the same results.
_SIZE_FLOOR = 0.1
# Huber's threshold, as a share of the typical entry: so small that the fit is nearly one of least
# absolute values. Safety margin: any value in 1e-3..3e-2 changes errors by 4 %.
RELATIVE_HUBER_THRESHOLD = 1e-2
# Observed entries per code below which samples do not determine their codes well.
# benchmark: tracking_gaps
FEW_ENTRIES_PER_CODE = 4
THRESHOLD = 2.5  # noise scales beyond which an entry is an outlier; as in PETRELS-ADMM


class Data(NamedTuple):
    """Samples as rows, the mask of observed entries, and the typical size of each entry."""

    X: Array
    observed: Mask
    typical: Array


class Factors(NamedTuple):
    """A basis and the codes of the samples."""

    U: Array
    H: Array


def robust_codes(data: Data, K: int, rng: np.random.Generator, guess: Array | None) -> Array:
    """Return codes of the samples with small residuals in most entries."""
    counts = data.observed.sum(axis=1)
    if np.median(counts[counts > 0]) < FEW_ENTRIES_PER_CODE * K:
        return probable_codes(data.X, _unsuspicious(data), K, rng)
    guesses = _guesses(data, K, rng)
    if guess is not None:
        guesses.append(guess.astype(np.float64))
    return _refined(data, _converged(data, _best_fit(data, guesses))).H


def typical_sizes(X: Array, observed: Mask) -> Array:
    """Return the typical size of each entry, from its row and its column."""
    sizes = np.abs(X)
    rows, columns = _robust_medians(sizes, observed), _robust_medians(sizes.T, observed.T)
    overall = sizes.sum() / max(np.count_nonzero(observed), 1)
    if not overall > 0.0:
        return np.zeros_like(X)
    middle = float(_robust_medians(sizes[None], observed[None])[0])
    if not middle > np.finfo(np.float64).eps * overall:  # most entries are zero or rounding
        return np.full_like(X, overall)
    both: Array = np.outer(rows, columns) / middle
    bounded: Array = np.maximum(both, _SIZE_FLOOR * min(middle, overall))
    return bounded


def _robust_medians(sizes: Array, observed: Mask) -> Array:
    """Return the medians that normal entries would have, from a quantile below the outliers.

    If 40 % of all entries are outliers, some samples have more than half outliers.
    """
    sizes = np.sort(np.where(observed, sizes, np.inf).reshape(len(sizes), -1), axis=1)
    counts = observed.reshape(len(sizes), -1).sum(axis=1)
    place = _LOW_QUANTILE * np.maximum(counts - 1, 0)
    rows, below = np.arange(len(sizes)), place.astype(np.intp)
    low, high = sizes[rows, below], sizes[rows, np.minimum(below + 1, np.maximum(counts - 1, 0))]
    with np.errstate(invalid="ignore"):  # rows without observed entries
        quantiles = low + (place - below) * (high - low)
    medians: Array = _MEDIAN_TO_LOW_QUANTILE * np.where(counts > 0, quantiles, 0.0)
    return medians


def _guesses(data: Data, K: int, rng: np.random.Generator) -> list[Array]:
    """Return initial bases: singular vectors of the unsuspicious entries, and random ones."""
    entries = np.where(_unsuspicious(data), data.X, 0.0)
    first = np.linalg.svd(entries, full_matrices=False)[2][:K].T
    others = (rng.normal(size=(data.X.shape[1], K)) for _ in range(_N_GUESSES - 1))
    return [first, *(np.linalg.qr(U)[0] for U in others)]


def _best_fit(data: Data, guesses: list[Array]) -> Factors:
    """Return the fit by least absolute values with the smallest truncated loss."""
    mask, size = _unsuspicious(data), float(data.typical.mean())
    fits = (Factors(*least_absolute_residuals(data.X, mask, U, size)) for U in guesses)
    return min(fits, key=lambda factors: _truncated_loss(data, factors))


def _converged(data: Data, factors: Factors) -> Factors:
    """Return the factors after alternating fits that decrease the truncated loss."""
    loss = _truncated_loss(data, factors)
    for _ in range(_MAX_ITERATIONS):
        after = _alternate(data, _unsuspicious(data), factors, huber_threshold_of(data))
        before, loss = loss, _truncated_loss(data, after)
        if not loss < (1.0 - _RELATIVE_DECREASE) * before:
            break
        factors = after
    return factors


def _unsuspicious(data: Data) -> Mask:
    """Return the mask of the observed entries that are not far larger than typical."""
    return data.observed & (np.abs(data.X) <= _SUSPECT_SIZE * data.typical)


def huber_threshold_of(data: Data) -> float:
    return RELATIVE_HUBER_THRESHOLD * float(data.typical.mean())


def _alternate(data: Data, mask: Mask, factors: Factors, huber_threshold: float) -> Factors:
    """Fit the codes, and then the basis, each with a warm start."""
    H, T = np.linalg.qr(huber_fit(data.X, mask, factors.U, huber_threshold, factors.H))
    return Factors(huber_fit(data.X.T, mask.T, H, huber_threshold, factors.U @ T.T), H)


def _truncated_loss(data: Data, factors: Factors) -> float:
    residual = np.abs(data.X - factors.H @ factors.U.T)
    return float(np.minimum(residual, _SUSPECT_SIZE * data.typical)[data.observed].sum())


def _refined(data: Data, factors: Factors) -> Factors:
    """Return the factors after iterations of nearly least squares on the inliers."""
    before = np.inf
    for _ in range(_REFINING_ITERATIONS):
        inliers, noise_scale = inliers_of(data.X, data.observed, factors)
        if not noise_scale < (1.0 - _RELATIVE_DECREASE) * before:
            break
        factors, before = _alternate(data, inliers, factors, noise_scale), noise_scale
    return factors


def inliers_of(X: Array, observed: Mask, factors: Factors) -> tuple[Mask, float]:
    """Return the mask of the entries within the threshold of a fit, and their noise scale."""
    residual = np.abs(X - factors.H @ factors.U.T)
    n_fitted = factors.U.size + factors.H.size
    noise_scale = truncated_noise_scale(residual[observed], THRESHOLD, n_fitted)
    inliers: Mask = observed & (residual <= THRESHOLD * noise_scale)
    return inliers, noise_scale


def huber_fit(
    X: Array, mask: Mask, U: Array, huber_threshold: float, H: Array | None = None
) -> Array:
    """Return the codes of the rows of X that minimise Huber's function on the masked entries."""
    X, mask = np.ascontiguousarray(X), np.ascontiguousarray(mask)
    H = np.zeros((len(X), U.shape[1])) if H is None else H.copy()
    solved = np.empty(len(X), dtype=np.bool_)
    _native.huber_codes(X, mask, pack_rows(U), huber_threshold, _HUBER_STEPS, H, solved)
    return H
