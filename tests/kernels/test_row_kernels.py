"""Gram matrices of features of their own, and descent on each row, against references."""

from typing import Any

import numpy as np
import pytest

import reference
from thalweg import _native

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@DTYPES
def test_weighted_grams_are_sums(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    weights, X = rng.random((5, 7)).astype(dtype), rng.normal(size=(7, 3)).astype(dtype)
    old = rng.normal(size=(5, 3, 3)).astype(dtype)
    grams = old.copy()
    _native.weighted_grams(weights, X, dtype(0.25), dtype(0.5), grams)
    expected = 0.25 * old + 0.5 * reference.weighted_grams(weights, X)
    np.testing.assert_allclose(grams, expected, rtol=0, atol=100 * np.finfo(dtype).eps)
    assert grams.dtype == dtype


@DTYPES
@pytest.mark.parametrize("sweeps", [1, 3])
def test_rows_are_swept_like_the_reference(dtype: Any, sweeps: int) -> None:
    rng = np.random.default_rng(1)
    root = rng.normal(size=(6, 4, 9))
    A = (root @ root.transpose(0, 2, 1)).astype(dtype)
    A[2, 1, :] = A[2, :, 1] = 0.0  # an entry without curvature stays
    B, W = rng.normal(size=(6, 4)).astype(dtype), rng.random((6, 4)).astype(dtype)
    free = np.array([False, True, True, True])
    moved = W.copy()
    lower = np.array([0.0, 1e-3, 0.0, 1e-2], dtype)
    _native.sweep_rows(A, B, moved, lower, free, sweeps)
    expected = reference.sweep_rows(A, B, W, lower, free, sweeps)
    np.testing.assert_allclose(moved, expected, rtol=1e3 * np.finfo(dtype).eps)
    assert np.array_equal(moved[:, 0], W[:, 0])
    assert np.array_equal(moved[2, 1], W[2, 1])
    assert np.all(moved >= lower)
    assert np.any(moved[:, [1, 3]] == lower[[1, 3]]), "nothing at a bound: the test shows nothing"
