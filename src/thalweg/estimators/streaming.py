"""Base of the estimators that learn a dictionary from batches."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from thalweg._checks import check_callback, check_count, generator
from thalweg._threads import few_threads
from thalweg._typing import Indices
from thalweg.encoders import Encoder
from thalweg.estimators._callbacks import FitTasks, with_callbacks
from thalweg.estimators._rank import RankSearch
from thalweg.estimators._stream_fit import StreamFit
from thalweg.estimators._weights import weighted
from thalweg.estimators.fitting import rollback_on_error
from thalweg.estimators.validation import check_data, check_fit_data
from thalweg.learning.batches import DataForm, unweighted
from thalweg.learning.online import OnlineLearner
from thalweg.learning.online_state import OnlineState
from thalweg.learning.progress import Progress

__all__ = ["StreamingEstimator"]

# Assumed number of samples of a stream of unknown length; batches then have 64 samples.
_ASSUMED_SAMPLES = 12_800
# Automatic batch size: about this many batches, within these bounds. benchmark: online_peers
_N_BATCHES, _SMALLEST_BATCH, _LARGEST_BATCH = 200, 8, 256


class StreamingEstimator(StreamFit, RankSearch):
    """Fit and partial_fit around a :class:`thalweg.learning.online.OnlineLearner`.

    Examples
    --------
    >>> from thalweg import OnlineNMF
    >>> from thalweg.estimators.streaming import StreamingEstimator
    >>> issubclass(OnlineNMF, StreamingEstimator)
    True
    """

    n_components: Any
    batch_size: Any
    epochs: Any
    shuffle: bool
    random_state: Any
    callback: Callable[[Progress], None] | None
    keep_history: bool
    history_: list[Progress]
    # fields of the state that are published in addition to those of all streaming estimators
    _published: ClassVar[tuple[str, ...]] = ()

    def make_learner(self) -> OnlineLearner:
        """Check the parameters, and return the learner.

        Returns
        -------
        OnlineLearner
            A frozen dataclass. It needs ``n_features_in_``.
        """
        raise NotImplementedError

    def get_state(self) -> OnlineState:
        """Return the state of the learner from the attributes.

        Returns
        -------
        OnlineState
            The state after all batches so far.
        """
        return OnlineState(
            W=self.components_.T,
            statistics=getattr(self, "statistics_", None),  # not needed to encode
            code_prior=self.code_prior_,
            n_samples=self.n_samples_seen_,
            n_batches=self.n_batches_seen_,
            outlier_share=self.outlier_share_,
            **{name: getattr(self, f"{name}_") for name in self._published},
        )

    def set_state(self, learner: OnlineLearner, state: OnlineState) -> Self:
        """Publish the state of a learner as attributes.

        Parameters
        ----------
        learner : OnlineLearner
            From :meth:`make_learner`.
        state : OnlineState
            Its state.

        Returns
        -------
        self
            The fitted estimator.
        """
        self.components_, self.n_components_ = np.ascontiguousarray(state.W.T), state.W.shape[1]
        self.statistics_, self.code_prior_ = state.statistics, state.code_prior
        self.n_samples_seen_, self.n_batches_seen_ = state.n_samples, state.n_batches
        self.outlier_share_ = state.outlier_share
        for name in self._published:
            setattr(self, f"{name}_", getattr(state, name))
        self.objective_ = learner.objective(state)
        return self

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, weights: Any = None) -> Self:
        """Learn from all samples in batches; an earlier fit is discarded.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data; ``NaN`` marks missing entries.
        y : ignored
            Present for scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples: 2 counts a sample twice, 0 leaves it out.
        weights : array-like or sparse matrix of the shape of X, optional
            Weights of the entries, as inverse variances of their noise; 0 is a missing entry.

        Returns
        -------
        self
            The fitted estimator.
        """
        rng = generator(self.random_state)
        with rollback_on_error(self):
            X = check_fit_data(self, X)
            rows = weighted(X, sample_weight, weights)
            n, epochs = rows.shape[0], check_count("epochs", self.epochs)
            learner = self.find_rank(rows).first_learner()
            form = learner.form(unweighted(rows))
            size, order = self._batch_size(n, form), self._order(n, rng)
            shape = X.shape[1], self._rank(), size
            n_first = max(size, self._init_sample_size(form) if self.shuffle else 0)
            with few_threads(*shape, self.n_jobs):
                state = learner.init(form.batch(rows[order[:n_first]]), form, rng)
                self.set_state(learner, state)
        tasks = FitTasks(self, "batch", epochs * -(-n // size), X)
        with few_threads(*shape, self.n_jobs):
            try:
                for epoch in range(epochs):
                    order = order if epoch == 0 else self._order(n, rng)
                    for start in range(0, n, size):
                        tasks.begin()
                        batch = form.batch(rows[order[start : start + size]])
                        state = learner.learn(state, batch)
                        self.report(learner, state, n * epochs)
                        if self._stops(tasks, learner, state):
                            return self
            finally:  # an interrupted fit keeps the result so far
                self.set_state(learner, state)
                tasks.close()
        return self

    def _stops(self, tasks: FitTasks, learner: OnlineLearner, state: OnlineState) -> bool:
        """End a batch; return whether a callback of scikit-learn stops the fit."""
        if tasks.root is None:
            return False
        self.set_state(learner, state)
        return tasks.ended()

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, weights: Any = None
    ) -> Self:
        """Learn from one more batch.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data; ``NaN`` marks missing entries.
        y : ignored
            Present for scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples: 2 counts a sample twice, 0 leaves it out.
        weights : array-like or sparse matrix of the shape of X, optional
            Weights of the entries, as inverse variances of their noise; 0 is a missing entry.

        Returns
        -------
        self
            The fitted estimator.
        """
        first = not hasattr(self, "components_")
        if first:
            with rollback_on_error(self):
                X = check_data(self, X, reset=True)
                rows = weighted(X, sample_weight, weights)
                learner = self.find_rank(rows).first_learner()
                self._watch_rank(rows, getattr(self, "forgetting", 1.0) < 1.0)
                form = learner.form(unweighted(rows))
                batch = form.batch(rows)
                shape = X.shape[1], self._rank(), X.shape[0]
                with few_threads(*shape, self.n_jobs):
                    state = learner.init(batch, form, generator(self.random_state))
                    self.set_state(learner, state)
        else:
            X = check_data(self, X, reset=False).astype(self.components_.dtype, copy=False)
            is_weighted = sample_weight is not None or weights is not None
            rows = weighted(X, sample_weight, weights) if is_weighted else X
            if self.callback is not None:
                check_callback(self.callback)
            learner, state = self.make_learner(), self.get_state()
            learner.check_continues(state)
            if getattr(self, "rank_window_", None) is not None:
                learner, state = self._follow_rank(learner, state, rows)
            batch = state.form.batch(rows)
            shape = X.shape[1], state.W.shape[1], X.shape[0]
        with few_threads(*shape, self.n_jobs):
            state = learner.learn(state, batch)
            self.set_state(learner, state)
            self.report(learner, state, None)
        return self

    def first_learner(self) -> OnlineLearner:
        """Return the learner of a new stream, after removing the history of an earlier fit.

        Returns
        -------
        OnlineLearner
            As :meth:`make_learner`.
        """
        check_callback(self.callback)
        learner = self.make_learner()
        self.__dict__.pop("history_", None)  # of an earlier fit
        return learner

    def _encoder(self) -> Encoder:
        return self.make_learner().encoder(self.get_state())

    def report(self, learner: OnlineLearner, state: OnlineState, total: int | None) -> None:
        """Append the progress to the history, and pass it to the callback.

        Parameters
        ----------
        learner : OnlineLearner
            From :meth:`make_learner`.
        state : OnlineState
            Its state after a batch.
        total : int or None
            Samples of the whole call, if known.
        """
        if self.callback is None and not self.keep_history:
            return
        self.set_state(learner, state)
        progress = Progress(state.n_samples, total, self.objective_, state.outlier_share)
        if self.keep_history:
            self.__dict__.setdefault("history_", []).append(progress)
        if self.callback is not None:
            self.callback(progress)

    def _order(self, n: int, rng: np.random.Generator) -> Indices:
        """Return the order of the samples in an epoch."""
        return rng.permutation(n) if self.shuffle else np.arange(n)

    def _init_sample_size(self, form: DataForm) -> int:
        """Return the number of shuffled rows for the initial dictionary, if more than a batch.

        Unshuffled rows start from the first batch, so that fit equals a loop of partial_fit.
        """
        return 0

    def _batch_size(self, n: int, form: DataForm) -> int:
        """Return the batch size for n samples."""
        if isinstance(self.batch_size, str) and self.batch_size == "auto":
            return int(np.clip(n // _N_BATCHES, _SMALLEST_BATCH, _LARGEST_BATCH))
        return check_count("batch_size", self.batch_size)

    def _stream_form(self, stream: Any) -> DataForm:
        """Return the form of the data of a stream, as far as the batch size depends on it."""
        return DataForm()

    def _stream_batch_size(self, stream: Any) -> int:
        n = getattr(stream, "n_samples", None)
        return self._batch_size(_ASSUMED_SAMPLES if n is None else n, self._stream_form(stream))
