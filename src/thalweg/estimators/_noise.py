"""The outliers' weight from the data themselves: a robust noise level, and a knee for Huber's loss.

The weight is the residual beyond which an entry is called an outlier. The median absolute
deviation of the residual does not feel outliers until they are half of the entries, and scales
with the data, so that results do not depend on units. How many such deviations the weight has is
for the shape of the residual to say: fitted with the knee c, codes have a variance in proportion
to E[min(|e|, c)^2] / P(|e| <= c)^2. That is least for a large knee if the residual is normal, and
for a small one if it has long tails or many outliers.
"""

from typing import NamedTuple

import numpy as np

from thalweg import _kernels
from thalweg._typing import Array
from thalweg.estimators._input import Batch

__all__ = ["Noise", "due", "measure", "spread"]

# Entries of a batch that are looked at.
_ENTRIES = 1024
# The median absolute deviation of a unit normal variable, inverted.
_NORMAL = 1.4826
# What is farther away than so many deviations is left out when the deviation is measured again.
_FAR = 3.0
# Knees that may be, in deviations. Larger ones gain little, and let more of outliers in that are
# alike; with smaller ones a dictionary learns slowly.
_KNEES = np.linspace(0.5, 1.75, 26)
# The share of entries within a knee is that within knees which are smaller and larger by so much.
_BLUR = 0.05
# A variance above the least by this share counts as worse, and one by half of it as half worse.
_WORSE = 0.07
# Without noise the weight would vanish, and the problem with it; it is kept above this share of
# the data's size.
_FLOOR = 1e-4
# The level follows the stream with a memory of so many batches.
_MEMORY = 20
# Once the memory is full, the level moves slowly, and one batch in so many is looked at.
_EVERY = 4


class Noise(NamedTuple):
    """What is known of the residual.

    Attributes
    ----------
    scale : float
        Standard deviation of the noise.
    knee : float
        Where Huber's loss should become linear.
    size : float
        Mean of the data.
    batches : int
        Number of batches looked at.
    """

    scale: float = 0.0
    knee: float = 0.0
    size: float = 0.0
    batches: int = 0

    @property
    def level(self) -> float:
        """The standard deviation of the noise, above a small share of the data's size."""
        return max(self.scale, _FLOOR * self.size)

    @property
    def weight(self) -> float:
        """The outliers' weight: the knee, above a small share of the data's size."""
        return max(self.knee, _FLOOR * self.size)

    def follow(self, latest: "Noise") -> "Noise":
        """Return the level with the latest batch taken in."""
        if latest.batches == 0:
            return self
        share = 1.0 / (self.batches + 1) if self.batches < _MEMORY else _EVERY / _MEMORY
        return Noise(
            self.scale + share * (latest.scale - self.scale),
            self.knee + share * (latest.knee - self.knee),
            self.size + share * (latest.size - self.size),
            self.batches + 1,
        )


def due(n_batches: int) -> bool:
    """Tell whether to look at the batch that comes after so many others."""
    return n_batches < _MEMORY or n_batches % _EVERY == 0


def spread(F: int, B: int) -> tuple[int, int]:
    """Return how many features and samples lie from one entry that is looked at to the next."""
    every_sample = max(1, min(B, F * B // _ENTRIES))
    every_feature = max(1, F * len(range(0, B, every_sample)) // _ENTRIES)
    return every_feature, every_sample


def measure(batch: Batch, W: Array, H: Array) -> Noise:
    """Return the level of V - W H over a few entries of a batch, spread evenly.

    Only entries where the data are positive count: in data that are mostly zero the others would
    tell nothing but that zeros are easily explained.
    """
    every_feature, every_sample = spread(*batch.V.shape)
    V = batch.V.T[::every_sample, ::every_feature]
    residual = np.abs(V - H.T[::every_sample] @ W.T[:, ::every_feature])
    kept = V > 0.0  # gaps are filled with zeros
    residual, V = np.sort(residual[kept]), V[kept]
    if V.size == 0:
        return Noise()
    scale = _deviation(residual[: _below(residual, _FAR * _deviation(residual))])
    knee = 0.0
    if scale > 0.0:
        knee = _kernels.huber_knee(residual, scale * _KNEES, scale * _BLUR, _WORSE)
    return Noise(scale, knee, float(V.mean()), 1)


def _deviation(residual: Array) -> float:
    """Return the median of sorted sizes, in standard deviations of a normal variable."""
    return _NORMAL * float(residual[residual.size // 2])


def _below(residual: Array, limit: float) -> int:
    """Return how many sorted sizes do not exceed the limit."""
    return int(residual.searchsorted(residual.dtype.type(limit), side="right"))
