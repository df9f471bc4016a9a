"""The result of a decomposition."""

from typing import NamedTuple

from thalweg._typing import Array

__all__ = ["Decomposition"]


class Decomposition(NamedTuple):
    """The decomposition ``X = low_rank + outliers + noise`` of the observed entries of X.

    Attributes
    ----------
    codes : array of shape (n_samples, n_components)
        The codes, as :meth:`transform` returns them.
    low_rank : array of shape (n_samples, n_features)
        ``codes @ components_``, an estimate also of missing entries.
    outliers : array of shape (n_samples, n_features)
        The outliers; zero at missing entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import RobustOnlineNMF
    >>> X = np.outer(np.arange(1.0, 9.0), [1.0, 2.0, 3.0])
    >>> RobustOnlineNMF(1, random_state=0).fit(X).decompose(X).low_rank.shape
    (8, 3)
    """

    codes: Array
    low_rank: Array
    outliers: Array
