"""Fit a model to a stream, with progress, checkpoints and a history."""

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg.apps._run import Run, objective_of
from thalweg.apps._streams import fit_batch_size, length, read_all
from thalweg.errors import ParameterError
from thalweg.streams import Stream

__all__ = ["History", "Subsample", "learn", "reject_streaming_options"]

_HISTORY_POINTS = 256  # minimum of a long run; a plot needs no more


class Subsample:
    """Keep evenly spaced items of a sequence of unknown length, always fewer than ``2 * n``.

    Examples
    --------
    >>> from thalweg.apps._learn import Subsample
    >>> sample = Subsample(3)
    >>> for i in range(20):
    ...     sample.add(i, str(i))
    >>> sample.numbers
    [0, 4, 8, 12, 16]
    """

    def __init__(self, n: int) -> None:
        self.n, self.step = n, 1
        self.numbers: list[int] = []
        self.items: list[Any] = []

    def add(self, number: int, item: Any) -> None:
        """Add the next item, if its number is among those to keep."""
        if not self.keeps(number):
            return
        self.numbers.append(number)
        self.items.append(item)
        if len(self.items) >= 2 * self.n:
            self.step *= 2
            self.numbers, self.items = self.numbers[::2], self.items[::2]

    def keeps(self, number: int) -> bool:
        """Return whether the item with this number would be kept."""
        return number % self.step == 0


class History:
    """Record objective and outlier share in bounded memory."""

    def __init__(self) -> None:
        self._points = Subsample(_HISTORY_POINTS)
        self._count, self.label = 0, "objective"

    def note(self, done: int, model: Any) -> None:
        """Add a point."""
        self.label, objective = objective_of(model)
        share = float(getattr(model, "outlier_share_", np.nan))
        self._points.add(self._count, (done, np.nan if objective is None else objective, share))
        self._count += 1

    @property
    def curve(self) -> Any:
        """Rows: samples, objective and outlier share."""
        return np.array(self._points.items, dtype=np.float64).reshape(-1, 3).T


def learn(
    model: Any,
    stream: Stream,
    run: Run,
    epochs: int = 1,
    note: Callable[[int, Any], None] | None = None,
) -> History:
    """Fit a model to a stream; a batch method gets all samples at once.

    ``note`` is called after each batch with the number of samples and the model.
    """
    history = History()
    epochs = epochs if run.epochs is None else run.epochs
    if not hasattr(model, "fit_stream"):
        reject_streaming_options(model, run)
        model.fit(read_all(stream, run, "Choose a streaming method."))
        return history
    n = length(stream)

    def after(position: Any) -> None:
        done = position.epoch * (n or 0) + position.sample
        history.note(done, model)
        if note is not None:
            note(done, model)
        run.notify("learning", done, None if n is None else n * epochs, model)

    model.fit_stream(
        stream,
        epochs=epochs,
        batch_size=run.batch_size or fit_batch_size(stream.n_features),
        callback=after,
        **({} if run.checkpoint is None else {"checkpoint": run.checkpoint, "resume": run.resume}),
    )
    return history


def reject_streaming_options(model: Any, run: Run) -> None:
    """Raise if an option of streaming methods was given to a batch method."""
    given = {"batch_size": run.batch_size, "epochs": run.epochs, "checkpoint": run.checkpoint}
    for name, value in given.items():
        if value is not None:
            raise ParameterError(
                f"{name} must be None for the batch method {type(model).__name__}, got {value!r}. "
                "Omit it, or choose a streaming method."
            )
