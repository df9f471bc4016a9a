"""The rank of a matrix with gaps and outliers, of either sign, by hidden entries."""

from dataclasses import dataclass, field, replace

import numpy as np

from thalweg._linalg import orthonormal
from thalweg._typing import Array, Mask
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.learning.batches import DataForm, as_batch
from thalweg.learning.held_out import HiddenEntries, hide
from thalweg.learning.rank_evidence import RankEvidence
from thalweg.learning.rank_ladder import RankTrials, Trial, climb
from thalweg.learning.rank_sample import hidden_share, search_sample
from thalweg.learning.robust_completion import Alternation
from thalweg.trackers.noise_scale import truncated_noise_scale
from thalweg.trackers.petrels_admm import PetrelsADMMTracker
from thalweg.trackers.robust_init import robust_init

__all__ = ["CompletionTrials", "choose_subspace_rank"]

# Iterations at each rank, from the basis of the rank below. benchmark: rank
_TRIAL_ITERATIONS = 4
# Observed entries that a sample needs for each component, at the largest rank that is tried.
_ENTRIES_PER_COMPONENT = 2


@dataclass(frozen=True, eq=False)
class CompletionTrials(RankTrials):
    """Robust completions of rising rank; a new direction is that of the residuals.

    Parameters
    ----------
    V : array of shape (F, N)
        The samples, 0 at missing and at hidden entries.
    observed : boolean array of shape (F, N), or None
        The entries that are not hidden.
    hidden : HiddenEntries
        The hidden entries.
    seed : int
        Seed of the basis of the first rank.
    tracker : PetrelsADMMTracker
        Rejects outliers.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.completion_rank import choose_subspace_rank
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(150, 2)) @ rng.normal(size=(2, 30)) + 0.1 * rng.normal(size=(150, 30))
    >>> choose_subspace_rank(X, rng).chosen
    2
    """

    V: Array
    observed: Mask | None
    hidden: HiddenEntries
    seed: int = 0
    tracker: PetrelsADMMTracker = field(default_factory=lambda: PetrelsADMMTracker(1.0))

    def fit(self, rank: int, below: Trial | None) -> Trial:
        """Return a completion, from one of a lower rank if there is one."""
        method = Alternation(self.tracker, tol=0.0, max_iter=_TRIAL_ITERATIONS)
        if below is None:
            U, noise, _ = robust_init(self.V, rank, self.observed, seed=self.seed)
        else:
            U, noise = self._grown(below, rank)
        found = method.improve(self.V, self.observed, U, noise)
        return Trial(found.U, found.H, SquaredL2())

    def _grown(self, below: Trial, rank: int) -> tuple[Array, float]:
        """Return the basis of a fit with directions of its residuals, and the noise scale."""
        E = self.V - below.W @ below.H
        known = np.ones(E.shape, np.bool_) if self.observed is None else self.observed
        n_fitted = below.W.size + below.H.size
        noise = truncated_noise_scale(E[known], self.tracker.threshold, n_fitted)
        limit = self.tracker.threshold * noise
        E = np.where(known, np.clip(E, -limit, limit), 0.0)
        directions = np.linalg.svd(E, full_matrices=False)[0][:, : rank - below.W.shape[1]]
        return orthonormal(np.hstack([below.W, directions.astype(below.W.dtype)])), noise


def choose_subspace_rank(
    X: Array, rng: np.random.Generator, tracker: PetrelsADMMTracker | None = None
) -> RankEvidence:
    """Return the evidence for the rank of some rows with gaps and outliers.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Rows; NaN marks missing entries.
    rng : Generator
        Draws the sample, the hidden entries and the seed of the fits.
    tracker : PetrelsADMMTracker, optional
        Rejects outliers.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.completion_rank import choose_subspace_rank
    >>> X = np.outer(np.arange(1.0, 61.0), np.arange(-3.0, 5.0))
    >>> choose_subspace_rank(X, np.random.default_rng(0)).chosen
    1
    """
    X, _ = search_sample(X, DataForm(), rng)
    seen, hidden = hide(X, hidden_share(X), rng)
    batch, seed = as_batch(seen), int(rng.integers(2**31))
    last = _largest_rank(seen)
    if last <= 1 or hidden.n_hidden == 0:
        nothing = np.array([np.nan])
        return RankEvidence(np.array([1]), nothing, nothing, hidden.n_hidden)
    trials = CompletionTrials(batch.V, batch.observed, hidden, seed)
    return climb(trials if tracker is None else replace(trials, tracker=tracker), 1, last)


def _largest_rank(seen: Array) -> int:
    """Return the largest rank for which most samples and features determine their codes."""
    known = ~np.isnan(seen)
    counts = [int(np.median(known.sum(axis=axis))) for axis in (0, 1)]
    most: int = min(min(counts) // _ENTRIES_PER_COMPONENT, min(seen.shape) - 1)
    return max(1, most)
