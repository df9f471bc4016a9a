"""Data of either sign as nonnegative data of twice the width, [A] 5.3."""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from thalweg.estimators.validation import check_codes, validated

__all__ = ["SignSplitter"]


class SignSplitter(TransformerMixin, BaseEstimator):
    """Takes each feature apart: what is above zero, and what is below, both as sizes.

    ``inverse_transform`` puts them together again: their difference. So does
    ``splitter.inverse_transform(model.components_)`` for the components of a model of split data.
    ``NaN`` is a gap in both parts.

    Attributes
    ----------
    n_features_in_ : int
        Features before the split; the first so many after it are those above zero.

    References
    ----------
    P. M. Kim and B. Tidor, "Subsystem identification through dimensionality reduction of
    large-scale gene expression data", Genome Research, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import SignSplitter
    >>> split = SignSplitter().fit_transform(np.array([[1.5, -2.0]]))
    >>> split
    array([[1.5, 0. , 0. , 2. ]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Take note of the number of features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data of either sign.
        y : ignored
            Present for scikit-learn.

        Returns
        -------
        self
            The transformer.
        """
        validated(self, X, reset=True)
        return self

    def transform(self, X: Any) -> Any:
        """Return the parts of X above and below zero, side by side.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data of either sign.

        Returns
        -------
        array or CSR array of shape (n_samples, 2 * n_features)
            Nonnegative; sparse when X is.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        if sparse.issparse(X):
            X = sparse.csr_array(X)
            return sparse.hstack([X.maximum(0), (-X).maximum(0)], format="csr")
        return np.hstack([np.maximum(X, 0), np.maximum(-X, 0)])

    def inverse_transform(self, X: Any) -> Any:
        """Return the difference of the two halves.

        Parameters
        ----------
        X : array-like of shape (n_samples, 2 * n_features)
            Split data, or components of them.

        Returns
        -------
        array of shape (n_samples, n_features)
            Data of either sign.
        """
        check_is_fitted(self)
        above, below = np.hsplit(check_codes(X, 2 * self.n_features_in_), 2)
        return above - below

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the features with ``_above`` and ``_below`` added.

        Parameters
        ----------
        input_features : array-like of str, optional
            By default the names observed in fit, or ``x0``, ``x1``, ...

        Returns
        -------
        array of str
            One for each feature after the split.
        """
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", None)
        names = known if input_features is None else input_features
        if names is None:
            names = [f"x{i}" for i in range(self.n_features_in_)]
        parts = [f"{name}_{part}" for part in ("above", "below") for name in names]
        return np.asarray(parts, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
