"""Convert documents to TF-IDF rows, from a text or a matrix of counts, [D] VIII-E."""

from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg._typing import Array
from thalweg.apps._run import Run
from thalweg.apps._streams import Mapped, length, open_source, read_batch_size
from thalweg.errors import InputError
from thalweg.streams import Stream

__all__ = ["Documents", "Terms", "documents", "weighed"]


class Terms(NamedTuple):
    """Terms of the columns: names, columns of the matrix, inverse document frequencies."""

    names: list[str]
    places: NDArray[np.intp]
    weights: Array | None  # None keeps the entries


class Documents(NamedTuple):
    """A stream of TF-IDF rows, and the terms of its columns."""

    stream: Stream
    terms: Terms


def documents(run: Run, n_terms: int, stop_words: set[str]) -> Documents:
    """Return the TF-IDF rows of a text, or of a matrix with one row per document."""
    options: dict[str, Any] = {}
    if _is_text(run):
        options = {"n_terms": n_terms, "stop_words": frozenset(stop_words)}
    stream: Any = open_source(run, **options)
    if hasattr(stream, "words"):
        words = stream.words
        names = list(words.terms) or [f"hash {i}" for i in range(stream.n_features)]
        return Documents(stream, Terms(names, np.arange(stream.n_features), words.weights))
    terms = _choose(stream, run, n_terms, stop_words)
    return Documents(weighed(stream, terms), terms)


def weighed(stream: Stream, terms: Terms) -> Stream:
    """Return the chosen columns of a matrix; counts v become (1 + log v) log(n / df)."""
    from scipy import sparse

    def change(X: Any) -> Any:
        rows = sparse.csr_array(X)[:, terms.places]
        if terms.weights is not None:
            rows.eliminate_zeros()
            rows.data = (1 + np.log(rows.data)) * terms.weights[rows.indices]
        return rows

    return Mapped(stream, change, len(terms.places))


def _is_text(run: Run) -> bool:
    named = isinstance(run.source, (str, PathLike)) and Path(run.source).suffix.lower() == ".txt"
    return bool(run.read.get("format", "text" if named else "") == "text")


def _choose(stream: Any, run: Run, n_terms: int, stop_words: set[str]) -> Terms:
    """Return the columns with the largest sums of weights, in one pass over the matrix."""
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
    if not df.any():
        raise InputError(f"{run.title} must have words, got none.")
    idf = np.log(n / np.maximum(df, 1))
    total = logs * idf if are_counts else sums
    names = _names(stream, run)
    total[[i for i, name in enumerate(names) if name.lower() in stop_words]] = 0
    places = np.sort(np.argsort(-total, kind="stable")[: min(n_terms, np.count_nonzero(total))])
    return Terms([names[i] for i in places], places, idf[places] if are_counts else None)


def _names(stream: Any, run: Run) -> list[str]:
    """Return the words of a matrix: its column names, or the array ``terms`` of an .npz file."""
    names = getattr(stream, "columns_", None)
    if names is None and isinstance(run.source, (str, PathLike)):
        names = _saved_terms(Path(run.source))
    if names is None or len(names) != stream.n_features:
        return [f"word {i}" for i in range(stream.n_features)]
    return [str(name) for name in names]


def _saved_terms(path: Path) -> Any:
    if path.suffix.lower() != ".npz":
        return None
    with np.load(path, allow_pickle=False) as file:
        return file.get("terms")
