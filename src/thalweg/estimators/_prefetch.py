"""The next batch is read while one is learned from."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

__all__ = ["read_ahead"]

# Seconds that are given to a read that is under way when a run breaks off.
_PATIENCE = 5.0


class _Answer(NamedTuple):
    """What came of one read: a batch, an error, or neither at the end."""

    batch: Any = None
    error: BaseException | None = None


class _Reader:
    """Hands out batches of which a thread has read the next: one, and never more."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self._batches = batches
        self._wanted: SimpleQueue[bool] = SimpleQueue()
        self._answers: SimpleQueue[_Answer] = SimpleQueue()
        self._thread = Thread(target=self._read, name="thalweg-read-ahead", daemon=True)
        self._thread.start()
        self._wanted.put(True)

    def __iter__(self) -> Iterator[Any]:
        while True:
            answer = self._answers.get()
            if answer.error is not None:
                raise answer.error
            if answer.batch is None:
                return
            self._wanted.put(True)
            yield answer.batch

    def end(self) -> None:
        """Let the thread close its source and go."""
        self._wanted.put(False)
        self._thread.join(_PATIENCE)

    def _read(self) -> None:
        """Read whenever it is wanted; the source is opened, read and closed in this thread."""
        batches: Iterator[Any] = iter(())
        try:
            batches = iter(self._batches)
            while self._wanted.get():
                batch = next(batches, None)
                self._answers.put(_Answer(batch))
                if batch is None:
                    return
                del batch  # or it stays in memory beside the next two
        except BaseException as error:
            self._answers.put(_Answer(error=error))
        finally:
            getattr(batches, "close", lambda: None)()


@contextmanager
def read_ahead(batches: Iterable[Any], wanted: bool) -> Iterator[Iterable[Any]]:
    """Yield the same batches, where wanted with the next one read in a thread meanwhile.

    An error of the source comes where it would come without: after the batches before it. However
    the block ends, so does the thread.
    """
    if not wanted:
        yield batches
        return
    reader = _Reader(batches)
    try:
        yield reader
    finally:
        reader.end()
