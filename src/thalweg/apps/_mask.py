"""What is far away, in noise levels; where something stands before a background.

A pixel differs if it is farther from the background than ``LEVELS`` noise levels; the noise level
is the one that the model measured on what is no outlier. Then each pixel does what most of the
nine pixels around it do, those that were seen: single pixels go, small holes and gaps close.
"""

from typing import Any

import numpy as np

from thalweg._typing import Array, Mask

__all__ = ["LEVELS", "distant", "majority", "noise_level", "objects"]

# Normal noise goes as far once in two million pixels.
LEVELS = 5.0
# Pictures have 8 bits: what differs by less than one of these steps is no difference.
_LEAST = 1 / 255


def noise_level(model: Any) -> float:
    """Return the noise level that a robust model has measured."""
    noise = model.noise_
    return max(float(getattr(noise, "level", noise)), _LEAST)


def distant(outliers: Array, model: Any, levels: float) -> Array:
    """Return outliers without those nearer than so many noise levels, if the model knows these."""
    noise = getattr(model, "noise_", 0.0)
    limit = levels * float(getattr(noise, "level", noise))
    far: Array = np.where(np.abs(outliers) > limit, outliers, 0.0)
    return far


def objects(residual: Array, limit: float) -> Mask:
    """Return where pictures differ from their background; NaN in the residual is a gap.

    Parameters
    ----------
    residual : array of shape (n, height, width) or (n, height, width, 3)
        Frames less background.
    limit : float
        How far a pixel has to be, in any of its colours.
    """
    far: Mask = np.asarray(np.abs(residual) > limit)  # False at gaps
    seen = ~np.isnan(residual)
    if residual.ndim == 4:
        far, seen = np.any(far, axis=3), np.any(seen, axis=3)
    return majority(far, seen)


def majority(far: Mask, seen: Mask) -> Mask:
    """Return what more than half of the seen pixels in each 3 x 3 window are."""
    mask: Mask = 2 * _window(far & seen) > _window(seen)
    return mask


def _window(pixels: Mask) -> Any:
    """Return how many of the 3 x 3 pixels are set; the picture is mirrored at its border."""
    n = np.pad(pixels.view(np.uint8), ((0, 0), (1, 1), (1, 1)), mode="symmetric")
    rows = n[:, :-2] + n[:, 1:-1] + n[:, 2:]
    return rows[:, :, :-2] + rows[:, :, 1:-1] + rows[:, :, 2:]
