"""Bounds of the values of features, found from the data."""

import numpy as np

from thalweg._typing import Array

__all__ = ["sign_bounds"]


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
    low = np.fmin.reduce(X, axis=0, initial=np.inf)
    high = np.fmax.reduce(X, axis=0, initial=-np.inf)
    lower = np.where((low >= 0.0) & (high > 0.0), 0.0, -np.inf)
    return lower, np.where((high <= 0.0) & (low < 0.0), 0.0, np.inf)
