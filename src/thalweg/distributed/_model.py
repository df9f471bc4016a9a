"""The estimator that is sent to the workers, and samples of the data for the initialisation."""

from copy import copy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from thalweg._typing import Array
from thalweg.distributed._executors import Executor
from thalweg.errors import InputError
from thalweg.estimators._input import Batch, check_data
from thalweg.estimators._noise import spread
from thalweg.estimators._parameters import check_count

__all__ = [
    "NoiseSample",
    "Sample",
    "batch_of",
    "entries_of",
    "noise_sample",
    "pooled",
    "sample",
    "travelling",
]

# Number of entries of the sample for the initialisation and for the scale of a loss.
_SAMPLE = 2**20
# Attributes that workers do not need.
_NOT_SENT = ("statistics_", "history_", "feature_names_in_")


def travelling(estimator: Any, *without: str) -> Any:
    """Return a copy of an estimator with its parameters, and without attributes to keep here."""
    light = copy(estimator)
    for name in (*_NOT_SENT, *without):
        vars(light).pop(name, None)
    light.callback, light.keep_history = None, False
    for first in {"init", "start"} & vars(light).keys():  # these may be large arrays
        setattr(light, first, "random")
    return light


def batch_of(model: Any, X: Any, dtype: Any) -> Batch | None:
    """Check a block and convert it to a batch of the encoder; None if it is empty."""
    if X.shape[0] == 0:
        return None
    batch: Batch = model._batch(check_data(model, X, reset=False).astype(dtype, copy=False))
    return batch


def entries_of(batch: Batch) -> int:
    """Return the number of observed entries."""
    F, B = batch.V.shape
    return F * B if batch.observed is None else int(np.count_nonzero(batch.observed))


class NoiseSample(NamedTuple):
    """A few entries of a block and the codes of their samples, for the estimate of the noise."""

    V: Array
    H: Array


def noise_sample(batch: Batch, H: Array, every_feature: int, columns: Any) -> NoiseSample:
    """Return the samples ``columns`` of a block, with one of ``every_feature`` features."""
    V: Any = batch.V[::every_feature][:, columns]
    return NoiseSample(V.toarray() if sparse.issparse(V) else V, H[:, columns])


def pooled(parts: list[NoiseSample]) -> NoiseSample:
    """Concatenate the noise samples of several blocks."""
    return NoiseSample(np.hstack([part.V for part in parts]), np.hstack([part.H for part in parts]))


class Sample(NamedTuple):
    """The first rows of the data.

    Attributes
    ----------
    X : array or CSR matrix
        The rows.
    counts : list of int
        The number of rows from each block.
    """

    X: Any
    counts: list[int]

    def columns(self) -> tuple[int, list[Any]]:
        """Return the entries for the estimate of the noise: feature step, and rows of each block.

        They are the entries that an estimator uses when it is fitted to this sample alone.
        """
        every_feature, every_sample = spread(self.X.shape[1], self.X.shape[0])
        chosen = np.arange(0, self.X.shape[0], every_sample)
        bounds = np.cumsum([0, *self.counts])
        inside = [chosen[(low <= chosen) & (chosen < high)] - low for low, high in pairwise(bounds)]
        return every_feature, inside


def sample(executor: Executor, estimator: Any) -> Sample:
    """Fetch the first rows of as many blocks as needed; the workers check them."""
    count = check_count("n_components", estimator.n_components)
    model = travelling(estimator, "components_", "n_features_in_")
    heads: list[Any] = []
    missing = 1
    for i in range(len(executor.blocks)):
        width = heads[0].shape[1] if heads else None
        handles = executor.map("sample-block", _head, [i], model, width, 2 * count)
        heads.extend(executor.collect(handles, [i]))
        enough = max(_SAMPLE // max(heads[0].shape[1], 1), 2 * count)
        missing = enough - sum(head.shape[0] for head in heads[:-1])
        if heads[-1].shape[0] >= missing:
            break
    heads[-1] = heads[-1][:missing]
    counts, nonempty = [head.shape[0] for head in heads], [head for head in heads if head.shape[0]]
    if not nonempty:
        raise InputError("The data must have rows, got empty blocks only. Check the blocks.")
    if any(sparse.issparse(head) for head in nonempty):
        return Sample(sparse.vstack(nonempty, format="csr"), counts)
    return Sample(np.concatenate(nonempty), counts)


def _head(X: Any, model: Any, width: int | None, least: int) -> Any:
    """Return the first rows of a block, after the checks of a first batch."""
    if width is not None and X.shape[1] != width:
        raise InputError(
            f"A block must have {width} features like the first block, got {X.shape[1]} features."
        )
    rows = X[: max(_SAMPLE // max(X.shape[1], 1), least)]
    return check_data(copy(model), rows, reset=True) if rows.shape[0] else rows
