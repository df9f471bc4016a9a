"""Learn a subspace from a stream: robust initialisation, tracking, drift and jumps."""

from dataclasses import dataclass
from math import exp, log, nan
from typing import Any, NamedTuple

import numpy as np

from thalweg._checks import require_whole
from thalweg._linalg import largest_angle, orthonormal
from thalweg._typing import Array, Indices, Mask
from thalweg.encoders import Encoder
from thalweg.errors import ParameterError
from thalweg.learning.batches import Batch
from thalweg.learning.completion_rank import choose_subspace_rank
from thalweg.learning.cusum import Cusum, Evidence
from thalweg.learning.held_out import RankEvidence
from thalweg.noise.leverage import studentised, unfitted
from thalweg.noise.residual_counts import (
    ALL_COUNTED,
    COUNTED_EVERY,
    MANY_FEATURES,
    ResidualCounts,
)
from thalweg.trackers import Track, Tracker
from thalweg.trackers.robust_init import robust_basis

__all__ = [
    "CHECK_EVERY",
    "MAX_ENTRIES",
    "Challenger",
    "InitSamples",
    "Monitor",
    "OutlierCounts",
    "TrackingLearner",
    "TrackingState",
]

# Samples between two checks for drift and jumps. They are counted from the first sample of the
# stream, so that the result does not depend on how the stream is split into calls.
CHECK_EVERY = 32
MAX_HISTORY = 4096  # checks whose drift is kept, and jumps
MAX_ENTRIES = 2**22  # entries that are processed at a time, or collected for the initialisation
# Entries per feature that a robust initialisation needs: a constant, and more per component.
# benchmark: tracking_corruption
_INIT_ENTRIES, _INIT_ENTRIES_PER_COMPONENT = 128, 8
# Factor of the outlier counts at each check: the share is that of about 10 checks, 320 samples.
_OUTLIER_DECAY = 0.9

# Samples for which two bases are compared after a suspected jump, at least, before the present one
# stays. benchmark: tracking_hard
_TRIAL_SAMPLES = 64
# The new basis replaces the present one if so many of them have clearly smaller residuals, by this
# ratio. A basis fitted to 150 samples leaves residuals about 1 % larger than the true one, and a
# jump that matters doubles them. benchmark: tracking_hard
_TRIAL_QUANTILE, _CLEAR_RATIO = 0.75, 0.8
# Its residuals are at most this many times those before the jump: bursts of bad samples fit no
# basis. Safety margin: any value in 1.5..4 gives the same results.
_LARGEST_RISE = 2.0

_JUMP_TEST = Cusum()


class InitSamples(NamedTuple):
    """Samples that are collected for a robust initialisation.

    Attributes
    ----------
    V : array of shape (F, n)
        Samples with at least one observed entry, as columns.
    observed : boolean array of shape (F, n)
        Mask of the observed entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.tracking import InitSamples
    >>> InitSamples.none(np.eye(3, 2)).V.shape
    (3, 0)
    """

    V: Array
    observed: Mask

    @classmethod
    def none(cls, U: Array) -> "InitSamples":
        """Return a collection without samples, for the features of a basis."""
        F = len(U)
        return cls(np.empty((F, 0), U.dtype), np.empty((F, 0), np.bool_))

    def added(self, V: Array, observed: Mask | None) -> "InitSamples":
        """Return the collection with the samples of a block that have observed entries."""
        mask = np.ones(V.shape, dtype=np.bool_) if observed is None else observed
        some = mask.any(axis=0)
        return InitSamples(
            np.hstack([self.V, V[:, some]]), np.hstack([self.observed, mask[:, some]])
        )


