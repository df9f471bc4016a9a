"""Standardise the columns of a table, robustly to outliers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thalweg import streams
from thalweg._typing import Array
from thalweg.apps._header import Table
from thalweg.apps._run import Run
from thalweg.apps._streams import length, read_all, read_batch_size
from thalweg.errors import InputError
from thalweg.streams import Stream

__all__ = ["Rows", "Units", "measure", "read_table"]

# Entries of the random sample of rows from which centres and scales are estimated (32 MB).
_SAMPLE_ENTRIES = 2**22
_MIN_SAMPLE_ROWS = 64
# Interquartile range of a standard normal variable.
_NORMAL_IQR = 1.349
# Standard deviations from the median beyond which entries are ignored. Normal noise practically
# never exceeds it, so only outliers are affected.
_CLIP = 8.0


class Units(NamedTuple):
    """Centre and scale of each column.

    Attributes
    ----------
    centre : array of shape (n_features,)
        Mean, without distant entries.
    scale : array of shape (n_features,)
        Standard deviation, without distant entries.
    """

    centre: Array
    scale: Array

    def to(self, X: Any) -> Array:
        """Standardise rows."""
        scaled: Array = (_dense(X) - self.centre) / self.scale
        return scaled

    def back(self, Z: Array) -> Array:
        """Convert standardised rows to the units of the data."""
        return Z * self.scale + self.centre


class Rows(NamedTuple):
    """A table in memory, its units, a random sample of its rows, and its times if it has any."""

    X: Array
    units: Units
    labels: list[str] | None
    seconds: Array | None


def read_table(table: Table, run: Run, advice: str) -> Rows:
    """Read a whole table; raise with advice if it does not fit into memory."""
    X = _dense(read_all(table.stream, run, advice))
    units, _ = measure(streams.open(X), run, table.names)
    texts = table.labels()
    labels = None if texts is None else list(texts)
    return Rows(X, units, labels, None if labels is None else table.seconds(labels))


def measure(stream: Stream, run: Run, names: Sequence[str]) -> tuple[Units, Array]:
    """Return the units of the columns and a random sample of rows, in one pass over a table."""
    rng = np.random.default_rng(run.seed)
    most = max(_MIN_SAMPLE_ROWS, _SAMPLE_ENTRIES // stream.n_features)
    drawn: Array = np.empty((0, stream.n_features))
    n, n_observed = 0, np.zeros(stream.n_features, dtype=np.intp)
    for first, rows in stream.batches(read_batch_size(stream.n_features)):
        X = _dense(rows)
        n_observed += np.count_nonzero(~np.isnan(X), axis=0)
        drawn = _draw(drawn, X, n, most, rng)
        n = first + len(X)
        run.notify("measuring", n, length(stream))
    if n == 0:
        raise InputError(f"{run.title} must have at least one row, got none.")
    if not n_observed.all():
        name = names[int(np.argmin(n_observed > 0))]
        raise InputError(
            f"Each column of {run.title} must have an observed entry, got only gaps in {name!r}. "
            "Exclude it with the option columns."
        )
    return _units(drawn, names, run), drawn


def _units(drawn: Array, names: Sequence[str], run: Run) -> Units:
    missing = np.isnan(drawn).all(axis=0)
    if missing.any():  # a column with so few entries that none is in the sample
        name = names[int(np.argmax(missing))]
        raise InputError(
            f"Each column of {run.title} must have enough observed entries, got too few in "
            f"{name!r}. Exclude it with the option columns."
        )
    low, median, high = np.nanquantile(drawn, [0.25, 0.5, 0.75], axis=0)
    # a mostly constant column has equal quartiles: then no entry is ignored
    limit = np.where(high > low, _CLIP * (high - low) / _NORMAL_IQR, np.inf)
    near = np.where(np.abs(drawn - median) <= limit, drawn, np.nan)
    scale = np.nanstd(near, axis=0)
    return Units(np.nanmean(near, axis=0), np.where(scale > 0, scale, 1.0))


def _draw(kept: Array, X: Array, n: int, most: int, rng: np.random.Generator) -> Array:
    """Update a uniform random sample of at most ``most`` rows (reservoir sampling)."""
    free = most - len(kept)
    kept, X, n = np.vstack([kept, X[:free]]), X[free:], n + min(free, len(X))
    indices = rng.integers(0, n + 1 + np.arange(len(X)))
    for index, row in zip(indices, X, strict=True):
        if index < most:
            kept[index] = row
    return kept


def _dense(X: Any) -> Array:
    rows = X if isinstance(X, np.ndarray) else X.toarray()
    return rows.astype(np.float64, copy=False)
