"""Read samples from the rows of CSV and TSV files, which may still be growing."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import isfinite, nan
from os import PathLike
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from thalweg._checks import require_nonnegative, require_positive
from thalweg.errors import InputError, ParameterError
from thalweg.streams._files import check_dtype, column_indices, existing_file
from thalweg.streams._lines import Tail, lines
from thalweg.streams._stream import Batch, Source, check_cut, collect

__all__ = ["CsvStream"]

_MAX_COLUMNS = 100_000  # safety limit: wider text tables are rejected
_MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "?")


class _Row(NamedTuple):
    line: int  # last line of the row in the file, counted from 1
    cells: list[str]


class _Head(NamedTuple):
    """Layout of the table, from its first row."""

    delimiter: str
    has_names: bool
    names: list[str]
    indices: list[int]  # of the selected columns


@dataclass(frozen=True, eq=False)
class CsvStream(Source):
    r"""Read the rows of a text table; empty cells and missing-value markers are gaps.

    The file is read sequentially; rows before ``start`` are skipped. With ``follow=True`` the
    stream waits for more rows at the end of the file, and yields a batch once it is full.

    Parameters
    ----------
    source : path
        A ``.csv``, ``.tsv`` or ``.tab`` file.
    columns : list of str or int, or None, default=None
        Names or indices of the columns, in this order; None selects all.
    delimiter : str or None, default=None
        Character between cells; None takes the most frequent of comma, semicolon and tab in the
        first row.
    header : bool or None, default=None
        Whether the first row holds column names; None assumes so if it has a non-numeric cell.
    decimal : str, default='.'
        Decimal mark.
    missing : tuple of str
        Cells that mark a missing value.
    encoding : str, default='utf-8'
        Encoding of the text; line ends must be encoded as in ASCII.
    dtype : 'float64' or 'float32', default='float64'
        Type of the batches.
    follow : bool, default=False
        Whether to wait for more rows at the end of the file.
    poll : float, default=0.5
        Seconds between two checks of a growing file.
    patience : float or None, default=None
        Seconds without a new row after which the stream ends; None waits forever.

    Attributes
    ----------
    n_features : int
        Number of columns.
    n_samples : None
        Unknown before the file is read.
    columns_ : list of str
        Names of the columns; their indices if the file has no names.
    names_ : list of str
        Names of all columns of the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from thalweg.streams.delimited import CsvStream
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "wells.csv")
    ...     _ = path.write_text("north,south\n1.5,2\n,4\n")
    ...     stream = CsvStream(path)
    ...     stream.columns_, next(stream.batches(10)).X
    (['north', 'south'], array([[1.5, 2. ], [nan, 4. ]]))
    """

    source: str | PathLike[str]
    columns: Sequence[str | int] | None = None
    delimiter: str | None = None
    header: bool | None = None
    decimal: str = "."
    missing: tuple[str, ...] = _MISSING
    encoding: str = "utf-8"
    dtype: str = "float64"
    follow: bool = False
    poll: float = 0.5
    patience: float | None = None
    name: ClassVar[str] = "csv"
    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".tab")

    def __post_init__(self) -> None:
        existing_file(self.source)
        check_dtype(self.dtype)
        require_positive(poll=self.poll)
        if self.patience is not None:
            require_nonnegative(patience=self.patience)
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise ParameterError(
                f"delimiter must be a single character, got {self.delimiter!r}. "
                "Example: delimiter=';'."
            )

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self._head.indices)

    @property
    def n_samples(self) -> None:
        """Unknown before the file is read."""
        return

    @property
    def prefetch(self) -> bool:
        """Whether to prefetch: not for a followed file, whose next rows may not exist yet."""
        return not self.follow

    @property
    def columns_(self) -> list[str]:
        """Names of the columns."""
        return [self._head.names[index] for index in self._head.indices]

    @property
    def names_(self) -> list[str]:
        """Names of all columns of the file."""
        return self._head.names

    def cells(self, column: int) -> Iterator[str]:
        """Yield the texts of a column of the file, row by row."""
        head = self._head
        for row in islice(self._rows(head.delimiter), int(head.has_names), None):
            yield row.cells[column] if column < len(row.cells) else ""

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield batches of ``size`` rows, the first at row ``start``."""
        check_cut(size, start)
        head, dtype = self._head, check_dtype(self.dtype)
        rows = islice(self._rows(head.delimiter), start + head.has_names, None)
        numbers = (self._numbers(row, head) for row in rows)
        yield from collect(numbers, size, start, lambda kept: np.array(kept, dtype=dtype))

    @property
    def _path(self) -> Path:
        return Path(self.source)

    @property
    def _lines(self) -> Iterator[str]:
        tail = Tail(self.poll, self.patience) if self.follow else None
        return lines(self._path, self.encoding, tail)

    def _rows(self, delimiter: str) -> Iterator[_Row]:
        """Yield the rows, except blank ones."""
        reader = csv.reader(self._lines, delimiter=delimiter)
        try:
            for cells in reader:
                if cells:
                    yield _Row(reader.line_num, cells)
        except csv.Error as error:
            raise InputError(
                f"{self._path} must be a text table, got an invalid line {reader.line_num}: "
                f"{error}. Look for an unclosed quote."
            ) from error

    @cached_property
    def _head(self) -> _Head:
        line = next((line for line in self._lines if line.strip()), None)
        if line is None:
            raise InputError(f"{self._path} must have at least one row, got an empty file.")
        delimiter = self.delimiter or max(",;\t", key=line.count)
        if line.count(delimiter) >= _MAX_COLUMNS:
            raise InputError(
                f"{self._path} must have at most {_MAX_COLUMNS} columns, got more than "
                f"{line.count(delimiter)}. Save a table this wide as .npy or .parquet."
            )
        first = next(self._rows(delimiter)).cells
        has_names = self.header if self.header is not None else not all(map(self._is_number, first))
        numbers = [str(index) for index in range(len(first))]
        names = [cell.strip() for cell in first] if has_names else numbers
        indices = column_indices(names, self.columns, self._path)
        return _Head(delimiter, has_names, names, indices)

    def _is_number(self, cell: str) -> bool:
        try:
            self._number(cell)
        except ValueError:
            return False
        return True

    def _number(self, cell: str) -> float:
        cell = cell.strip()
        if cell in self._gaps:
            return nan
        return float(cell if self.decimal == "." else cell.replace(self.decimal, "."))

    @cached_property
    def _gaps(self) -> frozenset[str]:
        return frozenset(self.missing)

    @cached_property
    def _plain(self) -> bool:
        """Whether float() parses all cells that are not empty: no missing marker is a number."""
        plain = self.decimal == "." and "" in self.missing
        return plain and not any(_is_finite(text) for text in self.missing)

    def _numbers(self, row: _Row, head: _Head) -> list[float]:
        if len(row.cells) != len(head.names):
            raise InputError(
                f"{self._path} must have {len(head.names)} cells in each row, got "
                f"{len(row.cells)} in line {row.line}. Correct the line, or pass delimiter=."
            )
        cells = [row.cells[index] for index in head.indices]
        if self._plain:  # fast path for numbers and empty cells
            with suppress(ValueError):
                return [float(cell) if cell else nan for cell in cells]
        try:
            return [self._number(cell) for cell in cells]
        except ValueError:
            bad = next(i for i in head.indices if not self._is_number(row.cells[i]))
        raise InputError(
            f"{self._path} must have numbers in column {head.names[bad]!r}, got "
            f"{row.cells[bad]!r} in line {row.line}. Choose other columns with columns=[...], or "
            "add the text to missing=(...) if it marks a gap."
        )


def _is_finite(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False
