"""The surface of the methods that complete a whole matrix."""

from typing import Any, ClassVar, Self

import numpy as np

from thalweg._checks import check_count, generator
from thalweg._typing import Array
from thalweg.completion import Completed, Completion
from thalweg.estimators.base import Factorization, rollback_on_error
from thalweg.estimators.validation import check_data, filled
from thalweg.learning.batches import as_batch, outlier_share
from thalweg.learning.threads import few_threads

__all__ = ["Completing"]


class Completing(Factorization):
    """Base of the estimators that need all samples at once to fill their gaps."""

    signed: ClassVar[bool] = True

    n_components: Any
    random_state: Any

    def _method(self) -> Completion:
        """Return the method, its parameters checked."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from all of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data; ``NaN`` marks gaps.
        y : ignored
            Present for scikit-learn.

        Returns
        -------
        self
            The fitted estimator.
        """
        with rollback_on_error(self):
            self._solve(check_data(self, X, reset=True))
        return self

    def complete(self, X: Any) -> Array:
        """Learn from all of X, and return it with its gaps filled.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data; ``NaN`` marks gaps.

        Returns
        -------
        array of shape (n_samples, n_features)
            X where it was observed, and elsewhere the low-rank part with the codes of the fit.
        """
        with rollback_on_error(self):
            X = check_data(self, X, reset=True)
            found = self._solve(X)
        return filled(X, (found.U @ found.H).T)

    def _solve(self, X: Any) -> Completed:
        method, K = self._method(), check_count("n_components", self.n_components)
        batch = as_batch(X)
        with few_threads(X.shape[1], K, X.shape[0]):
            found = method.complete(batch.V, batch.observed, K, generator(self.random_state))
        self.components_ = np.ascontiguousarray(found.U.T)
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        self.n_samples_seen_ = X.shape[0]
        self.outlier_share_ = outlier_share(batch, found.R)
        self._note(batch.V, batch.observed, found)
        return found

    def _note(self, V: Array, observed: Any, found: Completed) -> None:
        """Take note of what was found beyond the components."""
