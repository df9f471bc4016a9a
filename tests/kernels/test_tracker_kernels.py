"""Compiled loops of the trackers that rotate a basis or keep statistics, against reference code."""

from typing import Any

import numpy as np
import pytest

import reference
from thalweg import _native

Array = Any
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def step(rule: str, rate: float) -> _native.GeodesicStep:
    return _native.GeodesicStep(rule=_native.StepRule[rule.upper()], rate=rate)


def problem(rounds: int, ridge: float = 0.0, outlier_weight: float = 0.0) -> Any:
    """Return a regression with exactly that many rounds of ADMM."""
    return _native.RegressionProblem(
        ridge=ridge, outlier_weight=outlier_weight, rho=1.8, tol=0.0, max_iter=rounds
    )


def control() -> _native.StepControl:
    return _native.StepControl(variable=0.0, level=0.0, code_size=0.0, n_samples=0.0)


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
    count = _native.track_grouse(U, V, observed, step(rule, 0.7), 0.0, H, error)
    assert count == len(V)
    for found, wanted in zip((U.T, H, error), expected, strict=True):
        np.testing.assert_allclose(found, wanted, **close(dtype, 10.0))


@DTYPES
@pytest.mark.parametrize("delta", [0.0, 0.3, 50.0])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("rounds", [0, 1, 2, 30])
def test_robust_codes(dtype: Any, delta: float, ridge: float, rounds: int) -> None:
    U, V, observed = stream(dtype)
    H, solved = np.full((len(V), 3), 7, dtype), np.ones(len(V), bool)
    _native.robust_codes(U, V, observed, problem(rounds, ridge, delta), H, solved)
    W, X = U.T.astype(float), V.astype(float)
    for s, there in enumerate(observed):
        h, _ = reference.robust_codes(W[there], X[s, there], ridge, delta, 1.8, rounds)
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
    state, last = control(), (np.zeros(12, dtype), np.zeros(3))
    _native.track_l1(U, V, observed, step(rule, 0.5), problem(20), state, last, (H, R, error))
    assert state.n_samples == len(V)
    for found, wanted in zip((U.T, H, R, error), expected, strict=True):
        np.testing.assert_allclose(found, wanted, **close(dtype, 10.0))


def test_levels_of_the_adaptive_step_are_reached() -> None:
    """A long stream passes through levels of the step, in the kernel as in the reference."""
    U, V, observed = stream(np.float64, F=8, K=1, B=150, seed=2)
    H, R, error = outputs(V, 1)
    expected = reference.track_l1(U.T, V, observed, "adaptive", 1.0, 1.8, 20)
    state, last = control(), (np.zeros(8), np.zeros(1))
    adaptive = step("adaptive", 1.0)
    _native.track_l1(U, V, observed, adaptive, problem(20), state, last, (H, R, error))
    assert state.level != 0.0, "no level was left: the test shows nothing"
    # The mean length is one of the last 100 samples in the kernel, and of all in the reference.
    np.testing.assert_allclose(H[:100], expected[1][:100], rtol=0, atol=1e-6)


@DTYPES
@pytest.mark.parametrize(("forgetting", "sweeps"), [(1.0, 1), (0.9, 3)])
def test_surrogate(dtype: Any, forgetting: float, sweeps: int) -> None:
    U, V, observed = stream(dtype, seed=3)
    H, R, error = outputs(V, 3)
    expected = reference.track_surrogate(
        U.T.astype(float), V.astype(float), observed, (0.2, 0.3), forgetting, sweeps, 1.8, 20
    )
    A, B, norm = np.zeros((3, 3)), np.zeros_like(U), _native.SampleNorm(mean=0.0, n_samples=0.0)
    how = _native.SurrogateStep(forgetting=forgetting, sweeps=sweeps)
    regression = problem(20, 0.2, 0.3)
    _native.track_surrogate(U, V, observed, how, regression, (A, B), norm, (H, R, error))
    assert norm.n_samples == len(V)
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
    adaptive, last = step("adaptive", 1.0), (np.zeros(3000, dtype), np.zeros(3))
    _native.track_l1(U, V, observed, adaptive, problem(9), control(), last, (H, R, error))
    for found, wanted in zip((U.T, H, R, error), expected, strict=True):
        np.testing.assert_allclose(found, wanted, **close(dtype, 10.0))


# --- threads, shapes -----------------------------------------------------------------------------


def with_threads(count: int, run: Any) -> Any:
    before = _native.set_thread_count(count)
    try:
        return run()
    finally:
        _native.set_thread_count(before)


