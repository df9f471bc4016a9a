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
from thalweg.encoders._problem import MOST_AT_ONCE
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
    cap = plan.rounds or check_count("max_iter", estimator.max_iter)
    descent, calm = Descent(estimator, crew, first, W), estimator._calm()
    for number in range(done + 1, cap + 1):
        glimpses = descent.advance()
        estimator.n_iter_ = number
        descent.look()
        if number <= calm.settling:
            descent.settle(glimpses)
        seen, share = estimator.n_samples_seen_, estimator.outlier_share_
        plan.note(estimator, number, Progress(seen, None, estimator.objective_, share), together)
        if calm.reached(number, estimator.objective_):
            break
    estimator._take_usual(first.X)
    plan.finish(estimator, max(done, estimator.n_iter_), together)


def _begin(estimator: Any, first: Sample) -> Array:
    batch = as_batch(check_data(estimator, first.X, reset=True))
    count = check_count("n_components", estimator.n_components)
    with few_threads(batch.V.shape[0], count, min(batch.V.shape[1], MOST_AT_ONCE)):
        W: Array = estimator._begin(batch, generator(estimator.random_state))
    return W


class Descent:
    """A fit on its way: the dictionary's part of the state is here, the samples' with blocks."""

    def __init__(self, estimator: Any, crew: Crew, first: Sample, W: Array) -> None:
        self.estimator, self.crew, self.everyone = estimator, crew, range(len(crew.blocks))
        self.method = estimator._method(W.shape[1])
        self.state = self.method.start(np.empty((0, len(W)), W.dtype).T, W, None)
        self.every, columns = first.columns()
        nothing = np.zeros(0, np.intp)
        self.columns = [columns[i] if i < len(columns) else nothing for i in self.everyone]
        self.kept: list[Any] = [None for _ in self.everyone]
        self.shared = self._share()

    def advance(self) -> list[Glimpse]:
        """Make a round, and return what is to be seen of the noise."""
        mine = [[self.every, *pair] for pair in zip(self.columns, self.kept, strict=True)]
        self.kept = self.crew.map("encode-block", _visit, self.everyone, self.shared, each=mine)
        handles = self.crew.follow("statistics", _report, self.kept)
        reports = [one for one in self.crew.collect(handles, self.everyone) if one is not None]
        self.estimator.n_samples_seen_ = sum(report.rows for report in reports)
        sums = self.method.merge([report.sums for report in reports])
        self.state = self.method.move(self.state, sums)
        if isinstance(self.method, BatchFast) and self.method.update.revives:
            self._revive(self.method, sums)
        self.shared = self._share()
        return [report.seen for report in reports]

    def look(self) -> None:
        """Note the objective and the share of outliers at the dictionary as it is now."""
        handles = self.crew.map("loss-block", _look, self.everyone, self.shared, each=self.kept)
        looks = [one for one in self.crew.collect(handles, self.everyone) if one is not None]
        loss = sum(look.loss for look in looks) / self.estimator.n_samples_seen_
        share = sum(look.outliers for look in looks) / max(sum(look.entries for look in looks), 1)
        W = self.method.factors(self.state).W
        self.estimator._note(W, loss + self.estimator._price(W), share)

    def settle(self, glimpses: list[Glimpse]) -> None:
        """Take an automatic weight of the outliers from the residual."""
        V, H = pooled(glimpses)
        W = self.method.factors(self.state).W
        self.estimator._settle(Batch(V, None), W[:: self.every], H)
        self.method = self.estimator._method(W.shape[1])
        self.shared = self._share()

    def _revive(self, method: BatchFast, sums: Any) -> None:
        """Replace dead atoms by what all blocks explain worst."""
        dead = dead_atoms(sums, method.update.frozen)
        if not dead:
            return
        W, count = self.state.W, len(dead)
        handles = self.crew.map(
            "revive-block", _leftovers, self.everyone, self.shared, W, count, each=self.kept
        )
        found = [one for one in self.crew.collect(handles, self.everyone) if one is not None]
        W, _ = replace_atoms(W, sums, dead, found, method.update.constraint)
        self.state = self.state._replace(W=W)

    def _share(self) -> Any:
        dictionary = {name: getattr(self.state, name) for name in self.method.shared}
        return self.crew.share(Shared(travelling(self.estimator, "components_"), dictionary))


def _visit(X: Any, shared: Shared, mine: list[Any]) -> Kept | None:
    """Move the codes and outliers of a block: what a worker does in a round."""
    every_feature, columns, kept = mine
    W = shared.dictionary["W"]
    batch = batch_of(shared.model, X, W.dtype)
    if batch is None:
        return None
    method = shared.method()
    with few_threads(len(W), W.shape[1], min(batch.V.shape[1], MOST_AT_ONCE)):
        state = method.start(batch.V, W, batch.seen) if kept is None else kept.state
        state, sums = method.visit(batch.V, state._replace(**shared.dictionary), batch.seen)
    seen = glimpse(batch, method.factors(state).H, every_feature, columns)
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
