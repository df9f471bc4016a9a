"""Open a table: what each of its columns is for, by its name and its first rows."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from thalweg import streams
from thalweg._typing import Array
from thalweg.apps._run import Run
from thalweg.apps._streams import columns_of, open_source
from thalweg.apps._time_formats import TimeFormat, find_format
from thalweg.errors import InputError, ParameterError
from thalweg.streams import Stream

__all__ = ["Table", "TimeColumn", "open_table"]

_SAMPLE_ROWS = 100  # from which the format of a column is found
_TIME_NAMES = re.compile(r"(time|date|datetime|time_?stamp|epoch|ds|day|t)(\b.*|_.*)?", re.I)


class TimeColumn(NamedTuple):
    """The column of times."""

    place: int  # among the columns of the source, from 0
    name: str
    format: TimeFormat


class Table(NamedTuple):
    """A table of numbers, and its times if it has any.

    Attributes
    ----------
    stream : Stream
        The columns of numbers.
    source : Stream
        All columns.
    time : TimeColumn or None
        The column of times, which is the first of every output.
    """

    stream: Stream
    source: Any
    time: TimeColumn | None

    @property
    def names(self) -> list[str]:
        """Names of the columns of numbers."""
        return columns_of(self.stream)

    def header(self, *columns: str) -> list[str]:
        """Return the names of columns after that of the times."""
        return [*([] if self.time is None else [self.time.name]), *columns]

    def labels(self) -> Iterator[str] | None:
        """Return the texts of the times, row by row; None without times."""
        return None if self.time is None else self.source.cells(self.time.place)

    def seconds(self, labels: Sequence[str]) -> Array | None:
        """Return the times of rows in seconds, or None if they do not increase."""
        if self.time is None:
            return None
        try:
            found = self.time.format.seconds(labels)
        except ValueError as error:
            raise InputError(
                f"Column {self.time.name!r} must have times in one format, got {error}. Choose "
                "columns of numbers with the option columns, to leave it out."
            ) from None
        increasing = np.isfinite(found).all() and (np.diff(found) > 0).all()
        return found if increasing else None


def open_table(
    run: Run, columns: Sequence[str | int] | None = None, time: str | None = None
) -> Table:
    """Open the source of a job, with a column of times that is recognised or named."""
    if not isinstance(run.source, str | PathLike):
        return _without_times(open_source(run, columns=columns), time)
    source: Any = streams.open(run.source, **{k: v for k, v in run.read.items() if k != "columns"})
    if not hasattr(source, "cells"):
        return _without_times(open_source(run, columns=columns), time)
    chosen = run.read.get("columns", columns)
    found = _time_column(source, chosen, time)
    if chosen is None and found is not None:
        chosen = [i for i in range(len(source.names_)) if i != found.place]
    return Table(open_source(run, columns=chosen), source, found)


def _without_times(stream: Stream, time: str | None) -> Table:
    if time is not None:
        raise ParameterError(f"time must be None for a source without column names, got {time!r}.")
    return Table(stream, stream, None)


def _time_column(
    source: Any, columns: Sequence[str | int] | None, time: str | None
) -> TimeColumn | None:
    """Return the named column of times, or the first that has times and is not chosen."""
    names = source.names_
    if time is not None:
        if time not in names:
            raise ParameterError(f"time must be one of {', '.join(names)}, got {time!r}.")
        found = _read_format(source, names.index(time), named=True)
        if found is None:
            raise InputError(f"Column {time!r} must have times, got {_first(source, time)!r}.")
        return found
    for index, name in enumerate(names):
        if columns is not None and (name in columns or index in columns):
            continue
        named = _TIME_NAMES.fullmatch(name.strip()) is not None
        found = _read_format(source, index, named=named)
        if found is not None:
            return found
    return None


def _read_format(source: Any, index: int, *, named: bool) -> TimeColumn | None:
    cells = list(islice(source.cells(index), _SAMPLE_ROWS))
    form = find_format(cells, named=named)
    return None if form is None else TimeColumn(index, source.names_[index], form)


def _first(source: Any, name: str) -> str:
    return str(next(source.cells(source.names_.index(name)), ""))
