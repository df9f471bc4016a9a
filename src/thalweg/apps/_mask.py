"""Detect outliers, and the mask of moving objects.

A pixel is foreground if ``|frame - background| > threshold * noise scale``. The model estimates
the noise scale without outliers. A majority vote over the observed pixels of each 3 x 3 window
then removes single pixels, and fills small holes and gaps.
"""

from typing import Any

import numpy as np

from thalweg._typing import Array, Mask

__all__ = ["THRESHOLD", "beyond_threshold", "majority", "noise_scale", "objects"]

# Multiples of the noise scale: normal noise exceeds it in one of two million pixels.
THRESHOLD = 5.0
# Smallest noise scale of images: one step of 8-bit values.
_MIN_NOISE_SCALE = 1 / 255


def noise_scale(model: Any) -> float:
    """Return the noise scale of images, or its median over pixels, from a robust model."""
    return float(np.fmax(np.median(model.noise_scale_), _MIN_NOISE_SCALE))


def beyond_threshold(outliers: Array, model: Any, threshold: float) -> Array:
    """Set outliers to 0 up to ``threshold`` times the noise scale, if the model has one.

    Rows are samples; each feature may have a noise scale of its own.
    """
    limit = threshold * np.nan_to_num(getattr(model, "noise_scale_", 0.0))
    large: Array = np.where(np.abs(outliers) > limit, outliers, 0.0)
    return large


def objects(residual: Array, limit: float) -> Mask:
    """Return the mask of pixels that differ from their background.

    Parameters
    ----------
    residual : array of shape (n, height, width) or (n, height, width, 3)
        Frames minus background; NaN marks gaps.
    limit : float
        Smallest difference of a foreground pixel, in any colour channel.
    """
    large: Mask = np.asarray(np.abs(residual) > limit)  # False at gaps
    observed = ~np.isnan(residual)
    if residual.ndim == 4:
        large, observed = np.any(large, axis=3), np.any(observed, axis=3)
    return majority(large, observed)


def majority(mask: Mask, observed: Mask) -> Mask:
    """Return the majority vote of the observed pixels in each 3 x 3 window."""
    voted: Mask = 2 * _window(mask & observed) > _window(observed)
    return voted


def _window(pixels: Mask) -> Any:
    """Count the set pixels in each 3 x 3 window; the image is mirrored at its border."""
    n = np.pad(pixels.view(np.uint8), ((0, 0), (1, 1), (1, 1)), mode="symmetric")
    rows = n[:, :-2] + n[:, 1:-1] + n[:, 2:]
    return rows[:, :, :-2] + rows[:, :, 1:-1] + rows[:, :, 2:]
