"""Repeat a stream for several epochs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thalweg._checks import require_whole
from thalweg.streams._stream import Batch, Stream, check_cut, rebatch

__all__ = ["Repeated"]

_COUNT_BATCH_SIZE = 1024  # samples read at a time to count a stream; affects memory only


@dataclass(frozen=True, eq=False)
class Repeated:
    """Concatenate several epochs of a stream to one longer stream.

    Sample numbers continue from one epoch to the next, and a batch may span two epochs. A
    ``start`` above 0 needs the length of the stream; if it is unknown, the stream is read once to
    count its samples.

    Parameters
    ----------
    stream : Stream
        Stream to repeat.
    epochs : int, default=2
        Number of epochs.

    Attributes
    ----------
    n_features, n_samples : int
        Number of columns, and number of samples in all epochs.

    Examples
    --------
    >>> from thalweg import streams
    >>> twice = streams.Repeated(streams.open([[1.0], [2.0], [3.0]]), epochs=2)
    >>> [batch.X.ravel().tolist() for batch in twice.batches(4)]
    [[1.0, 2.0, 3.0, 1.0], [2.0, 3.0]]
    """

    stream: Stream
    epochs: int = 2

    def __post_init__(self) -> None:
        require_whole(1, epochs=self.epochs)

    @property
    def n_features(self) -> int:
        """Number of columns of each batch."""
        return self.stream.n_features

    @property
    def n_samples(self) -> int | None:
        """Number of samples in all epochs; None if unknown."""
        per_epoch = self.stream.n_samples
        return None if per_epoch is None else self.epochs * per_epoch

    @property
    def prefetch(self) -> bool:
        """Whether to prefetch the wrapped stream."""
        return getattr(self.stream, "prefetch", False)

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield batches of ``size`` samples, the first at sample ``start``, over all epochs."""
        check_cut(size, start)
        return rebatch(self._blocks(size, start), size, start)

    def _blocks(self, size: int, start: int) -> Iterator[Any]:
        epoch, skipped = divmod(start, max(self._length, 1)) if start else (0, 0)
        for _ in range(epoch, self.epochs):
            for batch in self.stream.batches(size, skipped):
                yield batch.X
            skipped = 0

    @cached_property
    def _length(self) -> int:
        known = self.stream.n_samples
        if known is not None:
            return known
        return sum(batch.X.shape[0] for batch in self.stream.batches(_COUNT_BATCH_SIZE))
