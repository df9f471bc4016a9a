"""Learn a subspace from a stream: robust initialisation, tracking, drift and jumps."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._checks import require_whole
from thalweg._linalg import orthonormal
from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder
from thalweg.errors import ParameterError
from thalweg.learning.batches import Batch
from thalweg.learning.challenger import Challenger
from thalweg.learning.cusum import CHECK_EVERY, JUMP_TEST, Monitor, OutlierCounts
from thalweg.learning.init_samples import InitSamples, init_counts, robust_state
from thalweg.learning.tracking_state import TrackingState
from thalweg.noise.residual_counts import (
    ALL_COUNTED,
    COUNTED_EVERY,
    MANY_FEATURES,
    ResidualCounts,
)
from thalweg.trackers import Track, Tracker

__all__ = ["TrackingLearner"]


@dataclass(frozen=True)
class TrackingLearner:
    """Track a subspace through a stream of batches.

    The samples go through the tracker in order. A robust initialisation collects samples, and fits
    a robust basis to them each time that their number has doubled, until there are enough. Every 32
    samples the angle to the previous subspace is recorded, and :class:`Cusum` tests for a jump.

    If it suspects one, other bases are fitted to the samples that follow, while the present one
    goes on, and compared with it on later samples. It was a jump if the residuals of most of them
    are clearly smaller with a new basis, and about as small as before: neither a burst of bad
    samples nor a rise of the noise passes this test.

    Parameters
    ----------
    tracker : Tracker
        The tracker.
    n_components : int
        Number of dimensions of the subspace; before a robust initialisation with ``auto_rank``.
    robust : bool
        Whether the initial basis is fitted robustly to the first samples.
    init_samples : int or "auto"
        Number of samples that a robust initialisation collects. With "auto", each feature is
        observed ``128 + 8 K`` times on average.
    on_jump : {"note", "reset"}
        Whether a jump is only recorded, or the new basis also replaces the old one.
    auto_rank : bool
        Whether a robust initialisation chooses the number of dimensions by hidden entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import DataForm, as_batch
    >>> from thalweg.learning.tracking import TrackingLearner
    >>> from thalweg.trackers.petrels import PetrelsTracker
    >>> learner = TrackingLearner(PetrelsTracker(), n_components=1)
    >>> batch = as_batch(np.outer(np.arange(1.0, 41.0), [3.0, 4.0]))
    >>> state = learner.init(batch, DataForm(), np.random.default_rng(0))
    >>> state = learner.learn(state, batch)
    >>> state.n_samples, bool(abs(state.tracker.U[1] / state.tracker.U[0] - 4 / 3)[0] < 1e-2)
    (40, True)
    """

    tracker: Tracker[Any]
    n_components: int = 2
    robust: bool = True
    init_samples: int | str = "auto"
    on_jump: str = "note"
    auto_rank: bool = False

    def __post_init__(self) -> None:
        if self.on_jump not in ("note", "reset"):
            raise ParameterError(
                f"on_jump must be one of 'note', 'reset', got {self.on_jump!r}. "
                "Use one of these names."
            )
        if self.init_samples != "auto":
            require_whole(1, init_samples=self.init_samples)  # type: ignore[arg-type]

    def init(self, batch: Batch, form: Any, rng: np.random.Generator) -> TrackingState:
        """Return the state before the first sample, with a random basis.

        Parameters
        ----------
        batch : Batch
            Samples with the number of features and the type of the stream.
        form : ignored
            A tracker takes dense samples.
        rng : Generator
            Draws the seed of all random numbers.
        """
        seed = int(rng.integers(2**31))
        shape = len(batch.V), self.n_components
        Q = np.linalg.qr(np.random.default_rng(seed).normal(size=shape))[0]
        state = self._first_state(Q.astype(batch.V.dtype), seed)
        if self.robust:
            return state._replace(init_samples=InitSamples.none(state.tracker.U))
        return state

    def init_at(self, U: Array, rng: np.random.Generator) -> TrackingState:
        """Return the state before the first sample, with the orthonormal basis U."""
        return self._first_state(U, int(rng.integers(2**31)))

    def _first_state(self, U: Array, seed: int) -> TrackingState:
        monitor, counts = Monitor.at(U), ResidualCounts.none(len(U))
        tracked = self.tracker.init(U)
        return TrackingState(tracked, None, seed, 0, OutlierCounts(), monitor, counts, tracked.U)

    def learn(self, state: TrackingState, batch: Batch) -> TrackingState:
        """Return the state after a batch.

        Parameters
        ----------
        state : TrackingState
            State before the batch; it is not modified.
        batch : Batch
            Samples as columns, in the order of time.
        """
        start, n = 0, batch.V.shape[1]
        while start < n:
            stop = min(n, start + _until_check(state))
            V = batch.V[:, start:stop]
            observed = None if batch.observed is None else batch.observed[:, start:stop]
            state = self._learn_block(state, V, observed)
            start = stop
        return state

    def encoder(self, state: TrackingState) -> Encoder:
        """Return the encoder of samples that are not learned from."""
        return self.tracker.encoder(state.tracker)

    def noise_scale(self, state: TrackingState) -> float | Array | None:
        """Return the standard deviation of the noise; None if the tracker does not estimate it."""
        noise_scale_of = getattr(self.tracker, "noise_scale_of", None)
        return None if noise_scale_of is None else noise_scale_of(state.tracker)

    def _learn_block(self, state: TrackingState, V: Array, observed: Mask | None) -> TrackingState:
        """Return the state after samples that end at the next check, or before it."""
        tracked, track = self.tracker.step(state.tracker, V, observed)
        n_samples = state.n_samples + V.shape[1]
        is_check = n_samples % CHECK_EVERY == 0
        n_observed = V.size if observed is None else int(np.count_nonzero(observed))
        n_outliers = int(np.count_nonzero(track.R))
        outliers = state.outliers.added(n_outliers, n_observed, is_check)
        basis = tracked.U if is_check else state.counting_basis
        mean = getattr(tracked, "mean", None) if is_check else state.counting_mean
        after = state._replace(
            tracker=tracked,
            n_samples=n_samples,
            outliers=outliers,
            counting_basis=basis,
            counting_mean=mean,
        )
        if state.init_samples is not None:
            return self._initialised(after, state.init_samples, V, observed, is_check)
        after = after._replace(residual_counts=self._counted(state, V, track, observed, is_check))
        evidence, is_suspect = JUMP_TEST.step(state.monitor.evidence, track.error)
        monitor = state.monitor._replace(evidence=evidence)
        if is_check:
            monitor = monitor.checked(basis)
        after = after._replace(monitor=monitor)
        if state.challenger is not None:
            return self._judged(after, state.challenger, V, observed, track.error)
        own = getattr(self.tracker, "tracker", self.tracker)  # without the centring
        if is_check and is_suspect and not hasattr(own, "robust_init"):
            return self._jumped(after)
        if is_check and is_suspect:
            level = state.monitor.evidence.level
            return after._replace(challenger=Challenger.at(tracked.U, n_samples, level))
        return after

    def _jumped(self, state: TrackingState) -> TrackingState:
        """Return the state after an alarm, with a tracker whose initialisation is not its own.

        Such trackers may have followed the jump before another basis is found.
        """
        monitor = state.monitor.jumped(state.n_samples)._replace(evidence=JUMP_TEST.init())
        pending = InitSamples.none(state.tracker.U) if self.on_jump == "reset" else None
        return state._replace(monitor=monitor, init_samples=pending)

    def _initialised(
        self,
        state: TrackingState,
        samples: InitSamples,
        V: Array,
        observed: Mask | None,
        is_check: bool,
    ) -> TrackingState:
        """Return the state with more samples for the robust initialisation, or after it."""
        pending, tracked = samples.added(V, observed), state.tracker
        is_enough = is_check and pending.is_enough(tracked.U.shape[1], self.init_samples)
        if is_enough or pending.has_doubled_since(samples):
            tracked, evidence = robust_state(
                self.tracker, tracked.U, pending, state.seed, self.auto_rank
            )
            state = state._replace(rank_evidence=evidence)
        if not is_enough:
            return state._replace(tracker=tracked, init_samples=pending)
        return state._replace(
            tracker=tracked,
            init_samples=None,
            monitor=state.monitor._replace(basis=orthonormal(tracked.U)),
            residual_counts=init_counts(self.tracker, tracked, pending),
            counting_basis=tracked.U,
            counting_mean=getattr(tracked, "mean", None),
        )

    def _judged(
        self,
        state: TrackingState,
        challenger: Challenger,
        V: Array,
        observed: Mask | None,
        errors: Array,
    ) -> TrackingState:
        """Return the state after the challenger has processed the same samples."""
        challenger = challenger.added(self.tracker, V, observed, errors)
        if state.n_samples % CHECK_EVERY:
            return state._replace(challenger=challenger)
        U = state.tracker.U
        monitor = state.monitor._replace(evidence=JUMP_TEST.init())
        is_enough = challenger.samples.is_enough(U.shape[1], self.init_samples)
        if challenger.is_better:
            return self._confirmed(state._replace(monitor=monitor), challenger, is_enough)
        if is_enough and challenger.is_compared:
            return state._replace(monitor=monitor, challenger=None)
        if challenger.needs_fit(V.shape[1]):
            challenger = challenger.fitted(self.tracker, U, state.seed, self.auto_rank)
        return state._replace(challenger=challenger)

    def _confirmed(
        self, state: TrackingState, challenger: Challenger, is_enough: bool
    ) -> TrackingState:
        """Return the state after a jump, with the basis of the challenger if jumps reset it."""
        monitor = state.monitor.jumped(challenger.since)
        if self.on_jump == "note":
            return state._replace(monitor=monitor, challenger=None)
        return state._replace(
            tracker=challenger.tracker,
            monitor=monitor._replace(basis=orthonormal(challenger.tracker.U)),
            init_samples=None if is_enough else challenger.samples,
            rank_evidence=challenger.rank_evidence,
            challenger=None,
        )

    def residual_counts(self, state: TrackingState) -> ResidualCounts:
        """Return the residuals by size; those of the collected samples during initialisation."""
        if state.init_samples is None:
            return state.residual_counts
        return init_counts(self.tracker, state.tracker, state.init_samples)

    def _forgetting(self, state: TrackingState) -> float:
        """Return the forgetting factor of the tracker, which may follow the stream."""
        forgetting = getattr(self.tracker, "forgetting", 1.0)
        if isinstance(forgetting, str):
            return float(self.tracker.forgetting_of(state.tracker))  # type: ignore[attr-defined]
        return float(forgetting)

    def _counted(
        self,
        state: TrackingState,
        V: Array,
        track: Track,
        observed: Mask | None,
        is_check: bool,
    ) -> ResidualCounts:
        """Return the counts with the residuals of a block, of one in several in long streams."""
        counts, number = state.residual_counts, state.n_samples // CHECK_EVERY
        forgetting = self._forgetting(state)
        is_sampled = number * CHECK_EVERY >= ALL_COUNTED or len(V) > MANY_FEATURES
        is_short = (1.0 - forgetting) * ALL_COUNTED > 1.0  # a short memory needs all samples
        every = COUNTED_EVERY if is_sampled and not is_short else 1
        if number % every:
            return counts
        scales = getattr(self.encoder(state), "relative_scales", None)
        if state.counting_mean is not None:
            V = V - state.counting_mean[:, None]
        counts = counts.added_fit(V, state.counting_basis, track.H, track.R, observed, scales)
        return counts.aged(CHECK_EVERY, forgetting**every) if is_check else counts


def _until_check(state: TrackingState) -> int:
    """Return the number of samples until the next check, or until the next robust fit."""
    until = CHECK_EVERY - state.n_samples % CHECK_EVERY
    if state.init_samples is None:
        return until
    n = int(state.init_samples.V.shape[1])
    return min(until, (1 << n.bit_length()) - n)
