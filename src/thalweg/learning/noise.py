"""A robust estimate of the noise scale, and the Huber threshold that suits the residuals.

The noise scale is the median absolute deviation of the residuals, which tolerates outliers in up to
half of the entries. It scales with the data, so that results do not depend on units.

The best Huber threshold c depends on the distribution of the residuals e. Codes that are fitted
with it have a variance proportional to ``E[min(|e|, c)^2] / P(|e| <= c)^2``. The minimum lies at a
large threshold for normal residuals, and at a small one for heavy tails or many outliers.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from thalweg import _native
from thalweg._constants import MAD_TO_STANDARD_DEVIATION
from thalweg._typing import Array
from thalweg.encoders.entry_weights import are_weights
from thalweg.learning.batches import Batch
from thalweg.learning.resampling import draw

__all__ = [
    "NoiseEstimate",
    "NoiseSample",
    "estimate_noise",
    "noise_sample",
    "pooled",
    "sampling_steps",
]

# Entries of a batch from which the noise is estimated. Safety margin: the relative error of a
# median of 1024 entries is about 4 %.
_N_ENTRIES = 1024
# Residuals beyond this many scales are left out of the second estimate.
_REJECTED_BEYOND = 3.0
# Candidates for the Huber threshold, in noise scales. Larger ones gain less than 5 % of variance
# on normal residuals, and let correlated outliers in; smaller ones slow down the learning.
# benchmark: robust_faces
_THRESHOLDS = np.linspace(0.5, 1.75, 26)
# Half-width of the window in which the density at a threshold is estimated, in noise scales.
_BANDWIDTH = 0.05
# Relative increase of the variance over its minimum that counts as worse. benchmark: robust_faces
_VARIANCE_TOLERANCE = 0.07
# Lower bound of scale and threshold, as a share of the mean of the data, for data without noise.
_SCALE_FLOOR = 1e-4
# Number of batches over which the estimate averages; all of the first ones are sampled.
MEMORY = 20
# Once the memory is full, one batch of this many is sampled.
SAMPLED_EVERY = 4


class NoiseEstimate(NamedTuple):
    """Robust statistics of the residuals.

    Attributes
    ----------
    scale : float
        Standard deviation of the noise.
    huber_threshold : float
        Residual beyond which Huber's loss should be linear.
    data_mean : float
        Mean of the positive entries of the data.
    n_batches : int
        Number of batches in the estimate.

    Examples
    --------
    >>> from thalweg.learning.noise import NoiseEstimate
    >>> NoiseEstimate(scale=0.1, huber_threshold=0.15, data_mean=1.0, n_batches=1).outlier_weight
    0.15
    """

    scale: float = 0.0
    huber_threshold: float = 0.0
    data_mean: float = 0.0
    n_batches: int = 0

    @property
    def positive_scale(self) -> float:
        """The noise scale, bounded below by a small share of the data's mean."""
        return max(self.scale, _SCALE_FLOOR * self.data_mean)

    @property
    def outlier_weight(self) -> float:
        """The Huber threshold, bounded below by a small share of the data's mean."""
        return max(self.huber_threshold, _SCALE_FLOOR * self.data_mean)

    def averaged(self, latest: "NoiseEstimate") -> "NoiseEstimate":
        """Return the running average with the estimate of the latest batch."""
        if latest.n_batches == 0:
            return self
        full = self.n_batches >= MEMORY
        share = SAMPLED_EVERY / MEMORY if full else 1.0 / (self.n_batches + 1)
        return NoiseEstimate(
            self.scale + share * (latest.scale - self.scale),
            self.huber_threshold + share * (latest.huber_threshold - self.huber_threshold),
            self.data_mean + share * (latest.data_mean - self.data_mean),
            self.n_batches + 1,
        )


