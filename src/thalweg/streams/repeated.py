"""A stream several times over."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thalweg._checks import require_whole
from thalweg.streams._stream import Batch, Stream, check_cut, rebatch

__all__ = ["Repeated"]

_COUNTED = 1024  # samples that are read at a time to count them


@dataclass(frozen=True, eq=False)
class Repeated:
    """A stream several times over, as one longer stream.

    Samples are numbered on from one epoch to the next, and a batch may hold the end of one and
    the beginning of the next. To begin behind the first sample, the length of the stream has to be
    known; where it is not, all of it is read once.

    Parameters
    ----------
    stream : Stream
        What is repeated.
    epochs : int, default=2
        How many times.

    Attributes
    ----------
    n_features, n_samples : int
        Width, and samples of all epochs.

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
        """Width of the batches."""
        return self.stream.n_features

    @property
    def n_samples(self) -> int | None:
        """Samples of all epochs, where that is known."""
        inside = self.stream.n_samples
        return None if inside is None else self.epochs * inside

    @property
    def read_ahead(self) -> bool:
        """Whether it pays to read the stream inside before its samples are needed."""
        return getattr(self.stream, "read_ahead", False)

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield ``size`` samples at a time, from sample ``start`` of all epochs on."""
        check_cut(size, start)
        return rebatch(self._blocks(size, start), size, start)

    def _blocks(self, size: int, start: int) -> Iterator[Any]:
        epoch, passed = divmod(start, max(self._length, 1)) if start else (0, 0)
        for _ in range(epoch, self.epochs):
            for batch in self.stream.batches(size, passed):
                yield batch.X
            passed = 0

    @cached_property
    def _length(self) -> int:
        known = self.stream.n_samples
        if known is not None:
            return known
        return sum(batch.X.shape[0] for batch in self.stream.batches(_COUNTED))
