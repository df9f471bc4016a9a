"""A stream on its way into an estimator, noted down so that another run can go on."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple, Self

from thalweg.checkpoint import Keeper
from thalweg.errors import CheckpointError

__all__ = ["CheckpointedRun", "Position"]


class Position(NamedTuple):
    """How far a stream has been taken in.

    Attributes
    ----------
    epoch : int
        The pass, counted from 0.
    sample : int
        Samples taken in of this pass: the number of the next one.

    Examples
    --------
    >>> from thalweg.estimators import Position
    >>> Position(epoch=1, sample=300)
    Position(epoch=1, sample=300)
    """

    epoch: int = 0
    sample: int = 0


class CheckpointedRun:
    """Takes in batches, and writes checkpoints between them: as they are due, and on leaving.

    Whatever ends the run, the last checkpoint has the state after a whole batch. In the middle
    of one there is no such state: Ctrl-C waits for the end of the batch, and an error there leaves
    the checkpoints as they are.
    """

    def __init__(
        self,
        estimator: Any,
        begin: Position,
        size: int,
        keeper: Keeper | None,
        callback: Callable[[Position], None] | None,
    ) -> None:
        self.estimator, self.size = estimator, size
        self.keeper, self.callback = keeper, callback
        self.position = self.written = begin
        self.between_batches = True

    def take_in(self, batches: Any, epoch: int) -> None:
        """Learn from the batches of an epoch."""
        for first, X in batches:
            if self.keeper is None:
                self._learn(first, X, epoch)
            else:
                with _interrupts_held_back():
                    self._learn(first, X, epoch)
            if self.callback is not None:
                self.callback(self.position)
            if self.keeper is not None and self.keeper.due_after_batch():
                self._write(self.keeper)

    def _learn(self, first: int, X: Any, epoch: int) -> None:
        self.between_batches = False
        self.estimator.partial_fit(X)
        self.position = Position(epoch, first + X.shape[0])
        self.between_batches = True

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
        news = self.between_batches and self.position != self.written
        if self.keeper is not None and news and not isinstance(error, CheckpointError):
            self._write(self.keeper)


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Let Ctrl-C wait until the end of the block; a second one is let through at once.

    Only the main thread is interrupted, and only there a handler can be set.
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
