"""Read samples from the rows of Arrow and Feather files."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from thalweg._typing import Array
from thalweg.streams._arrow import block_size, numeric_columns, rows, unreadable
from thalweg.streams._files import check_dtype, existing_file, need
from thalweg.streams._stream import Batch, Source, check_cut, rebatch

__all__ = ["ArrowStream"]


@dataclass(frozen=True, eq=False)
class ArrowStream(Source):
    """Read the rows of an Arrow file, in the file or the stream format; nulls are gaps.

    The file is memory-mapped; the rows of one batch at a time are copied.

    Parameters
    ----------
    source : path
        An ``.arrow``, ``.arrows``, ``.feather`` or ``.ipc`` file.
    columns : list of str or int, or None, default=None
        Names or indices of the columns, in this order; None selects all.
    dtype : 'float64' or 'float32', default='float64'
        Type of the batches.

    Attributes
    ----------
    n_features, n_samples : int
        Number of columns and rows.
    columns_ : list of str
        Names of the columns.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import pyarrow, pyarrow.feather
    >>> from thalweg.streams.arrow import ArrowStream
    >>> with TemporaryDirectory() as folder:
    ...     table = pyarrow.table({"north": [1.5, None], "south": [2, 4]})
    ...     pyarrow.feather.write_feather(table, Path(folder, "wells.feather"))
    ...     next(ArrowStream(Path(folder, "wells.feather")).batches(10)).X
    array([[1.5, 2. ], [nan, 4. ]])
    """

    source: str | PathLike[str]
    columns: Sequence[str | int] | None = None
    dtype: str = "float64"
    name: ClassVar[str] = "arrow"
    suffixes: ClassVar[tuple[str, ...]] = (".arrow", ".arrows", ".feather", ".ipc")

    def __post_init__(self) -> None:
        existing_file(self.source)
        check_dtype(self.dtype)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.columns_)

    @cached_property
    def n_samples(self) -> int:
        """Number of rows."""
        with self._reader() as reader:
            return sum(block.num_rows for block in _blocks(reader))

    @cached_property
    def columns_(self) -> list[str]:
        """Names of the columns."""
        with self._reader() as reader:
            indices = numeric_columns(reader.schema, self.columns, self._path)
            return [reader.schema.names[index] for index in indices]

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield batches of ``size`` rows, the first at row ``start``."""
        check_cut(size, start)
        with self._reader() as reader:
            yield from rebatch(self._pieces(reader, size, start), size, start)

    @property
    def _path(self) -> Path:
        return Path(self.source)

    def _pieces(self, reader: Any, size: int, start: int) -> Iterator[Array]:
        names, dtype = self.columns_, check_dtype(self.dtype)
        n_rows = block_size(size, len(names))
        for block in _blocks(reader):
            skipped = min(start, block.num_rows)
            start -= skipped
            block = block.select(names)
            for begin in range(skipped, block.num_rows, n_rows):
                yield rows(block.slice(begin, n_rows), dtype)

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        arrow, ipc = need("pyarrow", "pyarrow"), need("pyarrow.ipc", "pyarrow")
        try:
            with arrow.memory_map(str(self._path)) as file:
                is_file = file.read(6) == b"ARROW1"
                file.seek(0)
                with (ipc.open_file if is_file else ipc.open_stream)(file) as reader:
                    yield reader
        except (OSError, arrow.ArrowException) as error:
            raise unreadable(self._path, "an Arrow file", error) from error


def _blocks(reader: Any) -> Iterator[Any]:
    """Yield the record batches of a file or stream reader."""
    if hasattr(reader, "num_record_batches"):
        yield from map(reader.get_batch, range(reader.num_record_batches))
    else:
        yield from reader
