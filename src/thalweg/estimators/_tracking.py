"""Base of the trackers: check data, build the learner, run it, publish its state."""

from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from thalweg._checks import (
    as_numbers,
    check_callback,
    check_count,
    check_flag,
    choose,
    generator,
    in_words,
)
from thalweg._threads import few_threads
from thalweg._typing import Array, Indices
from thalweg.encoders import Encoder
from thalweg.errors import ParameterError
from thalweg.estimators._alarms import Alarms
from thalweg.estimators._stream_fit import StreamFit
from thalweg.estimators.fitting import is_auto, rollback_on_error
from thalweg.estimators.validation import check_data, check_fit_data
from thalweg.learning import init_samples
from thalweg.learning.batches import DataForm, as_batch
from thalweg.learning.centered_tracker import CenteredTracker
from thalweg.learning.cusum import CHECK_EVERY
from thalweg.learning.progress import Progress
from thalweg.learning.rank_evidence import RankEvidence
from thalweg.learning.tracking import TrackingLearner
from thalweg.learning.tracking_state import TrackingState
from thalweg.noise.residual_counts import ResidualCounts

__all__ = ["Tracking"]

# Smallest pivot of a given basis, as a share of the largest: below it, rows are dependent up to
# rounding. Safety margin: rounding leaves about 1e-15.
_DEPENDENT_PIVOT = 1e-12


