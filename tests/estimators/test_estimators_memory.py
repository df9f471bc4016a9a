"""What is kept does not grow with the number of samples."""

import gc
import pickle
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thalweg
from thalweg._typing import Array

F, B = 15, 8
ATOMS = np.random.default_rng(9).random((3, F))  # the same all along: a jump would be noted
OURS = f"{Path(thalweg.__file__).parent}/*"


def stream(n_batches: int, seed: int) -> Iterator[Array]:
    rng = np.random.default_rng(seed)
    for _ in range(n_batches):
        X = rng.random((B, 3)) @ ATOMS
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


def jumps(model: Any) -> int:
    """Return the bytes of the diary of jumps, where there is one."""
    return model.jumps_.nbytes if hasattr(model, "jumps_") else 0


def trace(model: Any, n_batches: int) -> tuple[int, int]:
    """Return what the library's own lines left behind over some batches, and the peak of all."""
    gc.collect()
    tracemalloc.start()
    try:
        for X in stream(n_batches, 5):
            model.partial_fit(X)
        _, peak = tracemalloc.get_traced_memory()
        gc.collect()
        ours = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, OURS)])
    finally:
        tracemalloc.stop()
    return sum(entry.size for entry in ours.traces), peak


def test_a_stream_takes_constant_memory(
    make_streaming: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """60 batches and 600 leave the same behind; the paper's slow solvers see fewer.

    So do trackers, whose diaries of drift and jumps have at most two entries here. Of the first
    they are full; where nothing is noise, rounding may be noted as a jump, and is not counted.
    """
    monkeypatch.setattr("thalweg.learning.cusum.MAX_HISTORY", 2)
    model = make_streaming()
    slow = model.signed or model.get_params().get("solver") in ("pgd", "admm")
    short, long = (40, 400) if slow else (60, 600)
    for X in stream(short, 0):
        model.partial_fit(X)
    size, pickled = kept(model) - jumps(model), len(pickle.dumps(model))
    _, peak = trace(model, 30)
    for X in stream(long - short - 60, 1):
        model.partial_fit(X)
    left, later_peak = trace(model, 30)
    assert model.n_samples_seen_ == B * long
    assert kept(model) - jumps(model) == size
    assert jumps(model) <= 2 * 8
    assert abs(len(pickle.dumps(model)) - pickled) <= 64  # counts have more digits
    assert left < 3 * size + 4096  # the arrays of the last batch replaced older ones
    assert later_peak < 1.2 * peak + 16_384


def test_history_is_what_grows_where_asked(make_nmf_streaming: Any) -> None:
    model = make_nmf_streaming(keep_history=True)
    sizes = [kept(model.partial_fit(X)) for X in stream(20, 0)]
    assert np.all(np.diff(sizes) > 0)


def test_fit_works_on_a_batch_at_a_time(make_nmf_streaming: Any) -> None:
    """Beyond the data fit needs work arrays of a batch, a permutation, and a look for inf."""
    X = np.random.default_rng(0).random((6000, 60))
    assert peak_of_fit(make_nmf_streaming(batch_size=32), X) < 0.25 * X.nbytes


def test_a_tracker_works_on_a_block_at_a_time(
    make_tracking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the data fit needs a block of samples and those of the start, and a look for inf.

    Counts of residuals by size, for p-values, have 48 numbers for each feature. After a suspected
    jump there are samples and a state of a second basis.
    """
    monkeypatch.setattr("thalweg.learning.init_samples.MAX_ENTRIES", 2**12)
    X = np.random.default_rng(0).random((8000, 30))
    assert peak_of_fit(make_tracking(), X) < 0.25 * X.nbytes + 48 * 8 * X.shape[1]


def peak_of_fit(model: Any, X: Array) -> int:
    """Return the bytes that a second fit needs beyond the data."""
    model.fit(X[:200])
    gc.collect()
    tracemalloc.start()
    try:
        model.fit(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak
