"""How far results are from one another."""

from typing import Any

import numpy as np


def relative(found: Any, expected: Any) -> float:
    """Return the largest difference of two arrays, relative to the largest entry."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    size = np.max(np.abs(expected), initial=0.0)
    return float(np.max(np.abs(found - expected), initial=0.0) / (size or 1.0))
