"""Codes of any sign by least squares on the observed entries."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg import _native
from thalweg._linalg import as_rows, pack_rows
from thalweg._typing import Array, Mask
from thalweg.encoders import Codes

__all__ = ["LeastSquares"]


@dataclass(frozen=True)
class LeastSquares:
    """Compute argmin_h |v - W h|^2 / 2 over the observed entries; codes have any sign.

    With fewer observed entries than codes, the codes are close to those of least norm. There are no
    outliers.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.least_squares import LeastSquares
    >>> LeastSquares().encode(np.array([[-2.0], [-4.0]]), np.array([[1.0], [2.0]])).H.round(6)
    array([[-2.]])
    """

    name: ClassVar[str] = "least-squares"

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Mask | None = None
    ) -> Codes:
        """Encode the columns of V, independently of each other.

        Parameters
        ----------
        V : array of shape (F, B)
            Samples; values at missing entries are ignored.
        W : array of shape (F, K)
            Basis.
        H0 : ignored
            The solution is direct.
        observed : boolean array of shape (F, B), optional
            Mask of the observed entries; by default all are observed.
        """
        X, mask = as_rows(V, observed, W.dtype)
        H = np.empty((len(X), W.shape[1]), dtype=W.dtype)
        _native.least_squares_codes(X, mask, pack_rows(W), H)
        residual = X - H @ W.T
        # at missing entries the outlier is free and equals the residual
        R = np.where(mask, W.dtype.type(0), residual)
        loss = 0.5 * np.square(residual, where=mask, out=np.zeros_like(X)).sum(axis=1)
        return Codes(H.T, R.T, loss, np.zeros_like(loss), np.ones(len(X), dtype=np.bool_))
