"""``n_components="auto"``: the number of components by hidden entries."""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from thalweg._checks import check_count, generator, in_words
from thalweg._threads import few_threads
from thalweg.encoders.columns import MAX_CHUNK_SIZE
from thalweg.errors import ParameterError
from thalweg.estimators.base import Factorization
from thalweg.estimators.fitting import is_auto
from thalweg.learning.batches import unweighted
from thalweg.learning.divergence import DivergenceModel
from thalweg.learning.divergence_trials import choose_rank
from thalweg.learning.online import OnlineLearner
from thalweg.learning.online_state import OnlineState
from thalweg.learning.rank_evidence import RankEvidence
from thalweg.learning.rank_window import RankWindow, resized
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.orthant import Orthant

__all__ = ["RankSearch"]


class RankSearch(Factorization):
    """Base of the factorisations that can find their number of components."""

    init: Any
    random_state: Any
    rank_evidence_: RankEvidence
    rank_window_: Any  # RankWindow, or None once the rank is settled

    def _rank_model(self) -> DivergenceModel:
        """Return the model of the fits that compare ranks; raise if the method has none."""
        check_count("n_components", self.n_components)
        raise NotImplementedError

    def find_rank(self, X: Any) -> Self:
        """Set ``n_components_`` and ``rank_evidence_`` for a new fit, if the number is "auto".

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Validated rows.

        Returns
        -------
        self
            The estimator, not yet fitted.
        """
        for name in ("rank_evidence_", "n_components_", "rank_window_"):
            self.__dict__.pop(name, None)
        if is_auto(self.n_components):
            if not isinstance(self.init, str):
                raise ParameterError(
                    f"init must be a name with n_components='auto', got {in_words(self.init)}. "
                    "Set n_components to the number of its rows."
                )
            self._compare_ranks(unweighted(X), X.shape[1])
        return self

    def _compare_ranks(self, X: Any, n_features: int, features: Any = None) -> None:
        model = self._rank_model()
        if model.code_penalty == Orthant():
            model = replace(model, constraint=L2Ball())  # other sets only scale the components
        if features is not None:
            model = replace(model, frozen=model.frozen[features])
        with few_threads(n_features, self._rank(), min(X.shape[0], MAX_CHUNK_SIZE), self.n_jobs):
            self.rank_evidence_ = choose_rank(model, X, generator(self.random_state))
        self.n_components_ = self.rank_evidence_.chosen

    def _watch_rank(self, X: Any, forgets: bool) -> None:
        """Begin to collect rows of a stream, to compare ranks again when there are more."""
        if is_auto(self.n_components):
            rng = generator(self.random_state)
            X = unweighted(X)
            self.rank_window_ = RankWindow.of(X, self._rank_model().form(X).sparse, forgets, rng)

    def _follow_rank(
        self, learner: OnlineLearner, state: OnlineState, X: Any
    ) -> tuple[OnlineLearner, OnlineState]:
        """Return learner and state of a stream after the rank was compared again, if it is due."""
        window = self.rank_window_.added(unweighted(X))
        if window.is_due:
            before = self.n_components_
            self._compare_ranks(window.data, X.shape[1], window.features)
            window = window.compared()
            if self.n_components_ != before:
                fresh: Any = self.make_learner()
                batch = state.form.batch(X)
                initial = resized(learner, state, batch, self.n_components_)
                first = replace(fresh, model=replace(fresh.model, initial=initial.T))
                begun = first.init(batch, state.form, np.random.default_rng(0))
                kept = {"n_samples": state.n_samples, "n_batches": state.n_batches}
                learner, state = fresh, begun._replace(**kept)
        self.rank_window_ = window.last()
        return learner, state
