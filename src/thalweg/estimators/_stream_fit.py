"""fit_stream: the loop around partial_fit."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, Self

from thalweg._checks import check_callback, require_whole
from thalweg.checkpoint import Keeper, keeper_for, latest, read_manifest, restore
from thalweg.errors import InputError, ParameterError
from thalweg.estimators._checkpointed_run import CheckpointedRun
from thalweg.estimators._prefetch import prefetched
from thalweg.learning.progress import Position, Progress

__all__ = ["StreamFit"]

# Default number of samples per batch, for estimators without another default.
_BATCH_SIZE = 256


class StreamFit:
    """Mixin of the estimators with partial_fit."""

    def fit_stream(
        self,
        stream: Any,
        *,
        epochs: int = 1,
        batch_size: int | None = None,
        start: Progress | tuple[int, int] | None = None,
        callback: Callable[[Progress], None] | None = None,
        checkpoint: str | PathLike[str] | Keeper | None = None,
        resume: bool = False,
        prefetch: bool | None = None,
    ) -> Self:
        """Learn from a stream, batch by batch.

        Parameters
        ----------
        stream : Stream
            From :func:`thalweg.streams.open`, or any object with ``batches(size, start)``.
        epochs : int, default=1
            Number of epochs: how often the whole stream is read.
        batch_size : int or None, default=None
            Samples per batch; None for the default of the estimator.
        start : Progress, Position, (epoch, sample) or None, default=None
            None discards an earlier fit, and starts at the first sample. Otherwise the fit
            resumes at this position with the current state. With the same batch size, and the
            state at that position, the result is that of an uninterrupted fit.
        callback : callable or None, default=None
            Called with a :class:`~thalweg.estimators.Progress` after each batch.
        checkpoint : path, Keeper or None, default=None
            Folder for checkpoints. They are written every 30 seconds, or as the
            :class:`thalweg.checkpoint.Keeper` is set; at the end; and when the run is interrupted.
        resume : bool, default=False
            Whether to resume from the latest checkpoint in that folder, if there is one. The
            result is that of an uninterrupted fit.
        prefetch : bool or None, default=None
            Whether a thread reads the next batch while the current one is processed. The result is
            the same. None prefetches files, but neither data in memory nor live sources.

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
        begin = _position(start)
        require_whole(1, epochs=epochs, batch_size=size)
        require_whole(0, epoch=begin.epoch, sample=begin.sample)
        path = latest(keeper.directory) if keeper is not None and resume else None
        if path is not None:
            begin, size = self._resumed(path, batch_size)
        elif start is None:
            self._forget()
        if prefetch is None:
            prefetch = getattr(stream, "prefetch", False)
        n = getattr(stream, "n_samples", None)
        total = None if n is None else n * epochs
        with CheckpointedRun(self, begin, size, total, keeper, callback) as run:
            for epoch in range(begin.epoch, epochs):
                with prefetched(stream.batches(size, begin.sample), prefetch) as batches:
                    run.learn(batches, epoch)
                begin = Position(epoch + 1, 0)
        if not hasattr(self, "components_"):
            raise InputError(
                "stream must have samples, got none. Check its source and the start position."
            )
        return self

    def _stream_batch_size(self, stream: Any) -> int:
        """Return the default batch size for a stream."""
        return _BATCH_SIZE

    def _resumed(self, path: Path, asked: int | None) -> tuple[Position, int]:
        """Restore the estimator from a checkpoint; return position and batch size."""
        kept = read_manifest(path)
        if kept.position is None or kept.batch_size is None or asked not in (None, kept.batch_size):
            raise ParameterError(
                f"batch_size must be {kept.batch_size} as in {path}, got batch_size={asked}. "
                "Leave it out to resume the run, or use another folder for a new run."
            )
        return restore(path, self).position, kept.batch_size

    def _forget(self) -> None:
        """Delete the fitted attributes, which end with an underscore."""
        for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(self, name)


def _position(start: Any) -> Position:
    if start is None:
        return Position()
    return start.position if isinstance(start, Progress) else Position(*start)
