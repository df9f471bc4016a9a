"""A basis that competes with the present one after a suspected jump."""

from math import log
from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.learning.cusum import CHECK_EVERY
from thalweg.learning.init_samples import InitSamples, robust_state
from thalweg.learning.rank_evidence import RankEvidence
from thalweg.trackers import Tracker

__all__ = ["Challenger"]

# Samples for which two bases are compared after a suspected jump, at least, before the present one
# stays. benchmark: tracking_hard
_TRIAL_SAMPLES = 64
# The new basis replaces the present one if this share of them has clearly smaller residuals, by
# this ratio. A basis fitted to 150 samples leaves residuals about 1 % larger than the true one, and
# a jump that matters doubles them. benchmark: tracking_hard
_TRIAL_QUANTILE, _CLEAR_RATIO = 0.75, 0.8
# Its residuals are at most this many times those before the jump: bursts of bad samples fit no
# basis. Safety margin: any value in 1.5..4 gives the same results.
_LARGEST_RISE = 2.0


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
    rank_evidence : RankEvidence or None
        Losses of hidden entries at the latest fit, if the number of dimensions is chosen by them.
    log_errors : array of shape (n, 2)
        Logarithms of the median residuals of the samples since this fit, with the new basis and
        with the present one.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.challenger import Challenger
    >>> new = Challenger.at(np.eye(3, 2), since=500, level=-2.0)
    >>> new.is_better
    False
    >>> new._replace(log_errors=np.full((64, 2), [-2.0, 0.0])).is_better
    True
    """

    since: int
    level: float
    samples: InitSamples
    tracker: Any
    rank_evidence: RankEvidence | None
    log_errors: Array

    @classmethod
    def at(cls, U: Array, since: int, level: float) -> "Challenger":
        """Return a challenger of the basis U, before its first sample."""
        return cls(since, level, InitSamples.none(U), None, None, np.zeros((0, 2)))

    def added(
        self, tracker: Tracker[Any], V: Array, observed: Mask | None, errors: Array
    ) -> "Challenger":
        """Return the challenger after a block of samples.

        Parameters
        ----------
        tracker : Tracker
            The tracker.
        V : array of shape (F, B)
            Samples as columns.
        observed : boolean array of shape (F, B), optional
            Mask of the observed entries.
        errors : array of shape (B,)
            Median residuals of the samples with the present basis.
        """
        samples = self.samples.added(V, observed)
        if self.tracker is None:
            return self._replace(samples=samples)
        tracked, track = tracker.step(self.tracker, V, observed)
        pairs = _log_errors(track.error, errors)
        return self._replace(
            samples=samples, tracker=tracked, log_errors=np.vstack([self.log_errors, pairs])
        )

    def fitted(self, tracker: Tracker[Any], U: Array, seed: int, auto_rank: bool) -> "Challenger":
        """Return the challenger with a new basis, fitted to its samples; U is the present basis."""
        tracked, evidence = robust_state(tracker, U, self.samples, seed, auto_rank)
        return self._replace(tracker=tracked, rank_evidence=evidence, log_errors=np.zeros((0, 2)))

    def needs_fit(self, n_new: int) -> bool:
        """Return whether a fit is due: the first one, or after twice as many samples."""
        n = int(self.samples.V.shape[1])
        is_due = self.tracker is None or n.bit_length() > (n - n_new).bit_length()
        return n >= CHECK_EVERY and is_due

    @property
    def is_compared(self) -> bool:
        """Whether there are enough samples since the latest fit to keep the present basis."""
        return len(self.log_errors) >= _TRIAL_SAMPLES

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


def _log_errors(new: Array, old: Array) -> Array:
    """Return the logarithms of the samples' median residuals that are known and positive."""
    known = (new > 0.0) & (old > 0.0)  # False for NaN
    pairs: Array = np.log(np.column_stack([new[known], old[known]]))
    return pairs
