"""Compiled loops of the trackers that rotate a basis or keep statistics, against their twins."""

from typing import Any

import numpy as np
import pytest

import reference
from thalweg import _kernels

Array = Any
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
RULES = {
    "greedy": _kernels.GREEDY,
    "constant": _kernels.CONSTANT,
    "diminishing": _kernels.DIMINISHING,
    "adaptive": _kernels.ADAPTIVE,
    "proximal": _kernels.PROXIMAL,
}


def stream(dtype: Any, F: int = 12, K: int = 3, B: int = 25, seed: int = 0) -> Any:
    """Return a basis as rows, samples as rows, and the observed entries, more than K each."""
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(B, K)) @ rng.normal(size=(K, F)) + 0.1 * rng.normal(size=(B, F))
    V += (rng.random(V.shape) < 0.1) * rng.normal(size=V.shape) * 10
    observed = rng.random(V.shape) < 0.8
    observed[::3] = True
    U = np.linalg.qr(rng.normal(size=(F, K)))[0].T
    return np.ascontiguousarray(U, dtype), V.astype(dtype), observed


def outputs(V: Array, K: int) -> tuple[Array, Array, Array]:
    """Return room for codes, outliers and errors, filled with what must not stay."""
    B, F = V.shape
    return np.full((B, K), 7, V.dtype), np.full((B, F), 7, V.dtype), np.full(B, 7.0)


def close(dtype: Any, loose: float = 1.0) -> dict[str, float]:
    return {"rtol": 0.0, "atol": loose * (1e-10 if dtype == np.float64 else 2e-4)}


@DTYPES
@pytest.mark.parametrize("rule", ["greedy", "constant", "diminishing"])
def test_grouse(dtype: Any, rule: str) -> None:
    U, V, observed = stream(dtype)
    H, _, error = outputs(V, 3)
    expected = reference.track_grouse(U.T.astype(float), V.astype(float), observed, rule, 0.7)
    count = _kernels.track_grouse(U, V, observed, RULES[rule], 0.7, 0.0, H, error)
    assert count == len(V)
    for found, wanted in zip((U.T, H, error), expected, strict=True):
        np.testing.assert_allclose(found, wanted, **close(dtype, 10.0))


@DTYPES
@pytest.mark.parametrize("knee", [0.0, 0.3, 50.0])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("rounds", [0, 1, 2, 30])
def test_robust_codes(dtype: Any, knee: float, ridge: float, rounds: int) -> None:
    U, V, observed = stream(dtype)
    H, solved = np.full((len(V), 3), 7, dtype), np.ones(len(V), bool)
    _kernels.robust_codes(U, V, observed, ridge, knee, 1.8, 0.0, rounds, H, solved)
    W, X = U.T.astype(float), V.astype(float)
    for s, there in enumerate(observed):
        h, _ = reference.robust_codes(W[there], X[s, there], ridge, knee, 1.8, rounds)
        # The ridge that rounding asks for damps the rounds of ADMM by 1e-4 in single precision.
        np.testing.assert_allclose(H[s], h, **close(dtype, 5.0))
    # Without a tolerance nothing is ever solved, unless in no round at all.
    assert not solved.any()


@DTYPES
@pytest.mark.parametrize("rule", ["adaptive", "constant", "diminishing", "proximal"])
def test_least_absolute_residuals(dtype: Any, rule: str) -> None:
    # Signs of residuals make it chaotic: rounding errors double every few samples.
    U, V, observed = stream(dtype, B=25 if dtype == np.float64 else 3, seed=1)
    H, R, error = outputs(V, 3)
    expected = reference.track_l1(U.T.astype(float), V.astype(float), observed, rule, 0.5, 1.8, 20)
    control, direction, code = np.zeros(4), np.zeros(12, dtype), np.zeros(3)
    how = RULES[rule], 0.5, 1.8, 0.0, 20
    _kernels.track_l1(U, V, observed, *how, control, direction, code, H, R, error)
    assert control[3] == len(V)
    for found, wanted in zip((U.T, H, R, error), expected, strict=True):
        np.testing.assert_allclose(found, wanted, **close(dtype, 10.0))


def test_levels_of_the_adaptive_step_are_reached() -> None:
    """A long stream passes through levels of the step in the kernel as in its twin."""
    U, V, observed = stream(np.float64, F=8, K=1, B=150, seed=2)
    H, R, error = outputs(V, 1)
    expected = reference.track_l1(U.T, V, observed, "adaptive", 1.0, 1.8, 20)
    control = np.zeros(4)
    how = _kernels.ADAPTIVE, 1.0, 1.8, 0.0, 20
    _kernels.track_l1(U, V, observed, *how, control, np.zeros(8), np.zeros(1), H, R, error)
    assert control[1] != 0.0, "no level was left: the test shows nothing"
    # The mean length is one of the last 100 samples in the kernel, and of all in the twin.
    np.testing.assert_allclose(H[:100], expected[1][:100], rtol=0, atol=1e-6)


@DTYPES
@pytest.mark.parametrize(("forgetting", "sweeps"), [(1.0, 1), (0.9, 3)])
def test_statistics(dtype: Any, forgetting: float, sweeps: int) -> None:
    U, V, observed = stream(dtype, seed=3)
    H, R, error = outputs(V, 3)
    expected = reference.track_statistics(
        U.T.astype(float), V.astype(float), observed, (0.2, 0.3), forgetting, sweeps, 1.8, 20
    )
    A, B, control = np.zeros((3, 3)), np.zeros_like(U), np.zeros(2)
    how = 0.2, 0.3, forgetting, sweeps, 1.8, 0.0, 20
    _kernels.track_statistics(U, V, observed, *how, A, B, control, H, R, error)
    assert control[1] == len(V)
    for found, wanted in zip((U.T, A, B.T, H, R), expected, strict=True):
        size = np.abs(wanted).max()
        np.testing.assert_allclose(found / size, wanted / size, **close(dtype, 10.0))
    first = reference.median_size((V[0] - H[0] @ stream(dtype, seed=3)[0])[observed[0]])
    assert error[0] == pytest.approx(first, rel=1e-4)


@DTYPES
def test_long_samples_are_worked_through_in_chunks(dtype: Any) -> None:
    U, V, observed = stream(dtype, F=3000, B=4, seed=4)
    H, R, error = outputs(V, 3)
    expected = reference.track_l1(
        U.T.astype(float), V.astype(float), observed, "adaptive", 1, 1.8, 9
    )
    zeros = np.zeros(4), np.zeros(3000, dtype), np.zeros(3)
    _kernels.track_l1(U, V, observed, _kernels.ADAPTIVE, 1.0, 1.8, 0.0, 9, *zeros, H, R, error)
    for found, wanted in zip((U.T, H, R, error), expected, strict=True):
        np.testing.assert_allclose(found, wanted, **close(dtype, 10.0))
