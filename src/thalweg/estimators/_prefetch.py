"""Prefetching: a thread reads the next batch while the current one is processed."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

__all__ = ["prefetched"]

# Seconds to wait for a read in progress when a run is interrupted.
# Safety margin: the thread is a daemon, so that a longer read cannot block the exit.
_JOIN_TIMEOUT = 5.0


class _ReadResult(NamedTuple):
    """The result of one read: a batch, an error, or neither at the end of the stream."""

    batch: Any = None
    error: BaseException | None = None


class _Prefetcher:
    """Yields batches, while a thread reads one batch in advance."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self._batches = batches
        self._requests: SimpleQueue[bool] = SimpleQueue()  # False ends the thread
        self._results: SimpleQueue[_ReadResult] = SimpleQueue()
        self._thread = Thread(target=self._read, name="thalweg-prefetch", daemon=True)
        self._thread.start()
        self._requests.put(True)

    def __iter__(self) -> Iterator[Any]:
        while True:
            result = self._results.get()
            if result.error is not None:
                raise result.error
            if result.batch is None:
                return
            self._requests.put(True)
            yield result.batch

    def close(self) -> None:
        """End the thread, which closes the source."""
        self._requests.put(False)
        self._thread.join(_JOIN_TIMEOUT)

    def _read(self) -> None:
        """Read a batch per request; the source is opened, read and closed in this thread."""
        batches: Iterator[Any] = iter(())
        try:
            batches = iter(self._batches)
            while self._requests.get():
                batch = next(batches, None)
                self._results.put(_ReadResult(batch))
                if batch is None:
                    return
                del batch  # otherwise three batches would be in memory
        except BaseException as error:
            self._results.put(_ReadResult(error=error))
        finally:
            getattr(batches, "close", lambda: None)()


@contextmanager
def prefetched(batches: Iterable[Any], enabled: bool) -> Iterator[Iterable[Any]]:
    """Yield the same batches; if enabled, a thread reads the next one in advance.

    An error of the source is raised after the batches before it, as without prefetching. The thread
    ends with the block.
    """
    if not enabled:
        yield batches
        return
    prefetcher = _Prefetcher(batches)
    try:
        yield prefetcher
    finally:
        prefetcher.close()
