"""Distributed streaming estimators: the blocks of a round are one batch."""

from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.distributed._executors import Executor
from thalweg.distributed._model import (
    NoiseSample,
    batch_of,
    entries_of,
    noise_sample,
    pooled,
    sample,
    travelling,
)
from thalweg.distributed._plan import Plan
from thalweg.encoders import Codes
from thalweg.encoders.columns import MAX_CHUNK_SIZE
from thalweg.errors import InputError, ParameterError
from thalweg.estimators import ORNMF, Progress
from thalweg.estimators._code_prior import CodePrior, due, look, merged
from thalweg.estimators._input import Batch, check_data
from thalweg.estimators._noise import spread
from thalweg.estimators._parameters import check_count, generator
from thalweg.estimators._threads import few_threads
from thalweg.updates.atom_replacement import (
    WorstResiduals,
    dead_atoms,
    replace_atoms,
    worst_residuals,
)

__all__ = ["run"]


class Report(NamedTuple):
    """The result of a block: statistics for the update, and summary numbers."""

    latest: Any
    noise: NoiseSample
    usual: CodePrior
    share: float
    entries: int
    rows: int


def run(estimator: Any, executor: Executor, plan: Plan) -> None:
    """Fit a streaming estimator in rounds."""
    if isinstance(estimator, ORNMF) and estimator.buffer_size is None:
        raise ParameterError(
            "buffer_size must be a number or 'auto' in a distributed fit, got None, which would "
            "collect all samples in one process."
        )
    groups = plan.groups(executor.blocks, check_count("epochs", estimator.epochs))
    together = plan.together(executor.blocks)
    done = plan.resumed(estimator, together)
    if done == 0:
        _begin(estimator, executor, len(groups[0]))
    counts = [executor.blocks.rows(group) for group in groups]
    total = None if None in counts else sum(filter(None, counts))
    for number, group in enumerate(groups[done:], done + 1):
        _round(estimator, executor, group, total)
        plan.note(estimator, number, _progress(estimator, total), together)
    plan.finish(estimator, max(done, len(groups)), together)


def _begin(estimator: Any, executor: Executor, blocks: int) -> None:
    """Initialise the estimator from the first rows of the first round."""
    count = check_count("n_components", estimator.n_components)
    first = sample(executor, estimator)
    X = check_data(estimator, first.X, reset=True)
    with few_threads(X.shape[1], count, X.shape[0]):
        estimator._prepare(X)
        batch = estimator._batch(X[: sum(first.counts[:blocks])])
        estimator._begin(batch, generator(estimator.random_state))


def _round(estimator: Any, executor: Executor, group: list[int], total: int | None) -> None:
    shared = executor.share(travelling(estimator))
    handles = executor.map("encode-block", _encode, group, shared, len(group))
    reports = [report for report in executor.collect(handles, group) if report is not None]
    if not reports:
        raise InputError("A round must have rows, got empty blocks only. Check the blocks.")
    K, F = estimator.components_.shape
    with few_threads(F, K, K):
        _observe(estimator, [report.noise for report in reports])
        if due(estimator.n_batches_seen_):
            usual = merged([report.usual for report in reports])
            estimator.code_prior_ = estimator.code_prior_.follow(usual)
        update, W = estimator._refreshed(estimator._update()), estimator.components_.T
        latest = update.merge([report.latest for report in reports])
        W, state = update.take_in(W, estimator.statistics_, latest)
        if getattr(update, "replaces_dead_atoms", False) and (
            dead := dead_atoms(state, update.frozen)
        ):
            lost = executor.map("replace-atoms-block", _leftovers, group, shared, W, len(dead))
            found = [part for part in executor.collect(lost, group) if part is not None]
            W, state = replace_atoms(W, state, dead, found, update.constraint)
        estimator.components_, estimator.statistics_ = np.ascontiguousarray(W.T), state
        estimator.n_samples_seen_ += sum(report.rows for report in reports)
        entries = sum(report.entries for report in reports)
        outliers = sum(report.share * report.entries for report in reports)
        estimator._count(outliers / max(entries, 1), update, total)
        estimator._conclude(update)


def _observe(estimator: Any, parts: list[NoiseSample]) -> None:
    """Update the noise estimate from a few entries of all blocks."""
    V, H = pooled(parts)
    nothing = np.zeros(V.shape[1], V.dtype)
    codes = Codes(H, np.zeros_like(V), nothing, nothing, np.ones(len(nothing), np.bool_))
    W = estimator.components_.T
    estimator._observe(Batch(V, None), codes, W[:: _feature_step(len(W))])


def _progress(estimator: Any, total: int | None) -> Progress:
    observed, share = estimator.n_samples_seen_, estimator.outlier_share_
    return Progress(observed, total, estimator.objective_, share)


def _encode(X: Any, model: Any, blocks: int) -> Report | None:
    """Encode a block: the task of a worker in a round."""
    W, rows = model.components_.T, X.shape[0]
    batch = batch_of(model, _buffered_rows(X, model, blocks), W.dtype)
    if batch is None:
        return None
    with few_threads(len(W), W.shape[1], min(batch.V.shape[1], MAX_CHUNK_SIZE)):
        update = model._update()
        codes = model._tune(batch).encode(batch.V, W, observed=batch.observed)
        lesson = model._lesson(batch, codes, W)
        latest = update.summarise(W, batch.V, lesson, batch.observed)
    if isinstance(model, ORNMF):
        latest = latest._replace(n_samples=np.asarray(float(rows)))
    F, B = batch.V.shape
    every = _feature_step(F)
    noise = noise_sample(batch, codes.H, every, slice(None, None, spread(-(-F // every), B)[1]))
    share, usual = model._outlier_share(batch, codes), look(batch, codes, model.code_prior_)
    return Report(latest, noise, usual, share, entries_of(batch), rows)


def _leftovers(X: Any, model: Any, moved: Array, count: int) -> WorstResiduals | None:
    """Encode a block again, and return its largest residuals under the updated dictionary."""
    W = model.components_.T
    batch = batch_of(model, X, W.dtype)
    if batch is None:
        return None
    with few_threads(len(W), W.shape[1], min(batch.V.shape[1], MAX_CHUNK_SIZE)):
        codes = model._tune(batch).encode(batch.V, W, observed=batch.observed)
        return worst_residuals(moved, batch.V, codes, count)


def _buffered_rows(X: Any, model: Any, blocks: int) -> Any:
    """Return the rows to encode: for OR-NMF the latest ones, equally many of each block."""
    size = model._kept() if isinstance(model, ORNMF) else None
    return X if size is None else X[-max(1, size // blocks) :]


def _feature_step(F: int) -> int:
    """Return the step between the features of the noise estimate, the same in all blocks."""
    return spread(F, 1)[0]
