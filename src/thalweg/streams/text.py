"""Read samples from lines of text: one TF-IDF row per line."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from math import log
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from zlib import crc32

import numpy as np

from thalweg._checks import require_whole
from thalweg._typing import Array
from thalweg.errors import InputError, ParameterError
from thalweg.streams._files import check_dtype, existing_file
from thalweg.streams._lines import lines
from thalweg.streams._stream import Batch, Source, check_cut, collect

__all__ = ["TextStream", "Vocabulary"]


class Vocabulary(NamedTuple):
    """Describe the columns of TF-IDF rows.

    Attributes
    ----------
    terms : tuple of str
        Word of each column; empty if words are hashed.
    weights : array of shape (n_features,)
        Inverse document frequency log(n / df) of each column.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.streams.text import Vocabulary
    >>> Vocabulary(("bed", "river"), np.log([4.0, 2.0])).weights.round(2)
    array([1.39, 0.69])
    """

    terms: tuple[str, ...]
    weights: Array


@dataclass(frozen=True, eq=False)
class TextStream(Source):
    r"""Compute a sparse TF-IDF row for each line of a text, [D] VIII-E.

    A word that occurs v times in a line, and in df of the n lines, has the entry
    ``(1 + log v) log(n / df)``. A first pass counts the words and keeps those with the largest sum
    of entries; the counts of all distinct words must fit into memory. With ``hashing=True`` a hash
    maps words to columns, and the first pass needs only the memory of one row.

    Parameters
    ----------
    source : path
        A ``.txt`` file with one document per line; a blank line is a document without words.
    n_terms : int, default=1000
        Maximum number of columns; with hashing the exact number.
    hashing : bool, default=False
        Whether a hash maps words to columns.
    vocabulary : Vocabulary or None, default=None
        Vocabulary of another text, to get the same columns; the first pass is then skipped.
    stop_words : collection of str
        Words to ignore, in lower case.
    pattern : str
        Regular expression of a word; by default two or more letters.
    encoding : str, default='utf-8'
        Encoding of the text; line ends must be encoded as in ASCII.
    dtype : 'float64' or 'float32', default='float64'
        Type of the batches.

    Attributes
    ----------
    n_features, n_samples : int
        Number of columns and lines.
    words : Vocabulary
        Terms and weights of the columns.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from thalweg.streams.text import TextStream
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "news.txt")
    ...     _ = path.write_text("the river bed\nthe river, the sea\nthe sky\n")
    ...     stream = TextStream(path)
    ...     stream.words.terms[:2], next(stream.batches(3)).X.toarray()[:, :2].round(2)
    (('bed', 'sea'), array([[1.1, 0. ], [0. , 1.1], [0. , 0. ]]))
    """

    source: str | PathLike[str]
    n_terms: int = 1000
    hashing: bool = False
    vocabulary: Vocabulary | None = None
    stop_words: Collection[str] = ()
    pattern: str = r"[^\W\d_]{2,}"
    encoding: str = "utf-8"
    dtype: str = "float64"
    name: ClassVar[str] = "text"
    suffixes: ClassVar[tuple[str, ...]] = (".txt",)

    def __post_init__(self) -> None:
        existing_file(self.source)
        check_dtype(self.dtype)
        require_whole(1, n_terms=self.n_terms)
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ParameterError(
                f"pattern must be a regular expression, got {self.pattern!r}: {error}. "
                r"Example: pattern=r'\w+'."
            ) from error

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.words.weights)

    @cached_property
    def n_samples(self) -> int:
        """Number of lines."""
        return sum(1 for _ in self._lines)

    @cached_property
    def words(self) -> Vocabulary:
        """Terms and weights of the columns."""
        return self._count() if self.vocabulary is None else self.vocabulary

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield batches of ``size`` lines, the first at line ``start``."""
        check_cut(size, start)
        counted = map(self._counts, islice(self._lines, start, None))
        yield from collect(counted, size, start, partial(self._rows, self.words.weights))

    def texts(self) -> Iterator[str]:
        """Yield the lines, line ends included."""
        return self._lines

    @property
    def _lines(self) -> Iterator[str]:
        return lines(Path(self.source), self.encoding)

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {term: column for column, term in enumerate(self.words.terms)}

    @cached_property
    def _word(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def _counts(self, line: str) -> Counter[Any]:
        """Count each word of a line, or each hash of words."""
        matches = (match.group() for match in self._word.finditer(line.lower()))
        words = [word for word in matches if word not in self.stop_words]
        return Counter(map(self._hash, words)) if self._hashed else Counter(words)

    @property
    def _hashed(self) -> bool:
        return self.hashing if self.vocabulary is None else not self.vocabulary.terms

    def _hash(self, word: str) -> int:
        n = self.n_terms if self.vocabulary is None else self.n_features
        return crc32(word.encode()) % n  # the same in every process, unlike hash()

    def _count(self) -> Vocabulary:
        """Compute the vocabulary of all lines."""
        n = 0
        df: Counter[Any] = Counter()
        sums: defaultdict[Any, float] = defaultdict(float)
        for counts in map(self._counts, self._lines):
            n += 1
            df.update(counts.keys())
            for word, v in counts.items():
                sums[word] += 1 + log(v)
        if not df:
            raise InputError(
                f"{self.source} must have words, got none. Check the file, or the pattern of a "
                "word."
            )
        if self.hashing:
            frequencies = np.array([df[column] for column in range(self.n_terms)])
            return Vocabulary((), np.log(n / np.maximum(frequencies, 1)))
        norms = {word: sums[word] * log(n / df[word]) for word in df}
        terms = sorted(norms, key=lambda word: (-norms[word], word))[: self.n_terms]
        return Vocabulary(tuple(terms), np.array([log(n / df[term]) for term in terms]))

    def _rows(self, weights: Array, word_counts: list[Counter[Any]]) -> Any:
        """Compute TF-IDF rows from the word counts of lines, [D] VIII-E."""
        data: list[float] = []
        columns: list[int] = []
        ends = [0]
        for counts in word_counts:
            known = ((self._column(word), v) for word, v in counts.items())
            for column, v in sorted(pair for pair in known if pair[0] >= 0):
                columns.append(column)
                data.append((1 + log(v)) * weights[column])
            ends.append(len(data))
        from scipy.sparse import csr_array

        parts = (
            np.array(data, check_dtype(self.dtype)),
            np.array(columns, np.int32),
            np.array(ends, np.int32),
        )
        rows = csr_array(parts, shape=(len(word_counts), len(weights)))
        rows.eliminate_zeros()  # words in all lines have weight 0
        return rows

    def _column(self, word: Any) -> int:
        """Return the column of a word or hash; -1 for unknown words."""
        return int(word) if self._hashed else self._columns.get(word, -1)
