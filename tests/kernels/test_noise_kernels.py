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
def test_huber_threshold_against_the_reference(dtype: Any, unit: float) -> None:
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


@DTYPES
@pytest.mark.parametrize("masked", [False, True])
def test_counted_residuals_against_their_twin(dtype: Any, masked: bool) -> None:
    rng = np.random.default_rng(18)
    X, predicted = rng.normal(size=(2, 30, 70)).astype(dtype)
    H, R = rng.normal(size=(30, 3)).astype(dtype), np.zeros_like(X)
    H[::4, 0], R[rng.random(X.shape) < 0.2], X[2, 5] = 0, 1, 0
    observed = rng.random(X.shape) < 0.8 if masked else None
    if observed is not None:
        observed[7, 2:] = False  # as many entries as codes fit anything
    variance = rng.random(70)
    found, expected = (
        (np.full(70, np.iinfo(np.int64).min), np.zeros((70, 48), np.float32)) for _ in range(2)
    )
    _native.count_residuals(X, observed, predicted, H, R, variance, found, 2.0)
    reference.count_residuals(X, observed, predicted, H, R, variance, *expected, 2.0)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    with pytest.raises(ValueError, match="48 counts"):
        _native.count_residuals(X, observed, predicted, H, R, variance[:9], found, 2.0)
    with pytest.raises(ValueError, match="those of the samples"):
        _native.count_residuals(X, observed, predicted[:9], H, R, variance, found, 2.0)
