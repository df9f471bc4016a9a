"""Distributed RobustNMF: codes and outliers stay on the workers, sums go to the central process."""

from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.distributed._executors import Executor
from thalweg.distributed._model import (
    NoiseSample,
    Sample,
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
from thalweg.estimators import Progress
from thalweg.estimators._input import Batch, as_batch, check_data
from thalweg.estimators._parameters import check_count, generator
from thalweg.estimators._streaming import outlier_share
from thalweg.estimators._threads import few_threads
from thalweg.updates.atom_replacement import (
    WorstResiduals,
    dead_atoms,
    replace_atoms,
    worst_residuals,
)
from thalweg.updates.batch_fast import BatchFast

__all__ = ["run"]


class Shared(NamedTuple):
    """The data sent to all blocks: the estimator, and the dictionary part of the state."""

    model: Any
    dictionary: dict[str, Array]

    def method(self) -> Any:
        """Return the batch method."""
        return self.model._method(self.dictionary["W"].shape[1])


class BlockState(NamedTuple):
    """The state and statistics of a block after a round; ``state`` stays on the worker."""

    state: Any
    sums: Any
    noise: NoiseSample
    rows: int


class BlockLoss(NamedTuple):
    """The contribution of a block to the objective, and its number of outliers."""

    loss: float
    outliers: float
    entries: int


def run(estimator: Any, executor: Executor, plan: Plan) -> None:
    """Fit in rounds, with the iterations of ``RobustNMF.fit``."""
    together = len(executor.blocks)
    done, first = plan.resumed(estimator, together), sample(executor, estimator)
    W = estimator.components_.T if done else _begin(estimator, first)
    max_rounds = plan.rounds or check_count("max_iter", estimator.max_iter)
    descent, calm = Descent(estimator, executor, first, W), estimator._calm()
    for number in range(done + 1, max_rounds + 1):
        noise_samples = descent.advance()
        estimator.n_iter_ = number
        descent.evaluate()
        if number <= calm.settling:
            descent.settle(noise_samples)
        observed, share = estimator.n_samples_seen_, estimator.outlier_share_
        plan.note(
            estimator, number, Progress(observed, None, estimator.objective_, share), together
        )
        if calm.reached(number, estimator.objective_):
            break
    estimator._estimate_code_prior(first.X)
    plan.finish(estimator, max(done, estimator.n_iter_), together)


def _begin(estimator: Any, first: Sample) -> Array:
    batch = as_batch(check_data(estimator, first.X, reset=True))
    count = check_count("n_components", estimator.n_components)
    with few_threads(batch.V.shape[0], count, min(batch.V.shape[1], MAX_CHUNK_SIZE)):
        W: Array = estimator._begin(batch, generator(estimator.random_state))
    return W


class Descent:
    """A running fit: this process has the dictionary, the workers have codes and outliers."""

    def __init__(self, estimator: Any, executor: Executor, first: Sample, W: Array) -> None:
        self.estimator, self.executor, self.all_blocks = (
            estimator,
            executor,
            range(len(executor.blocks)),
        )
        self.method = estimator._method(W.shape[1])
        self.state = self.method.start(np.empty((0, len(W)), W.dtype).T, W, None)
        self.every, columns = first.columns()
        nothing = np.zeros(0, np.intp)
        self.columns = [columns[i] if i < len(columns) else nothing for i in self.all_blocks]
        self.states: list[Any] = [None for _ in self.all_blocks]
        self.shared = self._share()

    def advance(self) -> list[NoiseSample]:
        """Run one round, and return samples for the estimate of the noise."""
        own = [[self.every, *pair] for pair in zip(self.columns, self.states, strict=True)]
        self.states = self.executor.map(
            "encode-block", _visit, self.all_blocks, self.shared, each=own
        )
        handles = self.executor.follow("statistics", _report, self.states)
        reports = [
            one for one in self.executor.collect(handles, self.all_blocks) if one is not None
        ]
        self.estimator.n_samples_seen_ = sum(report.rows for report in reports)
        sums = self.method.merge([report.sums for report in reports])
        self.state = self.method.move(self.state, sums)
        if isinstance(self.method, BatchFast) and self.method.update.replaces_dead_atoms:
            self._revive(self.method, sums)
        self.shared = self._share()
        return [report.noise for report in reports]

    def evaluate(self) -> None:
        """Record the objective and the share of outliers for the current dictionary."""
        handles = self.executor.map(
            "loss-block", _block_loss, self.all_blocks, self.shared, each=self.states
        )
        losses = [one for one in self.executor.collect(handles, self.all_blocks) if one is not None]
        loss = sum(one.loss for one in losses) / self.estimator.n_samples_seen_
        share = sum(one.outliers for one in losses) / max(sum(one.entries for one in losses), 1)
        W = self.method.factors(self.state).W
        self.estimator._note(W, loss + self.estimator._price(W), share)

    def settle(self, noise_samples: list[NoiseSample]) -> None:
        """Estimate the automatic outlier weight from the residuals."""
        V, H = pooled(noise_samples)
        W = self.method.factors(self.state).W
        self.estimator._settle(Batch(V, None), W[:: self.every], H)
        self.method = self.estimator._method(W.shape[1])
        self.shared = self._share()

    def _revive(self, method: BatchFast, sums: Any) -> None:
        """Replace dead atoms by the largest residuals over all blocks."""
        dead = dead_atoms(sums, method.update.frozen)
        if not dead:
            return
        W, count = self.state.W, len(dead)
        handles = self.executor.map(
            "replace-atoms-block",
            _leftovers,
            self.all_blocks,
            self.shared,
            W,
            count,
            each=self.states,
        )
        found = [one for one in self.executor.collect(handles, self.all_blocks) if one is not None]
        W, _ = replace_atoms(W, sums, dead, found, method.update.constraint)
        self.state = self.state._replace(W=W)

    def _share(self) -> Any:
        dictionary = {name: getattr(self.state, name) for name in self.method.shared}
        return self.executor.share(Shared(travelling(self.estimator, "components_"), dictionary))


def _visit(X: Any, shared: Shared, own: list[Any]) -> BlockState | None:
    """Update the codes and outliers of a block: the task of a worker in a round."""
    every_feature, columns, kept = own
    W = shared.dictionary["W"]
    batch = batch_of(shared.model, X, W.dtype)
    if batch is None:
        return None
    method = shared.method()
    with few_threads(len(W), W.shape[1], min(batch.V.shape[1], MAX_CHUNK_SIZE)):
        state = method.start(batch.V, W, batch.observed) if kept is None else kept.state
        state, sums = method.visit(batch.V, state._replace(**shared.dictionary), batch.observed)
    noise = noise_sample(batch, method.factors(state).H, every_feature, columns)
    bare = state._replace(**dict.fromkeys(method.shared))
    return BlockState(bare, sums, noise, batch.V.shape[1])


def _report(kept: BlockState | None) -> BlockState | None:
    """Return the statistics of a block without its state, for the central process."""
    return None if kept is None else kept._replace(state=None)


def _block_loss(X: Any, shared: Shared, kept: BlockState | None) -> BlockLoss | None:
    """Return the contribution of a block to the objective for the current dictionary."""
    W = shared.dictionary["W"]
    batch = batch_of(shared.model, X, W.dtype)
    if batch is None or kept is None:
        return None
    with few_threads(len(W), W.shape[1], batch.V.shape[1]):
        factors = shared.method().factors(kept.state._replace(**shared.dictionary))
        losses = shared.model._losses(batch, factors)
    R = factors.R if batch.observed is None else factors.R * batch.observed
    entries = entries_of(batch)
    return BlockLoss(float(np.sum(losses)), entries * outlier_share(batch, R), entries)


def _leftovers(
    X: Any, shared: Shared, moved: Array, count: int, kept: BlockState | None
) -> WorstResiduals | None:
    """Return the largest residuals of a block under the updated dictionary."""
    batch = batch_of(shared.model, X, moved.dtype)
    if batch is None or kept is None:
        return None
    H, R = kept.state.H, kept.state.R
    nothing = np.zeros(H.shape[1], H.dtype)
    codes = Codes(H, R, nothing, nothing, np.ones(len(nothing), np.bool_))
    return worst_residuals(moved, batch.V, codes, count)
