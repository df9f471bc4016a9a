"""The evidence of hidden entries for the number of components."""

from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array, Indices

__all__ = ["RankEvidence"]


class RankEvidence(NamedTuple):
    """Losses of hidden entries for several numbers of components.

    Attributes
    ----------
    ranks : array of shape (n_ranks,)
        The numbers of components, ascending.
    losses : array of shape (n_ranks,)
        Mean loss per hidden entry. For squares and robust losses it is the mean of
        min(e / s, 3)^2 over residuals e, where s is the noise scale of the feature.
    errors : array of shape (n_ranks,)
        Standard error of the difference between a loss and the smallest one, from the differences
        of the samples; 0 for the smallest.
    n_hidden : int
        Number of hidden entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.rank_evidence import RankEvidence
    >>> found = RankEvidence(np.arange(1, 4), np.array([5.0, 1.1, 1.0]), np.array([1, 0.2, 0]), 90)
    >>> found.best, found.chosen
    (3, 2)
    """

    ranks: Indices
    losses: Array
    errors: Array
    n_hidden: int

    @classmethod
    def of(cls, ranks: Any, row_losses: Array, n_hidden: Array) -> "RankEvidence":
        """Return the evidence of the losses of all samples.

        Parameters
        ----------
        ranks : sequence of int
            The numbers of components, in any order.
        row_losses : array of shape (n_ranks, n_samples)
            Sum of the losses of the hidden entries of each sample.
        n_hidden : array of shape (n_samples,)
            Number of hidden entries of each sample.
        """
        order, total = np.argsort(ranks), max(float(n_hidden.sum()), 1.0)
        rows = row_losses[order]
        losses = rows.sum(axis=1) / total
        excess = rows - rows[np.argmin(losses)]
        spread = excess - np.outer(excess.sum(axis=1) / total, n_hidden)
        errors = np.sqrt(np.square(spread).sum(axis=1)) / total
        return cls(np.asarray(ranks)[order], losses, errors, int(n_hidden.sum()))

    @property
    def best(self) -> int:
        """The rank with the smallest loss."""
        return int(self.ranks[np.argmin(self.losses)])

    @property
    def chosen(self) -> int:
        """The smallest rank whose loss exceeds the smallest by at most one standard error."""
        near = self.losses - self.losses.min() <= self.errors
        return int(self.ranks[np.argmax(near)])
