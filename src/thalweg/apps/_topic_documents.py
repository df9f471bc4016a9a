"""Topics of documents: their shares in each, and the documents nearest to each."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg._typing import Array
from thalweg.apps._folder import Folder
from thalweg.apps._learn import Subsample
from thalweg.apps._run import TINY, Run
from thalweg.apps._streams import length, read_batch_size
from thalweg.apps._tables import csv_file
from thalweg.streams import Stream

__all__ = ["Nearest", "best_words", "shares_of_topics", "shares_panel", "write_documents"]


class Nearest:
    """Find the documents whose rows have the largest cosines with each topic, batch by batch.

    Parameters
    ----------
    components : array of shape (n_topics, n_features)
        Topics.
    n : int
        Number of documents of each topic.
    """

    def __init__(self, components: Array, n: int) -> None:
        norms = np.linalg.norm(components, axis=1, keepdims=True)
        self._topics, self._n = components / np.maximum(norms, TINY), n
        self._cosines: Array = np.zeros((len(components), 0))
        self._numbers: NDArray[np.intp] = np.zeros((len(components), 0), dtype=np.intp)

    def add(self, first: int, X: Any) -> None:
        """Add documents: sparse rows, the first with this number."""
        norms = np.sqrt(np.asarray(X.power(2).sum(axis=1)).reshape(-1, 1))
        cosines = (X @ self._topics.T) / np.maximum(norms, TINY)
        numbers = np.broadcast_to(first + np.arange(X.shape[0]), cosines.T.shape)
        cosines, numbers = (
            np.hstack([self._cosines, cosines.T]),
            np.hstack([self._numbers, numbers]),
        )
        best = np.argsort(-cosines, axis=1, kind="stable")[:, : self._n]
        self._cosines = np.take_along_axis(cosines, best, axis=1)
        self._numbers = np.take_along_axis(numbers, best, axis=1)

    def numbers(self) -> list[list[int]]:
        """Return the numbers of the documents of each topic, nearest first."""
        rows = zip(self._numbers.tolist(), self._cosines.tolist(), strict=True)
        return [[i for i, c in zip(*row, strict=True) if c > 0] for row in rows]


def shares_of_topics(
    model: Any, stream: Stream, run: Run, see: Callable[[int, Any], None] | None = None
) -> Iterator[Array]:
    """Yield the shares of the topics in the documents; rows sum to 1, or are 0.

    ``see`` is called with the number of the first document and the rows of each batch.
    """
    mass = model.components_.sum(axis=1)
    for first, X in stream.batches(read_batch_size(stream.n_features)):
        if see is not None:
            see(first, X)
        weights = model.transform(X) * mass
        yield weights / np.maximum(weights.sum(axis=1, keepdims=True), TINY)
        run.notify("writing", first + X.shape[0], length(stream))


def write_documents(
    folder: Folder, shares: Iterator[Array], n_topics: int, shown: Subsample
) -> list[int]:
    """Write documents.csv: topic and shares of each document; count the documents of each topic."""
    sizes = np.zeros(n_topics, dtype=np.intp)
    columns = ("document", "topic", *(f"share {k}" for k in range(n_topics)))
    with csv_file(folder.file("documents", "documents.csv"), columns) as table:
        number = 0
        for part in shares:
            for row in part:
                best = int(row.argmax())
                sizes[best] += 1
                table.add((number, best, *row.tolist()))
                shown.add(number, row)
                number += 1
    found: list[int] = sizes.tolist()
    return found


def best_words(component: Array, n: int) -> list[int]:
    """Return the columns of the ``n`` words with the largest weights of a topic."""
    best = np.argsort(-component, kind="stable")[:n]
    return [int(i) for i in best if component[i] > 0]


def shares_panel(shown: Subsample, names: Sequence[Sequence[str]]) -> Any:
    """Return a heat map of the shares of some documents; topics are named by two words."""
    from thalweg import report

    return report.HeatMap(
        "Topics of the documents",
        {"share": np.stack(shown.items)},
        row_labels=shown.numbers,
        column_labels=[", ".join(words[:2]) or str(k) for k, words in enumerate(names)],
    )
