"""Bounds of the values of features, found from the data."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from thalweg._typing import Array

__all__ = ["Extent", "sign_bounds"]


class Extent(NamedTuple):
    """The smallest and the largest entry of each feature of a table or stream.

    Attributes
    ----------
    low, high : array of shape (n_features,)
        Smallest and largest entries; inf and -inf where none is observed.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.bounds import Extent
    >>> extent = Extent.none(2).extended(np.array([[1.0, -2.0], [np.nan, 3.0]]))
    >>> extent.low, extent.high
    (array([ 1., -2.]), array([1., 3.]))
    >>> extent.sign_bounds()
    (array([  0., -inf]), array([inf, inf]))
    """

    low: Array
    high: Array

    @classmethod
    def none(cls, n_features: int) -> "Extent":
        """Return that of no entries."""
        return cls(np.full(n_features, np.inf), np.full(n_features, -np.inf))

    def extended(self, X: Any) -> "Extent":
        """Return that of further rows as well, an array or sparse matrix; NaN is missing."""
        if sparse.issparse(X):
            low, high = (part(axis=0).toarray().ravel() for part in (X.nanmin, X.nanmax))
        else:
            low = np.fmin.reduce(X, axis=0, initial=np.inf)
            high = np.fmax.reduce(X, axis=0, initial=-np.inf)
        return Extent(np.fmin(self.low, low), np.fmax(self.high, high))

    def sign_bounds(self) -> tuple[Array, Array]:
        """Return lower and upper bounds of each feature: 0 if no entry has the other sign."""
        lower = np.where((self.low >= 0.0) & (self.high > 0.0), 0.0, -np.inf)
        return lower, np.where((self.high <= 0.0) & (self.low < 0.0), 0.0, np.inf)


def sign_bounds(X: Array) -> tuple[Array, Array]:
    """Return lower and upper bounds of each feature: 0 if no entry has the other sign.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The table; NaN marks missing entries.

    Returns
    -------
    lower, upper : array of shape (n_features,)
        Bounds, infinite where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.bounds import sign_bounds
    >>> sign_bounds(np.array([[1.0, -2.0], [0.0, 3.0]]))
    (array([  0., -inf]), array([inf, inf]))
    """
    return Extent.none(X.shape[1]).extended(X).sign_bounds()
