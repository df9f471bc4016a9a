"""Read the texts of documents: lines of a file, a column of a table, or a list."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from thalweg import streams
from thalweg.apps._run import Run
from thalweg.errors import InputError, ParameterError
from thalweg.streams import Stream
from thalweg.streams.text import TextStream

__all__ = ["Texts", "open_texts"]

_SAMPLE_ROWS = 100  # from which the column of texts is found
_MAX_COLUMNS = 50  # of a table in which it is searched; wider ones are matrices
_MIN_WORDS = 2.0  # of a cell, on average: one word is a label or a number
_JSON_LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True)
class Texts:
    """Texts that can be read several times, and the column they are in, if any."""

    read: Callable[[], Iterator[str]]
    column: str | None = None


def open_texts(run: Run, column: str | None = None) -> Texts | None:
    """Return the texts of the source of a job; None if it is a matrix."""
    if not isinstance(run.source, str | PathLike):
        return _of_object(run, column)
    path = Path(run.source)
    kind = run.read.get("format") or path.suffix.lower()
    if kind in ("text", ".txt"):
        _reject(column, "a text with one document per line")
        return Texts(_lines(run).texts)
    if kind in _JSON_LINES:
        return _of_json(run, path, column)
    source: Any = streams.open(path, **run.read)
    if not hasattr(source, "cells"):
        _reject(column, "a source without column names")
        return None
    return _of_table(run, source, column)


def _of_object(run: Run, column: str | None) -> Texts | None:
    """Return the texts of a list, or of a column of a data frame."""
    source = run.source
    if column is not None:
        if column not in getattr(source, "columns", ()):
            _reject(column, "a source without this column")
        source = source[column]
    kind = getattr(getattr(source, "dtype", None), "kind", "O")
    if isinstance(source, Stream) or kind not in "OUT" or not hasattr(source, "__iter__"):
        return None
    if getattr(source, "ndim", 1) != 1 or not isinstance(next(iter(source), None), str):
        return None
    return Texts(lambda: (text if isinstance(text, str) else "" for text in source), column)


def _of_table(run: Run, source: Any, column: str | None) -> Texts | None:
    names = source.names_
    if column is None:
        if len(names) > _MAX_COLUMNS or "columns" in run.read:
            return None
        samples = [list(islice(source.cells(i), _SAMPLE_ROWS)) for i in range(len(names))]
        column = _wordiest(names, samples)
        if column is None:
            return None
    place = _place(names, column, run)
    return Texts(lambda: source.cells(place), column)


def _of_json(run: Run, path: Path, column: str | None) -> Texts:
    file = _lines(run)

    def objects() -> Iterator[dict[str, Any]]:
        for number, line in enumerate(file.texts(), 1):
            if line.strip():
                yield _object(line, number, path)

    first = list(islice(objects(), _SAMPLE_ROWS))
    names = list(dict.fromkeys(name for found in first for name in found))
    if column is None:
        column = _wordiest(names, [[_cell(found, name) for found in first] for name in names])
        if column is None:
            raise InputError(
                f"{run.title} must have a column of texts, got {', '.join(names) or 'none'}. "
                "Name it with the option column."
            )
    name = names[_place(names, column, run)]
    return Texts(lambda: (_cell(found, name) for found in objects()), name)


def _object(line: str, number: int, path: Path) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(
            f"{path} must have a JSON object in each line, got {line.strip()[:40]!r} in line "
            f"{number}."
        )
    return found


def _cell(found: dict[str, Any], name: str) -> str:
    value = found.get(name)
    return "" if value is None else str(value)


def _place(names: Sequence[str], column: str, run: Run) -> int:
    if column not in names:
        raise ParameterError(
            f"column must be a column of {run.title}, got {column!r}. "
            f"Choose among {', '.join(names)}."
        )
    return list(names).index(column)


def _wordiest(names: Sequence[str], samples: Sequence[Sequence[str]]) -> str | None:
    """Return the column with the most words in each cell; None if they are single words."""
    means = [_mean_words(cells) for cells in samples]
    best = max(range(len(names)), key=means.__getitem__, default=None)
    return None if best is None or means[best] < _MIN_WORDS else names[best]


def _mean_words(cells: Sequence[str]) -> float:
    """Return the mean number of words with letters in the cells that are not empty."""
    filled = [cell for cell in cells if cell.strip()]
    words = sum(any(c.isalpha() for c in word) for cell in filled for word in cell.split())
    return words / max(len(filled), 1)


def _lines(run: Run) -> TextStream:
    for name in run.read:
        if name not in ("format", "encoding"):
            raise ParameterError(f"Options of a text must be among encoding, got {name!r}.")
    return TextStream(run.source, encoding=run.read.get("encoding", "utf-8"))


def _reject(column: str | None, kind: str) -> None:
    if column is not None:
        raise ParameterError(f"column must be None for {kind}, got {column!r}.")
