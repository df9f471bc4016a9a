"""Read samples from the rows of Parquet files."""

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

__all__ = ["ParquetStream"]


@dataclass(frozen=True, eq=False)
class ParquetStream(Source):
    """Read the rows of a Parquet file; nulls are gaps.

    Row groups before ``start`` are skipped.

    Parameters
    ----------
    source : path
        A ``.parquet`` or ``.pq`` file.
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
    >>> import pyarrow, pyarrow.parquet
    >>> from thalweg.streams.parquet import ParquetStream
    >>> with TemporaryDirectory() as folder:
    ...     table = pyarrow.table({"north": [1.5, None], "south": [2, 4]})
    ...     pyarrow.parquet.write_table(table, Path(folder, "wells.parquet"))
    ...     next(ParquetStream(Path(folder, "wells.parquet")).batches(10)).X
    array([[1.5, 2. ], [nan, 4. ]])
    """

    source: str | PathLike[str]
    columns: Sequence[str | int] | None = None
    dtype: str = "float64"
    name: ClassVar[str] = "parquet"
    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")

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
        with self._file() as file:
            return int(file.metadata.num_rows)

    @cached_property
    def columns_(self) -> list[str]:
        """Names of the columns."""
        with self._file() as file:
            schema = file.schema_arrow
            return [schema.names[i] for i in numeric_columns(schema, self.columns, self._path)]

    @cached_property
    def names_(self) -> list[str]:
        """Names of all columns of the file."""
        with self._file() as file:
            return list(file.schema_arrow.names)

    def cells(self, column: int) -> Iterator[str]:
        """Yield the texts of a column of the file, row by row; dates in ISO 8601."""
        with self._file() as file:
            for block in file.iter_batches(columns=[self.names_[column]]):
                yield from ("" if cell is None else str(cell) for cell in block[0].to_pylist())

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield batches of ``size`` rows, the first at row ``start``."""
        check_cut(size, start)
        with self._file() as file:
            yield from rebatch(self._blocks(file, size, start), size, start)

    @property
    def _path(self) -> Path:
        return Path(self.source)

    def _blocks(self, file: Any, size: int, start: int) -> Iterator[Array]:
        first, n_groups = 0, file.metadata.num_row_groups
        while first < n_groups and start >= (n := file.metadata.row_group(first).num_rows):
            first, start = first + 1, start - n
        names, dtype = self.columns_, check_dtype(self.dtype)
        groups = range(first, n_groups)
        n_rows = block_size(size, len(names))
        for block in file.iter_batches(batch_size=n_rows, row_groups=groups, columns=names):
            skipped = min(start, block.num_rows)
            start -= skipped
            yield rows(block.select(names).slice(skipped), dtype)

    @contextmanager
    def _file(self) -> Iterator[Any]:
        parquet = need("pyarrow.parquet", "pyarrow")
        try:
            with parquet.ParquetFile(self._path, memory_map=True, pre_buffer=False) as file:
                yield file
        except (OSError, need("pyarrow", "pyarrow").ArrowException) as error:
            raise unreadable(self._path, "a Parquet file", error) from error
