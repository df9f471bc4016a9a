"""Notice that the subspace has jumped, from the residuals of samples."""

from dataclasses import dataclass
from math import isfinite, log
from typing import NamedTuple

from thalweg._checks import require_positive
from thalweg._typing import Array

__all__ = ["Cusum", "Evidence"]

_LEAST = 1e-300  # a residual of zero has no logarithm
_CLIP = 5.0  # deviations beyond so many spreads count as so many
_SLACK = 0.5  # spreads that a deviation may always have
_MEAN_DEVIATION = 0.8  # of a normal number, in units of its standard deviation


class Evidence(NamedTuple):
    """What residuals are like, and what speaks for a jump.

    Attributes
    ----------
    level, spread : float
        Mean and standard deviation of the logarithm of the residuals.
    evidence : float
        Cumulated deviations above what is allowed; never negative.
    heard : int
        Samples that had a residual.

    Examples
    --------
    >>> from thalweg.trackers.cusum import Cusum
    >>> Cusum().init().evidence
    0.0
    """

    level: float
    spread: float
    evidence: float
    heard: int


@dataclass(frozen=True)
class Cusum:
    """Page's cumulative sum of log residuals, in units of their own spread.

    A jump makes the residuals of all later samples larger, an outlier only one. The logarithm
    makes the test independent of units, and level and spread follow the stream, so that slow
    drift and a changing noise level do not look like jumps.

    Parameters
    ----------
    factor : float
        Residuals that have grown by less than this factor are no jump, however steady.
    threshold : float
        Evidence that is a jump, in spreads; a clear jump brings up to four a sample.
    patience : int
        Samples at the beginning that only teach level and spread.
    memory : int
        Samples that level and spread are taken from, with weights that fade.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.cusum import Cusum
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
        """Return the state after more samples, and whether there is evidence of a jump in it."""
        level, spread, evidence, heard = state
        for error in errors.tolist():
            if not isfinite(error):
                continue
            value, heard = log(max(error, _LEAST)), heard + 1
            if heard == 1:
                level = value
            deviation = value - level
            if heard > self.patience and spread > 0.0:
                allowed = max(_SLACK, log(self.factor) / spread)
                evidence = max(0.0, evidence + min(deviation / spread, _CLIP) - allowed)
                deviation = max(-_CLIP * spread, min(deviation, _CLIP * spread))
            rate = max(1.0 / heard, 1.0 / self.memory)
            level += rate * deviation
            spread += rate * (abs(deviation) / _MEAN_DEVIATION - spread)
        return Evidence(level, spread, evidence, heard), evidence > self.threshold
