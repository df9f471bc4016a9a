"""The CUSUM test detects jumps, and only jumps; angles between subspaces."""

from typing import Any

import numpy as np
import pytest

from thalweg._linalg import largest_angle, orthonormal
from thalweg.errors import ParameterError
from thalweg.learning.cusum import Cusum, Evidence
from thalweg.metrics import principal_angles

Array = Any
SEEDS = pytest.mark.parametrize("seed", range(5))


def residuals(seed: int, n: int, level: Any = 1.0, F: int = 30) -> Array:
    """Return medians of the absolute values of F normal numbers."""
    rng = np.random.default_rng(seed)
    return level * np.median(np.abs(rng.normal(size=(n, F))), axis=1)


@SEEDS
@pytest.mark.parametrize("factor", [3.0, 10.0, 1e6])
def test_a_jump_is_detected_soon(seed: int, factor: float) -> None:
    test = Cusum()
    state, jumped = test.step(test.init(), residuals(seed, 1000))
    assert not jumped
    for count in range(1, 33):
        state, jumped = test.step(state, residuals(100 * seed + count, 1, factor))
        if jumped:
            break
    assert jumped
    assert count >= 4, "no single sample is a jump"


@pytest.mark.parametrize("seed", range(10))
def test_steady_residuals_are_no_jump(seed: int) -> None:
    test = Cusum()
    assert not test.step(test.init(), residuals(seed, 5000))[1]


@SEEDS
def test_slow_changes_are_no_jump(seed: int) -> None:
    test, level = Cusum(), np.exp(np.linspace(0.0, 3.0, 5000))  # 20 times as large at the end
    assert not test.step(test.init(), residuals(seed, 5000, level))[1]
    assert not test.step(test.init(), residuals(seed, 5000, 1.0 / level))[1]


@SEEDS
def test_single_outliers_are_no_jump(seed: int) -> None:
    errors = residuals(seed, 5000)
    errors[np.random.default_rng(seed).random(5000) < 0.02] *= 1e3
    test = Cusum()
    assert not test.step(test.init(), errors)[1]


def test_residuals_that_fall_are_no_jump() -> None:
    test = Cusum()
    errors = np.append(residuals(0, 500), 1e-9 * residuals(1, 500))
    assert not test.step(test.init(), errors)[1]


def test_cuts_and_units_do_not_matter() -> None:
    test, errors = Cusum(), residuals(0, 300)
    whole, _ = test.step(test.init(), errors)
    state = test.init()
    for piece in np.split(errors, [1, 2, 100]):
        state, _ = test.step(state, piece)
    assert state == whole
    scaled, _ = test.step(test.init(), 1e-200 * errors)
    assert scaled.level == pytest.approx(whole.level + np.log(1e-200))
    assert scaled.evidence == pytest.approx(whole.evidence, abs=1e-9)


def test_missing_residuals_are_ignored() -> None:
    test = Cusum()
    state, _ = test.step(test.init(), residuals(0, 100))
    assert test.step(state, np.full(50, np.nan)) == (state, False)
    after, jumped = test.step(state, np.zeros(50))  # a perfect fit has no logarithm
    assert not jumped
    assert np.isfinite([after.level, after.spread, after.evidence]).all()
    assert isinstance(after, Evidence)


@pytest.mark.parametrize("name", ["factor", "threshold", "patience", "memory"])
def test_invalid_parameters_raise(name: str) -> None:
    with pytest.raises(ParameterError, match=f"{name} must be"):
        Cusum(**{name: 0})


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-6, 4e-4, 5e-4, 0.3, 1.5, np.pi / 2])
def test_largest_angle_is_the_largest_principal_angle(angle: float) -> None:
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(12, 5)))[0]
    U, V = Q[:, :3] @ rng.normal(size=(3, 3)), Q[:, :3].copy()
    V[:, 1] = np.cos(angle) * Q[:, 1] + np.sin(angle) * Q[:, 3]
    V[:, 2] = np.cos(angle / 2) * Q[:, 2] + np.sin(angle / 2) * Q[:, 4]
    turned = np.linalg.qr(V @ rng.normal(size=(3, 3)))[0]
    found = largest_angle(np.linalg.qr(U)[0], turned)
    assert found == pytest.approx(angle, rel=1e-9, abs=1e-14)
    assert found == pytest.approx(principal_angles(U.T, V.T)[0], rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("near", [1.0, 1e-1, 1e-3, 1e-12, 0.0])
@pytest.mark.parametrize("scale", [1.0, 1e-18, 1e18])
def test_orthonormal_has_orthonormal_columns_of_the_same_span(
    dtype: type, near: float, scale: float
) -> None:
    rng = np.random.default_rng(0)
    U = rng.normal(size=(40, 3))
    U[:, 2] = U[:, 1] + near * U[:, 2]
    U = (scale * U).astype(dtype)
    Q = orthonormal(U)
    eps = float(np.finfo(dtype).eps)
    assert Q.dtype == dtype
    assert np.abs(Q.T @ Q - np.eye(3)).max() < 20 * eps
    outside = U.astype(float) - Q.astype(float) @ (Q.T.astype(float) @ U)
    assert np.abs(outside).max() < 50 * eps * np.abs(U).max()


@pytest.mark.parametrize("scale", [0.0, 1e-200, 1e200])
def test_orthonormal_accepts_any_scale(scale: float) -> None:
    U = scale * np.random.default_rng(0).normal(size=(40, 3))
    Q = orthonormal(U)
    assert np.abs(Q.T @ Q - np.eye(3)).max() < 1e-14
