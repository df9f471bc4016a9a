"""Split data of either sign into nonnegative positive and negative parts, [A] 5.3."""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from thalweg.estimators.validation import check_codes, validated

__all__ = ["SignSplitter"]


class SignSplitter(TransformerMixin, BaseEstimator):
    """Split each feature x into its positive part max(x, 0) and its negative part max(-x, 0).

    ``inverse_transform`` returns their difference: the data, or with
    ``splitter.inverse_transform(model.components_)`` the components of a model of split data.
    A missing entry, ``NaN``, is missing in both parts.

    Attributes
    ----------
    n_features_in_ : int
        Number of features before the split. After it, as many positive parts come first.

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
        """Store the number of features, and their names.

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
        """Return the positive parts of X, followed by the negative parts.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data of either sign.

        Returns
        -------
        array or CSR array of shape (n_samples, 2 * n_features)
            Nonnegative data, sparse if X is.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        if sparse.issparse(X):
            X = sparse.csr_array(X)
            return sparse.hstack([X.maximum(0), (-X).maximum(0)], format="csr")
        return np.hstack([np.maximum(X, 0), np.maximum(-X, 0)])

    def inverse_transform(self, X: Any) -> Any:
        """Return the positive minus the negative parts.

        Parameters
        ----------
        X : array-like of shape (n_samples, 2 * n_features)
            Split data, or components of a model of split data.

        Returns
        -------
        array of shape (n_samples, n_features)
            Data of either sign.
        """
        check_is_fitted(self)
        positive, negative = np.hsplit(check_codes(X, 2 * self.n_features_in_), 2)
        return positive - negative

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the features with ``_above`` and ``_below`` added.

        Parameters
        ----------
        input_features : array-like of str, optional
            By default the names of the training data, or ``x0``, ``x1``, ...

        Returns
        -------
        array of str
            Names of the positive parts, then of the negative parts.
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
