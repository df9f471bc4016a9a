"""Prefetching the next batch in a thread: the same results, errors and interrupts."""

import copy
import os
import signal
import threading
import time

import numpy as np
import pytest

from thalweg import OnlineNMF, PetrelsADMM, RobustOnlineNMF, checkpoint, streams
from thalweg.estimators._prefetch import prefetched
from thalweg.streams import Batch


class Source:
    """A stream that records the reading threads, and can fail or pause at a sample."""

    def __init__(self, X, *, fails_at=None, slow_at=None):
        self.X, self.fails_at, self.slow_at = X, fails_at, slow_at
        self.read, self.threads, self.closed = [], set(), 0

    def batches(self, size, start=0):
        self.threads.add(threading.current_thread().name)
        try:
            for begin in range(start, len(self.X), size):
                if begin == self.fails_at:
                    raise OSError("the disk is gone")
                if begin == self.slow_at:
                    time.sleep(0.2)
                self.read.append(begin)
                yield Batch(begin, self.X[begin : begin + size])
        finally:
            self.closed += 1


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "thalweg-prefetch"]


@pytest.fixture(autouse=True)
def no_thread_remains():
    yield
    assert readers() == []


@pytest.mark.parametrize("cls", [RobustOnlineNMF, OnlineNMF, PetrelsADMM])
def test_results_do_not_depend_on_prefetching(cls, gappy):
    one, other = (cls(2, random_state=0) for _ in range(2))
    positions = [], []
    source = Source(gappy)
    for model, prefetch, noted in zip((one, other), (False, True), positions, strict=True):
        model.fit_stream(source, epochs=2, batch_size=50, prefetch=prefetch, callback=noted.append)
    assert np.array_equal(one.components_, other.components_)
    assert np.array_equal(one.transform(gappy), other.transform(gappy))
    assert positions[0] == positions[1]
    assert source.threads == {"MainThread", "thalweg-prefetch"}
    assert source.closed == 4


def test_exactly_one_batch_is_prefetched(X):
    source = Source(X)
    counts = []

    def count(position):
        deadline = time.monotonic() + 5.0
        while len(source.read) < min(position.sample // 20 + 1, 12) and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.01)  # time to read one batch too many
        counts.append(len(source.read) - position.sample // 20)

    RobustOnlineNMF(2).fit_stream(source, batch_size=20, prefetch=True, callback=count)
    assert counts == [1] * 11 + [0]


@pytest.mark.parametrize("prefetch", [False, True])
def test_an_error_of_the_source_is_raised_after_the_batches_before_it(X, prefetch):
    model, source = RobustOnlineNMF(2, random_state=0), Source(X, fails_at=120)
    with pytest.raises(OSError, match="the disk is gone"):
        model.fit_stream(source, batch_size=40, prefetch=prefetch)
    assert model.n_samples_seen_ == 120
    assert source.closed == 1


def test_batches_that_are_not_iterable_raise():
    class Nothing:
        def batches(self, size, start=0):
            return None

    with pytest.raises(TypeError, match="not iterable"):
        RobustOnlineNMF(2).fit_stream(Nothing(), prefetch=True)


def test_an_error_of_the_estimator_ends_the_reader(X):
    spoiled = X.copy()
    spoiled[70] = -1.0
    source = Source(spoiled)
    with pytest.raises(ValueError, match="Negative"):
        RobustOnlineNMF(2).fit_stream(source, batch_size=40, prefetch=True)
    assert source.closed == 1


def test_an_interrupt_ends_the_reader_and_leaves_a_checkpoint(X, tmp_path):
    """The interrupt arrives during a read; the checkpoint has the batches before it."""
    source = Source(X, slow_at=120)
    model = RobustOnlineNMF(2, random_state=0)

    def interrupt(position):
        if position.sample == 120:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        model.fit_stream(
            source, batch_size=40, prefetch=True, callback=interrupt, checkpoint=tmp_path
        )
    assert checkpoint.read_manifest(checkpoint.latest(tmp_path)).position == (0, 120)
    assert source.closed == 1
    again = RobustOnlineNMF(2, random_state=0)
    again.fit_stream(Source(X), checkpoint=tmp_path, resume=True, prefetch=True)
    straight = RobustOnlineNMF(2, random_state=0).fit_stream(Source(X), batch_size=40)
    assert np.array_equal(again.components_, straight.components_)


def test_closing_does_not_wait_for_a_blocked_read(monkeypatch):
    monkeypatch.setattr("thalweg.estimators._prefetch._JOIN_TIMEOUT", 0.05)
    gate = threading.Event()

    def forever():
        yield 1
        gate.wait()
        yield 2

    with prefetched(forever(), True) as batches:
        assert next(iter(batches)) == 1
    (thread,) = readers()
    gate.set()
    thread.join()


def test_files_are_prefetched_but_not_arrays_or_followed_files(tmp_path):
    X = np.ones((4, 2))
    np.save(tmp_path / "x.npy", X)
    np.savetxt(tmp_path / "x.csv", X, delimiter=",")
    mapped = streams.open(tmp_path / "x.npy")
    files = [mapped, streams.open(tmp_path / "x.csv"), streams.Shuffled(streams.Repeated(mapped))]
    assert [stream.prefetch for stream in files] == [True] * 3
    followed = streams.open(tmp_path / "x.csv", follow=True)
    others = [streams.open(X), followed, streams.Repeated(followed), streams.Shuffled(Source(X))]
    assert [stream.prefetch for stream in others] == [False] * 4


def test_the_default_is_that_of_the_stream(tmp_path, X, monkeypatch):
    np.save(tmp_path / "x.npy", X)
    asked = []

    def note(batches, enabled):
        asked.append(enabled)
        return prefetched(batches, enabled)

    monkeypatch.setattr("thalweg.estimators._stream_fit.prefetched", note)
    model = RobustOnlineNMF(2, random_state=0)
    for source, prefetch in [(tmp_path / "x.npy", None), (tmp_path / "x.npy", False), (X, None)]:
        copy.deepcopy(model).fit_stream(streams.open(source), prefetch=prefetch)
    copy.deepcopy(model).fit_stream(Source(X))
    assert asked == [True, False, False, False]
