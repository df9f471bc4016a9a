"""Run a learner of archetypes, and publish its result as attributes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from thalweg._checks import generator
from thalweg._threads import few_threads
from thalweg._typing import Array, Indices, Mask
from thalweg.archetypes import DataMatrix, Point
from thalweg.archetypes.simplex_codes import SimplexCodes
from thalweg.encoders import Encoder
from thalweg.estimators._archetypal_parameters import check_weight, share_of_nonzeros
from thalweg.estimators._rank import RankSearch
from thalweg.estimators.fitting import warn_max_iter
from thalweg.learning.archetypal import ArchetypalLearner
from thalweg.learning.archetypal_fit import ArchetypalFit
from thalweg.learning.archetypal_rank import choose_archetypes
from thalweg.learning.progress import Progress

__all__ = ["ArchetypalEstimator"]

# Attributes that a fit may not set.
_OPTIONAL_ATTRIBUTES = (
    *("history_", "bound_", "gap_", "init_guarantee_", "feasible_", "violation_"),
    *("path_", "stationarity_", "n_swaps_"),
)


class ArchetypalEstimator(RankSearch):
    """Publish attributes and progress of a fit of archetypes."""

    sparsity: Any
    weight: Any
    alpha: Any
    tol: Any
    random_state: Any
    n_jobs: int | None
    callback: Callable[[Progress], None] | None
    keep_history: bool

    def run_learner(
        self,
        learner: ArchetypalLearner,
        rows: DataMatrix,
        observed: Mask | None,
        rng: np.random.Generator,
        dtype: Any,
    ) -> None:
        """Run the learner, publish the attributes, and warn if it stopped at ``max_iter``.

        Parameters
        ----------
        learner : ArchetypalLearner
            From :meth:`make_learner`.
        rows : DataMatrix
            The data, with missing entries imputed.
        observed : boolean array of shape (n_samples, n_features), or None
            The observed entries; None if all are.
        rng : Generator
            For random initial archetypes.
        dtype : dtype
            Type of the attributes.
        """
        for name in _OPTIONAL_ATTRIBUTES:
            self.__dict__.pop(name, None)
        m, n = rows.shape
        self.n_samples_seen_, self.n_iter_, self.outlier_share_ = m, 0, 0.0
        if self.keep_history:
            self.history_: list[Progress] = []
        with few_threads(n, learner.n_components, m, self.n_jobs):
            fit = learner.run(rows, observed, rng, partial(self._publish_sweep, dtype))
            self._publish(fit, learner, dtype)
        if not fit.converged:
            criterion = f"a step changed the components by less than tol={self.tol:g}"
            if learner.weight is None:
                criterion = "the multipliers of the constraints converged"
            warn_max_iter(self, criterion)

    def _publish_sweep(self, dtype: Any, point: Point) -> None:
        self.n_iter_ += 1
        self.components_ = np.ascontiguousarray(point.state.H, dtype=dtype)
        self.objective_ = point.objective
        progress = Progress(self.n_samples_seen_, None, self.objective_, 0.0)
        if self.keep_history:
            self.history_.append(progress)
        if self.callback is not None:
            self.callback(progress)

    def _publish(self, fit: ArchetypalFit, learner: ArchetypalLearner, dtype: Any) -> None:
        H, W, T = fit.state
        self.components_, self.n_components_ = np.ascontiguousarray(H, dtype=dtype), len(H)
        self.membership_, self.hull_weights_ = W.astype(dtype), T.astype(dtype)
        self.labels_ = _nearest(fit.rows, H)
        self.objective_ = fit.objective
        self.init_, self.init_objectives_ = fit.init, fit.init_objectives
        if fit.constrained is not None:
            self.feasible_ = fit.constrained.feasible
            self.violation_ = max(0.0, fit.constrained.worst - learner.alpha)
        else:
            self.path_, self.stationarity_ = fit.path, fit.stationarity
            self.n_swaps_ = sum(point.swaps for point in fit.path)
        if fit.certificate is not None:
            self.bound_, self.gap_ = fit.certificate.bound, fit.certificate.gap
            if learner.weight is not None:
                self.init_guarantee_ = fit.certificate.guarantee(learner.weight, fit.objective)

    def _compare_ranks(self, X: Any, n_features: int, features: Any = None) -> None:
        weight = check_weight(self.weight, self.alpha)
        share = share_of_nonzeros(self.sparsity)
        with few_threads(n_features, 1, X.shape[0], self.n_jobs):
            rng = generator(self.random_state)
            self.rank_evidence_ = choose_archetypes(
                X, rng, 1.0 if weight is None else weight, share
            )
        self.n_components_ = self.rank_evidence_.chosen

    def _encoder(self) -> Encoder:
        return SimplexCodes()


def _nearest(rows: DataMatrix, H: Array) -> Indices:
    """Return the index of the archetype nearest to each sample."""
    squares = np.einsum("ij,ij->i", H, H)
    nearest: Indices = np.argmin(squares[:, None] - 2.0 * rows.correlated(H), axis=0)
    return nearest
