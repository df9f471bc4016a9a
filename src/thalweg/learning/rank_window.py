"""Rows of a stream on which ranks are compared, in bounded memory."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from thalweg._typing import Array, Indices
from thalweg.learning.batches import Batch, DataForm
from thalweg.learning.online import OnlineLearner
from thalweg.learning.online_state import OnlineState
from thalweg.learning.rank_sample import sample_size, search_sample
from thalweg.learning.residual_components import with_residual_components

__all__ = ["RankWindow", "resized"]


class RankWindow(NamedTuple):
    """The latest rows of a stream, or the first ones.

    Ranks are compared each time that the number of rows has doubled, and when the window is full.
    Without forgetting that is the last time. With forgetting, the window keeps the latest rows, and
    ranks are compared again after as many rows as it holds.

    Attributes
    ----------
    values, indices, indptr : arrays
        The rows: a dense array, with empty indices, or the parts of a CSR matrix.
    features : array of shape (n_kept,)
        The features that are kept.
    size : int
        Largest number of rows.
    n_new : int
        Rows since ranks were compared.
    n_compared : int
        Rows when ranks were compared.
    forgets : bool
        Whether the window keeps the latest rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.rank_window import RankWindow
    >>> rng = np.random.default_rng(0)
    >>> window = RankWindow.of(np.ones((40, 9)), sparse=False, forgets=False, rng=rng)
    >>> window.added(np.ones((30, 9))).is_due, window.added(np.ones((40, 9))).is_due
    (False, True)
    """

    values: Array
    indices: Indices
    indptr: Indices
    features: Indices
    size: int
    n_new: int
    n_compared: int
    forgets: bool

    @classmethod
    def of(cls, X: Any, sparse: bool, forgets: bool, rng: np.random.Generator) -> "RankWindow":
        """Return a window with the first rows, on which ranks were compared."""
        form = DataForm(sparse=sparse)
        features = search_sample(X[:1], form, rng)[1]
        size = sample_size(X, form)
        empty = np.empty(0, np.intp)
        start = cls(np.empty((0, 0)), empty, empty, features, size, 0, 0, forgets)
        return start._with(X[:, features][-size:], 0, sparse).compared()

    @property
    def data(self) -> Any:
        """The rows, as an array or a CSR matrix."""
        if self.indptr.size == 0:
            return self.values
        shape = len(self.indptr) - 1, len(self.features)
        return sparse.csr_array((self.values, self.indices, self.indptr), shape=shape)

    @property
    def is_due(self) -> bool:
        """Whether ranks are to be compared again."""
        n = self.data.shape[0]
        doubled, full = n >= 2 * self.n_compared, n == self.size
        return self.n_new >= self.size if self.n_compared == self.size else doubled or full

    def added(self, X: Any) -> "RankWindow":
        """Return the window with more rows."""
        old, new, is_sparse = self.data, X[:, self.features], self.indptr.size > 0
        if is_sparse:
            rows = sparse.vstack([old, sparse.csr_array(new)], format="csr")[-self.size :]
        else:
            dense = new.toarray() if sparse.issparse(new) else new
            rows = np.concatenate([old, dense])[-self.size :]
        return self._with(rows, self.n_new + X.shape[0], is_sparse)

    def compared(self) -> "RankWindow":
        """Return the window after ranks were compared."""
        return self._replace(n_new=0, n_compared=self.data.shape[0])

    def last(self) -> "RankWindow | None":
        """Return the window; None if ranks will not be compared again."""
        done = self.n_compared == self.size and not self.forgets
        return None if done else self

    def _with(self, rows: Any, n_new: int, is_sparse: bool) -> "RankWindow":
        if is_sparse:
            kept = sparse.csr_array(rows)
            parts = {"values": kept.data, "indices": kept.indices, "indptr": kept.indptr}
        else:
            parts = {"values": rows.toarray() if sparse.issparse(rows) else rows.copy()}
        return self._replace(n_new=n_new, **parts)


def resized(learner: OnlineLearner, state: OnlineState, batch: Batch, rank: int) -> Array:
    """Return a dictionary with another number of columns.

    New columns are components of the residuals of a batch. Columns that explain least are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import DataForm, as_batch
    >>> from thalweg.learning.composition import Composition
    >>> from thalweg.learning.rank_window import resized
    >>> learner, batch = Composition(2), as_batch(np.random.default_rng(0).random((20, 5)))
    >>> state = learner.learn(learner.init(batch, DataForm(), np.random.default_rng(0)), batch)
    >>> resized(learner, state, batch, 3).shape, resized(learner, state, batch, 1).shape
    ((5, 3), (5, 1))
    """
    W, (V, observed, _) = state.W, batch
    H = learner.training_encoder(state).encode(V, W, observed=observed).H
    if rank < W.shape[1]:
        shares = np.square(H).sum(axis=1) * np.square(W).sum(axis=0)
        shares[: learner.frozen.shape[1]] = np.inf
        return W[:, np.sort(np.argsort(-shares, kind="stable")[:rank])]
    E = (V.toarray() if sparse.issparse(V) else V) - W @ H
    return with_residual_components(W, E, observed, rank)
