"""Write scores, p-values and alarms of each sample, and show them."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.apps._folder import Folder
from thalweg.apps._tables import Array2D, Csv, array_file, csv_file
from thalweg.noise.false_discoveries import benjamini_hochberg, combined

__all__ = ["AlarmWriter", "Lowest", "alarm_files"]

FDR = 0.05  # false discovery rate of the alarms of a batch
_N_SHOWN = 500  # points of the curve in the report, at least, of a long stream
_SMALLEST_P = 1e-300  # in place of 0, which has no logarithm
_HEADER = ("sample", "score", "p_value", "alarms", "largest")


class Lowest:
    """Keep the lowest of successive values, fewer than ``2 * n`` of them in any stream.

    Examples
    --------
    >>> from thalweg.apps._alarms import Lowest
    >>> lowest = Lowest(2)
    >>> lowest.add(0, [0.5, 0.1, 0.3, 0.9, 0.2])
    >>> lowest.numbers, lowest.values
    ([0, 2, 4], [0.1, 0.3, 0.2])
    """

    def __init__(self, n: int) -> None:
        self.n, self.step = n, 1
        self.numbers: list[int] = []
        self.values: list[float] = []

    def add(self, first: int, values: Any) -> None:
        """Add values, numbered from ``first``."""
        for number, value in enumerate(values, first):
            if self.numbers and number < self.numbers[-1] + self.step:
                self.values[-1] = float(np.fmin(self.values[-1], value))
            else:
                self.numbers.append(number - number % self.step)
                self.values.append(float(value))
            if len(self.values) >= 2 * self.n:
                self.step, pairs = 2 * self.step, range(0, len(self.values), 2)
                self.values = [float(np.fmin.reduce(self.values[i : i + 2])) for i in pairs]
                self.numbers = self.numbers[::2]


class AlarmWriter:
    """Writer of the scores and p-values of a model, batch by batch."""

    def __init__(self, scores: Csv, entries: Csv | Array2D | None, names: Sequence[str]) -> None:
        self._scores, self._entries, self._names = scores, entries, names
        self._lowest = Lowest(_N_SHOWN)
        self.n_alarms = 0

    def write(self, first: int, X: Any, model: Any, labels: Sequence[str] | None = None) -> Array:
        """Write a line for each row of X, after its label; return the p-values of its entries."""
        p: Array = model.p_values(X)
        alarms = benjamini_hochberg(p.ravel(), FDR).reshape(p.shape)
        samples, parts = combined(p)
        largest = [self._names[j] if self._names else int(j) for j in parts.argmax(axis=1)]
        numbers = np.count_nonzero(alarms, axis=1)
        rows = zip(model.score_samples(X), samples, numbers, largest, strict=True)
        for i, (score, value, number, name) in enumerate(rows, first):
            label = () if labels is None else (labels[i - first],)
            self._scores.add((*label, i, float(score), float(value), int(number), name))
        if isinstance(self._entries, Csv):
            self._entries.write(p, labels=labels)
        elif self._entries is not None:
            self._entries.write(p)
        self._lowest.add(first, samples)
        self.n_alarms += int(numbers.sum())
        return p

    def panels(self, xlabel: str = "row") -> list[Any]:
        """Return a curve of the p-values of samples; none without samples."""
        from thalweg import report

        values = np.maximum(np.array(self._lowest.values), _SMALLEST_P)
        if len(values) < 2:
            return []
        curve = {"lowest p-value": values}
        title = "p-values of samples: small where they do not fit"
        return [
            report.Curve(title, self._lowest.numbers, curve, xlabel=xlabel, ylabel="p", log=True)
        ]


@contextmanager
def alarm_files(
    folder: Folder,
    model: Any,
    columns: Sequence[str] | None,
    entries: bool = True,
    time: Sequence[str] = (),
) -> Iterator[AlarmWriter | None]:
    """Open the files of scores and p-values; None for a model without p-values."""
    if not hasattr(model, "p_values"):
        yield None
        return
    with ExitStack() as stack:
        scores = stack.enter_context(
            csv_file(folder.file("scores", "scores.csv"), (*time, *_HEADER))
        )
        table: Csv | Array2D | None = None
        if entries and columns is None:
            table = stack.enter_context(array_file(folder.file("p_values", "p_values.npy")))
        elif entries and columns is not None:
            path = folder.file("p_values", "p_values.csv")
            table = stack.enter_context(csv_file(path, (*time, *columns)))
        yield AlarmWriter(scores, table, columns or ())
