"""The stream protocol, and helpers that form batches."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from thalweg._checks import require_whole

__all__ = ["Batch", "Source", "Stream", "check_cut", "collect", "rebatch"]


class Batch(NamedTuple):
    """Hold consecutive samples of a stream.

    Attributes
    ----------
    start : int
        Index of the first sample in the stream, counted from 0.
    X : array or CSR array of shape (n_rows, n_features)
        One row per sample, in float32 or float64; ``NaN`` marks gaps.

    Examples
    --------
    >>> from thalweg import streams
    >>> [batch.start for batch in streams.open([[1.0], [2.0], [3.0]]).batches(2)]
    [0, 2]
    """

    start: int
    X: Any


@runtime_checkable
class Stream(Protocol):
    """Protocol of a source of numbered samples that can be read from any sample.

    Attributes
    ----------
    n_features : int
        Number of columns of each batch.
    n_samples : int or None
        Number of samples; None if it is unknown before the whole stream is read.
    """

    @property
    def n_features(self) -> int: ...

    @property
    def n_samples(self) -> int | None: ...

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield batches of ``size`` samples, the first at ``start``; the last may be smaller.

        Only one batch is in memory at a time. The same ``start`` and ``size`` give the same
        batches. A ``start`` past the last sample gives none.
        """
        ...


class Source:
    """Base class of file readers: copies and pickles hold the settings, not the data."""

    @property
    def prefetch(self) -> bool:
        """Whether to prefetch the next batch in a thread."""
        return True

    def __getstate__(self) -> dict[str, Any]:
        names = self.__dataclass_fields__  # type: ignore[attr-defined]
        return {name: vars(self)[name] for name in names if name in vars(self)}


def check_cut(size: int, start: int) -> None:
    """Raise unless ``size`` is a positive integer and ``start`` a non-negative one."""
    require_whole(1, size=size)
    require_whole(0, start=start)


def collect(
    samples: Iterable[Any], size: int, start: int, join: Callable[[list[Any]], Any]
) -> Iterator[Batch]:
    """Group single samples into batches; ``join`` converts a list of samples to rows."""
    pending = []
    for sample in samples:
        pending.append(sample)
        if len(pending) == size:
            yield Batch(start, join(pending))
            start, pending = start + size, []
    if pending:
        yield Batch(start, join(pending))


def rebatch(blocks: Iterable[Any], size: int, start: int) -> Iterator[Batch]:
    """Regroup blocks of any number of rows into batches of ``size`` rows."""
    pending: list[Any] = []
    needed = size  # rows until the next batch is full
    for block in blocks:
        rest = block
        while rest.shape[0] >= needed:
            yield Batch(start, _stack([*pending, rest[:needed]]))
            start, rest, pending, needed = start + size, rest[needed:], [], size
        if rest.shape[0]:
            pending.append(rest)
            needed -= rest.shape[0]
    if pending:
        yield Batch(start, _stack(pending))


def _stack(blocks: list[Any]) -> Any:
    if isinstance(blocks[0], np.ndarray):
        return np.concatenate(blocks)
    from scipy import sparse  # imported late: slow, and only sparse blocks need it

    return sparse.vstack(blocks, format="csr")
