"""Batch NMF with outliers in rounds over all samples: [O] S-2."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from thalweg._threads import map_in_threads
from thalweg._typing import Array, Indices
from thalweg.encoders.columns import chunks, times
from thalweg.encoders.entry_weights import are_weights
from thalweg.learning._robust_blocks import (
    BlockState,
    Shared,
    block_loss,
    leftovers,
    visit,
    without_state,
)
from thalweg.learning._robust_schedule import Schedule
from thalweg.learning.batches import Batch, DataForm
from thalweg.learning.noise import estimate_noise, pooled, sampling_steps
from thalweg.learning.robust import RobustModel
from thalweg.learning.rounds import BlockTasks, RoundState, total_loss
from thalweg.noise.relative_scales import relative_scales
from thalweg.prox import Prox
from thalweg.prox.orthant import Orthant
from thalweg.solvers import MatrixSolver
from thalweg.solvers.block_coordinate import BlockCoordinate
from thalweg.updates import Factors
from thalweg.updates.atom_replacement import (
    dead_atoms,
    replace_atoms,
)
from thalweg.updates.batch_admm import BatchAdmm
from thalweg.updates.batch_fast import BatchFast
from thalweg.updates.batch_pgd import BatchPgd
from thalweg.updates.surrogate import Surrogate

__all__ = ["NoisePlan", "RobustRounds"]


class NoisePlan(NamedTuple):
    """The entries from which the noise is estimated.

    Attributes
    ----------
    every_feature : int
        Step between features.
    columns : list of arrays of indices
        Samples of each block.

    Examples
    --------
    >>> from thalweg.learning.robust_rounds import NoisePlan
    >>> NoisePlan.of(4096, [16, 16]).every_feature
    4
    """

    every_feature: int
    columns: list[Indices]

    @staticmethod
    def of(n_features: int, n_samples: list[int]) -> "NoisePlan":
        """Return evenly spaced entries of blocks with these numbers of samples."""
        every_feature, every_sample = sampling_steps(n_features, sum(n_samples))
        chosen = np.arange(0, sum(n_samples), every_sample)
        ends = np.cumsum(n_samples)
        inside = [
            chosen[(end - n <= chosen) & (chosen < end)] - (end - n)
            for n, end in zip(n_samples, ends, strict=True)
        ]
        return NoisePlan(every_feature, inside)


@dataclass(frozen=True, eq=False)
class RobustRounds:
    """Codes and outliers of all samples, then the dictionary, in each round.

    ``min over W, H, R of mean_n 1/2 |v_n - W h_n - r_n|^2 + g(r_n) + omega(h_n) + penalty(W)``

    Parameters
    ----------
    model : RobustModel
        Encoders, and the initial dictionary.
    solver : {"fast", "pgd", "admm"}
        Exact minimisation in turn, or BPGD and BADMM of [O].
    matrix_solver : MatrixSolver
        Minimises over the dictionary with ``solver="fast"``.
    code_penalty : Prox
        Penalty omega of the codes.
    l1, l2 : float
        Elastic-net weights of the dictionary.
    tol : float
        Relative change of the objective below which the rounds stop; 0 never stops them.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.fast import Fast
    >>> from thalweg.learning.batches import as_batch
    >>> from thalweg.learning.robust import RobustModel
    >>> from thalweg.learning.robust_rounds import NoisePlan, RobustRounds
    >>> from thalweg.learning.rounds import LocalBlocks
    >>> from thalweg.prox.l1 import L1
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> batch = as_batch(np.outer(np.arange(1.0, 9.0), [1.0, 2.0]))
    >>> learner = RobustRounds(RobustModel(1, Fast(), L1(), 9.0, L2Ball(), np.empty((2, 0))))
    >>> state = learner.init(batch, np.random.default_rng(0))
    >>> plan, blocks = NoisePlan.of(2, [8]), LocalBlocks(lambda: [batch])
    >>> learner.run(state, blocks, plan, max_iter=20).W.ravel().round(3)
    array([0.447, 0.894])
    """

    model: RobustModel
    solver: str = "fast"
    matrix_solver: MatrixSolver = field(default_factory=BlockCoordinate)
    code_penalty: Prox = field(default_factory=Orthant)
    l1: float = 0.0
    l2: float = 0.0
    tol: float = 1e-4

    def init(self, batch: Batch, rng: np.random.Generator) -> RoundState:
        """Return the state before the first round, from some samples."""
        W = self.model.dictionary(batch, rng)
        return RoundState(W, DataForm(), outlier_weight=self.model.first_weight(batch, W))

    def method(self, outlier_weight: float, scales: Array | None = None) -> Any:
        """Return the batch method with an outlier weight, and noise scales of the features."""
        dictionary: dict[str, Any] = {
            "constraint": self.model.constraint,
            "l1": self.l1,
            "l2": self.l2,
            "frozen": self.model.frozen.shape[1],
        }
        if self.solver == "fast":
            encoder = self.model.encoder(outlier_weight, scales)
            return BatchFast(encoder, Surrogate(solver=self.matrix_solver, **dictionary))
        method = BatchPgd if self.solver == "pgd" else BatchAdmm
        outliers = self.model.outliers(outlier_weight)
        return method(outliers=outliers, penalty=self.code_penalty, **dictionary)

    def run(
        self,
        state: RoundState,
        blocks: BlockTasks,
        plan: NoisePlan,
        max_iter: int,
        report: Callable[[RoundState], bool | None] = lambda state: None,
    ) -> RoundState:
        """Return the state after the rounds; ``report`` is called after each, and may stop."""
        descent, schedule = _Descent(self, blocks, plan, state), Schedule(self, state)
        for n_iter in range(state.n_iter + 1, max_iter + 1):
            state = descent.round(state, n_iter, *schedule.follows(n_iter))
            state = state._replace(converged=schedule.ends(n_iter, state.objective))
            if report(state) or state.converged:
                break
        return state

    def losses(
        self, batch: Batch, factors: Factors, outlier_weight: float, scales: Array | None = None
    ) -> Array:
        """Return the loss of each sample, [O] (S-7), without the penalty of the dictionary."""
        W, outliers = factors.W, self.model.outliers(outlier_weight)

        def chunk_losses(columns: slice) -> Array:
            V, H, R = (array[:, columns] for array in (batch.V, factors.H, factors.R))
            E = V - times(W, H) - R
            if scales is not None:
                E, R = E / scales[:, None], R / scales[:, None]
            if batch.observed is not None:
                known = batch.observed[:, columns]
                factor = np.sqrt(known) if are_weights(known) else known
                E, R = E * factor, R * factor
            losses: Array = 0.5 * np.einsum("fb,fb->b", E, E)
            return losses + outliers.value(R) + self.code_penalty.value(H)

        pieces = chunks(batch.V, W.shape[1]) or [slice(0)]
        return np.concatenate(list(map_in_threads(chunk_losses, pieces)))

    def penalty(self, W: Array) -> float:
        """Return the penalty of the dictionary."""
        return float(self.l1 * W.sum() + 0.5 * self.l2 * np.vdot(W, W))


class _Descent:
    """A run: the dictionary is here, codes and outliers are with the blocks."""

    def __init__(
        self, learner: RobustRounds, blocks: BlockTasks, plan: NoisePlan, state: RoundState
    ) -> None:
        self.learner, self.blocks, self.plan = learner, blocks, plan
        self.weight, self.scales, W = state.outlier_weight, state.relative_scales, state.W
        self.counts_residuals = False
        self.method = learner.method(self.weight, self.scales)
        self.state = self.method.start(np.empty((0, len(W)), W.dtype).T, W, None)
        self.block_states: list[Any] = [None for _ in plan.columns]
        self.shared = self._share()

    def round(
        self, state: RoundState, n_iter: int, follows_noise: bool, follows_scales: bool
    ) -> RoundState:
        """Update codes, outliers and dictionary once, and evaluate the objective."""
        if self.counts_residuals != follows_scales:
            self.counts_residuals = follows_scales
            self.shared = self._share()
        self.block_states = self.blocks.map(
            "encode-block", visit, self.shared, self.plan.columns, self.block_states
        )
        handles = self.blocks.follow("statistics", without_state, self.block_states)
        reports = self.blocks.collect(handles)
        sums = self.method.merge([report.sums for report in reports])
        self.state = self.method.move(self.state, sums)
        if isinstance(self.method, BatchFast) and self.method.update.replaces_dead_atoms:
            self._replace_dead_atoms(self.method, sums)
        self.shared = self._share()
        W = self.method.factors(self.state).W
        n_samples = sum(report.n_samples for report in reports)
        handles = self.blocks.map("loss-block", block_loss, self.shared, self.block_states)
        loss, share = total_loss(self.blocks.collect(handles))
        total_weight = sum(report.total_weight for report in reports)
        objective = loss / total_weight + self.learner.penalty(W)
        if follows_noise:
            scale = self._follow_noise(W, sums, reports)
            state = state._replace(noise_scale=scale, relative_scales=self.scales)
        return state._replace(
            W=W,
            outlier_weight=self.weight,
            n_samples=n_samples,
            n_iter=n_iter,
            objective=objective,
            outlier_share=share,
        )

    def _follow_noise(self, W: Array, sums: Any, reports: list[BlockState]) -> float | Array:
        """Estimate noise scales and the automatic outlier weight; return the noise scale."""
        if self.counts_residuals:
            counts = [one.residual_counts for one in reports if one.residual_counts is not None]
            merged = counts[0].merged(counts[1:])
            found = relative_scales(merged, W, sums.A, self.scales, in_sample=True)
            before = 1.0 if self.scales is None else self.scales
            self.scales = np.sqrt(found * before).astype(W.dtype)
        V, H, weights = pooled([report.noise for report in reports])
        every = self.plan.every_feature
        units = None if self.scales is None else self.scales[::every]
        noise = estimate_noise(Batch(V, weights), W[::every], H, units)
        if self.learner.model.outlier_weight is None:
            self.weight = noise.outlier_weight or 1.0
        self.method = self.learner.method(self.weight, self.scales)
        self.shared = self._share()
        scale = noise.positive_scale
        return scale if self.scales is None else scale * self.scales

    def _replace_dead_atoms(self, method: BatchFast, sums: Any) -> None:
        """Replace columns of W that no sample uses by the largest residuals."""
        dead = dead_atoms(sums, method.update.frozen)
        if not dead:
            return
        target = self.blocks.share((self.state.W, len(dead)))
        found = self.blocks.collect(
            self.blocks.map("replace-atoms-block", leftovers, target, self.block_states)
        )
        W, _ = replace_atoms(self.state.W, sums, dead, found, method.update.constraint)
        self.state = self.state._replace(W=W)

    def _share(self) -> Any:
        dictionary = {name: getattr(self.state, name) for name in self.method.shared}
        shared = Shared(
            self.learner,
            self.weight,
            dictionary,
            self.plan.every_feature,
            self.scales,
            self.counts_residuals,
        )
        return self.blocks.share(shared)
