"""A noise scale for each feature, estimated while streaming."""

from functools import lru_cache
from math import erf, exp, log, pi, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import erfinv

from thalweg._constants import MAD_TO_STANDARD_DEVIATION
from thalweg._typing import Array, Mask
from thalweg.noise.leverage import leverages

__all__ = [
    "FeatureScales",
    "feature_medians",
    "log_density",
    "normal_median",
    "observed_medians",
    "shrunken_scales",
    "unfitted_shares",
]

# Observations that the estimate of a scale remembers. A sensor that fails for 500 samples changes
# its scale by less than 20 %. benchmark: tracking_hard
_MEMORY = 2000.0
# If fewer of the kept residuals than this share exceed their median, the scale is far too large,
# and the weight of the estimate is halved. For 16 residuals this has a probability of 0.2 %.
_SURPRISING_SHARE, _SURPRISING_COUNT = 0.15, 16
# Least number of observations after forgetting: with as many, the error of a scale is 20 %.
_SHORTEST_MEMORY = 32.0
# Smallest scale, as a share of the typical one: a component that follows one feature exactly would
# make its scale vanish. Safety margin: any value in 1e-3..0.05 gives the same results.
_SMALLEST_SCALE = 1.0 / 32.0
# Smallest share of the noise that a fit leaves in the residual of a feature. Safety margin.
_SMALLEST_SHARE = 0.1


class FeatureScales(NamedTuple):
    """Noise scales of the features, relative to the common noise scale of a stream.

    The scale of a feature is the one that half of its residuals exceed, as a multiple of the
    median for standard normal noise. Counts of the residuals beyond the present median move it:
    they do not depend on the size of outliers, nor on the order of the samples. Residuals that were
    rejected count as beyond the median if they are the majority, so that a scale which rejects too
    much grows.

    Estimates from few observations are shrunk to the median of all features, by as much as the
    spread of the estimates suggests: if the features have equal noise, all scales become equal.

    Attributes
    ----------
    scale : array of shape (F,)
        The scales in use.
    log_scale : array of shape (F,)
        Logarithms of the estimates before shrinkage.
    weight : array of shape (F,)
        Number of observations behind each estimate.
    limits : array of shape (F,)
        Medians of the residuals in noise scales, with allowance for the fit of the codes.
    counts : array of shape (3, F)
        Numbers of observed entries, of those kept, and of kept ones beyond the limit.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.noise.feature_scales import FeatureScales
    >>> scales = FeatureScales.equal(3, np.float64)
    >>> scales.counts[:] = [[32, 32, 32], [32, 32, 32], [28, 16, 16]]
    >>> after = scales.updated(np.eye(3, 1) / 10, 2.5, 32.0)
    >>> bool(after.scale[0] > 1.2), bool(after.scale[1] == after.scale[2])
    (True, True)
    """

    scale: Array
    log_scale: Array
    weight: Array
    limits: Array
    counts: Array

    @classmethod
    def equal(cls, F: int, dtype: np.typing.DTypeLike) -> "FeatureScales":
        """Return equal scales without observations."""
        zeros = np.zeros(F)
        limits = np.full(F, normal_median(np.inf), dtype)
        return cls(np.ones(F, dtype), zeros, zeros, limits, np.zeros((3, F), dtype))

    @classmethod
    def estimated(cls, scale: Array, weight: Array, dtype: np.typing.DTypeLike) -> "FeatureScales":
        """Return scales that were estimated from numbers of observations."""
        none = cls.equal(len(scale), dtype)
        log_scale = np.log(scale / np.median(scale))
        used = np.maximum(shrunken_scales(log_scale, weight), _SMALLEST_SCALE)
        return none._replace(scale=used.astype(dtype), log_scale=log_scale, weight=weight)

    def updated(self, W: Array, threshold: float, n_samples: float) -> "FeatureScales":
        """Return the scales after the counts, which become zero.

        The median scale stays, since a change of it belongs to the common noise scale.

        Parameters
        ----------
        W : array of shape (F, K)
            Basis divided by the scales.
        threshold : float
            Residual beyond which entries were rejected, in noise scales.
        n_samples : float
            Number of samples behind the counts.
        """
        seen, kept, beyond = self.counts.astype(np.float64)
        majority = np.maximum(kept, 0.5 * seen)
        surplus = beyond - kept + 0.5 * majority
        surprising = (seen >= _SURPRISING_COUNT) & (kept >= 0.5 * seen)
        surprising &= beyond < _SURPRISING_SHARE * kept
        weight = np.where(surprising, 0.5 * self.weight, self.weight)
        weight = np.minimum(np.maximum(weight, _SHORTEST_MEMORY) + seen, _MEMORY)
        weight = np.where(seen > 0, weight, self.weight)
        step = surplus * log_density(threshold) ** -1 / np.maximum(weight, 1.0)
        log_scale = self.log_scale + step
        ordered = np.sort(log_scale)  # np.median takes four times as long
        log_scale -= 0.5 * (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2])
        scale = np.maximum(shrunken_scales(log_scale, weight), _SMALLEST_SCALE)
        scale = scale.astype(self.scale.dtype)
        share = float(np.sum(kept)) / (n_samples * kept.size) if n_samples > 0.0 else 0.0
        limits = normal_median(threshold) * np.sqrt(unfitted_shares(W, share or 1.0))
        return FeatureScales(
            scale, log_scale, weight, limits.astype(scale.dtype), np.zeros_like(self.counts)
        )

    def restarted(self, features: Mask, scale: float) -> "FeatureScales":
        """Return the scales with those of some features set to a value of small weight."""
        log_scale = np.where(features, log(scale), self.log_scale)
        weight = np.where(features, _SHORTEST_MEMORY, self.weight)
        used = np.where(features, scale, self.scale).astype(self.scale.dtype)
        return self._replace(scale=used, log_scale=log_scale, weight=weight)


