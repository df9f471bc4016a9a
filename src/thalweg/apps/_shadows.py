r"""Tell shadows from objects by the ratio of frame and background.

A shadow multiplies the background b by a factor a below 1 that varies slowly, so the texture of
the background remains. In each window the factor is the weighted least squares fit
:math:`a = \sum x b / s^2 / \sum b^2 / s^2`. Pixels with a factor of a shadow are shadow if the
residuals of the fit are noise.
"""

from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.apps._mask import pooled

__all__ = ["POLICIES", "shadows"]

POLICIES = ("drop", "keep", "mark")
_WINDOW = 5  # pixels
# Factor of the darkest shadow: light from the sky or other lamps remains. benchmark: films
_DARKEST = 0.6
# Root mean square residual of the fit, in noise scales, beyond which the texture is another one.
_LARGEST_RESIDUAL = 3.0


def shadows(frames: Array, background: Array, scale: Array) -> Any:
    """Return the mask of pixels in whose window the frame is a darker background.

    Parameters
    ----------
    frames, background : arrays of shape (n, height, width) or (n, height, width, 3)
        Frames, with NaN at gaps, and their background. Colours have the same factor.
    scale : array of shape (height, width) or (height, width, 3)
        Noise scales.
    """
    x, b = frames / scale, background / scale
    products = (_total(x * b), _total(np.where(np.isnan(x), np.nan, b * b)), _total(x * x))
    xb, bb, xx = (pooled(part, _WINDOW) for part in products)
    factor = xb / np.maximum(bb, np.finfo(np.float32).tiny)
    unexplained = xx - factor * xb
    return (factor > _DARKEST) & (factor < 1.0) & (unexplained < _LARGEST_RESIDUAL**2)


def _total(values: Array) -> Array:
    """Return the mean over colours, with NaN where all are missing."""
    if values.ndim == 3:
        return values
    observed = ~np.isnan(values)
    count = np.count_nonzero(observed, axis=3)
    total = np.sum(np.where(observed, values, 0.0), axis=3)
    mean: Array = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return mean
