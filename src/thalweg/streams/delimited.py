"""Samples from the rows of CSV and TSV files, also of files that are still growing."""

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
from thalweg.streams._files import check_dtype, existing, pick
from thalweg.streams._lines import Tail, lines
from thalweg.streams._stream import Batch, Source, check_cut, collect

__all__ = ["CsvStream"]

_WIDEST = 100_000  # columns
_MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "?")


class _Row(NamedTuple):
    line: int  # where the row ends in the file, counted from 1
    cells: list[str]


class _Head(NamedTuple):
    """What the first row tells."""

    delimiter: str
    has_names: bool
    names: list[str]
    places: list[int]


@dataclass(frozen=True, eq=False)
class CsvStream(Source):
    r"""The rows of a table in text; a cell without a number is a gap.

    Rows are read as they are needed, and those before ``start`` are passed over. With
    ``follow=True`` the end of the file is not the end: more rows are waited for, and a batch
    comes when it is full.

    Parameters
    ----------
    source : path
        A ``.csv``, ``.tsv`` or ``.tab`` file.
    columns : list of str or int, or None, default=None
        Names or places of the columns, in the order they shall have; None takes all.
    delimiter : str or None, default=None
        What stands between cells; None looks for a comma, semicolon or tab in the first row.
    header : bool or None, default=None
        Whether the first row has names; None looks whether it has text.
    decimal : str, default='.'
        The decimal mark.
    missing : tuple of str
        Cells that are gaps.
    encoding : str, default='utf-8'
        Encoding of the text, one in which a line ends as in ASCII.
    dtype : 'float64' or 'float32', default='float64'
        Type of the batches.
    follow : bool, default=False
        Whether to wait for more rows at the end.
    poll : float, default=0.5
        Seconds between two looks at a growing file.
    patience : float or None, default=None
        Seconds without a new row after which a growing file has ended; None waits for ever.

    Attributes
    ----------
    n_features : int
        Number of columns.
    n_samples : None
        Not known before the file is read.
    columns_ : list of str
        Names of the columns; their places if there are no names.

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
        existing(self.source)
        check_dtype(self.dtype)
        require_positive(poll=self.poll)
        if self.patience is not None:
            require_nonnegative(patience=self.patience)
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise ParameterError(
                f"delimiter should be one character, but {self.delimiter!r} came. "
                "Give one such as delimiter=';'."
            )

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self._head.places)

    @property
    def n_samples(self) -> None:
        """Not known before the file is read."""
        return

    @property
    def read_ahead(self) -> bool:
        """Whether there is anything to read: a file that is followed is waited for."""
        return not self.follow

    @property
    def columns_(self) -> list[str]:
        """Names of the columns."""
        return [self._head.names[place] for place in self._head.places]

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield ``size`` rows at a time, from row ``start`` on."""
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
        """Yield the rows, without those that are blank."""
        reader = csv.reader(self._lines, delimiter=delimiter)
        try:
            for cells in reader:
                if cells:
                    yield _Row(reader.line_num, cells)
        except csv.Error as error:
            raise InputError(
                f"{self._path} should be a table in text, but line {reader.line_num} is none: "
                f"{error}. Look for a quote that is not closed."
            ) from error

    @cached_property
    def _head(self) -> _Head:
        line = next((line for line in self._lines if line.strip()), None)
        if line is None:
            raise InputError(
                f"{self._path} should be a table, but it is empty. Write at least one row."
            )
        delimiter = self.delimiter or max(",;\t", key=line.count)
        if line.count(delimiter) >= _WIDEST:
            raise InputError(
                f"{self._path} should have at most {_WIDEST} columns, but it has more than "
                f"{line.count(delimiter)}. Save so wide a table as .npy or .parquet."
            )
        first = next(self._rows(delimiter)).cells
        has_names = self.header if self.header is not None else not all(map(self._is_number, first))
        plain = [str(place) for place in range(len(first))]
        names = [cell.strip() for cell in first] if has_names else plain
        return _Head(delimiter, has_names, names, pick(names, self.columns, self._path))

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
        """Whether what float() reads is the number meant: no gap looks like a number."""
        return self.decimal == "." and not any(_is_finite(text) for text in self.missing)

    def _numbers(self, row: _Row, head: _Head) -> list[float]:
        if len(row.cells) != len(head.names):
            raise InputError(
                f"{self._path} should have {len(head.names)} cells in each row, but line "
                f"{row.line} has {len(row.cells)}. Correct the line, or name the delimiter."
            )
        cells = [row.cells[place] for place in head.places]
        if self._plain:  # most rows have numbers only, and are fast
            with suppress(ValueError):
                return list(map(float, cells))
        try:
            return [self._number(cell) for cell in cells]
        except ValueError:
            place = next(p for p in head.places if not self._is_number(row.cells[p]))
        raise InputError(
            f"{self._path} should have numbers in column {head.names[place]!r}, but line "
            f"{row.line} has {row.cells[place]!r}. Choose other columns with columns=[...], or "
            "add the text to missing=(...) if it marks a gap."
        )


def _is_finite(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False
