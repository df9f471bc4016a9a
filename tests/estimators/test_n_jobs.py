"""The number of threads changes the time of a fit, and nothing else."""

import os
import subprocess
import sys
from typing import Any

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import thalweg
from pairwise import all_pairs
from thalweg import _native
from thalweg._threads import few_threads, map_in_threads, pool_threads

# Settings in which most of the work can be divided: several chunks of samples, large batches.
ESTIMATORS: dict[str, dict[str, Any]] = {
    "DivergenceNMF": {"loss": "kl", "max_iter": 4},
    "LRGeomCG": {"max_iter": 4},
    "OnlineFactorization": {"batch_size": 600},
    "OnlineNMF": {"loss": "huber", "batch_size": 600},
    "OnlineRobustPCA": {"init_samples": 20},
    "ORNMF": {"batch_size": 600},
    "PetrelsADMM": {},
    "RobustMatrixCompletion": {"max_iter": 3},
    "RobustNMF": {"max_iter": 3},
    "RobustOnlineNMF": {"batch_size": 600},
    "SparseArchetypalNMF": {"init": "zero", "continuation_steps": 1, "max_iter": 3},
}
every_estimator = pytest.mark.parametrize("name", sorted(ESTIMATORS))


def data(name: str, dtype: Any = np.float64, gaps: bool = False) -> Any:
    """Return samples of low rank with noise, outliers and, if asked for, gaps."""
    rng = np.random.default_rng(0)
    n = 60 if name == "SparseArchetypalNMF" else 1400
    X = rng.random((n, 3)) @ rng.gamma(0.5, 1.0, (3, 30)) + 0.05 * rng.random((n, 30))
    X[rng.random(X.shape) < 0.05] += 1.0
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X.astype(dtype)


def result(name: str, n_jobs: int | None, X: Any) -> list[Any]:
    model = getattr(thalweg, name)(3, random_state=0, n_jobs=n_jobs, **ESTIMATORS[name]).fit(X)
    found = model.decompose(X)
    return [model.components_, found.codes, found.outliers, model.fill(X), model.score_samples(X)]


@all_pairs(
    pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"]),
    pytest.mark.parametrize("dtype", [np.float64, np.float32]),
    every_estimator,
)
def test_results_are_the_same_to_the_last_bit(name: str, dtype: Any, gaps: bool) -> None:
    X = data(name, dtype, gaps)
    expected = result(name, None, X)
    for n_jobs in (1, 2, 3):
        for one, other in zip(result(name, n_jobs, X), expected, strict=True):
            assert one.tobytes() == other.tobytes(), n_jobs


def test_the_number_is_restored() -> None:
    thalweg.RobustOnlineNMF(3, n_jobs=2).fit(data("RobustOnlineNMF"))
    assert _native.thread_count() == 1

    def fail() -> None:
        with pool_threads(3):
            assert _native.thread_count() == 3
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert _native.thread_count() == 1


def test_a_context_of_joblib_is_the_default() -> None:
    with joblib.parallel_config(backend="threading", n_jobs=3), pool_threads(None):
        assert _native.thread_count() == 3
    with pool_threads(None):
        assert _native.thread_count() == 1


def test_limits_of_threadpoolctl_hold() -> None:
    before = _native.thread_limit()
    with threadpool_limits(limits=1):
        assert _native.thread_limit() == 1
    assert _native.thread_limit() == before
    assert [pool["internal_api"] for pool in threadpool_info()].count("thalweg") == 1


def test_threads_of_a_map_have_one_thread_each() -> None:
    with few_threads(10, 2, 100, n_jobs=2):
        counts = list(map_in_threads(lambda item: _native.thread_count(), range(5)))
        alone = list(map_in_threads(lambda item: _native.thread_count(), range(1)))
    assert counts == [1] * 5
    assert alone == [2]


def test_an_error_in_a_thread_is_raised() -> None:
    with few_threads(10, 2, 100, n_jobs=2), pytest.raises(ZeroDivisionError):
        list(map_in_threads(lambda item: 1 // item, [1, 1, 0, 1, 1]))


def test_blocks_begun_are_finished_when_the_rest_is_not_wanted() -> None:
    done: list[int] = []
    with few_threads(10, 2, 100, n_jobs=2):
        results = map_in_threads(lambda item: done.append(item) or item, range(50))
        assert next(results) == 0
        results.close()
        n_done = len(done)
        assert list(map_in_threads(abs, [-1, -2, -3])) == [1, 2, 3]
    assert len(done) == n_done < 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX")
def test_a_forked_child_has_threads_of_its_own() -> None:
    code = """
import os
from thalweg._threads import map_in_threads, pool_threads
with pool_threads(2):
    list(map_in_threads(abs, [-1, -2, -3]))
    child = os.fork()
    if child == 0:
        os._exit(0 if list(map_in_threads(abs, [-1, -2, -3])) == [1, 2, 3] else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120
    )
    assert found.stdout == "0\n", found.stderr
