"""Dictionaries under squares: each row is a nonnegative least-squares problem of its own."""

import numpy as np
import pytest
from scipy.optimize import nnls

from thalweg._typing import Array
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.prox.l2_ball import L2Ball
from thalweg.updates.second_order import SecondOrderSurrogate
from thalweg.updates.surrogate import Statistics

F, K, N = 30, 6, 50


def problem(overlap: float, dtype: str = "float64") -> tuple[Array, Statistics, Array, Array]:
    """Return a dictionary, statistics, and the codes and samples that they belong to."""
    rng = np.random.default_rng(3)
    H, W = rng.random((K, N)) + overlap, rng.random((F, K))
    true = np.hstack([W[:, :2], np.maximum(rng.standard_normal((F, K - 2)), 0.0)])
    V = true @ H + 0.01 * rng.standard_normal((F, N))
    state = Statistics(*(np.asarray(x) for x in (H @ H.T, V @ H.T, np.sum(V**2) / 2, N, N)))
    state = state._replace(A=state.A.astype(dtype), B=np.asfortranarray(state.B, dtype))
    return np.asfortranarray(W, dtype), state, H, V


def minimised(W: Array, state: Statistics, frozen: int = 0) -> Array:
    return SecondOrderSurrogate(SquaredL2(), L2Ball(1e9), frozen=frozen).minimise(W, state)[0]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_correlated_codes_have_the_exact_minimum(dtype: str) -> None:
    """Sweeps over columns would need hundreds of rounds here."""
    W, state, H, V = problem(2.0, dtype)
    exact = np.array([nnls(H.T, v)[0] for v in V])
    found = minimised(W, state)
    sizes = np.linalg.norm(found, axis=0)
    np.testing.assert_allclose(sizes, 1e9, rtol=1e-6)  # on the boundary of the set
    expected = exact / np.linalg.norm(exact, axis=0)
    np.testing.assert_allclose(found / sizes, expected, atol=1e-9 if dtype == "float64" else 1e-4)
    assert found.dtype == dtype


def test_frozen_columns_stay_and_the_others_fit_the_rest() -> None:
    W, state, H, V = problem(2.0)
    found = minimised(W, state, frozen=2)
    np.testing.assert_array_equal(found[:, :2], W[:, :2])
    exact = np.array([nnls(H[2:].T, v)[0] for v in V - W[:, :2] @ H[:2]])
    free = found[:, 2:]
    expected = exact / np.linalg.norm(exact, axis=0)
    np.testing.assert_allclose(free / np.linalg.norm(free, axis=0), expected, atol=1e-9)


def test_columns_without_codes_keep_their_direction() -> None:
    W, state, *_ = problem(2.0)
    A, B = state.A.copy(), state.B.copy(order="F")
    A[3], A[:, 3], B[:, 3] = 0.0, 0.0, 0.0
    found = minimised(W, state._replace(A=A, B=B))[:, 3]
    np.testing.assert_allclose(found / np.linalg.norm(found), W[:, 3] / np.linalg.norm(W[:, 3]))
