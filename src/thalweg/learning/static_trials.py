"""Robust completion without time as a candidate for the fills of a table."""

from dataclasses import dataclass, field, replace

import numpy as np

from thalweg._typing import Array
from thalweg.learning.batches import as_batch
from thalweg.learning.robust_completion import Alternation

__all__ = ["StaticTrials"]

# Iterations, and angle in radians at which they stop, of a subspace that fills no gaps, and only
# separates outliers.
_FURTHER_ITERATIONS, _FURTHER_TOL = 2, 1e-2


@dataclass(frozen=True)
class StaticTrials:
    """Fill tables by robust completion, and keep the subspaces that were found.

    Parameters
    ----------
    method : Alternation
        The completion.
    seed : int
        Seed of its initialisation.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.robust_completion import Alternation
    >>> from thalweg.learning.static_trials import StaticTrials
    >>> from thalweg.trackers.petrels_admm import PetrelsADMMTracker
    >>> X = np.outer(np.arange(1.0, 30.0), np.arange(1.0, 9.0))
    >>> X[3, 2] = np.nan
    >>> trials = StaticTrials(Alternation(PetrelsADMMTracker(1.0), 1e-4, 10), 0)
    >>> float(trials.fill(X, 1)[3, 2].round(6))
    12.0
    """

    method: Alternation
    seed: int
    _starts: dict[int, tuple[Array, float]] = field(default_factory=dict, init=False)

    def fill(self, X: Array, rank: int) -> Array:
        """Return the low-rank part of a table."""
        batch = as_batch(X)
        found = self.method.complete(batch.V, batch.observed, rank, self.seed)
        residual = batch.V - found.low_rank - found.R
        kept = residual if batch.observed is None else residual[batch.observed]
        if found.U.any(axis=0).all():
            self._starts[rank] = (found.U, float(np.sqrt(np.mean(np.square(kept)))))
        return np.asarray(found.low_rank.T)

    def further(self, rank: int) -> Alternation:
        """Return the completion of few iterations, from the trial of this rank if there was one."""
        limits = min(self.method.max_iter, _FURTHER_ITERATIONS), max(self.method.tol, _FURTHER_TOL)
        start = self._starts.get(rank)
        return replace(self.method, max_iter=limits[0], tol=limits[1], start=start)
