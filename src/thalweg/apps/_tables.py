"""Write CSV and .npy files row by row."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedRandom
from pathlib import Path
from typing import Any, TextIO

import numpy as np

__all__ = ["Array2D", "Csv", "array_file", "csv_file", "write_csv"]


class Csv:
    """Writer of a CSV file; gaps are empty cells."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._rows = csv.writer(file, lineterminator="\n")

    def write(self, X: Any, first: int | None = None, labels: Sequence[str] | None = None) -> None:
        """Append rows of numbers, each after its number from ``first``, or after its label."""
        numbers = np.asarray(X) + 0.0  # turns -0.0 into 0.0
        form = ",".join(["%.9g"] * numbers.shape[1])
        lone = first is None and labels is None and numbers.shape[1] == 1
        lines = [
            (form % tuple(row)).replace("nan", '""' if lone else "") for row in numbers.tolist()
        ]
        if labels is not None:
            lines = [f"{_quoted(a)},{b}" for a, b in zip(labels, lines, strict=True)]
        elif first is not None:
            lines = [f"{first + i},{line}" for i, line in enumerate(lines)]
        self._file.write("".join(f"{line}\n" for line in lines))

    def add(self, cells: Iterable[Any]) -> None:
        """Append one row of any values."""
        self._rows.writerow([_cell(cell) for cell in cells])


@contextmanager
def csv_file(path: Path, columns: Sequence[str]) -> Iterator[Csv]:
    """Open a CSV file with a header."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = Csv(file)
        table.add(columns)
        yield table


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a CSV file."""
    with csv_file(path, columns) as table:
        for row in rows:
            table.add(row)


class Array2D:
    """Writer of an .npy file row by row; the header is rewritten when the shape is known."""

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
        """Write the number of rows; NumPy reserves space for it in the header."""
        self._file.seek(0)
        self._head()

    def _head(self) -> None:
        descr = np.lib.format.dtype_to_descr(self._dtype)
        shape = (self._rows, self._width)
        header = {"descr": descr, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, header)


@contextmanager
def array_file(path: Path) -> Iterator[Array2D]:
    """Open an .npy file to append rows to."""
    with path.open("w+b") as file:
        array = Array2D(file)
        yield array
        array.close()


def _quoted(text: str) -> str:
    """Return a cell of text, in quotes if it needs them."""
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n\r') else text


def _cell(x: Any) -> Any:
    if isinstance(x, float):
        return "" if x != x else f"{x + 0.0:.9g}"  # + 0.0 turns -0.0 into 0.0
    return x
