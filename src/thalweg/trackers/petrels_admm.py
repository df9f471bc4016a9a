"""PETRELS-ADMM: reject outliers, then recursive least squares on the entries kept."""

from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt
from typing import Any, ClassVar

import numpy as np

from thalweg import _native
from thalweg._checks import require_positive
from thalweg._linalg import aligned_copy, as_rows, pack_rows, unpack_rows
from thalweg._typing import Array, Mask
from thalweg.encoders.outlier_rejection import OutlierRejection
from thalweg.errors import ParameterError
from thalweg.noise.feature_scales import FeatureScales
from thalweg.trackers import Track
from thalweg.trackers._row_least_squares import (
    check_forgetting,
    check_row_update,
    init_rows,
    step_settings,
)
from thalweg.trackers.adaptive_memory import AdaptiveMemory
from thalweg.trackers.noise_scale import truncated_variance
from thalweg.trackers.rejection_state import RejectionState, RejectionStatistics, Repeats
from thalweg.trackers.robust_init import robust_basis, robust_init

__all__ = ["PetrelsADMMTracker"]

# Samples between two updates of the features' scales and of the forgetting factor, counted from
# the first sample, so that the result does not depend on how the stream is split into calls.
_CHECK_EVERY = 32
# Repeats of a value after which a feature that has varied before is stuck. Safety margin: any value
# in 8..32 gives the same results.
_STUCK_RUN = 16
_RELEASED = 2  # variation of a feature after many repeats
# Noise of fewer rounding errors of a typical entry says nothing about a drift. Safety margin:
# that of an exact fit is of the order of 1.
_ROUNDING_ERRORS = 64.0


