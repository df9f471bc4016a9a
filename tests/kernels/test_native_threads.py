"""Results of native kernels are bit-identical for any number of threads and of rows beside."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from thalweg import _native
from thalweg.encoders.fast import Fast
from thalweg.prox.l1 import L1
from thalweg.solvers.nnls import invert, nnls, prepare

Array = Any
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@pytest.fixture(autouse=True)
def restore() -> Iterator[None]:
    before = _native.thread_count()
    yield
    _native.set_thread_count(before)


def differing(job: Any) -> list[int]:
    """Return which arrays of a job differ between 1, 2 and 3 threads."""
    found = []
    for count in (1, 2, 3):
        _native.set_thread_count(count)
        found.append(job())
    pairs = zip(*found, strict=True)
    return [i for i, (one, *others) in enumerate(pairs) if not all(map(partial(same, one), others))]


def same(one: Array, other: Array) -> bool:
    return np.asarray(one).tobytes() == np.asarray(other).tobytes()


@DTYPES
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("warm", [False, True])
def test_alternation(dtype: Any, gaps: bool, warm: bool) -> None:
    rng = np.random.default_rng(0)
    W = rng.random((60, 7)).astype(dtype)
    V = (W @ rng.random((7, 700)) + rng.normal(size=(60, 700)) ** 3).astype(dtype)
    observed = rng.random(V.shape) < 0.8 if gaps else None
    H = rng.random((7, 700)).astype(dtype) if warm else None
    encoder = Fast(outliers=L1(0.2), tol=1e-4)
    assert not differing(lambda: encoder.encode(V, W, H0=H, observed=observed))


@DTYPES
def test_envelope(dtype: Any) -> None:
    Z = np.random.default_rng(1).normal(size=(200, 1500)).astype(dtype)
    assert not differing(lambda: L1(0.3).envelope(Z.T))


@pytest.mark.parametrize("separate", [False, True])
def test_nonnegative_least_squares(separate: bool) -> None:
    rng = np.random.default_rng(2)
    Ws = rng.random((300 if separate else 1, 20, 9))
    G = np.stack([W.T @ W for W in Ws])
    C = rng.normal(size=(9, 300)) + 1.0
    assert not differing(lambda: nnls(prepare(G if separate else G[0]), C))


def test_gram_matrices_and_inverses() -> None:
    rng = np.random.default_rng(3)
    W = rng.random((150, 40))
    selected = rng.random((90, 150)) < rng.choice([0.3, 0.9], size=(90, 1))

    def job() -> list[Array]:
        grams = np.empty((90, 40, 40))
        _native.subset_grams(W, selected, W.T @ W, 0.01, grams)
        gram = invert(grams, np.arange(90))
        return [grams, gram.inverse[gram.trusted], gram.trusted]

    assert not differing(job)


def test_codes_of_a_batch_are_those_of_its_parts() -> None:
    rng = np.random.default_rng(4)
    W, V = rng.random((50, 6)), rng.random((50, 500))
    encoder = Fast(outliers=L1(0.1), tol=1e-6)
    whole = encoder.encode(V, W)
    for part in (slice(0, 37), slice(37, 300), slice(300, 500)):
        codes = encoder.encode(V[:, part], W)
        np.testing.assert_allclose(codes.H, whole.H[:, part], rtol=0, atol=1e-12)
        np.testing.assert_allclose(codes.R, whole.R[:, part], rtol=0, atol=1e-12)


def test_indices_of_gram_matrices_are_checked() -> None:
    G, C = np.eye(2)[None], np.ones((3, 2))
    H, passive, solved = np.empty((3, 2)), np.ones((3, 2), bool), np.empty(3, bool)
    for place in (np.array([0, 1, 0]), np.array([0, -1, 0]), np.zeros(2, np.intp)):
        gram = (G, G, np.ones(1, bool), place)
        with pytest.raises(ValueError, match="place"):
            _native.nonnegative_codes(gram, C, True, H, passive, solved, 9)


def test_many_sweeps_in_one_call_are_those_of_many_calls() -> None:
    rng = np.random.default_rng(5)
    H = rng.random((19, 60))
    A, B, W = H @ H.T, H @ rng.random((60, 11)), rng.random((19, 11))
    free = np.ones(19, bool)
    one, many = W.copy(), W.copy()
    for _ in range(4):
        value, decrease, _ = _native.descend_atoms(A, B, one, 1.0, free, 0.0, 0.0, 1)
    found = _native.descend_atoms(A, B, many, 1.0, free, 0.0, 0.0, 4)
    np.testing.assert_allclose(many, one, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found[:2], [value, decrease], rtol=1e-10)
    assert not found[2]
    *_, converged = _native.descend_atoms(A, B, many, 1.0, free, 1e-3, 0.0, 50)
    assert converged
