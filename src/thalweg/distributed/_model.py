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
from thalweg.estimators._parameters import check_count

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
    light.callback, light.keep_history = None, False
    for first in {"init", "start"} & vars(light).keys():  # which may be arrays
        setattr(light, first, "random")
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


def sample(crew: Crew, estimator: Any) -> Sample:
    """Fetch the first rows, of as many blocks as it takes; each block's are checked there."""
    count = check_count("n_components", estimator.n_components)
    model = travelling(estimator, "components_", "n_features_in_")
    heads: list[Any] = []
    missing = 1
    for i in range(len(crew.blocks)):
        width = heads[0].shape[1] if heads else None
        handles = crew.map("sample-block", _head, [i], model, width, 2 * count)
        heads.extend(crew.collect(handles, [i]))
        enough = max(_SAMPLE // max(heads[0].shape[1], 1), 2 * count)
        missing = enough - sum(head.shape[0] for head in heads[:-1])
        if heads[-1].shape[0] >= missing:
            break
    heads[-1] = heads[-1][:missing]
    counts, some = [head.shape[0] for head in heads], [head for head in heads if head.shape[0]]
    if not some:
        raise InputError("The data should have rows, but none came. Check the blocks.")
    if any(sparse.issparse(head) for head in some):
        return Sample(sparse.vstack(some, format="csr"), counts)
    return Sample(np.concatenate(some), counts)


def _head(X: Any, model: Any, width: int | None, least: int) -> Any:
    """Return the first rows of a block, checked as those of a first batch."""
    if width is not None and X.shape[1] != width:
        raise InputError(
            f"A block should have {width} features, as the first one has, but it has "
            f"{X.shape[1]} features. Every block needs the columns of the first one."
        )
    rows = X[: max(_SAMPLE // max(X.shape[1], 1), least)]
    return check_data(copy(model), rows, reset=True) if rows.shape[0] else rows
