"""Fills of rows by themselves, with a basis of the past."""

from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.learning.batches import as_batch

__all__ = ["RowFill"]


class RowFill(NamedTuple):
    """A subspace, with which each row is filled by itself.

    Attributes
    ----------
    U : array of shape (F, K)
        The basis.
    mean : array of shape (F,) or None
        Mean of each feature, if the subspace is affine.
    encoder : Encoder
        The encoder of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.outlier_rejection import OutlierRejection
    >>> from thalweg.learning.row_fill import RowFill
    >>> fill = RowFill(np.ones((5, 1)), None, OutlierRejection(noise_scale=0.1))
    >>> fill.low_rank(np.array([[2.0, np.nan, 2.0, 2.0, 2.0]])).round(6)
    array([[2., 2., 2., 2., 2.]])
    """

    U: Array
    mean: Array | None
    encoder: Any

    @classmethod
    def of(cls, tracker: Any, state: Any) -> "RowFill":
        """Return that of a tracker in a state."""
        return cls(state.U, getattr(state, "mean", None), tracker.encoder(state))

    def low_rank(self, rows: Array) -> Array:
        """Return the low-rank part of rows with gaps."""
        batch, mean = as_batch(rows), 0.0 if self.mean is None else self.mean[:, None]
        codes = self.encoder.encode(batch.V - mean, self.U, observed=batch.observed)
        return np.asarray((self.U @ codes.H + mean).T, rows.dtype)
