"""The number of archetypes by hidden entries."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from thalweg._typing import Array, Mask
from thalweg.archetypes import DataMatrix
from thalweg.archetypes.block_descent import Descent
from thalweg.archetypes.continuation import Continuation
from thalweg.archetypes.local_search import LocalSearch
from thalweg.archetypes.simplex_codes import SimplexCodes
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.learning.archetypal import ArchetypalLearner
from thalweg.learning.archetypal_init import impute, impute_means
from thalweg.learning.batches import DataForm
from thalweg.learning.held_out import HiddenEntries, hide
from thalweg.learning.rank_evidence import RankEvidence
from thalweg.learning.rank_ladder import RankTrials, Trial, climb
from thalweg.learning.rank_sample import hidden_share, search_sample

__all__ = ["ArchetypalTrials", "choose_archetypes"]

# Descents of a trial, with missing entries imputed between them, and the sweeps of each: many
# short ones, since an archetype more would make up for imputed means.
# benchmark: rank
_DESCENTS, _SWEEPS = 12, 3


@dataclass(frozen=True, eq=False)
class ArchetypalTrials(RankTrials):
    """Fits of archetypes; a new archetype begins at the sample that is farthest from the hull.

    Parameters
    ----------
    seen : array of shape (n_samples, n_features)
        The samples, with NaN at missing and hidden entries.
    hidden : HiddenEntries
        The hidden entries.
    weight : float
        Weight of the distance of the archetypes from the hull of the data.
    share : float
        Largest share of nonzeros of the archetypes.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.archetypal_rank import choose_archetypes
    >>> rng = np.random.default_rng(0)
    >>> X = rng.dirichlet(np.full(3, 0.3), 200) @ rng.random((3, 12))
    >>> X = np.abs(X + 0.02 * rng.normal(size=X.shape))
    >>> choose_archetypes(X, rng).chosen
    3
    """

    seen: Array
    hidden: HiddenEntries
    weight: float = 1.0
    share: float = 1.0
    accuracy: float = 1e-2

    def fit(self, rank: int, below: Trial | None) -> Trial:
        """Return archetypes and codes, from fewer archetypes if there are some."""
        rows, observed = impute_means(self.seen)
        initial: Array | str = "projections"
        if below is not None:
            low_rank = (below.W @ below.H).T
            if observed is not None:
                rows = DataMatrix.of(np.where(observed, self.seen, low_rank))
            residuals = np.square(rows.X - low_rank).sum(axis=1)
            farthest = np.argsort(-residuals)[: rank - below.W.shape[1]]
            initial = np.vstack([below.W.T, rows.X[farthest]])
        for _ in range(_DESCENTS):
            found = self._learner(rank, initial).run(rows, observed, np.random.default_rng(0))
            initial, rows = found.state.H, impute(observed, found.rows, found.state)
        W = np.ascontiguousarray(initial.T)  # type: ignore[union-attr]
        V = np.where(np.isnan(self.seen), 0.0, self.seen).T
        return Trial(W, SimplexCodes().encode(V, W, observed=self._mask).H, SquaredL2())

    @property
    def _mask(self) -> Mask:
        mask: Mask = ~np.isnan(self.seen.T)
        return mask

    def _learner(self, rank: int, initial: Array | str) -> ArchetypalLearner:
        descent = Descent(max_sweeps=_SWEEPS, swaps=False)
        size = rank * self.seen.shape[1]
        return ArchetypalLearner(
            n_components=rank,
            nonzeros=max(1, round(self.share * size)) if self.share < 1.0 else None,
            weight=self.weight,
            init=initial,
            continuation=Continuation(1, descent),
            search=LocalSearch(0, descent),
            n_relaxations=0,
        )


def choose_archetypes(
    X: Any, rng: np.random.Generator, weight: float = 1.0, share: float = 1.0
) -> RankEvidence:
    """Return the evidence for the number of archetypes of some rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Validated rows; NaN marks missing entries.
    rng : Generator
        Draws the sample and the hidden entries.
    weight : float
        Weight of the distance of the archetypes from the hull of the data.
    share : float
        Largest share of nonzeros of the archetypes.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.archetypal_rank import choose_archetypes
    >>> choose_archetypes(np.ones((40, 5)), np.random.default_rng(0)).chosen
    1
    """
    X, _ = search_sample(X.toarray() if sparse.issparse(X) else X, DataForm(), rng)
    seen, hidden = hide(X, hidden_share(X), rng)
    last = min(len(X) - 1, X.shape[1] + 1)  # a hull of F dimensions has at least F + 1 corners
    if last <= 1 or hidden.n_hidden == 0:
        nothing = np.array([np.nan])
        return RankEvidence(np.array([1]), nothing, nothing, hidden.n_hidden)
    return climb(ArchetypalTrials(seen, hidden, weight, share), 1, last)
