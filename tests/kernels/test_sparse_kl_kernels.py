"""Sparse rows: codes under the Kullback-Leibler divergence, and models at stored entries."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import reference
from thalweg import _native

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def sparse_counts(dtype: Any = np.float64) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(2)
    W = (rng.random((30, 4)) + 0.05).astype(dtype)
    V = rng.poisson(0.4 * rng.random((9, 4)) @ W.T).astype(dtype)
    V[3] = 0.0
    return sparse.csr_array(V), V, W


@DTYPES
def test_products_at_stored_entries(dtype: Any) -> None:
    rows, V, W = sparse_counts(dtype)
    H = np.random.default_rng(3).random((9, 4)).astype(dtype)
    found = np.empty_like(rows.data)
    _native.sampled_products(rows.indptr, rows.indices, W, H, found)
    expected = reference.sampled_products(*np.nonzero(V), W, H)
    np.testing.assert_allclose(found, expected, rtol=100 * np.finfo(dtype).eps)


def counts_of(tol: float, max_iter: int) -> tuple[Any, Any, Any, Any]:
    rows, V, W = sparse_counts()
    H, loss = np.full((9, 4), 0.3), np.zeros(9)
    mass = W.sum(axis=0)[None] + 0.1
    settings = _native.SparseKLSettings(offset=0.0, tol=tol, max_steps=max_iter)
    _native.sparse_kl_codes((rows.data, rows.indices, rows.indptr), W, mass, H, loss, settings)
    return V, W, H, loss


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_counts_are_encoded_like_the_reference(steps: int) -> None:
    V, W, H, loss = counts_of(0.0, steps)
    for v, h in zip(V, H, strict=True):
        expected = reference.sparse_kl_codes(v, W, W.sum(axis=0) + 0.1, np.full(4, 0.3), steps)
        np.testing.assert_allclose(h, expected, rtol=1e-12)
    assert np.all(loss[V.sum(axis=1) > 0] < 0), "the cap is told by the sign"


def test_the_gap_of_counts_is_a_bound() -> None:
    V, W, _, loss = counts_of(1e-2, 10_000)
    _, _, best, _ = counts_of(0.0, 100_000)
    P = np.maximum(best @ W.T, 1e-300)  # a sample without counts has no codes
    least = (V * np.log(np.where(V > 0, V, 1) / P) - V + P).sum(axis=1) + 0.1 * best.sum(axis=1)
    assert np.all(loss >= least * (1 - 1e-12) - 1e-290)
    assert np.all(loss <= least * (1 + 1.02e-2))
    assert np.any(loss > least * (1 + 1e-6)), "the test would pass without a gap"
