"""The noise of data: missing and tiny entries, and Huber thresholds."""

from typing import Any

import numpy as np
import pytest

import reference
from thalweg import _native

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@DTYPES
def test_missing_and_tiny_entries_are_counted(dtype: Any) -> None:
    rng = np.random.default_rng(16)
    values = rng.choice([0.0, -0.0, 1e-9, -1e-9, 1e-3, -2.0, np.nan], size=200).astype(dtype)
    for bound in (1e-12, 1e-6, 1.0):
        found = _native.count_missing_and_tiny(values, dtype(bound))
        assert found == reference.count_missing_and_tiny(values, dtype(bound))
    assert _native.count_missing_and_tiny(values[:0], dtype(1.0)) == (0, 0)


@DTYPES
@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_huber_threshold_against_its_twin(dtype: Any, unit: float) -> None:
    rng = np.random.default_rng(17)
    thresholds = unit * np.linspace(0.4, 2.0, 17)
    for size in (1, 2, 7, 60, 900):
        for sizes in (rng.exponential(size=size), rng.random(size), np.full(size, 1.3)):
            ordered = np.sort((unit * sizes).astype(dtype))
            expected = reference.huber_threshold(
                ordered.astype(np.float64), thresholds, 0.03 * unit, 0.1
            )
            found = _native.huber_threshold(ordered, thresholds, 0.03 * unit, 0.1)
            assert found == pytest.approx(expected, rel=1e-9)
