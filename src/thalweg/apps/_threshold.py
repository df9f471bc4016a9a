"""Outliers of tables beyond a multiple of the noise scale."""

from typing import Any

import numpy as np

from thalweg._typing import Array

__all__ = ["THRESHOLD", "beyond_threshold"]

# Multiples of the noise scale: normal noise exceeds it in one of two million entries.
THRESHOLD = 5.0


def beyond_threshold(outliers: Array, model: Any, threshold: float) -> Array:
    """Set outliers to 0 up to ``threshold`` times the noise scale, if the model has one.

    Rows are samples; each feature may have a noise scale of its own.
    """
    limit = threshold * np.nan_to_num(getattr(model, "noise_scale_", 0.0))
    large: Array = np.where(np.abs(outliers) > limit, outliers, 0.0)
    return large
