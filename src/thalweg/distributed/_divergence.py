"""Distributed DivergenceNMF: codes stay on the workers, sums go to the central process."""

from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.distributed._executors import Executor
from thalweg.distributed._model import batch_of, sample, travelling
from thalweg.distributed._plan import Plan
from thalweg.estimators import Progress
from thalweg.estimators._input import check_data
from thalweg.estimators._parameters import check_count, choose, generator
from thalweg.estimators._threads import few_threads
from thalweg.estimators.divergence_nmf import EVERY, SOLVERS
from thalweg.updates.batch_multiplicative import BatchMultiplicative

__all__ = ["run"]


class Shared(NamedTuple):
    """The data sent to all blocks: estimator, dictionary, and the factors of its last rescaling."""

    model: Any
    method: BatchMultiplicative
    W: Array
    size: Array


class BlockState(NamedTuple):
    """The state of a block after a round; the codes stay on the worker."""

    H: Any
    parts: Any
    rows: int


class BlockLoss(NamedTuple):
    """The contribution of a block to the objective, and its number of outliers."""

    loss: float
    outliers: float
    entries: int


def run(estimator: Any, executor: Executor, plan: Plan) -> None:
    """Fit in rounds, with the iterations of ``DivergenceNMF.fit``."""
    choose("solver", estimator.solver, SOLVERS)
    together = len(executor.blocks)
    done = plan.resumed(estimator, together)
    W = estimator.components_.T if done else _begin(estimator, executor)
    max_rounds = plan.rounds or check_count("max_iter", estimator.max_iter)
    watched = estimator.keep_history or estimator.callback is not None or plan.watched
    descent, previous = Descent(estimator, executor, W), np.inf
    for number in range(done + 1, max_rounds + 1):
        descent.advance(number)
        due = number % EVERY == 0
        if watched or due or number == max_rounds:
            estimator.n_iter_ = number
            descent.evaluate()
            observed, share = estimator.n_samples_seen_, estimator.outlier_share_
            progress = Progress(observed, None, estimator.objective_, share)
            plan.note(estimator, number, progress, together)
        if due:
            if estimator._done(previous):
                break
            previous = estimator.objective_
    if done < max_rounds:
        estimator._end(descent.method, descent.loss)
    estimator._estimate_code_prior(sample(executor, estimator).X)
    plan.finish(estimator, max(done, estimator.n_iter_), together)


def _begin(estimator: Any, executor: Executor) -> Array:
    count = check_count("n_components", estimator.n_components)
    X = check_data(estimator, sample(executor, estimator).X, reset=True)
    with few_threads(X.shape[1], count, X.shape[0]):
        W: Array = estimator._begin(X, generator(estimator.random_state))
    return W


class Descent:
    """A running fit: this process has the dictionary, the workers have the codes."""

    def __init__(self, estimator: Any, executor: Executor, W: Array) -> None:
        self.estimator, self.executor, self.all_blocks = (
            estimator,
            executor,
            range(len(executor.blocks)),
        )
        self.method = estimator._method()
        self.states: list[Any] = [None for _ in self.all_blocks]
        self.shared: Any = None
        self._place(self.method.place(W), np.ones(W.shape[1], W.dtype))

    def advance(self, number: int) -> None:
        """Run one round: update the codes of all blocks, then the dictionary."""
        self._use(self.method.in_round(number))
        self.states = self.executor.map(
            "encode-block", _encode, self.all_blocks, self._sent(), each=self.states
        )
        handles = self.executor.follow("statistics", _report, self.states)
        reports = [
            one for one in self.executor.collect(handles, self.all_blocks) if one is not None
        ]
        self.estimator.n_samples_seen_ = sum(report.rows for report in reports)
        total = reports[0].parts
        for report in reports[1:]:
            total = total.plus(report.parts)
        self._place(*self.method.move(self.W, total))

    def evaluate(self) -> None:
        """Record the objective and the share of outliers for the current dictionary."""
        losses = self._losses()
        share = sum(one.outliers for one in losses) / max(sum(one.entries for one in losses), 1)
        self.estimator._note(self.W, self._mean(losses), share)

    def loss(self, method: BatchMultiplicative) -> float:
        """Return the objective of a method for the current dictionary."""
        self._use(method)
        return self._mean(self._losses())

    def _losses(self) -> list[BlockLoss]:
        handles = self.executor.map(
            "loss-block", _block_loss, self.all_blocks, self._sent(), each=self.states
        )
        return [one for one in self.executor.collect(handles, self.all_blocks) if one is not None]

    def _mean(self, losses: list[BlockLoss]) -> float:
        return sum(one.loss for one in losses) / int(self.estimator.n_samples_seen_)

    def _use(self, method: BatchMultiplicative) -> None:
        if method is not self.method:
            self.method, self.shared = method, None

    def _place(self, W: Array, size: Array) -> None:
        self.W, self.size, self.shared = W, size, None

    def _sent(self) -> Any:
        """Return the data of all blocks, sent anew only if they have changed."""
        if self.shared is None:
            model = travelling(self.estimator, "components_")
            self.shared = self.executor.share(Shared(model, self.method, self.W, self.size))
        return self.shared


def _encode(X: Any, shared: Shared, kept: BlockState | None) -> BlockState | None:
    """Update the codes of a block: the task of a worker in a round."""
    model, method, W, size = shared
    batch = batch_of(model, X, W.dtype)
    if batch is None:
        return None
    V, observed = batch
    with few_threads(len(W), W.shape[1], V.shape[1]):
        H = method.begin(V, W, observed) if kept is None else kept.H * size[:, None]
        H = method.encode(V, W, H, observed)
        return BlockState(H, method.parts(V, W, H, observed), V.shape[1])


def _report(kept: BlockState | None) -> BlockState | None:
    """Return the state of a block without its codes, for the central process."""
    return None if kept is None else kept._replace(H=None)


def _block_loss(X: Any, shared: Shared, kept: BlockState | None) -> BlockLoss | None:
    """Return the contribution of a block to the objective for the current dictionary."""
    model, method, W, size = shared
    batch = batch_of(model, X, W.dtype)
    if batch is None or kept is None:
        return None
    with few_threads(len(W), W.shape[1], kept.rows):
        H = kept.H * size[:, None]
        loss = kept.rows * method.objective([batch], W, H)
        share, entries = model._share_of(batch, W, H)
    return BlockLoss(loss, share * entries, entries)