@dataclass(frozen=True)
class PetrelsADMMTracker:
    """Track a subspace by PETRELS-ADMM of [T], with thresholds in noise scales.

    For each sample v, codes h and outliers s minimise

        |v - U h - s|^2 / 2 + huber_threshold noise_scale |s|_1

    over the observed entries. Entries farther than ``threshold`` noise scales from the
    fit are rejected, and the rest is fitted by least squares until the same entries are kept. They
    update the basis by recursive least squares, as in
    :class:`thalweg.trackers.petrels.PetrelsTracker`. The noise scale is estimated from the entries
    kept, so that the results do not depend on the units of the data. Codes that these entries
    hardly determine are shrunk by a Gaussian prior of the typical variance.

    Parameters
    ----------
    forgetting : float or "auto"
        Factor by which each sample multiplies the weights of all earlier ones; "auto" follows the
        drift of the subspace, see :class:`thalweg.trackers.adaptive_memory.AdaptiveMemory`.
    step_size : {"full", "adaptive", "forgetting"}
        See :class:`thalweg.trackers.petrels.PetrelsTracker`.
    ridge : float
        Weight of the first basis, in samples of the norm of the first one: alpha / 2 of [T] (23).
    noise : {"per-feature", "common"}
        Whether each feature has a noise scale of its own, by which the fit and the recursion weigh
        it, see :class:`thalweg.noise.feature_scales.FeatureScales`.
    huber_threshold : float
        Threshold of Huber's function in the robust fit, which is the weight of |s|_1, in noise
        scales.
    threshold : float
        Residual beyond which an entry is an outlier, in noise scales.
    noise_scale : float or "auto"
        Standard deviation of the noise, in data units; "auto" estimates it.
    memory : float
        Number of samples after which the noise estimate has forgotten all but 1/e.
    solver : {"fast", "admm"}
        How the convex problem is solved: exactly by Newton's method, or by Algorithm 2 of [T].

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.petrels_admm import PetrelsADMMTracker
    >>> rng = np.random.default_rng(0)
    >>> V = np.outer(np.ones(20), rng.normal(size=300)) + 0.01 * rng.normal(size=(20, 300))
    >>> V[3, ::2] += 5.0
    >>> tracker = PetrelsADMMTracker()
    >>> state, track = tracker.step(tracker.init(np.ones((20, 1)) / 20**0.5), V)
    >>> bool((track.R[3, ::2] > 4.9).all())
    True
    """

    forgetting: float | str = "auto"
    step_size: str = "full"
    ridge: float = 1.0
    noise: str = "per-feature"
    huber_threshold: float = 0.5  # benchmark: tracking_corruption
    threshold: float = 2.5  # benchmark: tracking_corruption
    noise_scale: float | str = "auto"
    memory: float = 200.0  # benchmark: tracking_table
    solver: str = "fast"
    name: ClassVar[str] = "petrels-admm"

    def __post_init__(self) -> None:
        if self.forgetting != "auto":
            check_forgetting(self.forgetting)  # type: ignore[arg-type]
        check_row_update(self.step_size, self.ridge)
        if self.noise not in ("per-feature", "common"):
            raise ParameterError(
                f"noise must be 'per-feature' or 'common', got {self.noise!r}. "
                "Use one of these names."
            )
        require_positive(
            huber_threshold=self.huber_threshold, threshold=self.threshold, memory=self.memory
        )
        if not (isinstance(self.noise_scale, str) and self.noise_scale == "auto"):
            require_positive(noise_scale=self.noise_scale)  # type: ignore[arg-type]
        if self.solver not in ("fast", "admm"):
            raise ParameterError(
                f"solver must be 'fast' or 'admm', got {self.solver!r}. Use one of these names."
            )

    def init(self, U: Array, scales: FeatureScales | None = None) -> RejectionState:
        """Return the state before the first sample, with the basis U and scales of the features."""
        F = len(U)
        variance, weight = 0.0, 0.0
        if not isinstance(self.noise_scale, str):
            variance, weight = float(self.noise_scale) ** 2, inf
        first_scales = np.zeros(_native.WARM_UP_SAMPLES)
        statistics = RejectionStatistics(variance, weight, 0.0, 0.0, 0.0, first_scales)
        scales = FeatureScales.equal(F, U.dtype) if scales is None else scales
        rows = init_rows(U / scales.scale[:, None])
        memory, repeats = AdaptiveMemory.longest(rows.U), Repeats.none(F, U.dtype)
        return RejectionState(*rows, statistics, scales, memory, repeats, 0)

    def robust_init(
        self, V: Array, K: int, observed: Mask, seed: int, guess: Array | None
    ) -> RejectionState:
        """Return the state before the first sample, from a robust fit to some samples."""
        if self.noise == "common":
            state = self.init(robust_basis(V, K, observed, seed=seed, guess=guess))
        else:
            found = robust_init(V, K, observed, seed=seed, guess=guess, per_feature=True)
            state = self.init(found.U, found.scales)
        is_dead = ~(observed & (V != 0.0)).any(axis=1) & (observed.sum(axis=1) >= _STUCK_RUN)
        return state._replace(repeats=state.repeats.with_dead(is_dead, _STUCK_RUN))

    def step(
        self, state: RejectionState, V: Array, observed: Mask | None = None
    ) -> tuple[RejectionState, Track]:
        """Return the state after the columns of V, and their codes and outliers."""
        X, mask = as_rows(V, observed, state.W.dtype)
        tracks, start, n_before = [], 0, np.cumsum(mask.any(axis=1))
        while start < len(X):
            wanted = _CHECK_EVERY - state.n_pending + (n_before[start - 1] if start else 0)
            stop = min(len(X), int(np.searchsorted(n_before, wanted)) + 1)
            state, track = self._step(state, X[start:stop], mask[start:stop])
            tracks.append(track)
            start = stop
        if len(tracks) == 1:
            return state, tracks[0]
        return state, Track(
            np.hstack([np.empty((state.W.shape[1], 0), X.dtype), *(track.H for track in tracks)]),
            np.hstack([np.empty((X.shape[1], 0), X.dtype), *(track.R for track in tracks)]),
            np.hstack([np.empty(0), *(track.error for track in tracks)]),
        )

    def _step(self, state: RejectionState, X: Array, mask: Mask) -> tuple[RejectionState, Track]:
        """Follow samples up to the next check."""
        scale, memory = state.scales.scale, state.memory
        last, run, variation = state.repeats
        repeats = Repeats(last.copy(), run.copy(), variation.copy())
        learned = mask.copy()
        _native.mask_stuck(X, learned, repeats.last, repeats.run, repeats.variation, _STUCK_RUN)
        W, D, L = pack_rows(state.W), aligned_copy(state.D), aligned_copy(state.L)
        statistics = state.statistics._replace(first_scales=state.statistics.first_scales.copy())
        scales = state.scales._replace(counts=state.scales.counts.copy())
        memory = memory._replace(
            pair_sums=memory.pair_sums.copy(),
            last_residual=memory.last_residual.copy(),
            last_codes=memory.last_codes.copy(),
        )
        H, R = np.empty((len(X), W.shape[1]), dtype=W.dtype), np.empty_like(X)
        error = np.empty(len(X))
        numbers = _native.track_with_rejection(
            X / scale,
            learned,
            (W, D, L),
            statistics,
            self._row_update(memory),
            self._rejection,
            (H, R, error),
            (scales.limits, scales.counts, *memory[-2:], memory.pair_sums),
        )
        R *= scale
        statistics = RejectionStatistics._make((*numbers, statistics.first_scales))
        U, n = unpack_rows(W, X.shape[1]), state.n_pending + np.count_nonzero(mask.any(axis=1))
        after = RejectionState(U, D, L, statistics, scales, memory, repeats, int(n))
        if after.n_pending == _CHECK_EVERY:
            after = self._checked(after)
        if (stuck := mask & ~learned).any():
            residual = X - H @ state.U.T
            beyond = np.abs(residual) > self.threshold * sqrt(statistics.variance) * scale
            R = np.where(stuck & beyond, residual, R)
        return after, Track(H.T, R.T, error)

    def _checked(self, state: RejectionState) -> RejectionState:
        """Return the state with new scales of the features, and a new forgetting factor.

        A row is divided by the scale of its feature, and the weight of all its samples is relative
        to that of the next one.
        """
        F, K = state.W.shape
        state, memory = state._replace(n_pending=0), state.memory
        if self.forgetting == "auto":
            energy = float(np.vdot(state.W, state.W)) * state.statistics.code_size / (F * K)
            resolution = _ROUNDING_ERRORS * float(np.finfo(state.W.dtype).eps)
            if state.statistics.variance < resolution**2 * energy:
                memory = memory.without_evidence(state.W)
            memory = memory.updated(state.W, _CHECK_EVERY)
        if self.noise == "common":
            return state._replace(memory=memory._replace(basis=state.W))
        scales = state.scales.updated(state.W, self.threshold, state.memory.pair_sums[0])
        repeats, released = state.repeats, state.repeats.variation == _RELEASED
        if released.any():
            variation = np.minimum(repeats.variation, 1).astype(np.int8)
            state = state._replace(repeats=repeats._replace(variation=variation))
            learned = state.W.any(axis=1)
            if 2 * np.count_nonzero(released & learned) >= F:  # the stream, not some sensors
                released &= ~learned
            scales = scales.restarted(released, self._typical_size(state))
        ratio = state.scales.scale / scales.scale
        W: Array = state.W * ratio[:, None]
        D: Array = state.D * pack_rows(np.square(1.0 / ratio)[:, None])
        if released.any():
            rows: Array = unpack_rows(D, F)
            W[released], rows[released] = 0.0, state.statistics.code_size / K
            D = pack_rows(rows)
        if (constant := repeats.variation == 0).any() and not constant.all():
            W[repeats.dead(_STUCK_RUN)] = 0.0
        return state._replace(W=W, D=D, scales=scales, memory=memory._replace(basis=W))

    def _typical_size(self, state: RejectionState) -> float:
        """Return the typical root mean square of an entry, in units of the common noise scale."""
        variance, code_size = state.statistics.variance, state.statistics.code_size
        energy = float(np.median(np.square(state.U).sum(axis=1))) * code_size / state.W.shape[1]
        return sqrt(1.0 + energy / variance) if variance > 0.0 else 1.0

    def encoder(self, state: RejectionState) -> OutlierRejection:
        """Return the robust fit with rejection, at the noise scales of the state."""
        return self.rejection(
            state.statistics.variance,
            state.statistics.code_size,
            state.W.shape[1],
            None if self.noise == "common" else state.scales.scale,
        )

    def rejection(
        self, variance: float, code_size: float, n_codes: int, scales: Array | None = None
    ) -> OutlierRejection:
        """Return the robust fit with rejection, at a variance of the noise and a typical |h|^2."""
        precision = variance * n_codes / code_size if code_size > 0.0 else 0.0
        return OutlierRejection(
            sqrt(variance), precision, self.huber_threshold, self.threshold, self.solver, scales
        )

    def forgetting_of(self, state: RejectionState) -> float:
        """Return the forgetting factor in use."""
        return state.memory.forgetting if isinstance(self.forgetting, str) else self.forgetting

    def noise_scale_of(self, state: RejectionState) -> float | Array:
        """Return the standard deviation of the noise, common or of each feature."""
        common = sqrt(state.statistics.variance)
        return common if self.noise == "common" else common * state.scales.scale

    def _row_update(self, memory: AdaptiveMemory) -> _native.RowUpdate:
        factor = memory.forgetting if isinstance(self.forgetting, str) else self.forgetting
        return _native.RowUpdate(forgetting=factor, ridge=self.ridge, **self._step_settings)

    @cached_property
    def _step_settings(self) -> dict[str, Any]:
        return step_settings(self.step_size)

    @cached_property
    def _rejection(self) -> _native.RejectionSettings:
        return _native.RejectionSettings(
            huber_threshold=self.huber_threshold,
            threshold=self.threshold,
            truncated_variance=truncated_variance(self.threshold),
            decay=1.0 - 1.0 / self.memory,
            admm=_native.ADMMSettings() if self.solver == "admm" else None,
        )
