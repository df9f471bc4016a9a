"""State of a tracked subspace: tracker, initialisation, outliers, drift and jumps."""

from typing import Any, NamedTuple

from thalweg._typing import Array
from thalweg.learning.challenger import Challenger
from thalweg.learning.cusum import Monitor, OutlierCounts
from thalweg.learning.init_samples import InitSamples
from thalweg.learning.rank_evidence import RankEvidence
from thalweg.noise.residual_counts import ResidualCounts

__all__ = ["TrackingState"]


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
    counting_mean : array of shape (F,) or None
        Mean of each feature at the latest check; None if samples are not centred.
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
    counting_mean: Array | None = None
    rank_evidence: RankEvidence | None = None
    challenger: Challenger | None = None
