"""Archetypes of distributed data: the blocks compute the matrix products of the descent."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from thalweg._checks import generator
from thalweg._typing import Array
from thalweg.archetypes import DataMatrix
from thalweg.distributed._executors import Executor
from thalweg.distributed._model import sample, sent_copy
from thalweg.distributed._plan import Plan
from thalweg.errors import InputError, ParameterError
from thalweg.estimators import Progress
from thalweg.estimators.validation import check_data

__all__ = ["BlockRows", "run"]


class BlockSummary(NamedTuple):
    """Summary of a block: |x|^2 of its rows, the largest entry of each column, and the type."""

    squares: Array
    top: Array
    dtype: Any


@dataclass(frozen=True, eq=False)
class BlockRows(DataMatrix):
    """A matrix whose rows are in blocks; results are collected in the central process."""

    executor: Executor
    summaries: list[BlockSummary]

    @property
    def shape(self) -> tuple[int, int]:
        """(m, n)."""
        return int(self.bounds[-1]), len(self.summaries[0].top)

    @property
    def bounds(self) -> Any:
        """First row of each block, and the number of rows."""
        return np.cumsum([0, *(len(summary.squares) for summary in self.summaries)])

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Fetch one block after the other."""
        for i, (low, high) in enumerate(pairwise(self.bounds)):
            (block,) = self.executor.collect(self.executor.map("rows-block", _dense, [i]), [i])
            yield slice(low, high), block

    def take(self, index: Any) -> Array:
        """Fetch some rows."""
        wanted = np.arange(self.shape[0])[index]
        owners = np.searchsorted(self.bounds, wanted, side="right") - 1
        which = np.unique(owners).tolist()
        inside = [wanted[owners == i] - self.bounds[i] for i in which]
        handles = self.executor.map("rows-block", _chosen, which, each=inside)
        rows = np.empty((len(wanted), self.shape[1]))
        for i, part in zip(which, self.executor.collect(handles, which), strict=True):
            rows[owners == i] = part
        return rows

    def columns(self, index: list[int]) -> Array:
        """Fetch some columns."""
        all_blocks = range(len(self.summaries))
        handles = self.executor.map(
            "columns-block", _columns, all_blocks, self.executor.share(index)
        )
        return np.vstack(self.executor.collect(handles, all_blocks))

    def correlated(self, H: Array) -> Array:
        """Return H X' (k, m); each block computes its columns."""
        all_blocks = range(len(self.summaries))
        handles = self.executor.map(
            "correlate-block", _correlated, all_blocks, self.executor.share(H)
        )
        return np.hstack(self.executor.collect(handles, all_blocks))

    def mixed(self, T: Array) -> Array:
        """Return T X (k, n), a sum over the blocks; rows are fetched if few have a weight."""
        used = np.flatnonzero(T.any(axis=0))
        if 2 * len(used) < T.shape[1]:
            few: Array = T[:, used] @ self.take(used)
            return few
        all_blocks = range(len(self.summaries))
        parts = np.split(T, self.bounds[1:-1], axis=1)
        total = np.zeros((len(T), self.shape[1]))
        for part in self.executor.collect(
            self.executor.map("mix-block", _mixed, all_blocks, each=parts), all_blocks
        ):
            total += part
        return total

    @property
    def squares(self) -> Array:
        """|x|^2 of each row."""
        return np.concatenate([summary.squares for summary in self.summaries])

    @property
    def top(self) -> Array:
        """The largest entry of each column."""
        largest: Array = np.max(
            [summary.top for summary in self.summaries if len(summary.squares)], axis=0
        )
        return largest

    @property
    def gram(self) -> None:
        """None: products between samples of different blocks are not computed."""
        return None


def run(estimator: Any, executor: Executor, plan: Plan) -> None:
    """Run the learner of the estimator on a matrix in blocks."""
    if plan.rounds is not None or plan.keeper is not None:
        raise ParameterError(
            "rounds and checkpoint must be None for SparseArchetypalNMF, got a value. Use max_iter "
            "to bound the run."
        )
    if estimator.weight is None:
        raise ParameterError(
            "weight must be a number for data in blocks, got None. The constrained form needs all "
            "samples in one process: use fit, or set a weight."
        )
    head = check_data(estimator, sample(executor, estimator).X, reset=True)
    all_blocks = range(len(executor.blocks))
    shared = executor.share(sent_copy(estimator))
    summaries = executor.collect(
        executor.map("summarise-block", _summarise, all_blocks, shared), all_blocks
    )
    dtype = np.result_type(head.dtype, *(summary.dtype for summary in summaries))
    own = estimator.callback
    estimator.callback = _both(own, plan.callback)
    try:
        rows = BlockRows(None, executor, summaries)
        learner = estimator.find_rank(head).make_learner(rows.shape[0])
        estimator.run_learner(learner, rows, None, generator(estimator.random_state), dtype)
    finally:
        estimator.callback = own


def _both(one: Any, other: Any) -> Any:
    """Return a callback that calls those of the two that are given."""
    listeners = [listener for listener in (one, other) if listener is not None]

    def notify(progress: Progress) -> None:
        for listener in listeners:
            listener(progress)

    return notify if listeners else None


def _summarise(X: Any, model: Any) -> BlockSummary:
    if X.shape[0] == 0:
        return BlockSummary(np.empty(0), np.zeros(model.n_features_in_), np.float32)
    checked = check_data(model, X, reset=False)
    rows = _dense(checked)
    if np.isnan(rows).any():
        raise InputError(
            "Data in blocks must have no missing entries for SparseArchetypalNMF, got NaN. Fill "
            "them first, or use fit with all samples in one process."
        )
    return BlockSummary(np.einsum("ij,ij->i", rows, rows), rows.max(axis=0), checked.dtype)


def _dense(X: Any) -> Array:
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def _chosen(X: Any, index: Any) -> Array:
    return _dense(X[index])


def _columns(X: Any, index: list[int]) -> Array:
    return _dense(X[:, index])


def _correlated(X: Any, H: Array) -> Array:
    product: Array = H @ _dense(X).T
    return product


def _mixed(X: Any, T: Array) -> Array:
    product: Array = T @ _dense(X)
    return product
