"""The number of components by hidden entries: a ladder of short fits, each from the one before."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.divergences import Divergence
from thalweg.learning.held_out import HiddenCounts, HiddenEntries
from thalweg.learning.rank_evidence import RankEvidence

__all__ = ["LARGEST_RESIDUAL", "RankTrials", "Trial", "climb", "largest_rank"]

# Ranks are tried one by one up to this one, then in steps of a quarter.
_SINGLE_STEPS = 8
# The ladder ends after this many ranks without a smaller loss, or at one whose loss is larger by
# this many standard errors.
_PATIENCE, _CLEAR_ERRORS = 2, 3.0
# A fit whose deviations have a median below this share of the spread of the data is continued, at
# most this often, while each continuation reduces the mean square to this share.
_CLEAN_SHARE, _MAX_CONTINUATIONS, _CONTINUATION_GAIN = 0.1, 20, 0.97
# Larger residuals, in median residuals, are clipped: 3 scales of normal noise are 2 medians.
LARGEST_RESIDUAL = 4.5


class Trial(NamedTuple):
    """A fit with some number of components.

    Attributes
    ----------
    W : array of shape (F, K)
        Dictionary.
    H : array of shape (K, N)
        Codes of all samples.
    loss : Divergence
        The loss that was minimised.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.kl import KL
    >>> from thalweg.learning.rank_ladder import Trial
    >>> Trial(np.ones((3, 1)), np.ones((1, 5)), KL()).W.shape
    (3, 1)
    """

    W: Array
    H: Array
    loss: Divergence


class RankTrials:
    """Fits to the entries that are not hidden, with any number of components.

    A subclass implements :meth:`fit`; ``hidden`` and ``floor`` describe the hidden entries, and
    ``accuracy`` is that of the fits, as a share of the spread of the data.

    Examples
    --------
    >>> from thalweg.learning.divergence_trials import DivergenceTrials
    >>> from thalweg.learning.rank_ladder import RankTrials
    >>> issubclass(DivergenceTrials, RankTrials)
    True
    """

    hidden: HiddenEntries | HiddenCounts
    floor: float = 0.0
    accuracy: float = 1e-3

    def fit(self, rank: int, below: Trial | None) -> Trial:
        """Return a fit, from one with fewer components if there is one."""
        raise NotImplementedError


def climb(trials: RankTrials, first: int, last: int) -> RankEvidence:
    """Try ranks upwards until the hidden entries get worse, then the ranks that were left out.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.squared_l2 import SquaredL2
    >>> from thalweg.learning.held_out import hide
    >>> from thalweg.learning.rank_ladder import RankTrials, Trial, climb
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) @ np.eye(2, 9) + 5.0
    >>> class Truncated(RankTrials):
    ...     seen, hidden = hide(X, 0.1, np.random.default_rng(0))
    ...
    ...     def fit(self, rank, below):
    ...         U, s, V = np.linalg.svd(np.where(np.isnan(self.seen), 5.0, self.seen).T)
    ...         return Trial(U[:, :rank] * s[:rank], V[:rank], SquaredL2())
    >>> climb(Truncated(), 1, 8).ranks[0]
    np.int64(1)
    """
    found: dict[int, Trial] = {}
    measured: dict[int, Array] = {}

    def attempt(rank: int) -> RankEvidence:
        below = max((k for k in found if k < rank), default=None)
        trial = trials.fit(rank, None if below is None else found[below])
        trial, measured[rank] = _converged(trials, rank, trial)
        found[rank] = trial
        ranks = sorted(measured)
        stacked = np.stack([measured[k] for k in ranks])
        rows = trials.hidden.row_losses(stacked, trial.loss, trials.floor, trials.accuracy)
        return RankEvidence.of(ranks, rows, trials.hidden.counts)

    evidence = _ladder(attempt, first, last)
    while True:
        gap = _open_rank(evidence)
        if gap is None:
            return evidence
        evidence = attempt(gap)


def _converged(trials: RankTrials, rank: int, trial: Trial) -> tuple[Trial, Array]:
    """Return a fit and its deviations; one that leaves little of the data is continued.

    There the deviations of a short fit are how far it has converged, not the noise. A robust fit
    may also have kept entries as outliers that the rank below could not explain: a fit that begins
    anew replaces it if it is closer.
    """
    hidden, floor = trials.hidden, trials.floor
    measured = hidden.measure(trial.W, trial.H, trial.loss, floor)
    limit = _CLEAN_SHARE * hidden.spread(trial.loss, floor)
    if np.median(measured) <= limit:
        trial, measured = _nearer(trials, trials.fit(rank, None), trial, LARGEST_RESIDUAL * limit)
    for _ in range(_MAX_CONTINUATIONS):
        median = float(np.median(measured))
        if median > limit:
            break
        cap, longer = LARGEST_RESIDUAL * median, trials.fit(rank, trial)
        further = hidden.measure(longer.W, longer.H, longer.loss, floor)
        before, after = (_capped_mean(one, cap) for one in (measured, further))
        if after < before:
            trial, measured = longer, further
        if after > _CONTINUATION_GAIN * before:
            break
    return trial, measured


def _nearer(trials: RankTrials, one: Trial, other: Trial, cap: float) -> tuple[Trial, Array]:
    """Return the fit with the smaller deviations, and these."""
    pairs = [
        (fit, trials.hidden.measure(fit.W, fit.H, fit.loss, trials.floor)) for fit in (one, other)
    ]
    return min(pairs, key=lambda pair: _capped_mean(pair[1], cap))


def _capped_mean(measured: Array, cap: float) -> float:
    return float(np.square(np.minimum(measured, cap)).mean())


def _ladder(attempt: Callable[[int], RankEvidence], first: int, last: int) -> RankEvidence:
    rank, evidence = first, attempt(first)
    while rank < last:
        rank = min(last, rank + max(1, rank // 4 if rank >= _SINGLE_STEPS else 1))
        evidence = attempt(rank)
        n_beyond = int(np.count_nonzero(evidence.ranks > evidence.best))
        excess = evidence.losses[-1] - evidence.losses.min()
        if n_beyond >= _PATIENCE or excess > _CLEAR_ERRORS * evidence.errors[-1] > 0.0:
            break
    return evidence


def _open_rank(evidence: RankEvidence) -> int | None:
    """Return a rank that was left out beside the best or the chosen one; None if there is none."""
    ranks = evidence.ranks.tolist()
    for centre in (evidence.best, evidence.chosen):
        i = ranks.index(centre)
        lower = ranks[i - 1] if i > 0 else centre
        upper = ranks[i + 1] if i + 1 < len(ranks) else centre
        for low, high in ((lower, centre), (centre, upper)):
            if high - low > 1:
                return int((low + high) // 2)
    return None


def largest_rank(shape: tuple[int, int]) -> int:
    """Return the largest rank that hidden entries can tell: less than all samples and features.

    Examples
    --------
    >>> from thalweg.learning.rank_ladder import largest_rank
    >>> largest_rank((100, 8))
    7
    """
    return max(1, min(shape) - 1)
