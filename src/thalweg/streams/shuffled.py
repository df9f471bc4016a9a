"""A stream in another order."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._checks import require_whole
from thalweg.streams._stream import Batch, Stream, check_cut, rebatch

__all__ = ["Shuffled"]


@dataclass(frozen=True, eq=False)
class Shuffled:
    """A stream whose samples are shuffled, ``buffer`` of them at a time.

    The order within a block follows from the seed and the number of the block alone, so that it
    is the same from wherever one begins. Around a :class:`Repeated` stream the order differs
    from epoch to epoch.

    Parameters
    ----------
    stream : Stream
        What is shuffled.
    buffer : int, default=1024
        Samples that are in memory and shuffled together.
    seed : int, default=0
        Which order.

    Attributes
    ----------
    n_features, n_samples : int
        Those of the stream inside.

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
        """Width of the batches."""
        return self.stream.n_features

    @property
    def n_samples(self) -> int | None:
        """Samples in the stream, where that is known."""
        return self.stream.n_samples

    @property
    def read_ahead(self) -> bool:
        """Whether it pays to read the stream inside before its samples are needed."""
        return getattr(self.stream, "read_ahead", False)

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield ``size`` samples at a time, from the one at place ``start`` of the new order on."""
        check_cut(size, start)
        return rebatch(self._blocks(start), size, start)

    def _blocks(self, start: int) -> Iterator[Any]:
        number, passed = divmod(start, self.buffer)
        for block in self.stream.batches(self.buffer, start - passed):
            order = np.random.default_rng([self.seed, number]).permutation(block.X.shape[0])
            yield block.X[order[passed:]]
            number, passed = number + 1, 0
