"""Batches: samples as columns, with a mask of the observed entries."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from thalweg import _native
from thalweg._typing import Array, Mask

__all__ = ["Batch", "DataForm", "as_batch", "n_observed", "outlier_share"]

# Entries below tiny ** 0.5 of the type count as zero: their squares would vanish, and the inverses
# of the squares overflow.
_ZERO_EXPONENT = 0.5


class Batch(NamedTuple):
    """Samples as columns.

    Attributes
    ----------
    V : array or CSC matrix of shape (F, B)
        The samples, 0 at missing entries.
    observed : boolean array of shape (F, B), or None
        The observed entries; None if all are.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import as_batch
    >>> as_batch(np.array([[1.0, np.nan]])).observed.ravel()
    array([ True, False])
    """

    V: Any
    observed: Mask | None


class DataForm(NamedTuple):
    """The form in which rows of data are passed to encoders and updates.

    Attributes
    ----------
    sparse : bool
        Whether only nonzero entries are visited. Rows with missing entries stay dense.
    floor : float
        Smallest entry, for losses that are infinite at 0.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import DataForm
    >>> DataForm(floor=0.1).batch(np.array([[0.0, 2.0]])).V.ravel()
    array([0.1, 2. ])
    """

    sparse: bool = False
    floor: float = 0.0

    def batch(self, rows: Any) -> Batch:
        """Convert validated rows to a batch."""
        if self.sparse and not np.isnan(rows.data if sparse.issparse(rows) else rows).any():
            nonzeros = sparse.csr_array(rows)
            nonzeros.data = _without_subnormal_squares(nonzeros.data)[0]
            return Batch(nonzeros.T, None)
        batch = as_batch(rows)
        if self.floor > 0.0:
            return batch._replace(V=np.maximum(batch.V, batch.V.dtype.type(self.floor)))
        return batch


def as_batch(X: Any) -> Batch:
    """Convert validated rows to a dense batch.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import as_batch
    >>> as_batch(np.ones((3, 2))).V.shape
    (2, 3)
    """
    rows = np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X)
    rows, n_missing = _without_subnormal_squares(rows)
    if n_missing == 0:
        return Batch(rows.T, None)
    missing = np.isnan(rows)
    return Batch(np.where(missing, rows.dtype.type(0), rows).T, ~missing.T)


def n_observed(batch: Batch) -> int:
    """Return the number of observed entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import as_batch, n_observed
    >>> n_observed(as_batch(np.array([[1.0, np.nan]])))
    1
    """
    if batch.observed is None:
        return int(batch.V.shape[0] * batch.V.shape[1])
    return int(np.count_nonzero(batch.observed))


def outlier_share(batch: Batch, R: Array) -> float:
    """Return the share of outliers among the observed entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import as_batch, outlier_share
    >>> outlier_share(as_batch(np.ones((1, 2))), np.array([[0.0], [5.0]]))
    0.5
    """
    if batch.observed is None:
        return int(np.count_nonzero(R)) / max(R.size, 1)
    return int(np.count_nonzero((R != 0.0) & batch.observed)) / max(n_observed(batch), 1)


def _without_subnormal_squares(values: Array) -> tuple[Array, int]:
    """Set entries to 0 whose squares vanish; also return the number of missing entries."""
    least = values.dtype.type(float(np.finfo(values.dtype).tiny) ** _ZERO_EXPONENT)
    n_missing, n_small = _native.count_missing_and_tiny(values.ravel(), float(least))
    if n_small:
        values = np.where(np.abs(values) < least, values.dtype.type(0), values)
    return values, n_missing
