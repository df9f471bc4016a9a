"""Fills of a tracked table in time: the deviation of each column from the low-rank part."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array

__all__ = ["Fills", "LocalFill"]

# Rows of the block before that the deviations of a block begin with: longer than most correlations.
_TAIL_ROWS = 256
# Largest error that counts in the choice, in typical errors: hidden entries may be outliers.
_MAX_RATIO = 6.0


class Fills(NamedTuple):
    """Expected values and standard errors of all entries, in standardised units."""

    values: Array
    std: Array


class LocalFill:
    """Smooth what the low-rank part leaves of each column, a block of rows at a time.

    Deviations are autoregressions, estimated from the first block. Entries of that block, hidden in
    the pattern of its gaps, decide whether deviations are used, and calibrate the standard errors.
    """

    def __init__(self, seed: int) -> None:
        from thalweg.dynamics.autoregressive_factors import AutoregressiveFactors

        self._rng = np.random.default_rng(seed)
        self._dynamics = AutoregressiveFactors()
        self._state: Any = None
        self._tail: Array = np.empty((0, 0))
        self._when: Array = np.empty(0)
        self.uses_time = False
        self.calibration: Any = None
        self.baselines: dict[str, Array] = {}

    def fill(
        self,
        Z: Array,
        low_rank: Array,
        outliers: Array,
        encode: Callable[[Array], Array],
        times: Array | None = None,
    ) -> Fills:
        """Return fills of the next rows; ``encode`` returns the low-rank part of other rows."""
        from thalweg.dynamics.gaps import gap_lengths

        left = np.where(outliers != 0.0, np.nan, Z - low_rank)
        when = self._times(times, len(Z))
        if self._state is None:
            self._choose(Z, outliers, encode, when)
            self._state = self._dynamics.fit(left, when, 0)
            self._tail = left[:0]
        joined, when = np.vstack([self._tail, left]), np.append(self._when, when)
        found = self._smoothed(joined, when)
        self._tail, self._when = joined[-_TAIL_ROWS:], when[-_TAIL_ROWS:]
        values = low_rank + found.values[-len(Z) :] if self.uses_time else low_rank
        std = found.std[-len(Z) :] if self.uses_time else np.ones(Z.shape)
        return Fills(values, std * self.calibration.std_factor(gap_lengths(np.isnan(Z))))

    def _times(self, times: Array | None, n: int) -> Array:
        """Return the times of the next rows; rows are counted where they do not increase."""
        last = self._when[-1] if len(self._when) else -np.inf
        if times is not None and times[0] > last:
            return times
        step = 1.0 if self._state is None else self._state.step
        return max(last, 0.0) + step * np.arange(1.0, n + 1.0)

    def _smoothed(self, left: Array, times: Array) -> Fills:
        return Fills(*self._dynamics.smooth(self._state, left, times))

    def _choose(
        self, Z: Array, outliers: Array, encode: Callable[[Array], Array], times: Array
    ) -> None:
        """Decide by hidden entries, whose codes are found without them."""
        from thalweg.dynamics.calibration import calibrate
        from thalweg.dynamics.gaps import gap_lengths, gap_starts, hide_like_gaps
        from thalweg.dynamics.scores import Scores
        from thalweg.learning.simple_fills import simple_errors

        hidden = hide_like_gaps(np.isnan(Z), self._rng)
        gaps = np.where(hidden, np.nan, Z)
        low_rank = encode(gaps)
        left = np.where(outliers != 0.0, np.nan, gaps - low_rank)
        self._state = self._dynamics.fit(left, times, 0)
        found = self._smoothed(left, times)
        still = np.where(hidden, low_rank - Z, 0.0)
        timed = np.where(hidden, low_rank + found.values - Z, 0.0)
        self.uses_time = _is_smaller(timed[hidden], still[hidden])
        errors, std = (timed, found.std) if self.uses_time else (still, np.ones(Z.shape))
        missing, scale = np.isnan(gaps), np.ones(Z.shape[1])
        scores = Scores.of(errors, std, gap_lengths(missing), hidden, gap_starts(missing))
        self.calibration = calibrate(scores, scale)
        if hidden.any():
            self.baselines = simple_errors(Z, hidden, scale, self.calibration)


def _is_smaller(one: Array, two: Array) -> bool:
    """Return whether errors are smaller than others; outliers count little."""
    if one.size == 0:
        return False
    sizes = np.abs(one), np.abs(two)
    most = _MAX_RATIO * min(float(np.median(size)) for size in sizes)
    squares = [float(np.mean(np.square(np.minimum(size, most)))) for size in sizes]
    return squares[0] < squares[1]
