"""Codes in the simplex, and supports of archetypes, against reference implementations."""

from typing import Any

import numpy as np
import pytest

import reference
from dictionaries import dictionaries
from thalweg import _native

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@pytest.mark.parametrize("name", dictionaries())
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_simplex_codes_are_the_best_of_all_supports(name: str, own: bool) -> None:
    W = dictionaries()[name]
    rng = np.random.default_rng(1)
    V = np.hstack([rng.random((len(W), 4)), W @ rng.dirichlet(np.ones(W.shape[1]), 3).T])
    observed = rng.random(V.shape) < 0.8 if own else np.ones(V.shape, bool)
    G = np.stack([(W * s[:, None]).T @ W for s in observed.T]) if own else (W.T @ W)[None]
    C = (V * observed).T @ W
    codes, gaps = np.zeros(C.shape), np.empty(len(C))
    codes[:, 0] = 1.0
    settings = _native.SimplexSettings(max_steps=100, tol=1e-13)
    _native.simplex_codes(G, C, codes, gaps, settings)
    expected = reference.simplex_codes(G if own else G[0], C)
    assert np.all(codes >= 0)
    np.testing.assert_allclose(codes.sum(axis=1), 1.0, rtol=1e-12)
    grams = G if own else np.broadcast_to(G, (len(C), *G.shape[1:]))
    for w, best, gram, c, gap in zip(codes, expected, grams, C, gaps, strict=True):
        values = [x @ gram @ x / 2 - c @ x for x in (w, best)]
        assert values[0] <= values[1] + 1e-9 * max(1.0, np.abs(gram).max())
        assert values[0] - gap <= values[1] + 1e-12 * max(1.0, np.abs(gram).max())


@DTYPES
def test_sweep_supports_against_the_reference(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    A = rng.random((9, 4))
    Q, P = (A.T @ A).astype(dtype), rng.normal(2.0, 2.0, (4, 600)).astype(dtype)
    H = np.maximum(rng.normal(size=(4, 600)), 0.0).astype(dtype)
    expected = reference.sweep_supports(Q, P, H, 2)
    zeros = H == 0
    _native.sweep_supports(Q, P, H, 2)
    np.testing.assert_allclose(H, expected, rtol=1e-9 if dtype == np.float64 else 1e-3, atol=1e-4)
    assert not H[zeros].any()


def test_sweep_supports_leaves_rows_without_weight_alone() -> None:
    Q, H = np.diag([1.0, 0.0]), np.full((2, 3), 0.5)
    _native.sweep_supports(Q, np.full((2, 3), 2.0), H, 1)
    np.testing.assert_array_equal(H, [[2.0] * 3, [0.5] * 3])


def test_proposals_are_those_of_the_reference() -> None:
    rng = np.random.default_rng(0)
    curves, S = rng.random(5) + 0.1, rng.normal(size=(5, 80))
    H = np.maximum(rng.normal(size=(5, 80)), 0.0)
    H[:, 0], H[:, 1] = 0.0, 1.0
    out, into = np.empty(80, dtype=np.intp), np.empty(80, dtype=np.intp)
    cost, gain = np.empty(80), np.empty(80)
    _native.propose_swaps(curves, S, H, (out, cost, into, gain))
    leave, enter = reference.propose_swaps(curves, S, H)
    np.testing.assert_allclose(cost, [c for c, _ in leave])
    np.testing.assert_array_equal(out, [k for _, k in leave])
    np.testing.assert_allclose(gain, [g for g, _ in enter])
    np.testing.assert_array_equal(into, [k for _, k in enter])


def test_swaps_are_those_of_the_reference() -> None:
    rng = np.random.default_rng(0)
    A = rng.random((9, 5))
    Q, P = A.T @ A, rng.normal(2.0, 2.0, (5, 60))
    Q[4], Q[:, 4] = 0.0, 0.0  # a row that nothing depends on
    H = np.maximum(rng.normal(size=(5, 60)), 0.0)
    H[:, 0], H[:, 1] = 0.0, 1.0
    busy = rng.random(60) < 0.2
    for least in (0.0, 2.0):
        found = H.copy()
        count = _native.swap_best_pairs(Q, Q @ H - P, found, busy, least)
        np.testing.assert_allclose(found, reference.swap_best_pairs(Q, P, H, busy, least))
        assert count == np.count_nonzero((found != H).any(axis=0)) > 5