class Tracking(StreamFit, Alarms):
    """Base of the estimators that track a subspace.

    A subclass names the class of its tracker, and has a parameter for each of its fields that users
    set.
    """

    signed: ClassVar[bool] = True
    finds_rank: ClassVar[bool] = True
    _tracker_class: ClassVar[type[Any]]
    _tracker_options: Any = MappingProxyType({})  # of the tracker, that users do not set

    n_components: Any
    init: Any
    init_samples: Any
    on_jump: Any
    center: bool
    dynamics: Any = None
    bounds: Any = None
    orthonormal: bool
    epochs: Any
    random_state: Any
    callback: Callable[[Progress], None] | None
    state_: TrackingState
    rank_evidence_: RankEvidence  # with n_components="auto"
    noise_scale_: float | Array  # of trackers that estimate it
    mean_: Array  # with center=True

    @property
    def drift_(self) -> Array:
        """Largest angle between the subspaces at successive checks, in radians."""
        return self.state_.monitor.drift

    @property
    def jumps_(self) -> Indices:
        """Number of samples at each detected jump."""
        return self.state_.monitor.jumps

    @property
    def outlier_share_(self) -> float:
        """Share of outliers among the recent observed entries."""
        return self.state_.outliers.share

    @property
    def residual_counts_(self) -> ResidualCounts:  # type: ignore[override]
        """Residuals by size, for the p-values of entries."""
        return self._learner(self.on_jump).residual_counts(self.state_)

    @property
    def change_p_value_(self) -> float:
        """Probability of as much evidence of a change, if the subspace has not changed."""
        return self.state_.monitor.p_value

    @property
    def n_samples_seen_(self) -> int:  # type: ignore[override]
        """Number of samples."""
        return self.state_.n_samples

    def fit(self, X: Any, y: Any = None) -> Self:
        """Track the subspace through the rows of X in order, from a new initial basis.

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
        return self._fit(X, self.on_jump)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Track the subspace through more rows, from the state after the last call.

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
        return self._partial_fit(X, self.on_jump)

    def complete(self, X: Any, *, epochs: int = 3) -> Array:
        """Learn from all of X in several epochs, and return it with its gaps filled.

        One basis has to fit all rows, so jumps are recorded, but do not reset it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data; ``NaN`` marks missing entries.
        epochs : int
            Number of passes over the rows; the last basis fills the gaps.

        Returns
        -------
        array of shape (n_samples, n_features)
            X at observed entries, and the low-rank part at missing ones.
        """
        self._learn_epochs(X, epochs)
        return self.fill(X)

    def _learn_epochs(self, X: Any, epochs: int) -> None:
        """Learn from all of X in several epochs; jumps do not reset the basis."""
        count = check_count("epochs", epochs)
        self._fit(X, "note")
        for _ in range(count - 1):
            self._partial_fit(X, "note")

    def _fit(self, X: Any, on_jump: Any) -> Self:
        epochs = check_count("epochs", self.epochs)
        with rollback_on_error(self):
            X = check_fit_data(self, X)
            learner = self._learner(on_jump)
            self._initialise(learner, X)
        plain = self.dynamics is None and self.bounds is None
        learn = self._learn if plain else self._learn_and_follow
        for _ in range(epochs):
            learn(learner, X, X.shape[0] * epochs)
        return self

    def _partial_fit(self, X: Any, on_jump: Any) -> Self:
        if hasattr(self, "components_"):
            X = check_data(self, X, reset=False)
            learner = self._learner(on_jump)
        else:
            with rollback_on_error(self):
                X = check_data(self, X, reset=True)
                learner = self._learner(on_jump)
                self._initialise(learner, X)
        plain = self.dynamics is None and self.bounds is None
        learn = self._learn if plain else self._learn_and_follow
        learn(learner, X.astype(self.components_.dtype, copy=False), None)
        return self

    def _tracker(self) -> Any:
        """Return the tracker with the parameters of this estimator, and centring if it is asked."""
        names = [field.name for field in fields(self._tracker_class)]
        parameters = {name: getattr(self, name) for name in names if hasattr(self, name)}
        parameters |= self._tracker_options
        try:
            tracker = _component(self._tracker_class, **parameters)  # type: ignore[arg-type]
        except TypeError:  # a value that cannot be hashed, and that the class rejects
            tracker = self._tracker_class(**parameters)
        if self.center is False:
            return tracker
        return CenteredTracker(tracker) if check_flag("center", self.center) else tracker

    def _learner(self, on_jump: Any) -> TrackingLearner:
        """Return the learner; its parameters are checked."""
        if self.callback is not None:
            check_callback(self.callback)
        robust = isinstance(self.init, str) and self.init == "robust"
        auto = isinstance(self.n_components, str) and self.n_components == "auto"
        if auto and not robust:
            raise ParameterError(
                f"init must be 'robust' with n_components='auto', got {_in_words(self.init)}. "
                "Set n_components to a number."
            )
        K = 1 if auto else self.n_components
        return TrackingLearner(self._tracker(), K, robust, self.init_samples, on_jump, auto)

    def _encoder(self) -> Encoder:
        encoder: Encoder = self._tracker().encoder(self.state_.tracker)
        return encoder

    def _initialise(self, learner: TrackingLearner, X: Any) -> None:
        """Check the parameters of the initial basis, and publish it."""
        K = 1 if is_auto(self.n_components) else check_count("n_components", self.n_components)
        F = X.shape[1]
        for name in ("rank_evidence_", "mean_", "filter_", "extent_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if K > F:
            raise ParameterError(
                f"n_components must be at most the number of features, n_features={F}, got "
                f"n_components={K}. Use fewer components."
            )
        rng = generator(self.random_state)
        if isinstance(self.init, str):
            choose("init", self.init, ("robust", "random"))
            self.state_ = learner.init(as_batch(X[:1]), DataForm(), rng)
        else:
            self.state_ = learner.init_at(_given_basis(self.init, K, F).astype(X.dtype), rng)
        self._publish(learner)

    def _learn(self, learner: TrackingLearner, X: Any, n_total: int | None) -> None:
        """Learn from validated rows, a block at a time."""
        n_rows = max(1, init_samples.MAX_ENTRIES // X.shape[1])
        size = X.shape[1], len(self.components_), CHECK_EVERY
        with few_threads(*size, self.n_jobs):
            for start in range(0, X.shape[0], n_rows):
                batch = as_batch(X[start : start + n_rows])
                self.state_ = learner.learn(self.state_, batch)
                if self.callback is not None:
                    self._publish(learner)
                    self.callback(self._progress(n_total))
        self._publish(learner)

    def _learn_and_follow(self, learner: TrackingLearner, X: Any, n_total: int | None) -> None:
        """Learn from validated rows, and follow them by a model in time or by their extent."""
        raise NotImplementedError

    def _progress(self, n_total: int | None) -> Progress:
        objective = self.state_.monitor.residual
        return Progress(self.n_samples_seen_, n_total, objective, self.outlier_share_)

    def _publish(self, learner: TrackingLearner) -> None:
        """Set the attributes that are computed from the state."""
        U = self.state_.tracker.U
        if self.orthonormal:
            U = np.linalg.qr(U)[0]
        self.components_, self.n_components_ = np.ascontiguousarray(U.T), U.shape[1]
        if self.state_.rank_evidence is not None:
            self.rank_evidence_ = self.state_.rank_evidence
        if (mean := getattr(self.state_.tracker, "mean", None)) is not None:
            self.mean_ = mean
        noise_scale = learner.noise_scale(self.state_)
        if noise_scale is not None:
            self.noise_scale_ = noise_scale


def _in_words(init: Any) -> str:
    return repr(init) if isinstance(init, str) else in_words(init)


@lru_cache(maxsize=64, typed=True)
def _component(cls: Any, **parameters: Any) -> Any:
    """Return a component; it is a value, so that equal parameters share one."""
    return cls(**parameters)


def _given_basis(init: Any, K: int, F: int) -> Array:
    """Return a basis that the user has given as rows, as orthonormal columns."""
    rows = as_numbers(init)
    if rows is None or rows.shape != (K, F) or not np.isfinite(rows).all():
        fits = rows is not None and rows.shape == (K, F)
        found = "infinite entries or NaN" if fits else in_words(init)
        raise ParameterError(
            f"init must be 'robust', 'random' or a finite array of shape ({K}, {F}), got {found}. "
            "Pass the components of an earlier fit unchanged."
        )
    Q, T = np.linalg.qr(rows.astype(np.float64).T)
    if np.abs(np.diag(T)).min() <= _DEPENDENT_PIVOT * np.abs(np.diag(T)).max():
        raise ParameterError(
            "init must have linearly independent rows, got rows that are combinations of others. "
            "Remove them and use fewer components."
        )
    return Q
