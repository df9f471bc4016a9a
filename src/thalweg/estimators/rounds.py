"""Base of the estimators that need all samples in each iteration."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from thalweg.estimators._callbacks import FitTasks
from thalweg.estimators.base import Factorization
from thalweg.estimators.fitting import warn_max_iter
from thalweg.learning.progress import Progress
from thalweg.learning.rounds import RoundState

__all__ = ["RoundsEstimator"]


class RoundsEstimator(Factorization):
    """Publish attributes and progress of a batch factorisation.

    Examples
    --------
    >>> from thalweg import RobustNMF
    >>> from thalweg.estimators.rounds import RoundsEstimator
    >>> issubclass(RobustNMF, RoundsEstimator)
    True
    """

    max_iter: Any
    tol: Any
    callback: Callable[[Progress], None] | None
    keep_history: bool
    history_: list[Progress]
    # fields of the state that are published in addition to those of all batch estimators
    _published: ClassVar[tuple[str, ...]] = ()

    def get_state(self) -> RoundState:
        """Return the state of the learner from the attributes.

        Returns
        -------
        RoundState
            The state after the last iteration, without codes.
        """
        return RoundState(
            W=self.components_.T,
            n_samples=self.n_samples_seen_,
            n_iter=self.n_iter_,
            objective=self.objective_,
            outlier_share=self.outlier_share_,
            **{name: getattr(self, f"{name}_") for name in self._published},
        )

    def set_state(self, state: RoundState) -> None:
        """Publish the state after an iteration, append it to the history, and call the callback.

        Parameters
        ----------
        state : RoundState
            The state of the learner.
        """
        self._publish(state)
        progress = Progress(state.n_samples, None, state.objective, state.outlier_share)
        if self.keep_history:
            self.__dict__.setdefault("history_", []).append(progress)
        if self.callback is not None:
            self.callback(progress)

    def reporter(self, tasks: FitTasks) -> Callable[[RoundState], bool]:
        """Return the function that is called after each iteration.

        Parameters
        ----------
        tasks : FitTasks
            The iterations, as scikit-learn's callbacks see them.

        Returns
        -------
        callable
            It publishes a state, and returns whether a callback stops the fit.
        """

        def report(state: RoundState) -> bool:
            self.set_state(state)
            if tasks.ended():
                return True
            if not state.converged and state.n_iter < self.max_iter:
                tasks.begin()
            return False

        return report

    def finish(self, state: RoundState) -> None:
        """Publish the final state; its objective replaces the last one of the history.

        Parameters
        ----------
        state : RoundState
            The state of the learner after the last iteration.
        """
        self._publish(state)
        if self.keep_history:
            self.history_[-1] = self.history_[-1]._replace(objective=state.objective)

    def discard_fit(self) -> None:
        """Remove attributes of an earlier fit that the next one may not set."""
        for name in ("history_", "code_prior_", "residual_counts_"):
            self.__dict__.pop(name, None)

    def _publish(self, state: RoundState) -> None:
        self.components_ = np.ascontiguousarray(state.W.T)
        self.n_components_ = state.W.shape[1]
        self.n_samples_seen_, self.n_iter_ = state.n_samples, state.n_iter
        self.objective_, self.outlier_share_ = state.objective, state.outlier_share
        for name in self._published:
            setattr(self, f"{name}_", getattr(state, name))

    def warn_unless_converged(self, state: RoundState) -> None:
        """Warn if the fit stopped at ``max_iter``.

        Parameters
        ----------
        state : RoundState
            The state of the learner after the last iteration.
        """
        if not state.converged:
            warn_max_iter(self, f"the objective changed by less than tol={self.tol:g}")
