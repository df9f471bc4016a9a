"""What a stream is, and how samples are cut into batches."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from thalweg._checks import require_whole

__all__ = ["Batch", "Source", "Stream", "check_cut", "collect", "rebatch"]


class Batch(NamedTuple):
    """Some consecutive samples of a stream.

    Attributes
    ----------
    start : int
        Number of the first of them in the stream, counted from 0.
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
    """Numbered samples that can be read again from any of them on.

    Attributes
    ----------
    n_features : int
        Width of every batch.
    n_samples : int or None
        Samples in the stream; None where only reading all of it would tell.
    """

    @property
    def n_features(self) -> int: ...

    @property
    def n_samples(self) -> int | None: ...

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield the samples from ``start`` on, ``size`` at a time, fewer in the last batch.

        Only what one batch needs is in memory. From the same start come the same batches, and
        where a batch began, another call can begin; from behind the last sample come none.
        """
        ...


class Source:
    """Base of what reads files: a copy takes the settings along, and not what was read."""

    @property
    def read_ahead(self) -> bool:
        """Whether it pays to read a batch before it is needed, in a thread."""
        return True

    def __getstate__(self) -> dict[str, Any]:
        names = self.__dataclass_fields__  # type: ignore[attr-defined]
        return {name: vars(self)[name] for name in names if name in vars(self)}


def check_cut(size: int, start: int) -> None:
    """Raise unless batches of this size can be cut from there."""
    require_whole(1, size=size)
    require_whole(0, start=start)


def collect(
    samples: Iterable[Any], size: int, start: int, join: Callable[[list[Any]], Any]
) -> Iterator[Batch]:
    """Yield batches of samples that come one at a time; ``join`` makes rows of a list of them."""
    kept = []
    for sample in samples:
        kept.append(sample)
        if len(kept) == size:
            yield Batch(start, join(kept))
            start, kept = start + size, []
    if kept:
        yield Batch(start, join(kept))


def rebatch(blocks: Iterable[Any], size: int, start: int) -> Iterator[Batch]:
    """Yield batches of ``size`` rows from blocks of any numbers of rows."""
    kept: list[Any] = []
    missing = size
    for block in blocks:
        rest = block
        while rest.shape[0] >= missing:
            yield Batch(start, _stack([*kept, rest[:missing]]))
            start, rest, kept, missing = start + size, rest[missing:], [], size
        if rest.shape[0]:
            kept.append(rest)
            missing -= rest.shape[0]
    if kept:
        yield Batch(start, _stack(kept))


def _stack(blocks: list[Any]) -> Any:
    if isinstance(blocks[0], np.ndarray):
        return np.concatenate(blocks)
    from scipy import sparse  # only sparse blocks need it, and it is slow to load

    return sparse.vstack(blocks, format="csr")
