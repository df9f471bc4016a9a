"""Noise scales of the features relative to their median, from counted residuals."""

from functools import lru_cache
from math import erf, exp, log, pi, sqrt

import numpy as np
from scipy.special import erfinv

from thalweg._typing import Array, Mask
from thalweg.noise._grid import in_bins
from thalweg.noise.feature_scales import log_density, normal_median, shrunken_scales
from thalweg.noise.leverage import LEAST_FREEDOM, leverages
from thalweg.noise.residual_counts import BINS_PER_OCTAVE, N_BINS, ResidualCounts

__all__ = ["relative_scales"]

# Residuals beyond this many scales are left out, as in the trackers. Safety margin: any value in
# 2..3.5 gives the same scales, up to 3 %.
_KEPT = 2.5
# The iteration begins at this quantile of the absolute residuals. Safety margin: any quantile in
# 0.25..0.45 tolerates outliers in half of the entries.
_FIRST_QUANTILE = 0.35
# Fixed-point steps from the low quantile. Safety margin: later ones change scales by less than 1 %.
_STEPS = 3
# Smallest scale, as a share of the typical one and of the typical ratio of scale and size, for
# features without noise. Safety margin: any value in 1e-3..0.05 gives the same results.
_SMALLEST_SCALE = 1.0 / 32.0
# Smallest share of a residual in the error of predicting the entry from others. Safety margin.
_LEAST_SHARE = 1e-3
# Features at a time, which bounds the memory of intermediate results.
_BLOCK = 2**15


