"""Checks of a tracked subspace: drift, jumps detected from residuals, share of outliers."""

from dataclasses import dataclass
from math import exp, isfinite, log, nan
from typing import NamedTuple

import numpy as np

from thalweg._checks import require_positive
from thalweg._linalg import largest_angle, orthonormal
from thalweg._typing import Array, Indices

__all__ = ["CHECK_EVERY", "JUMP_TEST", "Cusum", "Evidence", "Monitor", "OutlierCounts"]

# Samples between two checks for drift and jumps. They are counted from the first sample of the
# stream, so that the result does not depend on how the stream is split into calls.
CHECK_EVERY = 32
MAX_HISTORY = 4096  # checks whose drift is kept, and jumps

_SMALLEST_RESIDUAL = 1e-300  # in place of zero, which has no logarithm
# Page's test, in standard deviations of the log residual. benchmark: tracking_gaps
_LARGEST_DEVIATION = 5.0  # deviations are clipped there: one sample is no evidence of a jump
_ALLOWED_DEVIATION = 0.5  # a jump must exceed it
# Mean absolute value of a standard normal variable: sqrt(2 / pi), rounded.
_MEAN_ABSOLUTE_DEVIATION = 0.8
# Factor of the outlier counts at each check: the share is that of about 10 checks, 320 samples.
_OUTLIER_DECAY = 0.9


class Evidence(NamedTuple):
    """Statistics of the residuals, and the evidence of a jump.

    Attributes
    ----------
    level, spread : float
        Mean and standard deviation of the log residuals.
    evidence : float
        Cumulative sum of the deviations beyond the allowed one; never negative.
    n_samples : int
        Number of samples with a residual.

    Examples
    --------
    >>> from thalweg.learning.cusum import Cusum
    >>> Cusum().init().evidence
    0.0
    """

    level: float
    spread: float
    evidence: float
    n_samples: int


@dataclass(frozen=True)
class Cusum:
    """Detect a jump by Page's cumulative sum (CUSUM) test of the log residuals.

    Let z be the deviation of a log residual from its mean, in standard deviations. The statistic is

        g = max(0, g + min(z, 5) - max(0.5, log(factor) / spread)).

    A jump increases the residuals of all later samples, an outlier only one. The logarithm makes
    the test independent of units. Mean and standard deviation follow the stream, so that neither
    slow drift nor a changing noise scale is a jump.

    Parameters
    ----------
    factor : float
        Residuals that grow by less than this factor are not a jump.
    threshold : float
        Value of the statistic from which there is a jump, in standard deviations; a clear jump adds
        up to 4.5 for each sample.
    patience : int
        Number of initial samples that only estimate mean and standard deviation.
    memory : int
        Number of samples in the running mean and standard deviation.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.cusum import Cusum
    >>> test, rng = Cusum(), np.random.default_rng(0)
    >>> state, jumped = test.step(test.init(), np.abs(rng.normal(1.0, 0.1, 500)))
    >>> jumped
    False
    >>> test.step(state, np.abs(rng.normal(5.0, 0.5, 20)))[1]
    True
    """

    factor: float = 1.5
    threshold: float = 20.0
    patience: int = 64
    memory: int = 256

    def __post_init__(self) -> None:
        require_positive(
            factor=self.factor,
            threshold=self.threshold,
            patience=self.patience,
            memory=self.memory,
        )

    def init(self) -> Evidence:
        """Return the state before the first sample."""
        return Evidence(0.0, 0.0, 0.0, 0)

    def step(self, state: Evidence, errors: Array) -> tuple[Evidence, bool]:
        """Return the state after more samples, and whether it has evidence of a jump."""
        level, spread, evidence, n_samples = state
        for error in errors.tolist():
            if not isfinite(error):
                continue
            value, n_samples = log(max(error, _SMALLEST_RESIDUAL)), n_samples + 1
            if n_samples == 1:
                level = value
            deviation = value - level
            if n_samples > self.patience and spread > 0.0:
                allowed = max(_ALLOWED_DEVIATION, log(self.factor) / spread)
                clipped = min(deviation / spread, _LARGEST_DEVIATION)
                evidence = max(0.0, evidence + clipped - allowed)
                largest = _LARGEST_DEVIATION * spread
                deviation = max(-largest, min(deviation, largest))
            rate = max(1.0 / n_samples, 1.0 / self.memory)
            level += rate * deviation
            spread += rate * (abs(deviation) / _MEAN_ABSOLUTE_DEVIATION - spread)
        return Evidence(level, spread, evidence, n_samples), evidence > self.threshold

    def p_value(self, state: Evidence) -> float:
        """Return the probability that the statistic is as large as g at some time without a jump.

        The statistic is a random walk with the mean step ``-a``, reflected at 0. For normal
        deviations it exceeds g with a probability of at most ``exp(-2 a g)`` (Lundberg's bound).

        Parameters
        ----------
        state : Evidence
            The statistics after some samples.

        Returns
        -------
        float
            The p-value; 1 before the test begins.

        Examples
        --------
        >>> from thalweg.learning.cusum import Cusum, Evidence
        >>> Cusum().p_value(Evidence(0.0, 1.0, evidence=3.0, n_samples=500)) < 0.05
        True
        """
        if state.n_samples <= self.patience or state.spread <= 0.0:
            return 1.0
        allowed = max(_ALLOWED_DEVIATION, log(self.factor) / state.spread)
        return exp(-2.0 * allowed * state.evidence)


JUMP_TEST = Cusum()


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
    >>> from thalweg.learning.cusum import Monitor
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
        return cls(JUMP_TEST.init(), U, np.zeros(0), np.zeros(0, dtype=np.intp))

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
        return JUMP_TEST.p_value(self.evidence)

    @property
    def residual(self) -> float:
        """Geometric mean of the recent median residuals; NaN before the first one."""
        return exp(self.evidence.level) if self.evidence.n_samples else nan


class OutlierCounts(NamedTuple):
    """Counts of outliers and observed entries, with weights that decay.

    Attributes
    ----------
    n_outliers, n_observed : float
        The counts.

    Examples
    --------
    >>> from thalweg.learning.cusum import OutlierCounts
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
