"""Batch NMF with outliers: codes and outliers stay with their blocks, sums come to the centre."""

from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.distributed._crews import Crew
from thalweg.distributed._model import (
    Glimpse,
    Sample,
    batch_of,
    entries_of,
    glimpse,
    pooled,
    sample,
    travelling,
)
from thalweg.distributed._plan import Plan
from thalweg.encoders import Codes
from thalweg.estimators import Progress
from thalweg.estimators._input import Batch, as_batch, check_data
from thalweg.estimators._parameters import check_count, generator
from thalweg.estimators._streaming import outlier_share
from thalweg.estimators._threads import few_threads
from thalweg.updates._revive import Leftovers, dead_atoms, leftovers, replace_atoms
from thalweg.updates.batch_fast import BatchFast

__all__ = ["run"]


class Shared(NamedTuple):
    """What all blocks get: the settings, and the part of the state that is the dictionary's."""

    model: Any
    dictionary: dict[str, Array]

    def method(self) -> Any:
        """Return the batch method."""
        return self.model._method(self.dictionary["W"].shape[1])


class Kept(NamedTuple):
    """A block after a round; all but ``state`` goes to the centre."""

    state: Any
    sums: Any
    seen: Glimpse
    rows: int


class Look(NamedTuple):
    """What a block adds to the objective, and its outliers."""

    loss: float
    outliers: float
    entries: int


def run(estimator: Any, crew: Crew, plan: Plan) -> None:
    """Fit round by round; it is what ``fit`` does with all blocks in one place."""
    together = len(crew.blocks)
    done, first = plan.resumed(estimator, together), sample(crew, estimator)
    W = estimator.components_.T if done else _begin(estimator, first)
    everyone, K = range(len(crew.blocks)), W.shape[1]
    state = estimator._method(K).start(np.empty((0, len(W)), W.dtype).T, W, None)
    every_feature, columns = first.columns()
    wanted = [(every_feature, columns[i] if i < len(columns) else []) for i in everyone]
    shared, kept, calm = None, [None for _ in everyone], estimator._calm()
    for number in range(done + 1, (plan.rounds or check_count("max_iter", estimator.max_iter)) + 1):
        method = estimator._method(K)
        shared = shared or _share(estimator, crew, method, state)
        each = [list(pair) for pair in zip(wanted, kept, strict=True)]
        kept = crew.map("encode-block", _visit, everyone, shared, each=each)
        reports = crew.collect(crew.follow("statistics", _report, kept), everyone)
        reports = [report for report in reports if report is not None]
        estimator.n_samples_seen_ = sum(report.rows for report in reports)
        sums = method.merge([report.sums for report in reports])
        state = method.move(state, sums)
        if isinstance(method, BatchFast) and method.update.revives:
            state = _revived(crew, method, state, sums, shared, kept)
        shared = _share(estimator, crew, method, state)
        estimator.n_iter_ = number
        _note(estimator, method.factors(state).W, crew, shared, kept)
        if number <= calm.settling:
            V, H = pooled([report.seen for report in reports])
            estimator._settle(Batch(V, None), method.factors(state).W[::every_feature], H)
            shared = None  # the weight has changed
        plan.note(estimator, number, _progress(estimator), together)
        if calm.reached(number, estimator.objective_):
            break
    plan.finish(estimator, estimator.n_iter_, together)


def _count(estimator: Any) -> int:
    return check_count("n_components", estimator.n_components)


def _begin(estimator: Any, first: Sample) -> Array:
    batch = as_batch(check_data(estimator, first.X, reset=True))
    with few_threads(batch.V.shape[0], _count(estimator), batch.V.shape[1]):
        W: Array = estimator._begin(batch, generator(estimator.random_state))
    return W


def _share(estimator: Any, crew: Crew, method: Any, state: Any) -> Any:
    dictionary = {name: getattr(state, name) for name in method.shared}
    return crew.share(Shared(travelling(estimator, "components_"), dictionary))


def _revived(crew: Crew, method: Any, state: Any, sums: Any, shared: Any, kept: list[Any]) -> Any:
    """Return the state with dead atoms replaced by what all blocks explain worst."""
    dead = dead_atoms(sums, method.update.frozen)
    if not dead:
        return state
    everyone = range(len(crew.blocks))
    lost = crew.map("revive-block", _leftovers, everyone, shared, state.W, len(dead), each=kept)
    found = [part for part in crew.collect(lost, everyone) if part is not None]
    W, _ = replace_atoms(state.W, sums, dead, found, method.update.constraint)
    return state._replace(W=W)


def _note(estimator: Any, W: Array, crew: Crew, shared: Any, kept: list[Any]) -> None:
    everyone = range(len(crew.blocks))
    looks = crew.collect(crew.map("loss-block", _look, everyone, shared, each=kept), everyone)
    looks = [look for look in looks if look is not None]
    loss = sum(look.loss for look in looks) / estimator.n_samples_seen_
    entries = sum(look.entries for look in looks)
    share = sum(look.outliers for look in looks) / max(entries, 1)
    estimator._note(W, loss + estimator._price(W), share)


def _progress(estimator: Any) -> Progress:
    seen, share = estimator.n_samples_seen_, estimator.outlier_share_
    return Progress(seen, None, estimator.objective_, share)


def _visit(X: Any, shared: Shared, mine: list[Any]) -> Kept | None:
    """Move the codes and outliers of a block: what a worker does in a round."""
    (every_feature, columns), kept = mine
    W = shared.dictionary["W"]
    batch = batch_of(shared.model, X, W.dtype)
    if batch is None:
        return None
    method = shared.method()
    with few_threads(len(W), W.shape[1], batch.V.shape[1]):
        state = method.start(batch.V, W, batch.seen) if kept is None else kept.state
        state, sums = method.visit(batch.V, state._replace(**shared.dictionary), batch.seen)
    seen = glimpse(batch, method.factors(state).H, every_feature, np.asarray(columns, np.intp))
    bare = state._replace(**dict.fromkeys(method.shared))
    return Kept(bare, sums, seen, batch.V.shape[1])


def _report(kept: Kept | None) -> Kept | None:
    """Return what the centre needs of a block."""
    return None if kept is None else kept._replace(state=None)


def _look(X: Any, shared: Shared, kept: Kept | None) -> Look | None:
    """Return what a block adds to the objective at the dictionary as it is now."""
    W = shared.dictionary["W"]
    batch = batch_of(shared.model, X, W.dtype)
    if batch is None or kept is None:
        return None
    with few_threads(len(W), W.shape[1], batch.V.shape[1]):
        factors = shared.method().factors(kept.state._replace(**shared.dictionary))
        losses = shared.model._losses(batch, factors)
    R = factors.R if batch.seen is None else factors.R * batch.seen
    entries = entries_of(batch)
    return Look(float(np.sum(losses)), entries * outlier_share(batch, R), entries)


def _leftovers(
    X: Any, shared: Shared, moved: Array, count: int, kept: Kept | None
) -> Leftovers | None:
    """Return what the moved dictionary explains worst in a block."""
    batch = batch_of(shared.model, X, moved.dtype)
    if batch is None or kept is None:
        return None
    H, R = kept.state.H, kept.state.R
    nothing = np.zeros(H.shape[1], H.dtype)
    codes = Codes(H, R, nothing, nothing, np.ones(len(nothing), np.bool_))
    return leftovers(moved, batch.V, codes, count)
