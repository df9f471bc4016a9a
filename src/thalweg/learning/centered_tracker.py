"""A tracker of samples less a robust running mean of each feature."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array, Indices, Mask
from thalweg.encoders import Encoder
from thalweg.noise.feature_scales import feature_medians, observed_medians
from thalweg.trackers import Track, Tracker
from thalweg.trackers.robust_center import robust_center
from thalweg.trackers.robust_init import robust_basis

__all__ = ["CenteredState", "CenteredTracker", "Pending"]

# Samples between two updates of the mean, counted from the first sample, so that the result does
# not depend on how the stream is split into calls.
_CHECK_EVERY = 32
# Observations that a mean remembers at most, as the basis does with ``forgetting="auto"``.
_LONGEST_MEMORY = 1e4
# A mean is wrong if the median residual of its feature is farther from 0 than this many noise
# scales, over at least this many observations. Then half of its weight is forgotten, down to this
# many observations. The median of 16 normal residuals has a standard deviation of 0.3 noise scales.
_LARGEST_OFFSET, _JUDGED, _SHORTEST_MEMORY = 1.0, 16, 32.0
# Residuals are clipped at this many noise scales from their median, as the trackers' threshold.
_CLIPPED = 2.5
# Observations of which most are outliers, after which they are the rule: a sensor that fails for
# 500 samples keeps its mean. benchmark: tracking_hard
_REJECTED_RUN = 1000


class Pending(NamedTuple):
    """Residuals of the samples since the latest update of the mean.

    Attributes
    ----------
    residual : array of shape (F, n)
        Residuals; NaN at missing entries.
    kept : boolean array of shape (F, n)
        Mask of the observed entries that are no outliers.
    lowest, highest : arrays of shape (F,)
        Least and largest observed value of each feature.
    basis : array of shape (F, K)
        Basis at the latest update, which the residuals are computed with.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.centered_tracker import Pending
    >>> Pending.none(np.eye(3, 2)).residual.shape
    (3, 0)
    """

    residual: Array
    kept: Mask
    lowest: Array
    highest: Array
    basis: Array

    @classmethod
    def none(cls, U: Array) -> "Pending":
        """Return no samples, with the basis U."""
        F, dtype = len(U), U.dtype
        residual, kept = np.empty((F, 0), dtype), np.empty((F, 0), np.bool_)
        return cls(residual, kept, np.full(F, np.inf, dtype), np.full(F, -np.inf, dtype), U)


class CenteredState(NamedTuple):
    """A mean of each feature, and the state of a tracker of the samples less the mean.

    Attributes
    ----------
    tracked : NamedTuple
        State of the tracker, among it the basis ``U``.
    mean : array of shape (F,)
        Mean of each feature.
    weight : array of shape (F,)
        Number of observations behind each mean, with the forgetting of the stream.
    n_rejected : array of int of shape (F,)
        Number of observations of each feature since most of them were no outliers.
    pending : Pending
        Samples since the latest update of the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.centered_tracker import CenteredTracker
    >>> from thalweg.trackers.petrels import PetrelsTracker
    >>> CenteredTracker(PetrelsTracker()).init(np.eye(3, 2)).mean
    array([0., 0., 0.])
    """

    tracked: Any
    mean: Array
    weight: Array
    n_rejected: Indices
    pending: Pending

    @property
    def U(self) -> Array:  # noqa: N802
        """The basis of the tracker."""
        basis: Array = self.tracked.U
        return basis


@dataclass(frozen=True)
class CenteredTracker:
    """Track the affine subspace ``mean + U h`` of a stream.

    The tracker processes samples less the present mean m. Its residuals ``e = v - m - U h`` at the
    entries that are no outliers move the mean of their feature: after n observations, weighted by
    the forgetting factor, ``m + sum(e) / n``. It is the recursive least-squares estimate of an
    intercept for given U and h. A shift of the mean within the span of U is a shift of all codes,
    which the data cannot distinguish: the first mean decides it.

    A feature that varies for the first time starts at the median of its residuals, and repeats of
    one value carry no weight: a sensor may be stuck. If the median residual of a feature is farther
    from 0 than its spread, its mean is wrong, as after a fault of a sensor, and its memory becomes
    shorter. If most of 1000 observations are outliers, as after a change of units, they are not:
    their median moves the mean.

    Parameters
    ----------
    tracker : Tracker
        The tracker.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.centered_tracker import CenteredTracker
    >>> from thalweg.trackers.petrels_admm import PetrelsADMMTracker
    >>> rng = np.random.default_rng(0)
    >>> mean, U = 10.0 * rng.normal(size=20), np.ones((20, 1)) / 20**0.5
    >>> V = mean[:, None] + U * rng.normal(size=500) + 0.01 * rng.normal(size=(20, 500))
    >>> tracker = CenteredTracker(PetrelsADMMTracker())
    >>> state = tracker.robust_init(V[:, :100], 1, np.ones((20, 100), bool), 0, None)
    >>> state, _ = tracker.step(state, V)
    >>> outside = (state.mean - mean) - U @ (U.T @ (state.mean - mean))
    >>> bool(np.abs(outside).max() < 2e-3)
    True
    """

    tracker: Tracker[Any]

    @property
    def name(self) -> str:
        """Name of the tracker."""
        return self.tracker.name

    @property
    def forgetting(self) -> Any:
        """Forgetting factor of the tracker."""
        return getattr(self.tracker, "forgetting", 1.0)

    def init(self, U: Array) -> CenteredState:
        """Return the state before the first sample, with the basis U and no mean."""
        return self._at(self.tracker.init(U), np.zeros(len(U), U.dtype), np.zeros(len(U)))

    def robust_init(
        self, V: Array, K: int, observed: Mask, seed: int, guess: Array | None
    ) -> CenteredState:
        """Return the state before the first sample, from robust fits to some samples."""
        mean = robust_center(V, K, observed, seed=seed)
        centered = V - mean[:, None]
        robust_init = getattr(self.tracker, "robust_init", None)
        if robust_init is None:
            tracked = self.tracker.init(robust_basis(centered, K, observed, seed=seed, guess=guess))
        else:
            tracked = robust_init(centered, K, observed, seed, guess)
        varies = np.ptp(np.where(observed, V, mean[:, None]), axis=1) > 0.0
        return self._at(tracked, mean, np.where(varies, observed.sum(axis=1), 0.0))

    def step(
        self, state: CenteredState, V: Array, observed: Mask | None = None
    ) -> tuple[CenteredState, Track]:
        """Return the state after the columns of V, and their codes and outliers."""
        mask = np.ones(V.shape, dtype=np.bool_) if observed is None else observed
        tracks, start = [], 0
        while start < V.shape[1]:
            stop = min(V.shape[1], start + _CHECK_EVERY - state.pending.residual.shape[1])
            state, track = self._step(state, V[:, start:stop], mask[:, start:stop])
            tracks.append(track)
            start = stop
        if len(tracks) == 1:
            return state, tracks[0]
        empty = self.tracker.step(state.tracked, V[:, :0], mask[:, :0])[1]
        return state, Track(
            np.hstack([empty.H, *(track.H for track in tracks)]),
            np.hstack([empty.R, *(track.R for track in tracks)]),
            np.hstack([empty.error, *(track.error for track in tracks)]),
        )

    def _step(self, state: CenteredState, V: Array, mask: Mask) -> tuple[CenteredState, Track]:
        """Follow samples up to the next update of the mean."""
        centered = np.where(mask, V - state.mean[:, None], 0.0).astype(V.dtype, copy=False)
        tracked, track = self.tracker.step(state.tracked, centered, mask)
        residual = np.where(mask, centered - state.pending.basis @ track.H, np.nan)
        pending = Pending(
            np.hstack([state.pending.residual, residual.astype(V.dtype, copy=False)]),
            np.hstack([state.pending.kept, mask & (track.R == 0)]),
            np.minimum(state.pending.lowest, np.where(mask, V, np.inf).min(axis=1)),
            np.maximum(state.pending.highest, np.where(mask, V, -np.inf).max(axis=1)),
            state.pending.basis,
        )
        state = state._replace(tracked=tracked, pending=pending)
        is_check = pending.residual.shape[1] == _CHECK_EVERY
        return (self._moved(state) if is_check else state), track

    def _moved(self, state: CenteredState) -> CenteredState:
        """Return the state with a new mean, and no pending residuals."""
        residual, kept, lowest, highest, _ = state.pending
        forgetting = min(self.forgetting_of(state), 1.0 - 1.0 / _LONGEST_MEMORY)
        observed, varies = ~np.isnan(residual), lowest < highest
        n_observed, is_rejected = observed.sum(axis=1), 2 * kept.sum(axis=1) < observed.sum(axis=1)
        n_rejected = np.where(is_rejected, state.n_rejected + n_observed, 0)
        is_other = n_rejected >= _REJECTED_RUN
        used = np.where((is_other | (state.weight == 0.0))[:, None], observed, kept)
        middle, count = feature_medians(residual.T, used.T), used.sum(axis=1)
        spread = observed_medians(np.abs(residual - middle[:, None]).T, used.T)
        is_off = (count >= _JUDGED) & ~(is_rejected & ~is_other)
        is_off &= np.abs(middle) > _LARGEST_OFFSET * spread
        shorter = np.minimum(state.weight, np.maximum(0.5 * state.weight, _SHORTEST_MEMORY))
        old = np.where(is_off, shorter, state.weight)
        weight = old * forgetting**_CHECK_EVERY + np.where(varies, count, 0)
        total = np.where(is_other, middle * count, _clipped_sum(residual, kept, middle, spread))
        step = np.where(varies, total, 0.0) / np.maximum(weight, 1.0)
        step = np.where(state.weight == 0.0, middle, step)
        mean = (state.mean + step).astype(state.mean.dtype)
        return self._at(state.tracked, mean, weight)._replace(n_rejected=n_rejected)

    def encoder(self, state: CenteredState) -> Encoder:
        """Return the encoder of samples less the mean."""
        return self.tracker.encoder(state.tracked)

    def forgetting_of(self, state: CenteredState) -> float:
        """Return the forgetting factor in use."""
        if isinstance(self.forgetting, str):
            return float(self.tracker.forgetting_of(state.tracked))  # type: ignore[attr-defined]
        return float(self.forgetting)

    def noise_scale_of(self, state: CenteredState) -> float | Array | None:
        """Return the standard deviation of the noise; None if the tracker does not estimate it."""
        noise_scale_of = getattr(self.tracker, "noise_scale_of", None)
        return None if noise_scale_of is None else noise_scale_of(state.tracked)

    def _at(self, tracked: Any, mean: Array, weight: Array) -> CenteredState:
        n_rejected = np.zeros(len(mean), np.int64)
        return CenteredState(tracked, mean, weight, n_rejected, Pending.none(tracked.U))


def _clipped_sum(residual: Array, kept: Mask, middle: Array, spread: Array) -> Array:
    """Return the sum of each feature's kept residuals, clipped at their median and spread.

    Trackers that reject no outliers keep all entries.
    """
    bound = _CLIPPED * spread
    clipped = np.clip(residual, (middle - bound)[:, None], (middle + bound)[:, None])
    total: Array = np.where(kept, clipped, 0.0).sum(axis=1)
    return total