class OutlierCounts(NamedTuple):
    """Counts of outliers and observed entries, with weights that decay.

    Attributes
    ----------
    n_outliers, n_observed : float
        The counts.

    Examples
    --------
    >>> from thalweg.learning.tracking import OutlierCounts
    >>> OutlierCounts(1.0, 4.0).share
    0.25
    """

    n_outliers: float = 0.0
    n_observed: float = 0.0

    @property
    def share(self) -> float:
        """Share of outliers among the observed entries."""
        return self.n_outliers / self.n_observed if self.n_observed > 0.0 else 0.0

    def added(self, n_outliers: int, n_observed: int, is_check: bool) -> "OutlierCounts":
        """Return the counts with those of a block; they decay at a check."""
        decay = _OUTLIER_DECAY if is_check else 1.0
        return OutlierCounts(
            decay * (self.n_outliers + n_outliers), decay * (self.n_observed + n_observed)
        )


class Monitor(NamedTuple):
    """Drift and jumps of the subspace.

    Attributes
    ----------
    evidence : Evidence
        Evidence of a jump.
    basis : array of shape (F, K)
        Orthonormal basis at the latest check.
    drift : array
        Largest principal angle between the subspaces at successive checks, in radians.
    jumps : array of int
        Number of samples at each detected jump.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.tracking import Monitor
    >>> Monitor.at(np.eye(3, 2)).drift.size
    0
    """

    evidence: Evidence
    basis: Array
    drift: Array
    jumps: Indices

    @classmethod
    def at(cls, U: Array) -> "Monitor":
        """Return the monitor before the first sample, with an orthonormal basis."""
        return cls(_JUMP_TEST.init(), U, np.zeros(0), np.zeros(0, dtype=np.intp))

    def checked(self, U: Array) -> "Monitor":
        """Return the monitor after a check, with the angle to the previous subspace."""
        latest = orthonormal(U)
        drift = np.append(self.drift, largest_angle(latest, self.basis))[-MAX_HISTORY:]
        return self._replace(basis=latest, drift=drift)

    def jumped(self, n_samples: int) -> "Monitor":
        """Return the monitor with one jump more."""
        return self._replace(jumps=np.append(self.jumps, n_samples)[-MAX_HISTORY:])

    @property
    def p_value(self) -> float:
        """Probability of as much evidence of a jump without one."""
        return _JUMP_TEST.p_value(self.evidence)

    @property
    def residual(self) -> float:
        """Geometric mean of the recent median residuals; NaN before the first one."""
        return exp(self.evidence.level) if self.evidence.n_samples else nan


class Challenger(NamedTuple):
    """A basis that is fitted after a suspected jump, and competes with the present one.

    Attributes
    ----------
    since : int
        Number of samples at the suspected jump.
    level : float
        Mean logarithm of the median residuals before it.
    samples : InitSamples
        Samples that are collected for a robust fit.
    tracker : NamedTuple or None
        State of the tracker from the latest fit on; None before the first one.
    log_errors : array of shape (n, 2)
        Logarithms of the median residuals of the samples since this fit, with the new basis and
        with the present one.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.tracking import Challenger, InitSamples
    >>> rival = Challenger(500, -2.0, InitSamples.none(np.eye(3, 2)), None, np.zeros((0, 2)))
    >>> rival.is_better
    False
    >>> rival._replace(log_errors=np.full((64, 2), [-2.0, 0.0])).is_better
    True
    """

    since: int
    level: float
    samples: InitSamples
    tracker: Any
    log_errors: Array

    @property
    def is_better(self) -> bool:
        """Whether most samples have clearly smaller residuals, about as small as before the jump.

        Otherwise the samples after the suspected jump fit no subspace, or fit the present one.
        """
        if len(self.log_errors) < CHECK_EVERY:
            return False
        new, old = self.log_errors.T
        is_clear = np.quantile(new - old, _TRIAL_QUANTILE) < log(_CLEAR_RATIO)
        return bool(is_clear and np.median(new) < self.level + log(_LARGEST_RISE))


