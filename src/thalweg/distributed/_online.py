"""Distributed streaming estimators: the blocks of a round are one batch."""

from typing import Any, NamedTuple

from thalweg._checks import check_count, generator
from thalweg._threads import few_threads
from thalweg._typing import Array
from thalweg.distributed._executors import Executor
from thalweg.distributed._model import BlockModel, sample, sent_copy
from thalweg.distributed._plan import Plan
from thalweg.encoders.columns import MAX_CHUNK_SIZE
from thalweg.errors import InputError, ParameterError
from thalweg.estimators import ORNMF, Progress
from thalweg.estimators.validation import check_data
from thalweg.learning.online import OnlineLearner
from thalweg.learning.online_state import BlockSummary, OnlineState
from thalweg.updates.atom_replacement import WorstResiduals

__all__ = ["Shared", "run", "shared_of", "summarise"]


class Shared(NamedTuple):
    """What the workers need in a round."""

    model: BlockModel
    learner: OnlineLearner
    state: OnlineState
    n_blocks: int


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
        progress = Progress(
            estimator.n_samples_seen_, total, estimator.objective_, estimator.outlier_share_
        )
        plan.note(estimator, number, progress, together)
    plan.finish(estimator, max(done, len(groups)), together)


def _begin(estimator: Any, executor: Executor, n_blocks: int) -> None:
    """Initialise the estimator from the first rows of the first round."""
    first = sample(executor, estimator)
    X = check_data(estimator, first.X, reset=True)
    learner = estimator.find_rank(X).first_learner()
    form = learner.form(X)
    batch = form.batch(X[: sum(first.counts[:n_blocks])])
    with few_threads(X.shape[1], learner.model.n_components, X.shape[0]):
        state = learner.init(batch, form, generator(estimator.random_state))
        estimator.set_state(learner, state)


def _round(estimator: Any, executor: Executor, group: list[int], total: int | None) -> None:
    learner: OnlineLearner = estimator.make_learner()
    state: OnlineState = estimator.get_state()
    shared = executor.share(shared_of(estimator, learner, state, len(group)))
    handles = executor.map("encode-block", summarise, group, shared)
    summaries = [one for one in executor.collect(handles, group) if one is not None]
    if not summaries:
        raise InputError("A round must have rows, got empty blocks only. Check the blocks.")
    F, K = state.W.shape
    with few_threads(F, K, K):
        state = learner.combine(state, summaries)
        dead = learner.dead_atoms(state)
        if dead:
            lost = executor.map(
                "replace-atoms-block", _leftovers, group, shared, state.W, len(dead)
            )
            found = [part for part in executor.collect(lost, group) if part is not None]
            state = learner.replace_atoms(state, dead, found)
        estimator.set_state(learner, state)
        estimator.report(learner, state, total)


def shared_of(estimator: Any, learner: OnlineLearner, state: OnlineState, n_blocks: int) -> Shared:
    """Return what the workers need, without the statistics and without large parameters."""
    model = BlockModel(sent_copy(estimator, "components_"), state.form, state.W.dtype)
    return Shared(model, learner.without_initial(), state._replace(statistics=None), n_blocks)


def summarise(X: Any, shared: Shared) -> BlockSummary | None:
    """Encode a block: the task of a worker in a round."""
    batch, (F, K) = shared.model.batch(X), shared.state.W.shape
    if batch is None:
        return None
    with few_threads(F, K, min(batch.V.shape[1], MAX_CHUNK_SIZE)):
        return shared.learner.summarise(shared.state, batch, shared.n_blocks)


def _leftovers(X: Any, shared: Shared, moved: Array, count: int) -> WorstResiduals | None:
    """Encode a block again, and return its largest residuals under the updated dictionary."""
    batch, (F, K) = shared.model.batch(X), shared.state.W.shape
    if batch is None:
        return None
    with few_threads(F, K, min(batch.V.shape[1], MAX_CHUNK_SIZE)):
        return shared.learner.worst_residuals(shared.state, batch, moved, count)
