"""Convert documents to TF-IDF rows, from texts or a matrix of counts, [D] VIII-E."""

from collections.abc import Collection, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg._checks import require_whole
from thalweg._typing import Array
from thalweg.apps._run import Run
from thalweg.apps._stop_words import choose_stop_words
from thalweg.apps._streams import Mapped, length, open_source, read_batch_size
from thalweg.apps._texts import Texts, open_texts
from thalweg.apps._word_counts import CountedRows, count_words
from thalweg.errors import InputError, ParameterError
from thalweg.streams import Stream

__all__ = ["Documents", "Terms", "Vocabulary", "documents", "weighed"]

# Smallest number of documents with a word: one in a thousand, within these bounds. A word of one
# document says nothing on others; one of five documents is no misspelling.
_MIN_DOCUMENTS, _DOCUMENTS_PER_MIN = (2, 5), 1000


class Vocabulary(NamedTuple):
    """Which words become terms.

    Attributes
    ----------
    terms : int
        Largest number of terms.
    min_documents : int or None
        Smallest number of documents with a term; None chooses it by their number.
    max_share : float
        Largest share of documents with a term.
    bigrams : bool
        Whether two consecutive words are a term as well.
    language : str
        Language of the stop words, 'auto' or 'none'.
    stop_words : collection of str, str or path
        Further stop words, a language, or a file.
    """

    terms: int
    min_documents: int | None
    max_share: float
    bigrams: bool
    language: str
    stop_words: Collection[str] | str | PathLike[str]

    def check(self) -> None:
        """Raise if a bound is out of range."""
        lowest = {} if self.min_documents is None else {"min_documents": self.min_documents}
        require_whole(1, terms=self.terms, **lowest)
        if not 0 < self.max_share <= 1:
            raise ParameterError(
                f"max_share must be a number above 0 and at most 1, got {self.max_share!r}."
            )


class Terms(NamedTuple):
    """Terms of the columns: names, columns of the matrix, inverse document frequencies."""

    names: list[str]
    places: NDArray[np.intp]
    weights: Array | None  # None keeps the entries


class Documents(NamedTuple):
    """A stream of TF-IDF rows, the terms of its columns, and where they are from."""

    stream: Stream
    terms: Terms
    language: str
    texts: Texts | None  # None for a matrix


class _Totals(NamedTuple):
    """Sums over the documents, for each word."""

    n: int
    frequencies: NDArray[Any]  # number of documents with the word
    sizes: Array  # sum of its entries, without the weights of words
    are_counts: bool


def documents(run: Run, vocabulary: Vocabulary, column: str | None = None) -> Documents:
    """Return the TF-IDF rows of texts, or of a matrix with one row per document."""
    vocabulary.check()
    texts = open_texts(run, column)
    if texts is None:
        stream = open_source(run)
        totals, names = _sums(stream, run), _names(stream, run)
        terms, language = _choose(names, np.arange(len(names)), totals, vocabulary, run)
        return Documents(weighed(stream, terms), terms, language, None)
    counted = count_words(texts.read(), run, vocabulary.bigrams)
    totals = _Totals(len(counted.ends) - 1, counted.frequencies, counted.logs, True)
    numbers = np.fromiter(counted.numbers.values(), np.intp, len(counted.numbers))
    terms, language = _choose(list(counted.numbers), numbers, totals, vocabulary, run)
    rows = CountedRows(counted, terms.places)
    of_rows = terms._replace(places=np.arange(len(terms.names)))
    return Documents(weighed(rows, of_rows), of_rows, language, texts)


def weighed(stream: Stream, terms: Terms) -> Stream:
    """Return the chosen columns of a matrix; counts v become (1 + log v) log(n / df)."""
    from scipy import sparse

    everything = np.array_equal(terms.places, np.arange(stream.n_features))

    def change(X: Any) -> Any:
        rows = sparse.csr_array(X)
        rows = rows.copy() if everything else rows[:, terms.places]
        if terms.weights is not None:
            rows.eliminate_zeros()
            rows.data = (1 + np.log(rows.data)) * terms.weights[rows.indices]
        return rows

    return Mapped(stream, change, len(terms.places))


def _choose(
    names: Sequence[str],
    places: NDArray[np.intp],
    totals: _Totals,
    vocabulary: Vocabulary,
    run: Run,
) -> tuple[Terms, str]:
    """Return the terms with the largest sums of weights within the bounds, and the language."""
    df, n = totals.frequencies[places], totals.n
    if not df.any():
        raise InputError(f"{run.title} must have words, got none.")
    known = {name.lower(): int(d) for name, d in zip(names, df, strict=True) if " " not in name}
    language, ignored = choose_stop_words(vocabulary.language, vocabulary.stop_words, known)
    idf = np.log(n / np.maximum(df, 1))
    total = totals.sizes[places]
    if totals.are_counts:
        low, high = _MIN_DOCUMENTS
        least = vocabulary.min_documents or min(max(n // _DOCUMENTS_PER_MIN, low), high)
        total = total * idf * ((df >= least) & (df <= vocabulary.max_share * n))
    kept = [
        i for i in np.flatnonzero(total).tolist() if ignored.isdisjoint(names[i].lower().split())
    ]
    if not kept:
        raise InputError(
            f"{run.title} must have words within the bounds on documents, got none of "
            f"{len(names)}. Lower min_documents, or raise max_share."
        )
    best = sorted(kept, key=lambda i: (-total[i], names[i]))[: vocabulary.terms]
    chosen = np.array(sorted(best), dtype=np.intp)
    weights = idf[chosen] if totals.are_counts else None
    return Terms([names[i] for i in chosen.tolist()], places[chosen], weights), language


def _sums(stream: Any, run: Run) -> _Totals:
    """Return the sums over the documents of a matrix, in one pass."""
    from scipy import sparse

    n, are_counts = 0, True
    df, logs, sums = np.zeros((3, stream.n_features))
    for first, X in stream.batches(read_batch_size(stream.n_features)):
        rows = sparse.csr_array(X)
        rows.eliminate_zeros()
        if not (np.isfinite(rows.data).all() and (rows.data >= 0).all()):
            raise InputError(
                f"{run.title} must have counts or weights of words >= 0, got negative numbers or "
                "gaps."
            )
        are_counts = are_counts and bool((rows.data == np.floor(rows.data)).all())
        n = first + rows.shape[0]
        df += np.bincount(rows.indices, minlength=stream.n_features)
        larger = np.maximum(rows.data, 1.0)
        logs += np.bincount(rows.indices, 1 + np.log(larger), stream.n_features)
        sums += np.bincount(rows.indices, rows.data, stream.n_features)
        run.notify("counting", n, length(stream))
    return _Totals(n, df, logs if are_counts else sums, are_counts)


def _names(stream: Any, run: Run) -> list[str]:
    """Return the words of a matrix: its column names, or the array ``terms`` of an .npz file."""
    names = getattr(stream, "columns_", None)
    if names is None and isinstance(run.source, (str, PathLike)):
        names = _saved_terms(Path(run.source))
    if names is None or len(names) != stream.n_features:
        return [f"word{i}" for i in range(stream.n_features)]
    return [str(name) for name in names]


def _saved_terms(path: Path) -> Any:
    if path.suffix.lower() != ".npz":
        return None
    with np.load(path, allow_pickle=False) as file:
        return file.get("terms")
