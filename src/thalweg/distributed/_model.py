"""The estimator that is sent to the workers, and samples of the data for the initialisation."""

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from thalweg._checks import check_count
from thalweg.distributed._executors import Executor
from thalweg.errors import InputError
from thalweg.estimators.fitting import is_auto
from thalweg.estimators.validation import check_data
from thalweg.learning.batches import Batch, DataForm

__all__ = ["BlockModel", "Sample", "sample", "sent_copy"]

# Number of entries of the sample for the initialisation and for the scale of a loss.
_SAMPLE = 2**20
# Attributes that workers do not need.
_NOT_SENT = ("statistics_", "history_", "feature_names_in_")


def sent_copy(estimator: Any, *without: str) -> Any:
    """Return a copy of an estimator with its parameters, and without attributes to keep here."""
    light = copy(estimator)
    for name in (*_NOT_SENT, *without):
        vars(light).pop(name, None)
    light.callback, light.keep_history = None, False
    if hasattr(light, "init"):  # it may be a large array
        light.init = "random"
    return light


class BlockModel(NamedTuple):
    """What turns a block of rows into a batch: an estimator for the checks, form and type."""

    estimator: Any
    form: DataForm
    dtype: Any

    def batch(self, X: Any) -> Batch | None:
        """Check a block and convert it to a batch; None if it is empty."""
        if X.shape[0] == 0:
            return None
        rows = check_data(self.estimator, X, reset=False, dtype=self.dtype)
        return self.form.batch(rows.astype(self.dtype, copy=False))


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


def sample(executor: Executor, estimator: Any) -> Sample:
    """Fetch the first rows of as many blocks as needed; the workers check them."""
    number = estimator.n_components
    count = 1 if is_auto(number) else check_count("n_components", number)
    model = sent_copy(estimator, "components_", "n_features_in_")
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
