"""Tables on disk, row by row: CSV for people, .npy for arrays."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedRandom
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Array2D", "Csv", "array_file", "csv_file", "write_csv"]


class Csv:
    """A table in text that is being written; a gap is an empty cell."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def write(self, X: Any, first: int | None = None) -> None:
        """Append rows of numbers, with their numbers in front from ``first`` on."""
        for i, row in enumerate(np.asarray(X).tolist()):
            cells = [_cell(x) for x in row]
            self._rows.writerow(cells if first is None else [first + i, *cells])

    def add(self, cells: Iterable[Any]) -> None:
        """Append one row of anything."""
        self._rows.writerow([_cell(cell) for cell in cells])


@contextmanager
def csv_file(path: Path, columns: Sequence[str]) -> Iterator[Csv]:
    """Open a CSV file with a header."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(columns)
        yield Csv(rows)


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a whole CSV file."""
    with csv_file(path, columns) as table:
        for row in rows:
            table.add(row)


class Array2D:
    """An .npy file that grows by rows; the header is written again when their number is known."""

    def __init__(self, file: BufferedRandom) -> None:
        self._file, self._rows = file, 0
        self._width, self._dtype = 0, np.dtype(np.float64)

    def write(self, X: Any) -> None:
        """Append rows."""
        rows = np.ascontiguousarray(X)
        if self._rows == 0:
            self._width, self._dtype = rows.shape[1], rows.dtype
            self._head()
        self._file.write(rows.tobytes())
        self._rows += len(rows)

    def close(self) -> None:
        """Write how many rows there are; NumPy leaves room for that in the header."""
        self._file.seek(0)
        self._head()

    def _head(self) -> None:
        kind = np.lib.format.dtype_to_descr(self._dtype)
        shape = (self._rows, self._width)
        head = {"descr": kind, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, head)


@contextmanager
def array_file(path: Path) -> Iterator[Array2D]:
    """Open an .npy file to which rows are appended."""
    with path.open("w+b") as file:
        array = Array2D(file)
        yield array
        array.close()


def _cell(x: Any) -> Any:
    if isinstance(x, float):
        return "" if x != x else f"{x + 0.0:.9g}"  # no -0
    return x
