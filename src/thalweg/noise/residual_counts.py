"""Histogram of the absolute residuals of each feature on a logarithmic grid, with forgetting."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thalweg import _native
from thalweg._typing import Array, Indices, Mask
from thalweg.noise.leverage import full_variance
from thalweg.noise.weighted_residuals import weighted_residuals

__all__ = [
    "ALL_COUNTED",
    "BINS_PER_OCTAVE",
    "COUNTED_EVERY",
    "MANY_FEATURES",
    "N_BINS",
    "ResidualCounts",
]

# Grid of the absolute residuals: bins per factor of two, and bins of a feature (12 octaves). Scales
# that are estimated from such bins have 98 % of the efficiency of the exact residuals.
BINS_PER_OCTAVE, N_BINS = 4, 48
# Upper ends of the bins of an octave, for mantissas in [0.5, 1).
_MANTISSAS = 0.5 * 2.0 ** (np.arange(1, BINS_PER_OCTAVE) / BINS_PER_OCTAVE)
# Bins of the window in which the median residual stays: three octaves below it and four above are
# needed for scale and tail.
_LOWEST_MEDIAN, _HIGHEST_MEDIAN = 12, 32
# Residuals below this many rounding errors of the entry count as one of that size.
_ROUNDING_ERRORS = 4.0
# Of t samples, sample i has the weight i / t: residuals of an early fit, which are too large,
# lose their influence, and 75 % of the samples still count. benchmark: alarms
_AGE_EXPONENT = 1.0
# Weight of a sample at which all counts are divided by it. Safety margin: float32 counts up to
# 1.6e7 exactly.
_LARGEST_WEIGHT = 4096.0
# Ageings between two checks of the windows, after the first ones, which all check. It bounds the
# time: a window that is wrong for 16 times 32 samples only delays the estimate.
_MOVED_EVERY = 16
# Samples of which all residuals are counted. Of later blocks one in four is counted, and of all
# blocks if there are more features than this. It bounds the time; scales from a thousand samples
# have an error of 3 %.
ALL_COUNTED, COUNTED_EVERY, MANY_FEATURES = 1024, 4, 1024
_UNPLACED = np.iinfo(np.int64).min


class ResidualCounts(NamedTuple):
    """Weighted numbers of absolute residuals, by feature and size.

    The bins of a feature divide 12 octaves of ``|r|`` into 48; the outer bins also count what lies
    beyond. The first residual of a feature places its window. If the median residual leaves the
    middle of the window, as after a change of units, it moves and the feature is counted again.

    Attributes
    ----------
    counts : array of shape (F, 48)
        Weights of the residuals in each bin.
    first : array of int of shape (F,)
        Number of the first bin: it begins at ``2 ** (first / 4)``.
    n_samples : int
        Number of samples.
    weight : float
        Weight of the next sample. It grows, so that earlier weights need not be multiplied.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.noise.residual_counts import ResidualCounts
    >>> counts = ResidualCounts.none(3).added(np.ones((3, 5)))
    >>> counts.counts.sum(axis=1), counts.n_samples
    (array([5., 5., 5.], dtype=float32), 5)
    """

    counts: Array
    first: Indices
    n_samples: int = 0
    weight: float = 1.0

    @staticmethod
    def none(n_features: int) -> "ResidualCounts":
        """Return the counts before the first sample."""
        counts = np.zeros((n_features, N_BINS), np.float32)
        return ResidualCounts(counts, np.full(n_features, _UNPLACED), 0)

    @staticmethod
    def of(
        residuals: Array, observed: Mask | None = None, sizes: Array | None = None
    ) -> "ResidualCounts":
        """Return the counts of many samples, with windows about the median of each feature."""
        magnitudes, counted = _magnitudes(residuals, observed, sizes)
        middle = _medians(np.where(counted, _bin_numbers(magnitudes), np.nan))
        first = np.where(np.isnan(middle), float(_UNPLACED), middle - N_BINS // 2)
        counts = np.zeros((len(residuals), N_BINS), np.float32)
        windows = ResidualCounts(counts, first.astype(np.int64))
        return windows.added(residuals, observed, sizes)

    def empty(self) -> "ResidualCounts":
        """Return counts of 0 with the same windows."""
        return ResidualCounts(np.zeros_like(self.counts), self.first)

    @property
    def placed(self) -> Mask:
        """The features that have a residual."""
        mask: Mask = self.first != _UNPLACED
        return mask

    def numbers(self) -> Array:
        """Return the numbers of residuals in each bin, in units of the next sample."""
        numbers: Array = self.counts.astype(np.float64) / self.weight
        return numbers

    def added(
        self, residuals: Array, observed: Mask | None = None, sizes: Array | None = None
    ) -> "ResidualCounts":
        """Return the counts with those of more samples.

        Parameters
        ----------
        residuals : array of shape (F, B)
            Residuals of samples as columns. Zeros say nothing about the noise and are left out.
        observed : boolean array of shape (F, B), optional
            The entries to count; by default all.
        sizes : array of shape (F, B), optional
            The data. Residuals below their rounding errors count as rounding errors.
        """
        magnitudes, counted = _magnitudes(residuals, observed, sizes)
        bins = _bin_numbers(magnitudes)
        first = self.first
        new = ~self.placed & counted.any(axis=1)
        if new.any():
            earliest = bins[new, counted[new].argmax(axis=1)]
            first = first.copy()
            first[new] = earliest - N_BINS // 2
        inside = np.clip(bins - first[:, None], 0, N_BINS - 1)
        inside += np.arange(0, self.counts.size, N_BINS)[:, None]
        latest = np.bincount(inside[counted], minlength=self.counts.size)
        counts = self.counts + self.weight * latest.reshape(self.counts.shape)
        n_samples = self.n_samples + residuals.shape[1]
        return ResidualCounts(counts.astype(np.float32), first, n_samples, self.weight)

    def added_fit(
        self,
        V: Array,
        W: Array,
        H: Array,
        R: Array,
        observed: Any = None,
        scales: Array | None = None,
    ) -> "ResidualCounts":
        """Return the counts with the standardised residuals of more samples, in one pass.

        It equals ``added(studentised(V, W, H, R, observed, scales), observed, V)``.

        Parameters
        ----------
        V, R : arrays of shape (F, B)
            Samples as columns, and their outliers.
        W, H : arrays of shapes (F, K) and (K, B)
            Dictionary and codes.
        observed : array of shape (F, B), optional
            Mask of the observed entries, or their weights.
        scales : array of shape (F,), optional
            Relative noise scales of the features, by which the fit has weighed them.
        """
        if observed is not None and observed.dtype != np.bool_:  # weights
            residuals = weighted_residuals(V, W, H, R, observed, scales)
            return self.added(residuals, observed > 0.0, V * np.sqrt(observed))
        counts, first = self.counts.copy(), self.first.copy()
        mask = None if observed is None else np.ascontiguousarray(observed.T)
        rows = [np.ascontiguousarray(part.T) for part in (V, H, R)]
        X, codes, outliers = rows
        predicted, variance = codes @ W.T, full_variance(W, scales)
        bins = (first, counts)
        _native.count_residuals(X, mask, predicted, codes, outliers, variance, bins, self.weight)
        return ResidualCounts(counts, first, self.n_samples + V.shape[1], self.weight)

    def aged(self, n_latest: int, forgetting: float = 1.0) -> "ResidualCounts":
        """Return the counts with less weight, before as many samples as the latest are added.

        Parameters
        ----------
        n_latest : int
            Number of samples since the counts were last aged.
        forgetting : float
            Factor by which each sample multiplies the weights of all earlier ones, if that is
            faster than the loss of weight by age.
        """
        by_age = (self.n_samples / (self.n_samples + n_latest)) ** _AGE_EXPONENT
        weight = self.weight / min(by_age, forgetting**n_latest)
        number = self.n_samples // n_latest
        aged = self._replace(weight=weight)
        if weight > _LARGEST_WEIGHT:
            aged = aged._replace(counts=aged.numbers().astype(np.float32), weight=1.0)
        is_due = number <= _MOVED_EVERY or number % _MOVED_EVERY == 0
        return aged._moved() if is_due else aged

    def merged(self, others: Sequence["ResidualCounts"]) -> "ResidualCounts":
        """Return the sum of counts from several streams."""
        total = self
        for other in others:
            total = total._plus(other)
        return total

    def _plus(self, other: "ResidualCounts") -> "ResidualCounts":
        first = np.where(self.placed, self.first, other.first)
        shift = np.where(other.placed, other.first - first, 0)
        latest = other.counts * np.float32(self.weight / other.weight)
        counts = self.counts + np.where(shift[:, None] == 0, latest, 0)
        moved = np.flatnonzero(shift)
        places = np.clip(np.arange(N_BINS) + shift[moved, None], 0, N_BINS - 1)
        np.add.at(counts, (moved[:, None], places), latest[moved])
        return ResidualCounts(counts, first, self.n_samples + other.n_samples, self.weight)

    def _moved(self) -> "ResidualCounts":
        """Return the counts, with new windows for features that have left theirs."""
        below = np.cumsum(self.counts, axis=1)
        middle = np.argmax(below >= 0.5 * below[:, -1:], axis=1)
        left = (below[:, -1] > 0.0) & ((middle < _LOWEST_MEDIAN) | (middle > _HIGHEST_MEDIAN))
        if not left.any():
            return self
        half = N_BINS // 2
        step = np.where(middle == N_BINS - 1, half, np.where(middle == 0, -half, middle - half))
        first = np.where(left, self.first + step, self.first)
        return self._replace(counts=np.where(left[:, None], 0, self.counts), first=first)


def _magnitudes(residuals: Array, observed: Mask | None, sizes: Array | None) -> tuple[Array, Mask]:
    """Return absolute residuals, at least rounding errors, and the mask of those that count."""
    magnitudes = np.abs(residuals)
    if sizes is not None:
        resolution = _ROUNDING_ERRORS * np.finfo(sizes.dtype).eps
        magnitudes = np.maximum(magnitudes, sizes.dtype.type(resolution) * np.abs(sizes))
    counted = magnitudes > 0.0
    if observed is not None:
        counted &= observed
    return magnitudes, counted


def _medians(values: Array) -> Array:
    """Return the lower median of each row without NaN; NaN for rows of NaN."""
    ordered = np.sort(values, axis=1)  # NaN comes last
    n = np.count_nonzero(~np.isnan(values), axis=1)
    medians: Array = ordered[np.arange(len(values)), np.maximum(n - 1, 0) // 2]
    return medians


def _bin_numbers(magnitudes: Array) -> Indices:
    """Return floor(4 log2 x), exact for powers of two."""
    mantissas, exponents = np.frexp(magnitudes)
    bins = BINS_PER_OCTAVE * (exponents.astype(np.int64) - 1)
    for mantissa in _MANTISSAS:
        bins += mantissas >= mantissa
    return bins
