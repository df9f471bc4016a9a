"""Base of the estimators that complete a whole matrix."""

from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from thalweg._checks import check_count, generator
from thalweg._threads import few_threads
from thalweg._typing import Array, Mask
from thalweg.completion import Completed, Completion
from thalweg.estimators._alarms import Alarms
from thalweg.estimators.fitting import is_auto, rollback_on_error, warn_max_iter
from thalweg.estimators.validation import check_fit_data, filled
from thalweg.learning.batches import as_batch, outlier_share
from thalweg.learning.completion_rank import choose_subspace_rank
from thalweg.learning.rank_evidence import RankEvidence
from thalweg.noise.feature_scales import feature_medians
from thalweg.noise.leverage import studentised, unfitted
from thalweg.noise.residual_counts import ResidualCounts
from thalweg.trackers.robust_center import robust_center

__all__ = ["CompletionEstimator"]


class CompletionEstimator(Alarms):
    """Base of the estimators that need all samples at once to fill missing entries."""

    signed: ClassVar[bool] = True
    finds_rank: ClassVar[bool] = True
    # the stopping criterion, as a clause that continues with "less than tol"
    _criterion: ClassVar[str]

    n_components: Any
    n_components_: int
    rank_evidence_: RankEvidence
    max_iter: Any
    tol: Any
    random_state: Any

    def _method(self) -> Completion:
        """Return the method with checked parameters."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from all samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data; ``NaN`` marks missing entries.
        y : ignored
            Present for scikit-learn.

        Returns
        -------
        self
            The fitted estimator.
        """
        with rollback_on_error(self):
            found = self._solve(check_fit_data(self, X))
        if self._stopped(found):
            warn_max_iter(self, f"{self._criterion} less than tol={self.tol:g}")
        return self

    def complete(self, X: Any) -> Array:
        """Learn from all samples, and return them with missing entries filled.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data; ``NaN`` marks missing entries.

        Returns
        -------
        array of shape (n_samples, n_features)
            X at observed entries, and elsewhere the low-rank part with the codes of the fit.
        """
        with rollback_on_error(self):
            X = check_fit_data(self, X)
            found = self._solve(X)
        if self._stopped(found):
            warn_max_iter(self, f"{self._criterion} less than tol={self.tol:g}")
        return filled(X, found.low_rank.T)

    def _solve(
        self, X: Any, rank: int | None = None, method: Completion | None = None
    ) -> Completed:
        """Fit the model, of this rank and by this method if they are given."""
        method, batch = method or self._method(), as_batch(X)
        K = self.n_components_ = self._find_rank(X) if rank is None else rank
        with few_threads(X.shape[1], K, X.shape[0], self.n_jobs):
            found = method.complete(batch.V, batch.observed, K, generator(self.random_state))
        self.components_ = np.ascontiguousarray(found.U.T)
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        self.n_samples_seen_ = X.shape[0]
        self.outlier_share_ = outlier_share(batch, found.R)
        mask = np.ones(batch.V.shape, np.bool_) if batch.observed is None else batch.observed
        self.__dict__.pop("mean_", None)  # of an earlier fit
        V = batch.V
        if found.mean is not None:
            self.mean_, V = found.mean, V - found.mean[:, None]
        self._publish_residuals(V, mask, found)
        scales = found.relative_scales
        residuals = studentised(V, found.U, found.H, found.R, batch.observed, scales)
        residuals = unfitted(residuals, mask.sum(axis=1), K)
        self.residual_counts_ = ResidualCounts.of(residuals, batch.observed, batch.V)
        return found

    def _find_rank(self, X: Any) -> int:
        """Return the number of components; set ``rank_evidence_`` if it is found here."""
        self.__dict__.pop("rank_evidence_", None)
        if not is_auto(self.n_components):
            return check_count("n_components", self.n_components)
        rows = X.toarray() if sparse.issparse(X) else X
        with few_threads(X.shape[1], 1, X.shape[0], self.n_jobs):
            self.rank_evidence_ = self._rank_evidence(rows)
        return self.rank_evidence_.chosen

    def _rank_evidence(self, rows: Array) -> RankEvidence:
        """Return the evidence for the number of components of rows, less their mean if asked."""
        if not getattr(self, "center", False):
            return choose_subspace_rank(rows, generator(self.random_state))
        observed = ~np.isnan(rows)
        centered = rows - feature_medians(rows, observed)
        K = choose_subspace_rank(centered, generator(self.random_state)).chosen
        mean = robust_center(np.where(observed, rows, 0.0).T, K, observed.T)
        return choose_subspace_rank(rows - mean, generator(self.random_state))

    def _stopped(self, found: Completed) -> bool:
        """Whether the iteration limit ended the fit, not rounding errors."""
        return not found.converged and found.n_iter >= self.max_iter

    def _publish_residuals(self, V: Array, mask: Mask, found: Completed) -> None:
        """Set the attributes that describe the residuals; least squares has none."""
