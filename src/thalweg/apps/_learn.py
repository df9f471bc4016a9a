"""The loop of learning, with progress, checkpoints and a curve of how it went."""

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg.apps._run import Run, level_of
from thalweg.apps._streams import everything, length, rows_learned
from thalweg.errors import ParameterError
from thalweg.streams import Stream

__all__ = ["History", "Thinned", "learn", "refuse_streaming"]


class Thinned:
    """Evenly spread items of a sequence whose length is not known: always fewer than twice ``n``.

    Examples
    --------
    >>> from thalweg.apps._learn import Thinned
    >>> some = Thinned(3)
    >>> for i in range(20):
    ...     some.add(i, str(i))
    >>> some.numbers
    [0, 4, 8, 12, 16]
    """

    def __init__(self, n: int) -> None:
        self.n, self.step = n, 1
        self.numbers: list[int] = []
        self.items: list[Any] = []

    def add(self, number: int, item: Any) -> None:
        """Take in the next item, unless it lies between those that are kept."""
        if not self.wants(number):
            return
        self.numbers.append(number)
        self.items.append(item)
        if len(self.items) >= 2 * self.n:
            self.step *= 2
            self.numbers, self.items = self.numbers[::2], self.items[::2]

    def wants(self, number: int) -> bool:
        """Tell whether the item of this number would be kept."""
        return number % self.step == 0


class History:
    """How objective and outlier share went, in at most a few hundred points."""

    def __init__(self) -> None:
        self._points = Thinned(256)
        self._count, self.label = 0, "objective"

    def note(self, done: int, model: Any) -> None:
        """Add a point."""
        self.label, level = level_of(model)
        share = float(getattr(model, "outlier_share_", np.nan))
        self._points.add(self._count, (done, np.nan if level is None else level, share))
        self._count += 1

    @property
    def curve(self) -> Any:
        """Samples, objective and outlier share, a row each."""
        return np.array(self._points.items, dtype=np.float64).reshape(-1, 3).T


def learn(
    model: Any,
    stream: Stream,
    run: Run,
    epochs: int = 1,
    note: Callable[[int, Any], None] | None = None,
) -> History:
    """Fit a model to a stream; one that cannot stream gets all samples at once.

    ``note`` is called with the number of samples and the model after each batch.
    """
    history = History()
    epochs = epochs if run.epochs is None else run.epochs
    if not hasattr(model, "fit_stream"):
        refuse_streaming(model, run)
        model.fit(everything(stream, run, "Choose a method that streams."))
        return history
    n = length(stream)

    def after(position: Any) -> None:
        done = position.epoch * (n or 0) + position.sample
        history.note(done, model)
        if note is not None:
            note(done, model)
        run.tell("learning", done, None if n is None else n * epochs, model)

    model.fit_stream(
        stream,
        epochs=epochs,
        batch_size=run.batch_size or rows_learned(stream.n_features),
        callback=after,
        **({} if run.checkpoint is None else {"checkpoint": run.checkpoint, "resume": run.resume}),
    )
    return history


def refuse_streaming(model: Any, run: Run) -> None:
    """Raise if an option was given that only makes sense batch by batch."""
    given = {"batch_size": run.batch_size, "epochs": run.epochs, "checkpoint": run.checkpoint}
    for name, value in given.items():
        if value is not None:
            raise ParameterError(
                f"{name} should be left out, since {type(model).__name__} takes in all samples "
                f"at once, but {value!r} came. Leave it out, or choose a method that streams."
            )
