"""Learning from a stream: the loop around partial_fit."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, Self

from thalweg._checks import check_callback, require_whole
from thalweg.checkpoint import Keeper, keeper_for, latest, read_manifest, restore
from thalweg.errors import InputError, ParameterError
from thalweg.estimators._checkpointed_run import CheckpointedRun, Position
from thalweg.estimators._prefetch import read_ahead

__all__ = ["StreamFit"]

_BATCH = 256


class StreamFit:
    """What an estimator with partial_fit needs to learn from streams."""

    def fit_stream(
        self,
        stream: Any,
        *,
        epochs: int = 1,
        batch_size: int | None = None,
        start: tuple[int, int] | None = None,
        callback: Callable[[Position], None] | None = None,
        checkpoint: str | PathLike[str] | Keeper | None = None,
        resume: bool = False,
        prefetch: bool | None = None,
    ) -> Self:
        """Learn from a stream, batch by batch.

        Parameters
        ----------
        stream : Stream
            What ``thalweg.streams.open`` returns, or anything with ``batches(size, start)``.
        epochs : int, default=1
            How many times the stream is taken in.
        batch_size : int or None, default=None
            Samples in a batch; None leaves it to the estimator.
        start : Position or None, default=None
            None forgets what was learned before, and begins at the first sample. A position that
            a callback got goes on from there with what was learned: with the same batch size, and
            the state the estimator had then, it all ends as if there had been no break.
        callback : callable or None, default=None
            Called with the :class:`~thalweg.estimators.Position` after each batch.
        checkpoint : path, Keeper or None, default=None
            Folder into which checkpoints are written: every 30 seconds, or when the
            :class:`thalweg.checkpoint.Keeper` says; at the end; and when the run is interrupted.
        resume : bool, default=False
            Whether to go on from the newest checkpoint in that folder, if there is one. It all ends
            as if there had been no break, whenever that was.
        prefetch : bool or None, default=None
            Whether a thread reads the next batch while one is learned from; what is learned is the
            same. None leaves it to the stream: files are read ahead, what is in memory, waited for
            or not the library's own is not.

        Returns
        -------
        self
            The fitted estimator.
        """
        if not hasattr(stream, "batches"):
            raise ParameterError(
                f"stream must have a method batches(size, start), got {type(stream).__name__}. "
                "Open files and arrays with thalweg.streams.open first."
            )
        check_callback(callback)
        keeper = keeper_for(checkpoint, resume, start)
        size = self._stream_batch_size(stream) if batch_size is None else batch_size
        begin = Position() if start is None else Position(*start)
        require_whole(1, epochs=epochs, batch_size=size)
        require_whole(0, epoch=begin.epoch, sample=begin.sample)
        path = latest(keeper.directory) if keeper is not None and resume else None
        if path is not None:
            begin, size = self._resumed(path, batch_size)
        elif start is None:
            self._forget()
        ahead = getattr(stream, "read_ahead", False) if prefetch is None else prefetch
        with CheckpointedRun(self, begin, size, keeper, callback) as run:
            for epoch in range(begin.epoch, epochs):
                with read_ahead(stream.batches(size, begin.sample), ahead) as batches:
                    run.take_in(batches, epoch)
                begin = Position(epoch + 1, 0)
        if not hasattr(self, "components_"):
            raise InputError(
                "stream must have samples, got none. Check its source and the start position."
            )
        return self

    def _stream_batch_size(self, stream: Any) -> int:
        """Return the size of the batches in which a stream is taken in."""
        return _BATCH

    def _resumed(self, path: Path, asked: int | None) -> tuple[Position, int]:
        """Return where to go on and in which steps, with what was learned until then."""
        kept = read_manifest(path)
        if kept.position is None or kept.batch_size is None or asked not in (None, kept.batch_size):
            raise ParameterError(
                f"batch_size must be {kept.batch_size} as in {path}, got batch_size={asked}. "
                "Leave it out to resume the run, or use another folder for a new run."
            )
        return restore(path, self).position, kept.batch_size

    def _forget(self) -> None:
        """Drop what was learned: by scikit-learn's rule, what ends in an underscore."""
        for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(self, name)
