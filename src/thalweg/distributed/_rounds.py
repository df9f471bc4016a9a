"""Distributed batch estimators: codes stay on the workers, sums go to the central process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._checks import check_count, generator
from thalweg._threads import few_threads
from thalweg.distributed._executors import Executor
from thalweg.distributed._model import BlockModel, Sample, sample, sent_copy
from thalweg.distributed._plan import Plan
from thalweg.estimators import Progress, RobustNMF
from thalweg.estimators.validation import check_data
from thalweg.learning.batches import DataForm
from thalweg.learning.robust_rounds import NoisePlan
from thalweg.learning.rounds import RoundState

__all__ = ["run_divergence", "run_robust"]


@dataclass(frozen=True, eq=False)
class ExecutorBlocks:
    """The blocks of an executor, as the learners in rounds use them."""

    executor: Executor
    model: Any  # a handle of the BlockModel

    def share(self, value: Any) -> Any:
        """Return a handle of a value that all blocks need."""
        return self.executor.share(value)

    def map(
        self, task: str, function: Callable[..., Any], shared: Any, *each: Sequence[Any]
    ) -> list[Any]:
        """Return handles of the function applied to the batches of all blocks."""
        which = range(len(self.executor.blocks))
        arguments = [list(one) for one in zip(*each, strict=True)] or [[] for _ in which]
        return self.executor.map(
            task, _on_batch, which, self.model, function, shared, each=arguments
        )

    def follow(self, task: str, function: Callable[[Any], Any], handles: list[Any]) -> list[Any]:
        """Return handles of the function applied to the results of other handles."""
        return self.executor.follow(task, function, handles)

    def collect(self, handles: list[Any]) -> list[Any]:
        """Return the results of all blocks that are not empty."""
        found = self.executor.collect(handles, range(len(self.executor.blocks)))
        return [one for one in found if one is not None]


def _on_batch(X: Any, model: BlockModel, function: Any, shared: Any, each: list[Any]) -> Any:
    batch = model.batch(X)
    return None if batch is None else function(batch, shared, *each)


def run_robust(estimator: Any, executor: Executor, plan: Plan) -> None:
    """Fit in rounds, with the iterations of ``RobustNMF.fit``."""
    done, first = plan.resumed(estimator, len(executor.blocks)), sample(executor, estimator)
    if done == 0:
        X = check_data(estimator, first.X, reset=True)
        learner = estimator.find_rank(X).make_learner()
        batch = DataForm().batch(X)
        with few_threads(X.shape[1], learner.model.n_components, X.shape[0]):
            state = learner.init(batch, generator(estimator.random_state))
        estimator.discard_fit()
    else:
        learner, state = estimator.make_learner(), estimator.get_state()
    counts = first.counts + [0] * (len(executor.blocks) - len(first.counts))
    noise_plan = NoisePlan.of(len(state.W), counts)
    blocks = _blocks(executor, estimator, state)
    report, max_iter = _report(estimator, executor, plan), _max_iter(estimator, plan)
    state = learner.run(state, blocks, noise_plan, max_iter, report)
    _end(estimator, executor, plan, done, state, first)


def run_divergence(estimator: Any, executor: Executor, plan: Plan) -> None:
    """Fit in rounds, with the iterations of ``DivergenceNMF.fit``."""
    done, first = plan.resumed(estimator, len(executor.blocks)), sample(executor, estimator)
    if done == 0:
        X = check_data(estimator, first.X, reset=True)
        learner = estimator.find_rank(X).make_learner()
        form = learner.model.form(X)
        with few_threads(X.shape[1], learner.model.n_components, X.shape[0]):
            state = learner.init(form.batch(X), form, generator(estimator.random_state))
        estimator.discard_fit()
    else:
        learner, state = estimator.make_learner(), estimator.get_state()
    blocks, n_blocks = _blocks(executor, estimator, state), len(executor.blocks)
    watched = estimator.keep_history or estimator.callback is not None or plan.watched
    report, max_iter = _report(estimator, executor, plan), _max_iter(estimator, plan)
    state = learner.run(state, blocks, n_blocks, max_iter, report, watched)
    estimator.finish(state)
    _end(estimator, executor, plan, done, state, first)


def _blocks(executor: Executor, estimator: Any, state: RoundState) -> ExecutorBlocks:
    model = BlockModel(sent_copy(estimator, "components_"), state.form, np.dtype(state.W.dtype))
    return ExecutorBlocks(executor, executor.share(model))


def _max_iter(estimator: Any, plan: Plan) -> int:
    return plan.rounds or check_count("max_iter", estimator.max_iter)


def _report(estimator: Any, executor: Executor, plan: Plan) -> Callable[[RoundState], None]:
    """Return the function that publishes the state of a round and notes it in the plan."""

    def report(state: RoundState) -> None:
        estimator.set_state(state)
        progress = Progress(state.n_samples, None, state.objective, state.outlier_share)
        plan.note(estimator, state.n_iter, progress, len(executor.blocks))

    return report


def _end(
    estimator: Any, executor: Executor, plan: Plan, done: int, state: RoundState, first: Sample
) -> None:
    estimator.estimate_code_prior(first.X)
    estimator.order_components()
    if isinstance(estimator, RobustNMF):
        estimator.count_residuals(first.X)
    plan.finish(estimator, max(done, state.n_iter), len(executor.blocks))
    if plan.rounds is None:
        estimator.warn_unless_converged(state)
