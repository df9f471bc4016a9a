"""Shuffle a stream in blocks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._checks import require_whole
from thalweg.streams._stream import Batch, Stream, check_cut, rebatch

__all__ = ["Shuffled"]


@dataclass(frozen=True, eq=False)
class Shuffled:
    """Shuffle the samples of a stream within blocks of ``buffer`` samples.

    The order within a block depends only on the seed and the block number, so any ``start`` gives
    the same order. A shuffled :class:`Repeated` stream has a different order in each epoch.

    Parameters
    ----------
    stream : Stream
        Stream to shuffle.
    buffer : int, default=1024
        Number of samples held in memory and shuffled together.
    seed : int, default=0
        Seed of the order.

    Attributes
    ----------
    n_features, n_samples : int
        Number of columns and samples of the wrapped stream.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import streams
    >>> numbers = streams.open(np.arange(6.0).reshape(6, 1))
    >>> mixed = streams.Shuffled(numbers, buffer=3, seed=1)
    >>> sorted(next(mixed.batches(3, start=3)).X.ravel().tolist())
    [3.0, 4.0, 5.0]
    """

    stream: Stream
    buffer: int = 1024
    seed: int = 0

    def __post_init__(self) -> None:
        require_whole(1, buffer=self.buffer)
        require_whole(0, seed=self.seed)

    @property
    def n_features(self) -> int:
        """Number of columns of each batch."""
        return self.stream.n_features

    @property
    def n_samples(self) -> int | None:
        """Number of samples in the stream; None if unknown."""
        return self.stream.n_samples

    @property
    def prefetch(self) -> bool:
        """Whether to prefetch the wrapped stream."""
        return getattr(self.stream, "prefetch", False)

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield batches of ``size`` samples, the first at index ``start`` of the new order."""
        check_cut(size, start)
        return rebatch(self._blocks(start), size, start)

    def _blocks(self, start: int) -> Iterator[Any]:
        number, skipped = divmod(start, self.buffer)
        for block in self.stream.batches(self.buffer, start - skipped):
            order = np.random.default_rng([self.seed, number]).permutation(block.X.shape[0])
            yield block.X[order[skipped:]]
            number, skipped = number + 1, 0
