"""Learning from a stream: the loop around partial_fit."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

from thalweg._checks import require_whole
from thalweg.errors import InputError, ParameterError

__all__ = ["Position", "StreamFit"]

_BATCH = 256


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

        Returns
        -------
        self
            The fitted estimator.
        """
        if not hasattr(stream, "batches"):
            raise ParameterError(
                f"stream should have batches(size, start), but {type(stream).__name__} has not. "
                "Open files and arrays with thalweg.streams.open first."
            )
        size = self._stream_size(stream) if batch_size is None else batch_size
        begin = Position() if start is None else Position(*start)
        require_whole(1, epochs=epochs, batch_size=size)
        require_whole(0, epoch=begin.epoch, sample=begin.sample)
        if start is None:
            self._forget()
        for epoch in range(begin.epoch, epochs):
            self._take_in(stream.batches(size, begin.sample), epoch, callback)
            begin = Position(epoch + 1, 0)
        if not hasattr(self, "components_"):
            raise InputError(
                "The stream should have samples, but none came. Check its source, and the position."
            )
        return self

    def _stream_size(self, stream: Any) -> int:
        """Return the size of the batches in which a stream is taken in."""
        return _BATCH

    def _take_in(
        self, batches: Any, epoch: int, callback: Callable[[Position], None] | None
    ) -> None:
        for first, X in batches:
            self.partial_fit(X)  # type: ignore[attr-defined]
            if callback is not None:
                callback(Position(epoch, first + X.shape[0]))

    def _forget(self) -> None:
        """Drop what was learned: by scikit-learn's rule, what ends in an underscore."""
        for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(self, name)
