"""The loop of streaming factorisations: encode a batch, then update the dictionary."""

from dataclasses import replace
from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.encoders import Codes, Encoder
from thalweg.errors import ParameterError
from thalweg.learning.batches import Batch, DataForm, n_observed, outlier_share
from thalweg.learning.code_prior import (
    FIRST_SAMPLED,
    SAMPLED_EVERY,
    empty_prior,
    estimate_prior,
    merged,
)
from thalweg.learning.noise import (
    noise_sample,
    pooled,
    sampling_steps,
)
from thalweg.learning.online_state import BlockSummary, OnlineState
from thalweg.noise.residual_counts import ResidualCounts
from thalweg.updates import DictionaryUpdate
from thalweg.updates.atom_replacement import (
    WorstResiduals,
    dead_atoms,
    replace_atoms,
    worst_residuals,
)

__all__ = ["SAMPLE_WEIGHT_EXPONENT", "OnlineLearner"]

# Of t samples, sample i has the weight (i / t) ** 8: those encoded by the first dictionaries lose
# their influence. The paper's solvers weigh all samples the same. benchmarks: robust_faces,
# divergences
SAMPLE_WEIGHT_EXPONENT = 8.0
# The share of outliers is averaged over about this many batches.
_SHARE_MEMORY = 10