@DTYPES
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_robust_codes_do_not_depend_on_threads(dtype: Any, missing: float) -> None:
    U, V, _ = stream(dtype, F=90, K=5, B=400, seed=5)
    observed = np.random.default_rng(0).random(V.shape) >= missing
    observed[7] = False

    def codes() -> Any:
        H, solved = np.empty((len(V), 5), dtype), np.empty(len(V), bool)
        regression = _native.RegressionProblem(
            ridge=0.1, outlier_weight=0.5, rho=1.8, tol=1e-3, max_iter=50
        )
        _native.robust_codes(U, V, observed, regression, H, solved)
        return H, solved

    one, two, three = (with_threads(count, codes) for count in (1, 2, 3))
    for found in (two, three):
        np.testing.assert_array_equal(found[0], one[0])
        np.testing.assert_array_equal(found[1], one[1])
    assert not one[0][7].any()
    alone = np.empty((1, 5), dtype), np.empty(1, bool)  # a sample does not depend on its neighbours
    regression = _native.RegressionProblem(
        ridge=0.1, outlier_weight=0.5, rho=1.8, tol=1e-3, max_iter=50
    )
    _native.robust_codes(U, V[99:100], observed[99:100], regression, *alone)
    np.testing.assert_array_equal(alone[0][0], one[0][99])


@pytest.mark.parametrize("scale", [0.0, 0.1])
def test_recovery_at_a_fixed_noise_scale_does_not_depend_on_threads(scale: float) -> None:
    U, V, observed = stream(np.float64, F=60, K=4, B=50, seed=6)

    def recovered() -> Any:
        found = np.empty((50, 4)), np.empty((50, 60)), np.empty(50)
        rules = _native.SparseRecovery(
            noise_bound=1.0,
            noise_bound_in_data_units=False,
            support_threshold=3.0,
            support_threshold_in_data_units=False,
        )
        noise = _native.NoiseAverage(scale=scale, n_samples=1.0)
        _native.recover_sparse(V, observed, U, rules, 0.0, noise, found)
        assert (noise.scale, noise.n_samples) == (scale, 1.0)
        return found

    one, two, three = (with_threads(count, recovered) for count in (1, 2, 3))
    for found in (two, three):
        for mine, other in zip(found, one, strict=True):
            np.testing.assert_array_equal(mine, other)


def test_shapes_that_do_not_fit_raise() -> None:
    U, V, observed = stream(np.float64)
    H, R, error = outputs(V, 3)
    solved = np.empty(len(V), bool)
    with pytest.raises(ValueError, match="must fit"):
        _native.robust_codes(U, V, observed[1:], problem(3), H, solved)
    with pytest.raises(ValueError, match="must fit"):
        _native.track_grouse(U, V[:, 1:].copy(), observed, step("greedy", 1.0), 0.0, H, error)
    last, zero = (np.zeros(11), np.zeros(3)), control()
    with pytest.raises(ValueError, match="last must be"):
        _native.track_l1(
            U, V, observed, step("constant", 1.0), problem(3), zero, last, (H, R, error)
        )
    how, norm = (
        _native.SurrogateStep(forgetting=1.0, sweeps=1),
        _native.SampleNorm(mean=0.0, n_samples=0.0),
    )
    with pytest.raises(ValueError, match="sums must be"):
        _native.track_surrogate(
            U, V, observed, how, problem(3), (np.zeros((3, 3)), np.zeros((3, 11))), norm,
            (H, R, error),
        )  # fmt: skip
    with pytest.raises(ValueError, match="must fit"):
        _native.least_l1_outliers(V[0], U[:, 1:].copy(), 1.0, np.empty(3), np.empty(12))
    with pytest.raises(TypeError):  # no copy is made of an array that is not contiguous
        _native.track_grouse(U.T, V, observed, step("greedy", 1.0), 0.0, H, error)


@pytest.mark.thread_unsafe(reason="the instruction set is that of the process")
@DTYPES
def test_every_instruction_set_gives_the_same_codes(dtype: Any) -> None:
    """Up to rounding: loops have other lengths, and other orders of sums."""
    top = _native.target_level()
    results = []
    try:
        for level in range(min(top, 2), top + 1):
            _native.set_target_level(level)
            U, V, observed = stream(dtype, F=333, K=5, B=20, seed=7)
            H, _, error = outputs(V, 5)
            how, regression = step("greedy", 1.0), problem(10, 0.1, 0.3)
            _native.track_grouse(U, V, observed, how, 0.0, H, error)
            codes, solved = np.empty_like(H), np.empty(len(V), bool)
            _native.robust_codes(U, V, observed, regression, codes, solved)
            results.append((U, H, error, codes))
    finally:
        _native.set_target_level(4)
    for result in results[1:]:
        for mine, other in zip(result, results[0], strict=True):
            np.testing.assert_allclose(mine, other, **close(dtype, 10.0))
