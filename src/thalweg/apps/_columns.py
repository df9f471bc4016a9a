"""Columns of a table in units of their own: a centre and a scale that outliers do not move."""

from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.apps._run import Run
from thalweg.apps._streams import columns_of, length, rows_at_once
from thalweg.errors import InputError
from thalweg.streams import Stream

__all__ = ["Units", "measure"]

# Entries of the rows from which the units are found, drawn evenly from all of them.
_DRAWN = 2**22
# Distance of the quartiles of a unit normal variable; what is farther from the middle than so many
# of its standard deviations does not count.
_QUARTILES, _FAR = 1.349, 8.0


class Units(NamedTuple):
    """Centre and scale of each column.

    Attributes
    ----------
    centre : array of shape (n_features,)
        The mean, without what is far away.
    scale : array of shape (n_features,)
        The standard deviation, without what is far away.
    """

    centre: Array
    scale: Array

    def to(self, X: Any) -> Array:
        """Return rows in these units."""
        scaled: Array = (_dense(X) - self.centre) / self.scale
        return scaled

    def back(self, Z: Array) -> Array:
        """Return rows in the units of the data."""
        return Z * self.scale + self.centre


def measure(stream: Stream, run: Run) -> tuple[Units, Array]:
    """Return the units of the columns, and rows drawn from all of them, in a pass over a table."""
    rng = np.random.default_rng(run.seed)
    most = max(64, _DRAWN // stream.n_features)
    drawn: Array = np.empty((0, stream.n_features))
    n, seen = 0, np.zeros(stream.n_features, dtype=np.intp)
    for first, rows in stream.batches(rows_at_once(stream.n_features)):
        X = _dense(rows)
        seen += np.count_nonzero(~np.isnan(X), axis=0)
        drawn = _draw(drawn, X, n, most, rng)
        n = first + len(X)
        run.tell("measuring", n, length(stream))
    if n == 0:
        raise InputError(f"{run.title} should have rows, but it has none. Check the file.")
    if not seen.all():
        name = columns_of(stream)[int(np.argmin(seen > 0))]
        raise InputError(
            f"Each column should have a number, but {name!r} of {run.title} has gaps only. "
            "Leave it out by naming the other columns."
        )
    return _units(drawn, stream, run), drawn


def _units(drawn: Array, stream: Stream, run: Run) -> Units:
    lost = np.isnan(drawn).all(axis=0)
    if lost.any():  # so rare a column has no number among the rows drawn
        name = columns_of(stream)[int(np.argmax(lost))]
        raise InputError(
            f"Each column should have numbers here and there, but {name!r} of {run.title} has "
            "hardly any. Leave it out by naming the other columns."
        )
    low, middle, high = np.nanquantile(drawn, [0.25, 0.5, 0.75], axis=0)
    # a column that is mostly one number has no quartiles: then nothing is far
    far = np.where(high > low, _FAR * (high - low) / _QUARTILES, np.inf)
    near = np.where(np.abs(drawn - middle) <= far, drawn, np.nan)
    scale = np.nanstd(near, axis=0)
    return Units(np.nanmean(near, axis=0), np.where(scale > 0, scale, 1.0))


def _draw(kept: Array, X: Array, n: int, most: int, rng: np.random.Generator) -> Array:
    """Return rows of which each had the same chance, so far."""
    room = most - len(kept)
    kept, X, n = np.vstack([kept, X[:room]]), X[room:], n + min(room, len(X))
    places = rng.integers(0, n + 1 + np.arange(len(X)))
    for place, row in zip(places, X, strict=True):
        if place < most:
            kept[place] = row
    return kept


def _dense(X: Any) -> Array:
    rows = X if isinstance(X, np.ndarray) else X.toarray()
    return rows.astype(np.float64, copy=False)