class OnlineLearner:
    """Base of the learners of a dictionary from batches.

    A learner is a frozen dataclass of checked parameters. It defines what differs between models
    (``first_state`` to ``windows``, most with defaults); the loop is here. :meth:`learn` is
    :meth:`summarise` and :meth:`combine` of one block, in one step.

    Examples
    --------
    >>> from thalweg.learning.composition import Composition
    >>> from thalweg.learning.online import OnlineLearner
    >>> isinstance(Composition(n_components=2), OnlineLearner)
    True
    """

    model: Any  # initial components and frozen columns

    @property
    def frozen(self) -> Array:
        """The columns of W that never change, shape (F, n_frozen)."""
        frozen: Array = self.model.frozen
        return frozen

    def first_state(self, batch: Batch, form: DataForm, rng: np.random.Generator) -> OnlineState:
        """Return the initial dictionary with automatic weights, without statistics."""
        raise NotImplementedError

    def encoder(self, state: OnlineState) -> Encoder:
        """Return the encoder that users get."""
        raise NotImplementedError

    def update(self, state: OnlineState) -> DictionaryUpdate[Any]:
        """Return the dictionary update."""
        raise NotImplementedError

    def form(self, X: Any) -> DataForm:
        """Choose the form of the data from the rows of the first call."""
        return DataForm()

    def training_encoder(self, state: OnlineState) -> Encoder:
        """Return the encoder while learning, which may be less accurate."""
        return self.encoder(state)

    def update_target(self, state: OnlineState, batch: Batch, codes: Codes) -> Codes:
        """Return the codes and outliers to which the dictionary is fitted."""
        return codes

    def follow_noise(
        self, state: OnlineState, batch: Batch, H: Array, every_feature: int = 1
    ) -> OnlineState:
        """Update automatic weights from the residuals of a batch, or of some of its features."""
        return state

    def count_residuals(
        self, state: OnlineState, batch: Batch, codes: Codes
    ) -> ResidualCounts | None:
        """Return the residuals of a batch by size; None if they are not counted."""
        return None

    def add_counts(self, state: OnlineState, latest: ResidualCounts) -> OnlineState:
        """Return the state with the residuals of a batch."""
        raise NotImplementedError

    def batch_outlier_share(self, state: OnlineState, batch: Batch, codes: Codes) -> float:
        """Return the share of outliers of a batch that was encoded for learning."""
        return outlier_share(batch, codes.R)

    def windows(self, batch: Batch) -> list[Batch]:
        """Return the parts of a batch after each of which the dictionary is updated."""
        return [batch]

    def init(self, batch: Batch, form: DataForm, rng: np.random.Generator) -> OnlineState:
        """Return the state before the first batch, from some samples."""
        state = self.first_state(batch, form, rng)
        self.encoder(state)  # raises if a parameter is invalid
        statistics = self.update(state).init(state.W)
        return state._replace(statistics=statistics, code_prior=empty_prior(state.W.shape[1]))

    def without_initial(self) -> "OnlineLearner":
        """Return the learner without the initial components, which may be large."""
        light: OnlineLearner = replace(self, model=replace(self.model, initial="random"))  # type: ignore[type-var]
        return light

    def check_continues(self, state: OnlineState) -> None:
        """Raise if parameters have changed that must not change within a stream."""
        frozen: Array = self.model.frozen
        n_frozen = frozen.shape[1]
        if n_frozen and not np.array_equal(frozen.astype(state.W.dtype), state.W[:, :n_frozen]):
            raise ParameterError(
                "frozen_components must be those of the first batch, got others. "
                "Call fit to start again with new ones."
            )

    def learn(self, state: OnlineState, batch: Batch) -> OnlineState:
        """Return the state after one more batch."""
        windows, share = self.windows(batch), 0.0
        encoder = self.training_encoder(state)
        for window in windows:
            V, observed, weight = window
            codes = encoder.encode(V, state.W, observed=observed)
            share += self.batch_outlier_share(state, window, codes) / len(windows)
            target = self.update_target(state, window, codes)
            latest_counts = self.count_residuals(state, window, codes)
            if latest_counts is not None:
                state = self.add_counts(state, latest_counts)
            state = self.follow_noise(state, window, codes.H)
            if state.n_batches < FIRST_SAMPLED or state.n_batches % SAMPLED_EVERY == 0:
                latest = estimate_prior(window, codes, state.code_prior)
                state = state._replace(code_prior=state.code_prior.averaged(latest))
            W, statistics = self.update(state).step(
                state.W, state.statistics, V, target, observed, weight
            )
            n_samples = state.n_samples + V.shape[1]
            state = state._replace(
                W=np.asfortranarray(W), statistics=statistics, n_samples=n_samples
            )
        return _counted(state, share)

    def summarise(self, state: OnlineState, batch: Batch, n_blocks: int = 1) -> BlockSummary:
        """Encode one of ``n_blocks`` blocks; return the statistics for the update."""
        V, observed, weight = batch
        codes = self.training_encoder(state).encode(V, state.W, observed=observed)
        target = self.update_target(state, batch, codes)
        update: Any = self.update(state)
        statistics = update.summarise(state.W, V, target, observed, weight)
        every_feature = sampling_steps(len(state.W), 1)[0]
        columns = slice(
            None, None, sampling_steps(-(-len(state.W) // every_feature), V.shape[1])[1]
        )
        return BlockSummary(
            statistics,
            noise_sample(batch, codes.H, every_feature, columns),
            estimate_prior(batch, codes, state.code_prior),
            self.batch_outlier_share(state, batch, codes),
            n_observed(batch),
            V.shape[1],
            self.count_residuals(state, batch, codes),
        )

    def combine(self, state: OnlineState, summaries: list[BlockSummary]) -> OnlineState:
        """Return the state after a batch that was summarised in blocks."""
        V, H, weights = pooled([one.noise for one in summaries])
        every_feature = sampling_steps(len(state.W), 1)[0]
        counts = [one.residual_counts for one in summaries if one.residual_counts is not None]
        if counts:
            state = self.add_counts(state, counts[0].merged(counts[1:]))
        state = self.follow_noise(state, Batch(V, weights), H, every_feature)
        if state.n_batches < FIRST_SAMPLED or state.n_batches % SAMPLED_EVERY == 0:
            latest = merged([one.prior for one in summaries])
            state = state._replace(code_prior=state.code_prior.averaged(latest))
        update: Any = self.update(state)
        merged_statistics = update.merge([one.statistics for one in summaries])
        n = sum(one.n_samples for one in summaries)
        W, statistics = update.take_in(state.W, state.statistics, merged_statistics, n)
        state = state._replace(
            W=np.asfortranarray(W), statistics=statistics, n_samples=state.n_samples + n
        )
        n_outliers = sum(one.outlier_share * one.n_entries for one in summaries)
        return _counted(state, n_outliers / max(sum(one.n_entries for one in summaries), 1))

    def dead_atoms(self, state: OnlineState) -> list[int]:
        """Return the columns of W that no sample uses, if the update replaces them."""
        update: Any = self.update(state)
        return dead_atoms(state.statistics, update.frozen) if _revives(update) else []

    def worst_residuals(
        self, state: OnlineState, batch: Batch, W: Array, count: int
    ) -> WorstResiduals:
        """Return the largest residuals of a block under a new dictionary W."""
        codes = self.training_encoder(state).encode(batch.V, state.W, observed=batch.observed)
        return worst_residuals(W, batch.V, codes, count)

    def replace_atoms(
        self, state: OnlineState, dead: list[int], parts: list[WorstResiduals]
    ) -> OnlineState:
        """Replace columns of W by the largest residuals of all blocks."""
        update: Any = self.update(state)
        W, statistics = replace_atoms(state.W, state.statistics, dead, parts, update.constraint)
        return state._replace(W=np.asfortranarray(W), statistics=statistics)

    def objective(self, state: OnlineState) -> float:
        """Return the objective of the dictionary update at the current dictionary."""
        return self.update(state).objective(state.W, state.statistics)


def _counted(state: OnlineState, share: float) -> OnlineState:
    n_batches = state.n_batches + 1
    average = state.outlier_share + (share - state.outlier_share) / min(n_batches, _SHARE_MEMORY)
    return state._replace(n_batches=n_batches, outlier_share=average)


def _revives(update: Any) -> bool:
    return bool(getattr(update, "replaces_dead_atoms", False))