@lru_cache
def normal_median(threshold: float) -> float:
    """Compute the median modulus of a standard normal variable that is within the threshold.

    Examples
    --------
    >>> from thalweg.noise.feature_scales import normal_median
    >>> round(normal_median(float("inf")), 4)
    0.6745
    """
    return sqrt(2.0) * float(erfinv(0.5 * erf(threshold / sqrt(2.0))))


@lru_cache
def log_density(threshold: float) -> float:
    """Compute the density of the logarithm of such a modulus, at its median.

    Examples
    --------
    >>> from thalweg.noise.feature_scales import log_density
    >>> round(log_density(float("inf")), 4)
    0.4287
    """
    median = normal_median(threshold)
    return 2.0 * median * exp(-0.5 * median**2) / sqrt(2.0 * pi) / erf(threshold / sqrt(2.0))


def unfitted_shares(W: Array, share: float = 1.0) -> Array:
    """Return the share of each feature's noise that codes by least squares leave.

    It is 1 less the leverage over the share of the entries, and at least 0.1, so that scales stay
    bounded.

    Parameters
    ----------
    W : array of shape (F, K)
        Basis divided by the scales.
    share : float
        Share of the entries of a sample that its codes are fitted to.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.noise.feature_scales import unfitted_shares
    >>> unfitted_shares(np.array([[1.0], [2.0], [2.0]])).round(3)
    array([0.889, 0.556, 0.556])
    """
    left: Array = np.maximum(1.0 - leverages(W) / share, _SMALLEST_SHARE)
    return left


def shrunken_scales(log_scale: Array, weight: Array) -> Array:
    """Return scales shrunk to their median, by the ratio of their spread to their errors.

    With the variance v of the estimates beyond that of their errors e, the logarithm of each scale
    is multiplied by v / (v + e): the posterior mean for normal logarithms.

    Parameters
    ----------
    log_scale : array of shape (F,)
        Logarithms of estimated scales, with median 0.
    weight : array of shape (F,)
        Number of observations of each estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.noise.feature_scales import shrunken_scales
    >>> shrunken_scales(np.log([0.5, 1.0, 2.0]), np.array([1e6, 1e6, 1e6])).round(3)
    array([0.5, 1. , 2. ])
    >>> shrunken_scales(np.log([0.9, 1.0, 1.1]), np.array([20.0, 20.0, 20.0]))
    array([1., 1., 1.])
    """
    known = weight > 0.0
    if not known.any():
        return np.ones_like(log_scale)
    error = 0.25 * log_density(np.inf) ** -2 / np.maximum(weight, 1.0)
    spread = float(np.mean(np.square(log_scale[known]) - error[known]))
    if not spread > 0.0:
        return np.ones_like(log_scale)
    factor = np.where(known, spread / (spread + error), 0.0)
    scales: Array = np.exp(factor * log_scale)
    return scales


def observed_medians(sizes: Array, observed: Mask) -> Array:
    """Return 1.4826 times the median of the observed entries of each column; 0 without any.

    Parameters
    ----------
    sizes : array of shape (N, F)
        Moduli.
    observed : boolean array of shape (N, F)
        Mask of the observed entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.noise.feature_scales import observed_medians
    >>> mask = np.array([[True, False], [True, False]])
    >>> observed_medians(np.array([[1.0, 5.0], [3.0, 9.0]]), mask).round(3)
    array([2.965, 0.   ])
    """
    return MAD_TO_STANDARD_DEVIATION * feature_medians(sizes, observed)


def feature_medians(values: Array, observed: Mask) -> Array:
    """Return the median of the observed entries of each column; 0 without any.

    Parameters
    ----------
    values : array of shape (N, F)
        Samples as rows.
    observed : boolean array of shape (N, F)
        Mask of the observed entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.noise.feature_scales import feature_medians
    >>> mask = np.array([[True, False], [True, False]])
    >>> feature_medians(np.array([[1.0, 5.0], [3.0, 9.0]]), mask)
    array([2., 0.])
    """
    ordered = np.sort(np.where(observed, values, np.inf), axis=0)
    counts = observed.sum(axis=0)
    columns, last = np.arange(values.shape[1]), max(len(values) - 1, 0)
    low, high = (
        ordered[np.clip(place, 0, last), columns] for place in ((counts - 1) // 2, counts // 2)
    )
    medians: Array = np.zeros(len(columns))
    known = counts > 0
    medians[known] = 0.5 * (low[known] + high[known])
    return medians
