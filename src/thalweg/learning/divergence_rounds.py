"""Batch NMF under a divergence in rounds over all samples; [D] calls it Batch."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np

from thalweg._threads import few_threads
from thalweg._typing import Array
from thalweg.divergences import Divergence, HalfQuadratic
from thalweg.divergences.huber import Huber
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.encoders.columns import times
from thalweg.encoders.divergence_problem import coefficients
from thalweg.encoders.entry_weights import weighted_loss
from thalweg.learning.batches import Batch, DataForm, n_observed, outlier_share
from thalweg.learning.divergence import DivergenceModel
from thalweg.learning.noise import estimate_noise
from thalweg.learning.rounds import BlockLoss, BlockTasks, RoundState, total_loss
from thalweg.updates.batch_fast import BatchFast
from thalweg.updates.batch_least_squares import BatchLeastSquares
from thalweg.updates.batch_multiplicative import BatchMultiplicative
from thalweg.updates.batch_reweighted import BatchReweighted
from thalweg.updates.surrogate import Surrogate

__all__ = ["DivergenceRounds"]

# The objective costs as much as a round. Unless somebody watches, it is evaluated this often.
_EVALUATED_EVERY = 5
# Numbers that the matrices of reweighted least squares may take, one matrix per feature.
_LARGEST_MATRICES = 2**26
# Exact rounds on a sample in which an automatic Huber threshold follows the residuals. It is fixed
# afterwards, so that all rounds minimise the same objective.
_SCALE_ROUNDS = 10
# Zeros of that dictionary would stay zero under multiplicative updates: they start at this share
# of the largest entry of their column.
_LIFTED_ZERO = 0.01


class _Shared(NamedTuple):
    """What all blocks need in a round: method, dictionary, and the rescaling of the codes."""

    method: BatchMultiplicative
    W: Array
    code_factors: Array


class _BlockState(NamedTuple):
    """The codes of a block, which stay where the block is, and its statistics."""

    H: Any
    sums: Any
    n_samples: int
    total_weight: float


@dataclass(frozen=True, eq=False)
class DivergenceRounds:
    """Codes of all samples, then the dictionary, in each round.

    ``min over W, H of mean_n d(v_n | W h_n) + omega(h_n)``

    Parameters
    ----------
    model : DivergenceModel
        Loss, penalty of the codes, constraint and initial dictionary.
    solver : {"auto", "mu", "reweighted"}
        Multiplicative updates or reweighted least squares; ``"auto"`` takes the latter for robust
        losses, and coordinate descent for squares.
    tol : float
        Relative decrease of the objective per round below which the rounds stop; 0 never stops
        them.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.kl import KL
    >>> from thalweg.learning.batches import DataForm, as_batch
    >>> from thalweg.learning.divergence import DivergenceModel
    >>> from thalweg.learning.divergence_rounds import DivergenceRounds
    >>> from thalweg.learning.rounds import LocalBlocks
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.prox.orthant import Orthant
    >>> batch = as_batch(np.outer(np.arange(1.0, 9.0), [1.0, 2.0]))
    >>> learner = DivergenceRounds(DivergenceModel(1, KL(), Orthant(), L2Ball(), np.empty((2, 0))))
    >>> state = learner.init(batch, DataForm(), np.random.default_rng(0))
    >>> learner.run(state, LocalBlocks(lambda: [batch]), 1, max_iter=20).W.ravel().round(3)
    array([0.447, 0.894])
    """

    model: DivergenceModel
    solver: str = "auto"
    tol: float = 1e-4

    def init(self, batch: Batch, form: DataForm, rng: np.random.Generator) -> RoundState:
        """Return the state before the first round, from some samples."""
        self.method(self.model.loss)  # raises if a parameter is invalid
        W = self.model.dictionary(batch, rng)
        loss = self.model.first_loss(batch, W, form)
        if isinstance(self.model.loss, Huber) and self.model.loss.delta is None:
            W, loss = self._with_threshold(batch, form, W, loss)
        return RoundState(W, form, loss=loss)

    def method(self, loss: Divergence) -> BatchMultiplicative:
        """Return the batch method for a loss."""
        model = self.model
        n_features, n_frozen = model.frozen.shape
        l1, l2 = coefficients(model.code_penalty)
        fits = n_features * model.n_components**2 <= _LARGEST_MATRICES
        robust = isinstance(loss, HalfQuadratic) and fits
        if self.solver == "reweighted" or (self.solver == "auto" and robust):
            return BatchReweighted(loss, model.constraint, l1, l2, n_frozen)  # type: ignore[arg-type]
        if self.solver == "auto" and isinstance(loss, SquaredL2):
            return BatchLeastSquares(loss, model.constraint, l1, l2, n_frozen)
        return BatchMultiplicative(loss, model.constraint, l1, l2, n_frozen)

    def run(
        self,
        state: RoundState,
        blocks: BlockTasks,
        n_blocks: int,
        max_iter: int,
        report: Callable[[RoundState], bool | None] = lambda state: None,
        watched: bool = False,
    ) -> RoundState:
        """Return the state after the rounds.

        ``report`` may stop them. It is called whenever the objective was evaluated: in each round
        if ``watched``, else in every fifth and the last.
        """
        if state.n_iter >= max_iter:
            return state
        descent, previous = _Descent(self, blocks, n_blocks, state), inf
        for n_iter in range(state.n_iter + 1, max_iter + 1):
            descent.round(n_iter)
            due = n_iter % _EVALUATED_EVERY == 0
            if watched or due or n_iter == max_iter:
                state = descent.evaluated(state)._replace(n_iter=n_iter)
                state = state._replace(converged=due and self._has_converged(previous, state))
                if report(state):
                    break
            if due:
                if state.converged:
                    break
                previous = state.objective
        return descent.finished(state)

    def _has_converged(self, previous: float, state: RoundState) -> bool:
        limit = _EVALUATED_EVERY * self.tol * state.objective
        return self.tol > 0.0 and bool(previous - state.objective <= limit)

    def _with_threshold(
        self, batch: Batch, form: DataForm, W: Array, loss: Divergence
    ) -> tuple[Array, Divergence]:
        """Find the Huber threshold from the residuals of a good dictionary.

        The rounds start at that dictionary, since they are slow where the threshold is small.
        """
        n_frozen = self.model.frozen.shape[1]
        update = Surrogate(constraint=self.model.constraint, frozen=n_frozen)
        state = BatchFast().start(batch.V, W, batch.observed)
        for _ in range(_SCALE_ROUNDS):
            exact = BatchFast(self.model.encoder(loss, form), update)
            state = exact.advance(batch.V, state, batch.observed, batch.sample_weight)
            loss = self.model.loss_at(estimate_noise(batch, state.W, state.H), loss)
        lifted = np.maximum(state.W, W.dtype.type(_LIFTED_ZERO) * state.W.max(axis=0))
        return np.where(np.arange(W.shape[1]) < n_frozen, W, lifted), loss


class _Descent:
    """A run: the dictionary is here, the codes are with the blocks."""

    def __init__(
        self, learner: DivergenceRounds, blocks: BlockTasks, n_blocks: int, state: RoundState
    ) -> None:
        self.blocks = blocks
        self.method = learner.method(state.loss or learner.model.loss)
        self.W = self.method.place(state.W)
        self.code_factors = np.ones(self.W.shape[1], self.W.dtype)
        self.block_states: list[Any] = [None] * n_blocks
        self.n_samples, self.total_weight = 0, 0.0
        self.sums: Any = None
        self._shared: Any = None

    def round(self, n_iter: int) -> None:
        """Update the codes of all blocks, then the dictionary."""
        self._use(self.method.in_round(n_iter))
        self.block_states = self.blocks.map(
            "encode-block", _encode, self._sent(), self.block_states
        )
        handles = self.blocks.follow("statistics", _without_codes, self.block_states)
        reports = self.blocks.collect(handles)
        self.n_samples = sum(report.n_samples for report in reports)
        self.total_weight = sum(report.total_weight for report in reports)
        total = reports[0].sums
        for report in reports[1:]:
            total = total.plus(report.sums)
        self.W, self.code_factors = self.method.move(self.W, total)
        self.sums, self._shared = total, None

    def evaluated(self, state: RoundState) -> RoundState:
        """Return the state with the objective of the current dictionary and codes."""
        share, loss = 0.0, self.method.total_loss(self.W, self.code_factors, self.sums)
        if loss is None:
            handles = self.blocks.map("loss-block", _block_loss, self._sent(), self.block_states)
            loss, share = total_loss(self.blocks.collect(handles))
        return state._replace(
            W=self.W,
            n_samples=self.n_samples,
            objective=loss / self.total_weight,
            outlier_share=share,
        )

    def finished(self, state: RoundState) -> RoundState:
        """Return the state with the loss itself in the place of a smoothed one."""
        last = self.method.in_round(inf)
        if last is self.method:
            return state
        self._use(last)
        return self.evaluated(state)

    def _use(self, method: BatchMultiplicative) -> None:
        if method is not self.method:
            self.method, self._shared = method, None

    def _sent(self) -> Any:
        """Return a handle of what all blocks need; a new one only if it has changed."""
        if self._shared is None:
            shared = _Shared(self.method, self.W, self.code_factors)
            self._shared = self.blocks.share(shared)
        return self._shared


def _encode(batch: Batch, shared: _Shared, kept: _BlockState | None) -> _BlockState:
    """Update the codes of a block."""
    method, W, factors = shared
    V, observed, weight = batch
    with few_threads(len(W), W.shape[1], V.shape[1]):
        H = method.begin(V, W, observed) if kept is None else kept.H * factors[:, None]
        H = method.encode(V, W, H, observed)
        parts = method.parts(V, W, H, observed, weight)
        return _BlockState(H, parts, V.shape[1], batch.total_weight)


def _without_codes(kept: _BlockState | None) -> _BlockState | None:
    return None if kept is None else kept._replace(H=None)


def _block_loss(batch: Batch, shared: _Shared, kept: _BlockState | None) -> BlockLoss | None:
    """Return the contribution of a block to the objective for the current dictionary."""
    if kept is None:
        return None
    method, W, factors = shared
    with few_threads(len(W), W.shape[1], kept.n_samples):
        H = kept.H * factors[:, None]
        loss = kept.total_weight * method.objective([batch], W, H)
        if not isinstance(method.loss, Huber):
            return BlockLoss(loss, 0.0, 0)
        loss_of = weighted_loss(method.loss, batch.observed)
        share = outlier_share(batch, loss_of.outliers(batch.V, times(W, H)))
    return BlockLoss(loss, share * n_observed(batch), n_observed(batch))
