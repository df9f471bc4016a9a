"""Data as a list of blocks of rows, each of which a worker can load on its own."""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
from scipy import sparse

from thalweg._checks import require_whole
from thalweg.distributed._dask import collection
from thalweg.errors import InputError
from thalweg.streams import Stream

__all__ = ["Blocks", "Held", "Lazy", "Read", "blocks_of", "plain"]

# Default number of rows per block: a multiple of the number that an encoder processes at once.
_ROWS = 4096
# Pickled size in bytes above which a stream contains its samples, which are then sent as blocks.
_MAX_STREAM_BYTES = 2**16


@dataclass(frozen=True, eq=False)
class Held:
    """Rows in the memory of the central process."""

    X: Any

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def load(self) -> Any:
        """Return the rows."""
        return self.X


@dataclass(frozen=True, eq=False)
class Read:
    """Rows of a stream, which the worker opens and reads."""

    stream: Stream
    start: int
    rows: int

    def load(self) -> Any:
        """Read the rows."""
        for batch in self.stream.batches(self.rows, self.start):
            return batch.X
        raise InputError(
            f"The stream must have more than {self.start} samples, got fewer. "
            "The file may have been truncated: check its source."
        )


@dataclass(frozen=True, eq=False)
class Lazy:
    """Rows that Dask computes on demand; ``rows`` is None if their number is unknown."""

    delayed: Any
    rows: int | None = None

    def load(self) -> Any:
        """Compute the rows in this process."""
        return self.delayed.compute(scheduler="synchronous")


Block = Held | Read | Lazy


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks in order, and the names of the columns if there are any."""

    blocks: list[Block]
    names: list[str] | None = None
    kind: str = "Block"

    def __len__(self) -> int:
        return len(self.blocks)

    def rows(self, which: list[int]) -> int | None:
        """Return the number of rows of the blocks ``which``, or None if it is unknown."""
        counts = [self.blocks[i].rows for i in which]
        return None if None in counts else sum(filter(None, counts))


def blocks_of(X: Any, size: int | None) -> Blocks:
    """Split data into blocks of rows."""
    if size is not None:
        require_whole(1, block_size=size)
    kind = collection(X)
    if kind in ("array", "frame"):
        made = _of_array(X, size) if kind == "array" else _of_frame(X, size)
    elif isinstance(X, Stream):
        made = Blocks(list(_of_stream(X, size or _ROWS)))
    elif isinstance(X, (list, tuple)) and all(_is_block(part) for part in X):
        made = Blocks([_listed(part) for part in X])
    else:
        rows = _matrix(X)
        cuts = range(0, rows.shape[0], size or _ROWS)
        made = Blocks([Held(rows[i : i + (size or _ROWS)]) for i in cuts], _names(X))
    if not made.blocks:
        raise InputError("The data must have at least one block, got none. Check the data.")
    return made


def plain(X: Any) -> Any:
    """Return a block as an array or a sparse matrix; DataFrames are converted."""
    return X.to_numpy() if hasattr(X, "to_numpy") else X


def _of_array(X: Any, size: int | None) -> Blocks:
    if X.ndim != 2:
        raise InputError(
            f"A Dask array must have two axes, samples and features, got {X.ndim}. "
            "Use reshape to make it two."
        )
    X = X.rechunk({1: -1} if size is None else {0: size, 1: -1})
    parts = X.to_delayed().ravel().tolist()
    sizes = [None if isnan(n) else int(n) for n in X.chunks[0]]
    return Blocks([Lazy(part, n) for part, n in zip(parts, sizes, strict=True)])


def _of_frame(X: Any, size: int | None) -> Blocks:
    if size is not None:
        raise InputError(
            f"block_size must be None for a Dask DataFrame, whose blocks are its partitions, got "
            f"{size}. Use X.repartition(...) instead."
        )
    return Blocks([Lazy(part) for part in X.to_delayed()], _names(X))


def _of_stream(stream: Stream, size: int) -> Iterator[Block]:
    if len(pickle.dumps(stream)) > _MAX_STREAM_BYTES:
        yield from (Held(batch.X) for batch in stream.batches(size))
        return
    total = stream.n_samples
    if total is None:
        total = sum(batch.X.shape[0] for batch in stream.batches(size))
    for start in range(0, total, size):
        yield Read(stream, start, min(size, total - start))


def _is_block(part: Any) -> bool:
    return collection(part) == "delayed" or getattr(part, "ndim", 0) == 2


def _listed(part: Any) -> Block:
    return Lazy(part) if collection(part) == "delayed" else Held(_matrix(part))


def _matrix(X: Any) -> Any:
    """Return an array or CSR matrix that can be sliced into rows."""
    if sparse.issparse(X):
        return X.tocsr()
    rows = np.asarray(plain(X))
    if rows.ndim != 2:
        raise InputError(
            "X must be an array, a Dask array or DataFrame, a stream, or a list of blocks, with "
            f"one row per sample, got {type(X).__name__} of shape {rows.shape}."
        )
    return rows


def _names(X: Any) -> list[str] | None:
    names = list(getattr(X, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None