class TrackingState(NamedTuple):
    """All that changes while a subspace is tracked.

    Attributes
    ----------
    tracker : NamedTuple
        State of the tracker, among it the basis ``U``.
    init_samples : InitSamples or None
        Samples collected for a robust initialisation; None if there is no initialisation pending.
    seed : int
        Seed of the robust initialisation.
    n_samples : int
        Number of samples.
    outliers : OutlierCounts
        Counts of recent outliers.
    monitor : Monitor
        Drift and jumps.
    residual_counts : ResidualCounts
        Residuals by size, for p-values.
    counting_basis : array of shape (F, K)
        Basis at the latest check, under which residuals are counted.
    rank_evidence : RankEvidence or None
        Losses of hidden entries, from which the number of dimensions was chosen.
    challenger : Challenger or None
        The competing basis after a suspected jump.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.tracking import TrackingLearner
    >>> from thalweg.trackers.petrels import PetrelsTracker
    >>> learner = TrackingLearner(PetrelsTracker())
    >>> learner.init_at(np.eye(3, 2), np.random.default_rng(0)).n_samples
    0
    """

    tracker: Any
    init_samples: InitSamples | None
    seed: int
    n_samples: int
    outliers: OutlierCounts
    monitor: Monitor
    residual_counts: ResidualCounts
    counting_basis: Array
    rank_evidence: RankEvidence | None = None
    challenger: Challenger | None = None


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
        after = state._replace(
            tracker=tracked, n_samples=n_samples, outliers=outliers, counting_basis=basis
        )
        if state.init_samples is not None:
            return self._initialised(after, state.init_samples, V, observed, is_check)
        after = after._replace(residual_counts=self._counted(state, V, track, observed, is_check))
        evidence, is_suspect = _JUMP_TEST.step(state.monitor.evidence, track.error)
        monitor = state.monitor._replace(evidence=evidence)
        if is_check:
            monitor = monitor.checked(tracked.U)
        after = after._replace(monitor=monitor)
        if state.challenger is not None:
            return self._judged(after, state.challenger, V, observed, track.error)
        if is_check and is_suspect and not hasattr(self.tracker, "robust_init"):
            return self._jumped(after)
        if is_check and is_suspect:
            level, none = state.monitor.evidence.level, InitSamples.none(tracked.U)
            challenger = Challenger(n_samples, level, none, None, np.zeros((0, 2)))
            return after._replace(challenger=challenger)
        return after

    def _jumped(self, state: TrackingState) -> TrackingState:
        """Return the state after an alarm, with a tracker whose initialisation is not its own.

        Such trackers may have followed the jump before another basis is found.
        """
        monitor = state.monitor.jumped(state.n_samples)._replace(evidence=_JUMP_TEST.init())
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
        is_enough = is_check and self._is_enough(pending, tracked.U.shape[1])
        if is_enough or _has_doubled(samples, pending):
            tracked, evidence = self._robust_state(tracked.U, pending, state.seed)
            state = state._replace(rank_evidence=evidence)
        if not is_enough:
            return state._replace(tracker=tracked, init_samples=pending)
        return state._replace(
            tracker=tracked,
            init_samples=None,
            monitor=state.monitor._replace(basis=orthonormal(tracked.U)),
            residual_counts=self._first_counts(tracked, pending),
            counting_basis=tracked.U,
        )

    def _judged(
        self,
        state: TrackingState,
        challenger: Challenger,
        V: Array,
        observed: Mask | None,
        errors: Array,
    ) -> TrackingState:
        """Return the state after the challenger has seen the same samples as the present basis."""
        samples, K = challenger.samples.added(V, observed), state.tracker.U.shape[1]
        tracked, log_errors = challenger.tracker, challenger.log_errors
        if tracked is not None:
            tracked, track = self.tracker.step(tracked, V, observed)
            log_errors = np.vstack([log_errors, _log_errors(track.error, errors)])
        challenger = challenger._replace(samples=samples, tracker=tracked, log_errors=log_errors)
        if state.n_samples % CHECK_EVERY:
            return state._replace(challenger=challenger)
        monitor = state.monitor._replace(evidence=_JUMP_TEST.init())
        is_enough = self._is_enough(samples, K)
        if challenger.is_better:
            monitor = monitor.jumped(challenger.since)
            if self.on_jump == "note":
                return state._replace(monitor=monitor, challenger=None)
            monitor = monitor._replace(basis=orthonormal(tracked.U))
            pending = None if is_enough else samples
            return state._replace(
                tracker=tracked, monitor=monitor, init_samples=pending, challenger=None
            )
        if is_enough and len(log_errors) >= _TRIAL_SAMPLES:
            return state._replace(monitor=monitor, challenger=None)
        n, n_before = samples.V.shape[1], challenger.samples.V.shape[1] - V.shape[1]
        is_due = tracked is None or n.bit_length() > n_before.bit_length()
        if n >= CHECK_EVERY and is_due:
            tracked, _ = self._robust_state(state.tracker.U, samples, state.seed)
            challenger = challenger._replace(tracker=tracked, log_errors=np.zeros((0, 2)))
        return state._replace(challenger=challenger)

    def residual_counts(self, state: TrackingState) -> ResidualCounts:
        """Return the residuals by size; those of the collected samples during initialisation."""
        if state.init_samples is None:
            return state.residual_counts
        return self._first_counts(state.tracker, state.init_samples)

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
        counts = counts.added_fit(V, state.counting_basis, track.H, track.R, observed, scales)
        return counts.aged(CHECK_EVERY, forgetting**every) if is_check else counts

    def _first_counts(self, tracked: Any, samples: InitSamples) -> ResidualCounts:
        """Count the residuals of the samples that the basis was fitted to."""
        (V, observed), U = samples, tracked.U
        encoder = self.tracker.encoder(tracked)
        codes = encoder.encode(V, U, observed=observed)
        scales = getattr(encoder, "relative_scales", None)
        residuals = studentised(V, U, codes.H, codes.R, observed, scales)
        residuals = unfitted(residuals, observed.sum(axis=1), U.shape[1])
        return ResidualCounts.of(residuals, observed, V)

    def _robust_state(
        self, guess: Array, samples: InitSamples, seed: int
    ) -> tuple[Any, RankEvidence | None]:
        """Return the state after the collected samples, from a robust basis fitted to them."""
        V, observed = samples
        K, evidence = guess.shape[1], None
        if self.auto_rank:
            X = np.where(observed, V, V.dtype.type(np.nan)).T
            evidence = choose_subspace_rank(X, np.random.default_rng(seed))
            K = evidence.chosen
        known = guess if guess.shape[1] == K else None
        state = self._robust_init(V, K, observed, seed, known)
        return self.tracker.step(state, V, observed)[0], evidence

    def _robust_init(self, V: Array, K: int, observed: Mask, seed: int, guess: Array | None) -> Any:
        """Return the state before the first sample, from a robust fit to some samples."""
        robust_init = getattr(self.tracker, "robust_init", None)
        if robust_init is not None:
            return robust_init(V, K, observed, seed, guess)
        return self.tracker.init(robust_basis(V, K, observed, seed=seed, guess=guess))

    def _is_enough(self, pending: InitSamples, K: int) -> bool:
        """Return whether the collected samples are enough for a robust initialisation."""
        F, n = pending.V.shape
        if not isinstance(self.init_samples, str):
            return bool(n >= self.init_samples)
        counts = pending.observed.sum(axis=0)
        n_useful = int(counts[counts > K].sum())
        n_needed = F * (_INIT_ENTRIES + _INIT_ENTRIES_PER_COMPONENT * K)
        return n_useful >= n_needed or pending.V.size >= MAX_ENTRIES


def _log_errors(new: Array, old: Array) -> Array:
    """Return the logarithms of the samples' median residuals that are known and positive."""
    known = (new > 0.0) & (old > 0.0)  # False for NaN
    pairs: Array = np.log(np.column_stack([new[known], old[known]]))
    return pairs


def _has_doubled(before: InitSamples, after: InitSamples) -> bool:
    """Return whether the number of samples has become a power of 2."""
    n = int(after.V.shape[1])
    return n > before.V.shape[1] and n & (n - 1) == 0


def _until_check(state: TrackingState) -> int:
    """Return the number of samples until the next check, or until the next robust fit."""
    until = CHECK_EVERY - state.n_samples % CHECK_EVERY
    if state.init_samples is None:
        return until
    n = int(state.init_samples.V.shape[1])
    return min(until, (1 << n.bit_length()) - n)
