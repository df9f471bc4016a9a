"""Samples for a robust initialisation of a tracker: collection, fit, and residuals."""

from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.learning.centered_tracker import CenteredTracker
from thalweg.learning.completion_rank import choose_subspace_rank
from thalweg.learning.rank_evidence import RankEvidence
from thalweg.noise.feature_scales import feature_medians
from thalweg.noise.leverage import studentised, unfitted
from thalweg.noise.residual_counts import ResidualCounts
from thalweg.trackers import Tracker
from thalweg.trackers.robust_init import robust_basis

__all__ = ["MAX_ENTRIES", "InitSamples", "init_counts", "robust_state"]

MAX_ENTRIES = 2**22  # entries that are processed at a time, or collected for the initialisation
# Entries per feature that a robust initialisation needs: a constant, and more per component.
# benchmark: tracking_corruption
_INIT_ENTRIES, _INIT_ENTRIES_PER_COMPONENT = 128, 8


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
    >>> from thalweg.learning.init_samples import InitSamples
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

    def has_doubled_since(self, before: "InitSamples") -> bool:
        """Return whether the number of samples has become a power of 2."""
        n = int(self.V.shape[1])
        return n > before.V.shape[1] and n & (n - 1) == 0

    def is_enough(self, K: int, wanted: int | str) -> bool:
        """Return whether the samples are enough for a robust initialisation.

        Parameters
        ----------
        K : int
            Number of dimensions.
        wanted : int or "auto"
            Number of samples. With "auto", each feature is observed ``128 + 8 K`` times on average.
        """
        F, n = self.V.shape
        if not isinstance(wanted, str):
            return bool(n >= wanted)
        counts = self.observed.sum(axis=0)
        n_useful = int(counts[counts > K].sum())
        n_needed = F * (_INIT_ENTRIES + _INIT_ENTRIES_PER_COMPONENT * K)
        return n_useful >= n_needed or self.V.size >= MAX_ENTRIES


def robust_state(
    tracker: Tracker[Any], guess: Array, samples: InitSamples, seed: int, auto_rank: bool = False
) -> tuple[Any, RankEvidence | None]:
    """Return the state of a tracker after some samples, from a robust basis fitted to them.

    Parameters
    ----------
    tracker : Tracker
        The tracker. If it has no ``robust_init``, its initial basis is :func:`robust_basis`.
    guess : array of shape (F, K)
        Basis to begin with.
    samples : InitSamples
        The samples.
    seed : int
        Seed of all random numbers.
    auto_rank : bool
        Whether the number of dimensions is chosen by hidden entries, instead of K.

    Returns
    -------
    state : NamedTuple
        State of the tracker.
    evidence : RankEvidence or None
        Losses of the hidden entries; None without ``auto_rank``.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.init_samples import InitSamples, robust_state
    >>> from thalweg.trackers.petrels import PetrelsTracker
    >>> V = np.outer([3.0, 4.0], np.arange(1.0, 41.0))
    >>> samples = InitSamples.none(np.eye(2, 1)).added(V, None)
    >>> U = robust_state(PetrelsTracker(), np.eye(2, 1), samples, seed=0)[0].U
    >>> bool(abs(U[1, 0] / U[0, 0] - 4 / 3) < 1e-2)
    True
    """
    V, observed = samples
    K, evidence = guess.shape[1], None
    if auto_rank:
        center = feature_medians(V.T, observed.T) if isinstance(tracker, CenteredTracker) else 0.0
        X = (np.where(observed, V, np.nan).T - center).astype(V.dtype)
        evidence = choose_subspace_rank(X, np.random.default_rng(seed))
        K = evidence.chosen
    known = guess if guess.shape[1] == K else None
    robust_init = getattr(tracker, "robust_init", None)
    if robust_init is None:
        state = tracker.init(robust_basis(V, K, observed, seed=seed, guess=known))
    else:
        state = robust_init(V, K, observed, seed, known)
    return tracker.step(state, V, observed)[0], evidence


def init_counts(tracker: Tracker[Any], state: Any, samples: InitSamples) -> ResidualCounts:
    """Count the residuals of the samples that a basis was fitted to, by size.

    Parameters
    ----------
    tracker : Tracker
        The tracker.
    state : NamedTuple
        Its state, with the basis ``U``.
    samples : InitSamples
        The samples.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.init_samples import InitSamples, init_counts, robust_state
    >>> from thalweg.trackers.petrels import PetrelsTracker
    >>> tracker, V = PetrelsTracker(), np.random.default_rng(0).normal(size=(5, 40))
    >>> samples = InitSamples.none(np.eye(5, 1)).added(V, None)
    >>> state, _ = robust_state(tracker, np.eye(5, 1), samples, seed=0)
    >>> init_counts(tracker, state, samples).n_samples
    40
    """
    (V, observed), U = samples, state.U
    encoder, mean = tracker.encoder(state), getattr(state, "mean", None)
    if mean is not None:
        V = np.where(observed, V - mean[:, None], 0.0).astype(V.dtype)
    codes = encoder.encode(V, U, observed=observed)
    scales = getattr(encoder, "relative_scales", None)
    residuals = studentised(V, U, codes.H, codes.R, observed, scales)
    residuals = unfitted(residuals, observed.sum(axis=1), U.shape[1])
    return ResidualCounts.of(residuals, observed, V)
