"""Batches: samples as columns, with a mask of the observed entries."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from thalweg import _native
from thalweg._typing import Array, Indices, Mask
from thalweg.encoders.entry_weights import mask_of, scales_of

__all__ = [
    "Batch",
    "DataForm",
    "WeightedRows",
    "as_batch",
    "in_standard_deviations",
    "largest_entry",
    "n_observed",
    "outlier_share",
    "unweighted",
]

# Entries below tiny ** 0.5 of the type count as zero: their squares would vanish, and the inverses
# of the squares overflow.
_ZERO_EXPONENT = 0.5


class Batch(NamedTuple):
    """Samples as columns.

    Attributes
    ----------
    V : array or CSC matrix of shape (F, B)
        The samples, 0 at missing entries.
    observed : array of shape (F, B), or None
        Mask of the observed entries, or their weights, 0 at missing entries; None if all are
        observed with a weight of 1.
    sample_weight : array of shape (B,), or None
        Positive weights of the samples; None if all are 1.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import as_batch
    >>> as_batch(np.array([[1.0, np.nan]])).observed.ravel()
    array([ True, False])
    """

    V: Any
    observed: Any = None
    sample_weight: Array | None = None

    @property
    def mask(self) -> Mask | None:
        """The mask of the observed entries, without their weights."""
        return None if self.observed is None else mask_of(self.observed)

    @property
    def total_weight(self) -> float:
        """The sum of the weights of the samples."""
        weight = self.sample_weight
        return float(self.V.shape[1] if weight is None else weight.sum())

    def columns(self, chosen: Indices | slice) -> "Batch":
        """Return some of the samples."""
        observed, weight = self.observed, self.sample_weight
        return Batch(
            self.V[:, chosen],
            None if observed is None else observed[:, chosen],
            None if weight is None else weight[chosen],
        )


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Validated rows with weights, which are sliced like an array.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The rows.
    weights : array or CSR matrix of the same shape, or None
        Weights of the entries; an entry of weight 0 is missing.
    sample_weight : array of shape (n_samples,), or None
        Positive weights of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import WeightedRows, as_batch
    >>> rows = WeightedRows(np.ones((2, 2)), np.array([[1.0, 4.0], [0.0, 1.0]]))
    >>> as_batch(rows[:1]).observed.ravel()
    array([1., 4.])
    """

    X: Any
    weights: Any = None
    sample_weight: Array | None = None

    def __getitem__(self, chosen: Any) -> "WeightedRows":
        """Return some of the rows."""
        return WeightedRows(
            self.X[chosen],
            None if self.weights is None else self.weights[chosen],
            None if self.sample_weight is None else self.sample_weight[chosen],
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and features."""
        n_samples, n_features = self.X.shape
        return n_samples, n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""
        dtype: np.dtype[Any] = self.X.dtype
        return dtype

    def astype(self, dtype: Any, copy: bool = True) -> "WeightedRows":
        """Return the rows in another type."""
        return replace(self, X=self.X.astype(dtype, copy=copy))

    def batch(self, form: "DataForm") -> Batch:
        """Return the rows as a batch; entries with weights are visited in a dense form."""
        if self.weights is None:
            return form.batch(self.X)._replace(sample_weight=self.sample_weight)
        weights = _dense(self.weights).astype(self.dtype, copy=False)
        rows = np.where(weights == 0.0, self.dtype.type(np.nan), _dense(self.X))
        batch = form._replace(sparse=False).batch(rows)
        observed = weights.T if batch.observed is None else weights.T * batch.observed
        if (observed[batch.observed] == 1.0).all():
            observed = batch.observed
        return Batch(batch.V, observed, self.sample_weight)


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
        if isinstance(rows, WeightedRows):
            return rows.batch(self)
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
    if isinstance(X, WeightedRows):
        return X.batch(DataForm())
    rows = np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X)
    rows, n_missing = _without_subnormal_squares(rows)
    if n_missing == 0:
        return Batch(rows.T, None)
    missing = np.isnan(rows)
    return Batch(np.where(missing, rows.dtype.type(0), rows).T, ~missing.T)


def largest_entry(batch: Batch) -> float:
    """Return the largest entry, at least 0; in standard deviations if entries have weights.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import Batch, largest_entry
    >>> largest_entry(Batch(np.array([[3.0, 2.0]]), np.array([[1.0, 4.0]])))
    4.0
    """
    return float(in_standard_deviations(batch).max(initial=0.0))


def in_standard_deviations(batch: Batch) -> Any:
    """Return the samples times the roots of the weights of their entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import Batch, in_standard_deviations
    >>> in_standard_deviations(Batch(np.array([[3.0, 2.0]]), np.array([[1.0, 4.0]])))
    array([[3., 4.]])
    """
    scales = scales_of(batch.observed)
    return batch.V if scales is None else batch.V * scales


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


def unweighted(rows: Any) -> Any:
    """Return validated rows without their weights, NaN at entries of weight 0.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import WeightedRows, unweighted
    >>> unweighted(WeightedRows(np.ones((1, 2)), np.array([[2.0, 0.0]])))
    array([[ 1., nan]])
    """
    if not isinstance(rows, WeightedRows):
        return rows
    if rows.weights is None:
        return rows.X
    return np.where(_dense(rows.weights) == 0.0, rows.dtype.type(np.nan), _dense(rows.X))


def outlier_share(batch: Batch, R: Array) -> float:
    """Return the share of outliers among the observed entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import as_batch, outlier_share
    >>> outlier_share(as_batch(np.ones((1, 2))), np.array([[0.0], [5.0]]))
    0.5
    """
    mask = None if batch.observed is None else mask_of(batch.observed)
    if mask is None:
        return int(np.count_nonzero(R)) / max(R.size, 1)
    return int(np.count_nonzero((R != 0.0) & mask)) / max(n_observed(batch), 1)


def _dense(X: Any) -> Array:
    dense: Array = X.toarray() if sparse.issparse(X) else X
    return dense


def _without_subnormal_squares(values: Array) -> tuple[Array, int]:
    """Set entries to 0 whose squares vanish; also return the number of missing entries."""
    least = values.dtype.type(float(np.finfo(values.dtype).tiny) ** _ZERO_EXPONENT)
    n_missing, n_small = _native.count_missing_and_tiny(values.ravel(), float(least))
    if n_small:
        values = np.where(np.abs(values) < least, values.dtype.type(0), values)
    return values, n_missing
