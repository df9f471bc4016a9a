"""Threads: estimators are independent of one another."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from thalweg import (
    ORNMF,
    DivergenceNMF,
    OnlineNMF,
    Petrels,
    RobustNMF,
    RobustOnlineNMF,
    SparseArchetypalNMF,
)

THREADS = 8
MODELS: list[Any] = [
    RobustOnlineNMF(3),
    RobustNMF(3, max_iter=3),
    OnlineNMF(3),
    DivergenceNMF(3, max_iter=3),
    ORNMF(3),
    Petrels(3),
    SparseArchetypalNMF(3, init="zero", continuation_steps=1, max_iter=3),
]


def data(seed: int) -> Any:
    """Return samples with gaps and a few outliers."""
    rng = np.random.default_rng(seed)
    X = rng.random((120, 3)) @ rng.gamma(0.5, 1.0, (3, 9)) + 0.01
    X[rng.random(X.shape) < 0.05] += 1.0
    return X


def fitted(seed: int) -> list[Any]:
    """Return what the components of each estimator become on the same data."""
    X = data(seed)
    return [clone(model).set_params(random_state=seed).fit(X).components_ for model in MODELS]


def blas_threads() -> int:
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_small_products_are_left_to_one_thread(model: Any, monkeypatch: Any) -> None:
    X, encoders = np.abs(data(0)), []
    model = clone(model).fit(X)
    encoder = type(model._encoder())
    encode = encoder.encode

    def watched(*args: Any, **kwargs: Any) -> Any:
        encoders.append(blas_threads())
        return encode(*args, **kwargs)

    monkeypatch.setattr(encoder, "encode", watched)
    with threadpool_limits(limits=2, user_api="blas"):
        if blas_threads() == 1:
            pytest.skip("BLAS has one thread only")
        model.fit(X).decompose(X)
        assert blas_threads() == 2
    assert encoders
    assert set(encoders) == {1}


def test_eight_threads_find_what_one_after_the_other_finds():
    one_after_the_other = [fitted(seed) for seed in range(THREADS)]
    together = Barrier(THREADS)

    def begin(seed: int) -> list[Any]:
        together.wait(timeout=60)
        return fitted(seed)

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(begin, range(THREADS)))
    for mine, expected in zip(found, one_after_the_other, strict=True):
        for model, one, other in zip(MODELS, mine, expected, strict=True):
            assert np.array_equal(one, other), model
