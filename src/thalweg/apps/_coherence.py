"""Coherence of topics: whether their top words occur in the same documents."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._typing import Array

__all__ = ["Cooccurrences"]


class Cooccurrences:
    r"""Count the documents with each pair of chosen words, batch by batch.

    The coherence of a topic is the mean, over pairs of its words, of the normalised pointwise
    mutual information ``log(p_ij / (p_i p_j)) / -log p_ij``, where p are shares of documents: 1 if
    words only occur together, 0 if they are independent, -1 if they never meet.

    Parameters
    ----------
    groups : list of list of int
        Columns of the words of each topic.
    """

    def __init__(self, groups: Sequence[Sequence[int]]) -> None:
        self._columns = np.unique([i for group in groups for i in group]).astype(np.intp)
        self._groups = [np.searchsorted(self._columns, group) for group in groups]
        self._pairs: Array = np.zeros((len(self._columns), len(self._columns)))
        self._n = 0

    def add(self, X: Any) -> None:
        """Add documents: sparse rows."""
        present = (X[:, self._columns] > 0).astype(np.float64)
        self._pairs += (present.T @ present).toarray()
        self._n += X.shape[0]

    def coherence(self) -> list[float]:
        """Return the coherence of each topic; NaN for topics of less than two words."""
        return [self._mean(group) for group in self._groups]

    def _mean(self, group: Any) -> float:
        if len(group) < 2:
            return float("nan")
        together = self._pairs[np.ix_(group, group)] / max(self._n, 1)
        single = np.diag(together)
        upper = np.triu_indices(len(group), 1)
        p, apart = together[upper], np.outer(single, single)[upper]
        met = (p > 0) & (p < 1)
        npmi = np.where(p > 0, 1.0, -1.0)
        npmi[met] = np.log(p[met] / apart[met]) / -np.log(p[met])
        return float(npmi.mean())
