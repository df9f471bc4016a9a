"""What is kept does not grow with the number of samples."""

import gc
import pickle
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np

from thalweg._typing import Array

F, B = 15, 8
SLACK = 20_000  # bytes, for caches of the interpreter; a list of floats would take ten times that


def stream(n_batches: int, seed: int) -> Iterator[Array]:
    rng = np.random.default_rng(seed)
    atoms = rng.random((3, F))
    for _ in range(n_batches):
        X = rng.random((B, 3)) @ atoms
        X[rng.random(X.shape) < 0.05] = 5.0
        X[rng.random(X.shape) < 0.05] = np.nan
        yield X


def kept(model: Any) -> int:
    """Return the bytes of all that is in the attributes, however deep."""
    total, todo = 0, list(vars(model).values())
    while todo:
        value = todo.pop()
        if isinstance(value, np.ndarray):
            total += value.nbytes
        elif isinstance(value, dict):
            todo.extend(value.values())
        elif isinstance(value, (list, tuple, set)):
            total += 8 * len(value)
            todo.extend(value)
    return total


def test_a_stream_takes_constant_memory(make_streaming: Any) -> None:
    model = make_streaming()
    slow = model.get_params().get("solver") in ("pgd", "admm")
    short, long = (60, 540) if slow else (200, 1800)
    for X in stream(short, 0):
        model.partial_fit(X)
    size, pickled = kept(model), len(pickle.dumps(model))
    gc.collect()
    tracemalloc.start()
    try:
        for X in stream(short, 1):
            model.partial_fit(X)
        gc.collect()
        current, peak = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for X in stream(long, 2):
            model.partial_fit(X)
        gc.collect()
        later, later_peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept(model) == size
    assert abs(len(pickle.dumps(model)) - pickled) <= 64  # counts have more digits
    assert later - current < SLACK
    assert later_peak - peak < SLACK
    assert model.n_samples_seen_ == B * (2 * short + long)


def test_history_is_what_grows_where_asked(make_streaming: Any) -> None:
    model = make_streaming(keep_history=True)
    sizes = []
    for X in stream(20, 0):
        sizes.append(kept(model.partial_fit(X)))
    assert np.all(np.diff(sizes) > 0)


def test_fit_works_on_a_batch_at_a_time(make_streaming: Any) -> None:
    """Beyond the data fit needs work arrays of a batch, a permutation, and a look for inf."""
    X = np.random.default_rng(0).random((6000, 60))
    model = make_streaming(batch_size=32)
    model.fit(X[:200])
    gc.collect()
    tracemalloc.start()
    try:
        model.fit(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.25 * X.nbytes
