"""Open, transform and read the streams of the jobs."""

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
    "length",
    "open_source",
    "pictures",
    "read_all",
    "read_batch_size",
]

# Limits on memory, in entries: of a batch to read or write, of a batch to fit, and of all data of
# a batch method.
_MAX_READ_ENTRIES, _MAX_FIT_ENTRIES, _MAX_ENTRIES = 2**22, 2**24, 2**28
_MAX_BATCH_SIZE = 256  # samples
_MAX_FLOAT = 1.5  # brightest value of images scaled to [0, 1]: noise may exceed 1


@dataclass(frozen=True, eq=False)
class Mapped:
    """A stream whose batches are transformed by a function, with the same sample numbers."""

    source: Stream
    change: Callable[[Any], Any]
    n_features: int

    @property
    def n_samples(self) -> int | None:
        """Number of samples in the stream."""
        return self.source.n_samples

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield the transformed batches."""
        for first, X in self.source.batches(size, start):
            yield Batch(first, self.change(X))


def open_source(run: Run, **options: Any) -> Stream:
    """Open the source of a job; options that are None are omitted."""
    if isinstance(run.source, Stream):
        return run.source
    chosen = {name: value for name, value in options.items() if value is not None}
    return streams.open(run.source, **{**chosen, **run.read})


def pictures(
    run: Run, size: tuple[int, int] | None, colour: bool
) -> tuple[Stream, tuple[int, ...]]:
    """Return a stream of images with values from 0 to 1, and the shape of an image."""
    stream = open_source(run, size=size, colour=colour or None)
    shape = tuple(getattr(stream, "shape", ()))
    if len(shape) != 2 and not (len(shape) == 3 and shape[2] == 3):
        raise InputError(
            f"{run.title} must contain images, got samples of shape {shape}. Pass a video, a "
            "folder of images, or an array of frames."
        )
    first = next(iter(stream.batches(1)), None)
    if first is None:
        raise InputError(f"{run.title} must contain images, got none.")
    white = _white(first.X)
    return (stream if white == 1 else _divided(stream, white)), shape


def _white(X: Any) -> float:
    """Return the value of white: 1, or the maximum of 8-bit or 16-bit arrays."""
    brightest = float(np.nanmax(X, initial=0.0))
    return 1.0 if brightest <= _MAX_FLOAT else 255.0 if brightest <= 255 else 65535.0


def _divided(stream: Stream, white: float) -> Stream:
    return Mapped(stream, lambda X: (X / white).astype(np.float32), stream.n_features)


def read_all(stream: Stream, run: Run, advice: str) -> Any:
    """Read all samples of a stream into memory; raise if there are too many."""
    blocks, total = [], 0
    for first, X in stream.batches(read_batch_size(stream.n_features)):
        total += prod(X.shape)
        if total > _MAX_ENTRIES:
            raise InputError(
                f"{run.title} must have at most {_MAX_ENTRIES} entries to fit into memory, got "
                f"more. {advice}"
            )
        blocks.append(X)
        run.notify("reading", first + X.shape[0], length(stream))
    if not blocks:
        raise InputError(f"{run.title} must have at least one sample, got none.")
    if isinstance(blocks[0], np.ndarray):
        return np.concatenate(blocks)
    from scipy import sparse

    return sparse.vstack(blocks, format="csr")


def read_batch_size(n_features: int) -> int:
    """Return the number of samples to read or write at a time."""
    return int(np.clip(_MAX_READ_ENTRIES // n_features, 1, _MAX_BATCH_SIZE))


def fit_batch_size(n_features: int) -> int | None:
    """Return the batch size for wide samples; None uses the default of the method."""
    if _MAX_BATCH_SIZE * n_features <= _MAX_FIT_ENTRIES:
        return None
    return max(1, _MAX_FIT_ENTRIES // n_features)


def length(stream: Any) -> int | None:
    """Return the number of samples of a stream, or an estimate; None if unknown."""
    n: int | None = stream.n_samples
    if n is None and getattr(stream, "frames", (0, None)) == (0, None):
        n = getattr(stream, "n_announced", None)
    if n is None and isinstance(stream, Mapped):
        n = length(stream.source)
    return n


def columns_of(stream: Any) -> list[str]:
    """Return the names of the columns; their indices if they have no names."""
    names = getattr(stream, "columns_", None)
    return list(names) if names is not None else [str(i) for i in range(stream.n_features)]