def relative_scales(
    counts: ResidualCounts,
    W: Array,
    code_squares: Array,
    before: Array | None = None,
    *,
    in_sample: bool = False,
) -> Array:
    """Estimate the noise scale of each feature, relative to the median of all features.

    The scale s of a feature is self-consistent: half of its absolute residuals within 2.5 s are
    below the median of a normal law that is truncated there. The iteration begins at a low
    quantile, so that outliers in more than half of the entries do not move it.

    It is the scale of errors that predictions from the other features make, ``r / (1 - l)`` for the
    residual r and the leverage l. An atom that follows a single feature makes its residual vanish,
    but not this error. Logarithms are shrunk to their median by how little a feature was observed.

    Parameters
    ----------
    counts : ResidualCounts
        Studentised residuals of the fit.
    W : array of shape (F, K)
        Dictionary.
    code_squares : array of shape (K, K) or (F, K, K)
        Mean of h h', or of w h h' if entries have weights w, for the typical sizes of the features.
    before : array of shape (F,), optional
        Relative scales by which the fit has weighed the features.
    in_sample : bool
        Whether the dictionary was fitted to the same samples, so that it absorbs a share of the
        noise.

    Returns
    -------
    array of shape (F,)
        The scales, of median 1. Features without residuals have 1.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.noise.relative_scales import relative_scales
    >>> from thalweg.noise.residual_counts import ResidualCounts
    >>> noise = np.array([0.5, 1.0, 1.0, 1.0, 4.0])
    >>> rng = np.random.default_rng(0)
    >>> residuals = noise[:, None] * rng.normal(size=(5, 20_000))
    >>> residuals[rng.random(residuals.shape) < 0.2] += 50.0  # outliers
    >>> found = relative_scales(ResidualCounts.of(residuals), np.zeros((5, 1)), np.eye(1))
    >>> bool(np.allclose(found, noise, rtol=0.05))
    True
    """
    weight = counts.counts.sum(axis=1, dtype=np.float64) / counts.weight
    known = weight > 0.0
    if not known.any():
        return np.ones(len(weight))
    # positions relative to a whole number of bins, so that units by powers of two change no bit
    origin = np.sort(counts.first[known])[np.count_nonzero(known) // 2]
    places = np.zeros(len(weight))
    for start in range(0, len(weight), _BLOCK):
        some = start + np.flatnonzero(known[start : start + _BLOCK])
        places[some] = counts.first[some] - origin + _positions(counts.counts[some])
    logs = places * (log(2.0) / BINS_PER_OCTAVE) + _log_deviations(W, before)
    if in_sample:
        n_codes = W.shape[1]
        logs -= 0.5 * np.log1p(-n_codes / np.maximum(weight, n_codes + 1.0))
    logs = np.where(known, logs - np.median(logs[known]), 0.0)
    scales = shrunken_scales(logs, _efficiency() * weight)
    shared = code_squares.ndim == 2
    products = W @ code_squares if shared else np.einsum("fkl,fl->fk", code_squares, W)
    sizes = np.sqrt(np.einsum("fk,fk->f", products, W))
    return np.maximum(scales, _smallest(scales, sizes, known))


def _log_deviations(W: Array, before: Array | None) -> Array:
    """Return log ratios of prediction errors to studentised residuals."""
    left = 1.0 - leverages(W if before is None else W / before[:, None])
    studentised = np.sqrt(np.maximum(left, LEAST_FREEDOM))
    logs: Array = np.log(studentised / np.maximum(left, _LEAST_SHARE))
    return logs


def _smallest(scales: Array, sizes: Array, known: Mask) -> Array:
    """Return lower bounds of scales: the same for all units of a feature, and at most 1/32."""
    used = known & (sizes > 0.0)
    ratio = float(np.median(scales[used] / sizes[used])) if used.any() else 0.0
    bound: Array = _SMALLEST_SCALE * np.minimum(ratio * sizes, 1.0)
    return bound


def _positions(counts: Array) -> Array:
    """Return log scales in bins from the first, as the least self-consistent ones."""
    below = np.cumsum(counts, axis=1)
    kept_to, median, first = _limits()
    positions = _quantile_places(below, _FIRST_QUANTILE * below[:, -1]) - first
    for _ in range(_STEPS):
        n_kept = _numbers_below(below, positions + kept_to)
        positions = _quantile_places(below, 0.5 * n_kept) - median
    return positions


@lru_cache
def _efficiency() -> float:
    """Return the variance of the median's logarithm over that of a self-consistent scale.

    The scale solves P(|r| <= m s) = P(|r| <= c s) / 2. The difference of the two sides has the
    variance P / 4 in a sample, with P = P(|z| <= c), and the derivative 2 m f(m) - c f(c) in log s,
    with the normal density f.
    """
    inside = erf(_KEPT / sqrt(2.0))
    slope = inside * log_density(_KEPT) - sqrt(2.0 / pi) * _KEPT * exp(-0.5 * _KEPT**2) / 2.0
    return float((slope / log_density(np.inf)) ** 2 / inside)


@lru_cache
def _limits() -> tuple[float, float, float]:
    """Return the limit of kept residuals, their median, and the first quantile, in bins."""
    first = sqrt(2.0) * float(erfinv(_FIRST_QUANTILE))
    return in_bins(_KEPT), in_bins(normal_median(_KEPT)), in_bins(first)


def _numbers_below(below: Array, places: Array) -> Array:
    """Interpolate cumulative numbers at one place of each row, at least that of its first bin."""
    places = np.clip(places, 1.0, float(N_BINS))
    whole = np.minimum(places.astype(np.intp), N_BINS - 1)
    rows = np.arange(len(below))
    low, high = below[rows, whole - 1], below[rows, whole]
    numbers: Array = low + (places - whole) * (high - low)
    return numbers


def _quantile_places(below: Array, numbers: Array) -> Array:
    """Return where the cumulative numbers of each row reach a number."""
    rows = np.arange(len(below))
    place = np.argmax(below >= numbers[:, None], axis=1)
    high, low = below[rows, place], np.where(place > 0, below[rows, place - 1], 0.0)
    places: Array = place + (numbers - low) / np.maximum(high - low, np.finfo(float).tiny)
    return places
