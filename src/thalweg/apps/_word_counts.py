"""Count the words of texts: once, into a temporary file from which rows are read."""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg._typing import Array
from thalweg.apps._run import Run
from thalweg.streams import Batch

__all__ = ["Counted", "CountedRows", "KnownWords", "count_words"]

_WORD = re.compile(r"\d*[^\W\d_][^\W_]+")  # at least two letters and digits, not only digits
_BUFFER = 2**20  # counts in memory before they are written
_MAX_DISTINCT = 2**21  # words in memory: the rarest are dropped beyond
_STEP = 256  # documents between two progress records


def words_of(text: str, bigrams: bool) -> Counter[str]:
    """Count the words of a text; with ``bigrams`` also each two consecutive ones."""
    words: list[str] = _WORD.findall(text.lower())
    return Counter([*words, *map(" ".join, pairwise(words))] if bigrams else words)


class Counted(NamedTuple):
    """Words of texts, how often they occur, and the counts of each text.

    Attributes
    ----------
    numbers : dict of str to int
        Number of each word.
    frequencies : array
        Number of texts with the word of each number.
    logs : array
        Sum of 1 + log(count) over the texts.
    counts : array of shape (2, n_counts)
        Numbers of words and counts, text after text, in a temporary file.
    ends : array of shape (n_texts + 1,)
        Where the counts of each text begin and end.
    """

    numbers: dict[str, int]
    frequencies: NDArray[np.intp]
    logs: Array
    counts: NDArray[np.int32]
    ends: NDArray[np.int64]


def count_words(texts: Iterable[str], run: Run, bigrams: bool) -> Counted:
    """Count the words of all texts in one pass; memory holds distinct words only."""
    numbers: dict[str, int] = {}
    totals = _Totals()
    ends, buffer, issued, total = array("q", [0]), array("i"), 0, 0
    with TemporaryFile() as file:
        for text in texts:
            for word, count in words_of(text, bigrams).items():
                number = numbers.setdefault(word, issued)
                issued += number == issued
                buffer.append(number)
                buffer.append(count)
            ends.append(total + len(buffer) // 2)
            if len(buffer) >= 2 * _BUFFER:
                total += totals.add(_write(buffer, file), issued)
                if len(numbers) > _MAX_DISTINCT:
                    numbers = _without_rare(numbers, totals.frequencies)
            if len(ends) % _STEP == 0:
                run.notify("counting", len(ends) - 1, None)
        total += totals.add(_write(buffer, file), issued)
        run.notify("counting", len(ends) - 1, len(ends) - 1)
        pairs: Any = np.zeros((0, 2), dtype=np.int32)
        if total:
            pairs = np.memmap(file, np.int32, "r", shape=(total, 2))
    return Counted(
        numbers, totals.frequencies, totals.logs, pairs.T, np.array(ends, dtype=np.int64)
    )


class _Totals:
    """Document frequencies and sums of logarithms, updated block by block."""

    def __init__(self) -> None:
        self.frequencies, self.logs = np.zeros(0, dtype=np.intp), np.zeros(0)

    def add(self, pairs: NDArray[np.int32], issued: int) -> int:
        """Add pairs of number and count; return how many."""
        new = issued - len(self.logs)
        self.frequencies = np.pad(self.frequencies, (0, new))
        self.frequencies += np.bincount(pairs[:, 0], minlength=issued)
        self.logs = np.pad(self.logs, (0, new))
        self.logs += np.bincount(pairs[:, 0], 1 + np.log(pairs[:, 1]), issued)
        return len(pairs)


def _write(buffer: "array[int]", file: IO[bytes]) -> NDArray[np.int32]:
    """Write and empty the buffer; return its pairs of number and count."""
    pairs = np.array(buffer, dtype=np.int32).reshape(-1, 2)
    file.write(pairs.tobytes())
    file.flush()
    del buffer[:]
    return pairs


def _without_rare(numbers: dict[str, int], frequencies: NDArray[np.intp]) -> dict[str, int]:
    """Drop the rarer half of the words, at least those of one text (lossy counting)."""
    limit = max(1, int(np.median(frequencies[list(numbers.values())])))
    return {word: number for word, number in numbers.items() if frequencies[number] > limit}


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Sparse rows of the counts of chosen words, from the counts of texts.

    Parameters
    ----------
    counted : Counted
        Counts of all words.
    places : array of int
        Numbers of the words of the columns.
    """

    counted: Counted
    places: NDArray[np.intp]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.places)

    @property
    def n_samples(self) -> int:
        """Number of texts."""
        return len(self.counted.ends) - 1

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield batches of ``size`` texts."""
        from scipy import sparse

        columns = np.full(len(self.counted.logs), -1, dtype=np.int32)
        columns[self.places] = np.arange(len(self.places))
        for first in range(start, self.n_samples, size):
            ends = self.counted.ends[first : first + size + 1]
            numbers, counts = np.asarray(self.counted.counts[:, ends[0] : ends[-1]])
            found = columns[numbers]
            kept = found >= 0
            bounds = np.concatenate([[0], np.cumsum(kept)])[ends - ends[0]]
            parts = (counts[kept].astype(np.float64), found[kept], bounds)
            rows = sparse.csr_array(parts, shape=(len(ends) - 1, self.n_features))
            rows.sort_indices()
            yield Batch(first, rows)


@dataclass(frozen=True, eq=False)
class KnownWords:
    """Sparse rows of the counts of words that are known, read text by text.

    Parameters
    ----------
    texts : callable
        Returns an iterator of the texts.
    columns : dict of str to int
        Column of each word; pairs of words are counted if there are any.
    """

    texts: Any
    columns: Mapping[str, int]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def n_samples(self) -> None:
        """Unknown before the texts are read."""
        return

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield batches of ``size`` texts."""
        bigrams = any(" " in word for word in self.columns)
        counted = map(partial(words_of, bigrams=bigrams), islice(self.texts(), start, None))
        while batch := list(islice(counted, size)):
            yield Batch(start, self._rows(batch))
            start += len(batch)

    def _rows(self, texts: list[Counter[str]]) -> Any:
        from scipy import sparse

        pairs = [
            (row, self.columns[word], count)
            for row, counts in enumerate(texts)
            for word, count in counts.items()
            if word in self.columns
        ]
        rows, columns, counts = np.array(pairs, dtype=np.int64).reshape(-1, 3).T
        shape = (len(texts), self.n_features)
        return sparse.csr_array((counts.astype(np.float64), (rows, columns)), shape=shape)
