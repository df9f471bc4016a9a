r"""Detect moving objects by the evidence of pixels and their neighbours.

The residual r of a pixel of the background follows Student's law with three degrees of freedom,
the least whole number with a finite variance, at the noise scale s of the pixel. An object has any
of the grey values from 0 to 1. The evidence for an object is the log-likelihood ratio

.. math:: e = \log f + 2 \log(1 + r^2 / 3 s^2) + \log(s / c), \quad c = 2 / (\sqrt{3} \pi),

with the density f = 1 of the objects. Clipped evidence is averaged over 3 x 3 windows, so that no
pixel decides alone; a window with a positive mean is foreground. Small regions and holes go.
"""

from math import pi, sqrt
from typing import Any

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.apps._pixel_noise import PixelNoise

__all__ = ["density_at", "evidence", "objects", "pooled", "threshold_of", "without_speckles"]

_FREEDOM = 3.0  # degrees of freedom
_DENSITY_AT_ZERO = 2.0 / (sqrt(3.0) * pi)  # of Student's law at scale 1
# Largest evidence of one pixel: odds of 50 to 1. Safety margin: 4 to 8 give nearly the same masks.
_MAX_EVIDENCE = 4.0
_WINDOW = 3  # pixels
# Regions and holes of fewer pixels are removed: two windows, since noise that lies together in one
# window makes a region of the size of a window.
_MIN_AREA = 2 * _WINDOW**2
# Pixels of a region touch at a side, in the same frame.
_SIDES = np.zeros((3, 3, 3), dtype=np.bool_)
_SIDES[1, 1, :] = _SIDES[1, :, 1] = True


def density_at(threshold: float | None, noise: PixelNoise) -> float:
    """Return the density of objects with which a common pixel has its threshold there."""
    if threshold is None:
        return 1.0
    odds = (1.0 + threshold**2 / _FREEDOM) ** -2
    return float(odds * _DENSITY_AT_ZERO / noise.common)


def threshold_of(density: float, noise: PixelNoise) -> float:
    """Return the residual of a pixel with the common noise scale at which its evidence is 0."""
    odds = _DENSITY_AT_ZERO / (density * noise.common)
    return float(noise.common * np.sqrt(_FREEDOM * max(np.sqrt(odds) - 1.0, 0.0)))


def objects(residual: Array, noise: PixelNoise, density: float = 1.0) -> Mask:
    """Return the mask of pixels that differ from their background, before regions are cleaned.

    Parameters
    ----------
    residual : array of shape (n, height, width) or (n, height, width, 3)
        Frames minus background; NaN marks gaps.
    noise : PixelNoise
        Noise scales.
    density : float
        Density of the grey values of objects.
    """
    found: Mask = pooled(evidence(residual, noise.scale, density)) > 0.0
    return found


def evidence(residual: Array, scale: Array, density: float = 1.0) -> Array:
    """Return the clipped evidence of each pixel: of colours the largest; NaN at gaps."""
    squares = np.square(residual / (sqrt(_FREEDOM) * scale))
    values = 2.0 * np.log1p(squares) + np.log(density / _DENSITY_AT_ZERO * scale)
    if residual.ndim == 4:
        values = np.fmax.reduce(values, axis=3)
    clipped: Array = np.clip(values, -_MAX_EVIDENCE, _MAX_EVIDENCE)
    return clipped


def pooled(values: Array, size: int = _WINDOW) -> Array:
    """Return the mean over the observed pixels of each window; 0 without any.

    The image is mirrored at its border.
    """
    gaps = np.isnan(values)
    if not gaps.any():
        return _box(values, size)
    share = _box((~gaps).astype(np.float32), size)
    total = _box(np.where(gaps, np.float32(0.0), values), size)
    tiny = 0.5 / size**2  # half a pixel of a window: rounding errors of empty windows are below it
    mean: Array = np.where(share > tiny, total / np.maximum(share, tiny), 0.0)
    return mean


def without_speckles(mask: Mask, min_area: int = _MIN_AREA) -> Mask:
    """Return masks without regions, and then without holes, of fewer pixels."""
    found = mask & ~_small(mask, min_area)
    cleaned: Mask = found | _small(~found, min_area)
    return cleaned


def _small(mask: Mask, min_area: int) -> Any:
    """Return the pixels of the regions of each frame that have fewer pixels."""
    from scipy import ndimage

    labels, _ = ndimage.label(mask, _SIDES)
    areas = np.bincount(labels.ravel())
    small = areas < min_area
    small[0] = False
    return small[labels]


def _box(values: Array, size: int) -> Array:
    from scipy import ndimage

    mean: Array = ndimage.uniform_filter(values, (0, size, size), mode="reflect")
    return mean
