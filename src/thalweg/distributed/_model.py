"""What travels: an estimator without what only the centre needs, and samples to begin with."""

from copy import copy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from thalweg._typing import Array
from thalweg.distributed._crews import Crew
from thalweg.errors import InputError
from thalweg.estimators._input import Batch, check_data
from thalweg.estimators._noise import spread

__all__ = [
    "Glimpse",
    "Sample",
    "batch_of",
    "entries_of",
    "glimpse",
    "pooled",
    "sample",
    "travelling",
]

# Entries of the samples from which the start, and the scale of a loss, are taken.
_SAMPLE = 2**20
# What a worker has no use for: statistics stay at the centre, callbacks may not travel at all.
_AT_HOME = ("statistics_", "history_", "feature_names_in_")


def travelling(estimator: Any, *without: str) -> Any:
    """Return a copy of an estimator that has the settings, and of what was learned the least."""
    light = copy(estimator)
    for name in (*_AT_HOME, *without):
        vars(light).pop(name, None)
    light.callback, light.keep_history, light.init = None, False, "random"
    return light


def batch_of(model: Any, X: Any, dtype: Any) -> Batch | None:
    """Return a block as the encoder takes it, after the checks of every batch; None if empty."""
    if X.shape[0] == 0:
        return None
    batch: Batch = model._batch(check_data(model, X, reset=False).astype(dtype, copy=False))
    return batch


def entries_of(batch: Batch) -> int:
    """Return how many entries were seen."""
    F, B = batch.V.shape
    return F * B if batch.seen is None else int(np.count_nonzero(batch.seen))


class Glimpse(NamedTuple):
    """A few entries of a block and the codes of their samples: enough to tell the noise."""

    V: Array
    H: Array


def glimpse(batch: Batch, H: Array, every_feature: int, columns: Any) -> Glimpse:
    """Return some samples of a block, each with every so manieth feature."""
    V: Any = batch.V[::every_feature][:, columns]
    return Glimpse(V.toarray() if sparse.issparse(V) else V, H[:, columns])


def pooled(parts: list[Glimpse]) -> Glimpse:
    """Return the glimpses of several blocks side by side."""
    return Glimpse(np.hstack([part.V for part in parts]), np.hstack([part.H for part in parts]))


class Sample(NamedTuple):
    """The first rows of the data.

    Attributes
    ----------
    X : array or CSR matrix
        The rows.
    counts : list of int
        How many of them come from the first block, the second, and so on.
    """

    X: Any
    counts: list[int]

    def columns(self) -> tuple[int, list[Any]]:
        """Return where the noise is looked at: every so manieth feature, and rows of each block.

        They are the entries that an estimator looks at which has the sample as its data.
        """
        every_feature, every_sample = spread(self.X.shape[1], self.X.shape[0])
        chosen = np.arange(0, self.X.shape[0], every_sample)
        bounds = np.cumsum([0, *self.counts])
        inside = [chosen[(low <= chosen) & (chosen < high)] - low for low, high in pairwise(bounds)]
        return every_feature, inside


def sample(crew: Crew, n_components: int) -> Sample:
    """Fetch the first rows, of as many blocks as it takes."""
    heads: list[Any] = []
    counts: list[int] = []
    for i in range(len(crew.blocks)):
        (head,) = crew.collect(crew.map("sample-block", _head, [i], 2 * n_components), [i])
        missing = max(_SAMPLE // max(head.shape[1], 1), 2 * n_components) - sum(counts)
        heads.append(head[:missing])
        counts.append(heads[-1].shape[0])
        if counts[-1] == missing:
            break
    if not sum(counts):
        raise InputError("The data should have rows, but none came. Check the blocks.")
    some = [head for head in heads if head.shape[0]]
    if any(sparse.issparse(head) for head in some):
        return Sample(sparse.vstack(some, format="csr"), counts)
    return Sample(np.concatenate(some), counts)


def _head(X: Any, least: int) -> Any:
    return X[: max(_SAMPLE // max(X.shape[1], 1), least)]
