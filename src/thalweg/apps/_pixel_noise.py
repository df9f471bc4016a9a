"""Estimate the noise scale of each pixel of a film."""

from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.apps._learn import Subsample
from thalweg.apps._run import Run
from thalweg.apps._streams import length, read_batch_size
from thalweg.streams import Stream

__all__ = ["PixelNoise", "measure_noise", "pixel_noise"]

# Frames whose residuals are kept, at most, and entries of them, which bound the memory.
_MAX_FRAMES, _MAX_ENTRIES = 256, 2**26
_SORTED_ENTRIES = 2**22  # at a time
_MEDIAN_TO_SCALE = 1.4826  # standard deviation of normal noise over its median absolute value
# Weight of the common scale, in frames. Residuals of one pixel are correlated in time: a hundred
# frames say as much as a few independent ones. benchmark: films
_PRIOR_FRAMES = 100.0
# Smallest noise scale of images: one step of 8-bit values.
_MIN_NOISE_SCALE = 1 / 255


class PixelNoise(NamedTuple):
    """Noise scales of a film.

    Attributes
    ----------
    scale : array of shape (height, width) or (height, width, 3)
        Noise scale of each pixel and channel.
    common : float
        Median of the noise scales of the pixels.
    """

    scale: Array
    common: float


def measure_noise(model: Any, stream: Stream, shape: tuple[int, ...], run: Run) -> PixelNoise:
    """Read a film, and estimate noise scales from evenly spaced frames."""
    kept = Subsample(max(1, min(_MAX_FRAMES, _MAX_ENTRIES // stream.n_features) // 2))
    n = length(stream)
    for first, X in stream.batches(read_batch_size(stream.n_features)):
        chosen = [i for i in range(len(X)) if kept.keeps(first + i)]
        if chosen:
            rows = X[chosen]
            residuals = rows - np.clip(model.decompose(rows).low_rank, 0.0, 1.0)
            for i, row in zip(chosen, residuals, strict=True):
                # a copy: a view would keep the whole batch in memory
                kept.add(first + i, row.astype(np.float32))
        run.notify("measuring noise", first + len(X), n)
    return pixel_noise(np.stack(kept.items).reshape(-1, *shape))


def pixel_noise(residuals: Array) -> PixelNoise:
    r"""Estimate the noise scale of each pixel from residuals, with NaN at gaps.

    The median absolute residual of a pixel that objects cover for less than half of the time is
    one of its background, which flickers or is still. With n observed frames, the variance
    is shrunk to that of the common scale, :math:`(n s_i^2 + m s^2) / (n + m)`.
    """
    n = np.count_nonzero(~np.isnan(residuals), axis=0)
    own = _MEDIAN_TO_SCALE * _median_magnitudes(residuals, n)
    common = float(np.median(own[n > 0])) if n.any() else 0.0
    variance = (n * np.square(own) + _PRIOR_FRAMES * common**2) / (n + _PRIOR_FRAMES)
    scale = np.maximum(np.sqrt(variance), _MIN_NOISE_SCALE).astype(np.float32)
    return PixelNoise(scale, max(common, _MIN_NOISE_SCALE))


def _median_magnitudes(residuals: Array, n: Any) -> Array:
    """Return the lower median of the ``n`` magnitudes of each pixel that are not NaN, or 0.

    Rows of the image are sorted a few at a time, which bounds the memory.
    """
    medians = np.empty(residuals.shape[1:], dtype=residuals.dtype)
    step = max(1, _SORTED_ENTRIES * len(medians) // residuals.size)
    for first in range(0, len(medians), step):
        rows = slice(first, first + step)
        ordered = np.sort(np.abs(residuals[:, rows]), axis=0)  # NaN comes last
        middle = np.maximum(n[rows] - 1, 0)[None] // 2
        medians[rows] = np.take_along_axis(ordered, middle, axis=0)[0]
    return np.nan_to_num(medians, copy=False)
