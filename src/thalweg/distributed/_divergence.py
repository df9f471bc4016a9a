"""Batch NMF under a divergence: codes stay with their blocks, sums come to the centre."""

from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.distributed._crews import Crew
from thalweg.distributed._model import batch_of, sample, travelling
from thalweg.distributed._plan import Plan
from thalweg.estimators import Progress
from thalweg.estimators._input import check_data
from thalweg.estimators._parameters import check_count, choose, generator
from thalweg.estimators._threads import few_threads
from thalweg.estimators.divergence_nmf import EVERY
from thalweg.updates.batch_multiplicative import Parts

__all__ = ["run"]


class Shared(NamedTuple):
    """What all blocks get: settings, dictionary, and by how much its atoms were made smaller."""

    model: Any
    W: Array
    size: Array


class Kept(NamedTuple):
    """A block after a round; its codes do not go to the centre."""

    H: Any
    parts: Parts
    rows: int


class Look(NamedTuple):
    """What a block adds to the objective, and its outliers."""

    loss: float
    outliers: float
    entries: int


def run(estimator: Any, crew: Crew, plan: Plan) -> None:
    """Fit round by round; it is what ``fit`` does with all blocks in one place."""
    choose("solver", estimator.solver, ("mu",))
    together = len(crew.blocks)
    done = plan.resumed(estimator, together)
    W = estimator.components_.T if done else _begin(estimator, crew)
    cap = plan.rounds or check_count("max_iter", estimator.max_iter)
    watched = estimator.keep_history or estimator.callback is not None or plan.watched
    descent, previous = Descent(estimator, crew, W), np.inf
    for number in range(done + 1, cap + 1):
        descent.advance()
        due = number % EVERY == 0
        if watched or due or number == cap:
            estimator.n_iter_ = number
            descent.look()
            seen, share = estimator.n_samples_seen_, estimator.outlier_share_
            progress = Progress(seen, None, estimator.objective_, share)
            plan.note(estimator, number, progress, together)
        if due:
            if estimator._done(previous):
                break
            previous = estimator.objective_
    estimator._take_usual(sample(crew, estimator).X)
    plan.finish(estimator, max(done, estimator.n_iter_), together)


def _begin(estimator: Any, crew: Crew) -> Array:
    count = check_count("n_components", estimator.n_components)
    X = check_data(estimator, sample(crew, estimator).X, reset=True)
    with few_threads(X.shape[1], count, X.shape[0]):
        W: Array = estimator._begin(X, generator(estimator.random_state))
    return W


class Descent:
    """A fit on its way: the dictionary is here, codes are with their blocks."""

    def __init__(self, estimator: Any, crew: Crew, W: Array) -> None:
        self.estimator, self.crew, self.everyone = estimator, crew, range(len(crew.blocks))
        self.method = estimator._method()
        self.kept: list[Any] = [None for _ in self.everyone]
        self._place(self.method.place(W), np.ones(W.shape[1], W.dtype))

    def advance(self) -> None:
        """Make a round."""
        self.kept = self.crew.map(
            "encode-block", _encode, self.everyone, self.shared, each=self.kept
        )
        handles = self.crew.follow("statistics", _report, self.kept)
        reports = [one for one in self.crew.collect(handles, self.everyone) if one is not None]
        self.estimator.n_samples_seen_ = sum(report.rows for report in reports)
        total = reports[0].parts
        for report in reports[1:]:
            total = total.plus(report.parts)
        self._place(*self.method.move(self.W, total))

    def look(self) -> None:
        """Note the objective and the share of outliers at the dictionary as it is now."""
        handles = self.crew.map("loss-block", _look, self.everyone, self.shared, each=self.kept)
        looks = [one for one in self.crew.collect(handles, self.everyone) if one is not None]
        loss = sum(look.loss for look in looks) / self.estimator.n_samples_seen_
        share = sum(look.outliers for look in looks) / max(sum(look.entries for look in looks), 1)
        self.estimator._note(self.W, loss, share)

    def _place(self, W: Array, size: Array) -> None:
        self.W = W
        model = travelling(self.estimator, "components_")
        self.shared = self.crew.share(Shared(model, W, size))


def _encode(X: Any, shared: Shared, kept: Kept | None) -> Kept | None:
    """Update the codes of a block: what a worker does in a round."""
    model, W, size = shared
    batch = batch_of(model, X, W.dtype)
    if batch is None:
        return None
    V, seen = batch
    method = model._method()
    with few_threads(len(W), W.shape[1], V.shape[1]):
        H = method.begin(V, W, seen) if kept is None else kept.H * size[:, None]
        H = method.encode(V, W, H, seen)
        return Kept(H, method.parts(V, W, H, seen), V.shape[1])


def _report(kept: Kept | None) -> Kept | None:
    """Return what the centre needs of a block."""
    return None if kept is None else kept._replace(H=None)


def _look(X: Any, shared: Shared, kept: Kept | None) -> Look | None:
    """Return what a block adds to the objective at the dictionary as it is now."""
    model, W, size = shared
    batch = batch_of(model, X, W.dtype)
    if batch is None or kept is None:
        return None
    with few_threads(len(W), W.shape[1], kept.rows):
        H = kept.H * size[:, None]
        loss = kept.rows * model._method().objective([batch], W, H)
        share, entries = model._share_of(batch, W, H)
    return Look(loss, share * entries, entries)
