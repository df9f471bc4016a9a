"""A run over a stream that writes checkpoints, from which another run can resume."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import nan
from types import TracebackType
from typing import Any, Self

from thalweg.checkpoint import Keeper
from thalweg.errors import CheckpointError
from thalweg.learning.progress import Position, Progress

__all__ = ["CheckpointedRun"]


class CheckpointedRun:
    """Learns from batches, and writes checkpoints after some of them and at the end.

    The last checkpoint always has the state after a complete batch. Ctrl-C waits for the end of
    the current batch. An error within a batch leaves the checkpoints unchanged.
    """

    def __init__(
        self,
        estimator: Any,
        begin: Position,
        size: int,
        total: int | None,
        keeper: Keeper | None,
        callback: Callable[[Progress], None] | None,
    ) -> None:
        self.estimator, self.size, self.total = estimator, size, total
        self.keeper, self.callback = keeper, callback
        self.position = self.written = begin
        self.between_batches = True

    def learn(self, batches: Any, epoch: int) -> None:
        """Learn from the batches of an epoch."""
        for first, X in batches:
            if self.keeper is None:
                self._learn(first, X, epoch)
            else:
                with _interrupts_held_back():
                    self._learn(first, X, epoch)
            if self.callback is not None:
                self.callback(self._progress())
            if self.keeper is not None and self.keeper.due_after_batch():
                self._write(self.keeper)

    def _learn(self, first: int, X: Any, epoch: int) -> None:
        self.between_batches = False
        self.estimator.partial_fit(X)
        self.position = Position(epoch, first + X.shape[0])
        self.between_batches = True

    def _progress(self) -> Progress:
        model = self.estimator
        return Progress(
            model.n_samples_seen_,
            self.total,
            getattr(model, "objective_", nan),
            getattr(model, "outlier_share_", nan),
            *self.position,
        )

    def _write(self, keeper: Keeper) -> None:
        keeper.write(self.estimator, self.position, batch_size=self.size)
        self.written = self.position

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        unsaved = self.between_batches and self.position != self.written
        if self.keeper is not None and unsaved and not isinstance(error, CheckpointError):
            self._write(self.keeper)


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block; a second one interrupts at once.

    Only the main thread receives interrupts and can set a handler.
    """
    former = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(former):
        yield
        return
    held: list[Any] = []

    def hold(number: int, frame: Any) -> None:
        if held:
            former(number, frame)
        held.append(frame)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
        if len(held) == 1:
            former(signal.SIGINT, held[0])
