"""Running means over samples: compiled products against sums over single samples."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import reference
from thalweg import _native

Array = Any
LEVELS = [level for level in (0, 2, 3, 4) if level <= _native.target_level()]
# Numbers of samples, features and codes: single ones, remainders of tiles and registers of each
# instruction set, several blocks of samples and several tasks.
SHAPES = [
    (1, 1, 1),
    (3, 2, 1),
    (7, 15, 5),
    (13, 17, 6),
    (40, 67, 11),
    (300, 33, 49),
    (600, 400, 20),
]


@pytest.fixture(autouse=True)
def restore() -> Iterator[None]:
    level = _native.target_level()
    yield
    _native.set_target_level(level)


@pytest.mark.thread_unsafe(reason="the instruction set is that of the process")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_means_are_those_of_single_samples(
    shape: tuple[int, int, int], dtype: Any, level: int
) -> None:
    (n, F, K), rng = shape, np.random.default_rng(0)
    samples = tuple(rng.normal(size=s).astype(dtype) for s in ((n, F), (n, F), (n, K)))
    before = (rng.normal(size=(K, K)).astype(dtype), rng.normal(size=(K, F)).astype(dtype))
    after = (np.full((K, K), np.nan, dtype), np.full((K, F), np.nan, dtype))
    _native.set_target_level(level)
    square = _native.add_samples(samples, 0.3, before, after)
    exact = [tuple(x.astype(np.float64) for x in group) for group in (samples, before)]
    A, B, expected = reference.add_samples(exact[0], 0.3, exact[1])
    tolerance = (10 + n) * np.finfo(dtype).eps  # of a sum of n terms
    np.testing.assert_allclose(after[0], A, rtol=0, atol=tolerance)
    np.testing.assert_allclose(after[1], B, rtol=0, atol=tolerance)
    assert square == pytest.approx(expected, rel=float(tolerance))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_mean_of_products_of_codes_is_symmetric(dtype: Any) -> None:
    H = np.random.default_rng(1).normal(size=(300, 21)).astype(dtype)
    V, A, B = np.zeros((300, 4), dtype), np.zeros((21, 21), dtype), np.zeros((21, 4), dtype)
    _native.add_samples((V, V, H), 0.7, (A.copy(), B.copy()), (A, B))
    np.testing.assert_array_equal(A, A.T)


def test_without_outliers_they_are_zero() -> None:
    rng = np.random.default_rng(3)
    V, H = rng.normal(size=(70, 90)), rng.normal(size=(70, 5))
    found = []
    for R in (None, np.zeros_like(V)):
        after = (np.zeros((5, 5)), np.zeros((5, 90)))
        square = _native.add_samples((V, R, H), 0.2, (np.ones((5, 5)), np.ones((5, 90))), after)
        found.append([*after, np.array(square)])
    for one, two in zip(*found, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-13)


def test_results_are_the_same_for_any_number_of_threads() -> None:
    rng, found = np.random.default_rng(2), []
    V, R, H = rng.normal(size=(300, 400)), rng.normal(size=(300, 400)), rng.random((300, 30))
    before = (rng.random((30, 30)), rng.random((30, 400)))
    threads = _native.thread_count()
    for count in (1, 2, 3):
        after = (np.empty((30, 30)), np.empty((30, 400)))
        _native.set_thread_count(count)
        square = _native.add_samples((V, R, H), 0.5, before, after)
        found.append([*after, np.array(square)])
    _native.set_thread_count(threads)
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)
