"""What batch NMF with outliers does with one block of samples, here or elsewhere."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thalweg._threads import few_threads
from thalweg._typing import Array, Indices
from thalweg.encoders import Codes
from thalweg.encoders.columns import MAX_CHUNK_SIZE
from thalweg.learning.batches import Batch, in_standard_deviations, n_observed, outlier_share
from thalweg.learning.noise import NoiseSample, noise_sample
from thalweg.learning.resampling import draw
from thalweg.learning.rounds import BlockLoss
from thalweg.noise.leverage import studentised
from thalweg.noise.residual_counts import ResidualCounts
from thalweg.updates.atom_replacement import WorstResiduals, worst_residuals

if TYPE_CHECKING:
    from thalweg.learning.robust_rounds import RobustRounds


class Shared(NamedTuple):
    """What all blocks need in a round: the method, and the dictionary part of its state."""

    learner: "RobustRounds"
    outlier_weight: float
    dictionary: dict[str, Array]
    every_feature: int
    relative_scales: Array | None = None
    counts_residuals: bool = False

    @property
    def method(self) -> Any:
        return self.learner.method(self.outlier_weight, self.relative_scales)

    @property
    def shape(self) -> tuple[int, int]:
        F, K = self.dictionary["W"].shape
        return F, K


class BlockState(NamedTuple):
    """The state of a block after a round, which stays where the block is, and its statistics."""

    state: Any
    sums: Any
    noise: NoiseSample
    n_samples: int
    total_weight: float
    residual_counts: ResidualCounts | None = None


def visit(batch: Batch, shared: Shared, columns: Indices, kept: BlockState | None) -> BlockState:
    """Update the codes and outliers of a block."""
    V, observed, weight = batch
    method = shared.method
    with few_threads(*shared.shape, min(V.shape[1], MAX_CHUNK_SIZE)):
        state = method.start(V, shared.dictionary["W"], observed) if kept is None else kept.state
        state, sums = method.visit(V, state._replace(**shared.dictionary), observed, weight)
        factors, counts = method.factors(state), None
        if shared.counts_residuals:
            residuals = studentised(
                V, factors.W, factors.H, factors.R, observed, shared.relative_scales
            )
            drawn = draw(batch)
            counted = batch.columns(drawn)
            counts = ResidualCounts.of(
                residuals[:, drawn], counted.mask, in_standard_deviations(counted)
            )
    noise = noise_sample(batch, factors.H, shared.every_feature, columns)
    own = state._replace(**dict.fromkeys(method.shared))
    return BlockState(own, sums, noise, V.shape[1], batch.total_weight, counts)


def without_state(kept: BlockState | None) -> BlockState | None:
    return None if kept is None else kept._replace(state=None)


def block_loss(batch: Batch, shared: Shared, kept: BlockState | None) -> BlockLoss | None:
    """Return the contribution of a block to the objective for the current dictionary."""
    if kept is None:
        return None
    with few_threads(*shared.shape, batch.V.shape[1]):
        factors = shared.method.factors(kept.state._replace(**shared.dictionary))
        losses = shared.learner.losses(
            batch, factors, shared.outlier_weight, shared.relative_scales
        )
    n_entries = n_observed(batch)
    share = outlier_share(batch, factors.R)
    if batch.sample_weight is not None:
        losses = losses * batch.sample_weight
    return BlockLoss(float(np.sum(losses)), n_entries * share, n_entries)


def leftovers(
    batch: Batch, target: tuple[Array, int], kept: BlockState | None
) -> WorstResiduals | None:
    """Return the largest residuals of a block under the new dictionary."""
    if kept is None:
        return None
    W, count = target
    H, R = kept.state.H, kept.state.R
    nothing = np.zeros(H.shape[1], H.dtype)
    codes = Codes(H, R, nothing, nothing, np.ones(len(nothing), np.bool_))
    return worst_residuals(W, batch.V, codes, count)
