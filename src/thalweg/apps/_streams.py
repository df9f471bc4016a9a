"""Streams as the jobs need them: opened with options, changed batch by batch, read in one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from thalweg import streams
from thalweg.apps._run import Run
from thalweg.errors import InputError
from thalweg.streams import Batch, Stream

__all__ = [
    "Mapped",
    "columns_of",
    "everything",
    "length",
    "open_source",
    "pictures",
    "rows_at_once",
]

# Entries of a batch that is only read or written, and of all data that fit into memory.
_AT_ONCE, _LARGEST = 2**22, 2**28
# Entries of a batch that is learned from, where nobody names its size.
_LEARNED = 2**24


@dataclass(frozen=True, eq=False)
class Mapped:
    """A stream whose batches are changed as they come; the numbers of samples stay."""

    source: Stream
    change: Callable[[Any], Any]
    n_features: int

    @property
    def n_samples(self) -> int | None:
        """Samples in the stream."""
        return self.source.n_samples

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield the batches, changed."""
        for first, X in self.source.batches(size, start):
            yield Batch(first, self.change(X))


def open_source(run: Run, **options: Any) -> Stream:
    """Return the stream of a job; options that are None are left to the source."""
    if isinstance(run.source, Stream):
        return run.source
    chosen = {name: value for name, value in options.items() if value is not None}
    return streams.open(run.source, **{**chosen, **run.read})


def pictures(
    run: Run, size: tuple[int, int] | None, colour: bool
) -> tuple[Stream, tuple[int, ...]]:
    """Return a stream of pictures with values from 0 to 1, and the shape of one."""
    stream = open_source(run, size=size, colour=colour or None)
    shape = tuple(getattr(stream, "shape", ()))
    if len(shape) != 2 and not (len(shape) == 3 and shape[2] == 3):
        raise InputError(
            f"{run.title} should have pictures, but a sample has the shape {shape}. Give a video, "
            "a folder of images, or an array of frames."
        )
    first = next(iter(stream.batches(1)), None)
    if first is None:
        raise InputError(f"{run.title} should have pictures, but it has none. Check the file.")
    white = _white(first.X)
    return (stream if white == 1 else _divided(stream, white)), shape


def _white(X: Any) -> float:
    """Return what stands for white: arrays may have 8 or 16 bits instead of numbers up to 1."""
    brightest = float(np.nanmax(X, initial=0.0))
    return 1.0 if brightest <= 1.5 else 255.0 if brightest <= 255 else 65535.0


def _divided(stream: Stream, white: float) -> Stream:
    return Mapped(stream, lambda X: (X / white).astype(np.float32), stream.n_features)


def everything(stream: Stream, run: Run, advice: str) -> Any:
    """Return all samples of a stream at once, or say that they are too many."""
    kept, total = [], 0
    for first, X in stream.batches(rows_at_once(stream.n_features)):
        total += prod(X.shape)
        if total > _LARGEST:
            raise InputError(
                f"{run.title} should have at most {_LARGEST} entries, which are kept in memory, "
                f"but it has more. {advice}"
            )
        kept.append(X)
        run.tell("reading", first + X.shape[0], length(stream))
    if not kept:
        raise InputError(f"{run.title} should have samples, but it has none. Check the file.")
    if isinstance(kept[0], np.ndarray):
        return np.concatenate(kept)
    from scipy import sparse

    return sparse.vstack(kept, format="csr")


def rows_at_once(n_features: int) -> int:
    """Return how many samples are read or written at a time."""
    return int(np.clip(_AT_ONCE // n_features, 1, 256))


def rows_learned(n_features: int) -> int | None:
    """Return how many wide samples are learned from at a time; None leaves it to the method."""
    return None if 256 * n_features <= _LEARNED else max(1, _LEARNED // n_features)


def length(stream: Any) -> int | None:
    """Return the samples of a stream, as far as that is known beforehand."""
    n: int | None = stream.n_samples
    if n is None and getattr(stream, "frames", (0, None)) == (0, None):
        n = getattr(stream, "n_announced", None)
    if n is None and isinstance(stream, Mapped):
        n = length(stream.source)
    return n


def columns_of(stream: Any) -> list[str]:
    """Return the names of the columns; their numbers if they have none."""
    names = getattr(stream, "columns_", None)
    return list(names) if names is not None else [str(i) for i in range(stream.n_features)]