def sampling_steps(F: int, B: int) -> tuple[int, int]:
    """Return the steps between sampled features and between sampled columns of a batch.

    Examples
    --------
    >>> from thalweg.learning.noise import sampling_steps
    >>> sampling_steps(64, 16), sampling_steps(4096, 16)
    ((1, 1), (4, 16))
    """
    every_sample = max(1, min(B, F * B // _N_ENTRIES))
    every_feature = max(1, F * len(range(0, B, every_sample)) // _N_ENTRIES)
    return every_feature, every_sample


def estimate_noise(batch: Batch, W: Array, H: Array, scales: Array | None = None) -> NoiseEstimate:
    """Estimate the noise from the residuals V - W H at about a thousand entries of a batch.

    Only positive entries count. In sparse data, the zeros have small residuals that say nothing
    about the noise of the others. Entries are in units of the relative scales of the features, if
    they are given; if entries have weights, the noise is that of a weight of 1.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import Batch
    >>> from thalweg.learning.noise import estimate_noise
    >>> V = 5.0 + 0.1 * np.random.default_rng(0).normal(size=(100, 20))
    >>> round(estimate_noise(Batch(V, None), np.ones((100, 1)), np.full((1, 20), 5.0)).scale, 1)
    0.1
    """
    every_feature, every_sample = sampling_steps(*batch.V.shape)
    if batch.sample_weight is not None:
        chosen = draw(batch)
        batch, H = batch.columns(chosen), H[:, chosen]
    V = batch.V.T[::every_sample, ::every_feature]
    residual = np.abs(V - H.T[::every_sample] @ W.T[:, ::every_feature])
    if scales is not None:
        units = scales[::every_feature].astype(V.dtype, copy=False)
        V, residual = V / units, residual / units
    if batch.observed is not None and are_weights(batch.observed):  # in standard deviations
        roots = np.sqrt(batch.observed.T[::every_sample, ::every_feature])
        V, residual = V * roots, residual * roots
    positive = V > 0.0  # missing entries are 0
    residual, V = np.sort(residual[positive]), V[positive]
    if V.size == 0:
        return NoiseEstimate()
    scale = _scale(residual)
    inside = residual.searchsorted(residual.dtype.type(_REJECTED_BEYOND * scale), side="right")
    scale = _scale(residual[:inside])
    threshold = 0.0
    if scale > 0.0:
        threshold = _native.huber_threshold(
            residual, scale * _THRESHOLDS, scale * _BANDWIDTH, _VARIANCE_TOLERANCE
        )
    return NoiseEstimate(scale, threshold, float(V.mean()), 1)


class NoiseSample(NamedTuple):
    """Some entries of a block with the codes of their samples, for an estimate elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import as_batch
    >>> from thalweg.learning.noise import noise_sample
    >>> noise_sample(as_batch(np.ones((4, 6))), np.ones((2, 4)), 3, slice(None, None, 2)).V.shape
    (2, 2)
    """

    V: Array
    H: Array
    weights: Array | None = None


def noise_sample(batch: Batch, H: Array, every_feature: int, columns: Any) -> NoiseSample:
    """Return the samples ``columns`` of a block, with one of ``every_feature`` features.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import as_batch
    >>> from thalweg.learning.noise import noise_sample
    >>> noise_sample(as_batch(np.ones((4, 6))), np.ones((2, 4)), 3, slice(2)).H.shape
    (2, 2)
    """
    if batch.sample_weight is not None:
        columns = draw(batch)[columns]  # type: ignore[index]
    V: Any = batch.V[::every_feature][:, columns]
    V = V.toarray() if sparse.issparse(V) else V
    if not are_weights(batch.observed):
        return NoiseSample(V, H[:, columns])
    return NoiseSample(V, H[:, columns], batch.observed[::every_feature][:, columns])


def pooled(samples: list[NoiseSample]) -> NoiseSample:
    """Concatenate the noise samples of several blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.noise import NoiseSample, pooled
    >>> pooled([NoiseSample(np.ones((3, 2)), np.ones((1, 2)))] * 2).V.shape
    (3, 4)
    """
    V, H = np.hstack([one.V for one in samples]), np.hstack([one.H for one in samples])
    if all(one.weights is None for one in samples):
        return NoiseSample(V, H)
    each: list[Any] = [
        np.ones_like(one.V) if one.weights is None else one.weights for one in samples
    ]
    return NoiseSample(V, H, np.hstack(each))


def _scale(residual: Array) -> float:
    """Return the standard deviation of normal residuals from their sorted absolute values."""
    return MAD_TO_STANDARD_DEVIATION * float(residual[residual.size // 2])
