"""The loop of every streaming factorisation: encode a batch, move the dictionary."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from thalweg._typing import Array, Indices
from thalweg.encoders import Codes, Encoder
from thalweg.errors import ParameterError
from thalweg.estimators._base import Factorization
from thalweg.estimators._code_prior import due, empty_prior, look
from thalweg.estimators._input import Batch, check_data
from thalweg.estimators._parameters import check_callback, check_count, generator
from thalweg.estimators._rollback import rollback_on_error
from thalweg.estimators._start import frozen_columns
from thalweg.estimators._stream_fit import StreamFit
from thalweg.estimators._threads import few_threads
from thalweg.updates import DictionaryUpdate

__all__ = ["Progress", "Streaming", "outlier_share"]

# The share of outliers is that of about so many latest batches.
_RECENT = 10
# Samples that a stream of unknown length is taken to have: batches of 64.
_SOME = 12_800


class Progress(NamedTuple):
    """Where a fit stands; what a callback gets after each batch.

    Attributes
    ----------
    n_samples_seen : int
        Samples taken in so far.
    n_samples_total : int or None
        Samples that the call will take in, where that is known.
    objective : float
        The surrogate of the loss, a mean over the samples so far.
    outlier_share : float
        Share of the entries observed lately that are outliers.

    Examples
    --------
    >>> from thalweg.estimators import Progress
    >>> Progress(40, None, 0.25, 0.1).n_samples_seen
    40
    """

    n_samples_seen: int
    n_samples_total: int | None
    objective: float
    outlier_share: float


class Streaming(StreamFit, Factorization):
    """Base of the estimators that learn from batches."""

    n_components: Any
    batch_size: Any
    epochs: Any
    shuffle: bool
    random_state: Any
    callback: Callable[[Progress], None] | None
    keep_history: bool
    history_: list[Progress]

    def _update(self) -> DictionaryUpdate[Any]:
        """Return the dictionary update, its parameters checked."""
        raise NotImplementedError

    def _start(self, batch: Batch, rng: np.random.Generator) -> Array:
        """Return the first dictionary."""
        raise NotImplementedError

    @property
    def _looked_at(self) -> int:
        """Rows from which the first dictionary is made when they come in random order.

        Else the first batch has to do, so that fit is nothing but a loop of partial_fit.
        """
        return 0

    def _prepare(self, X: Any) -> None:
        """Settle what the first call's data decide, before they are cut into batches."""

    def _tune(self, batch: Batch) -> Encoder:
        """Return the encoder for a batch that is to be learned from."""
        return self._encoder()

    def _windows(self, batch: Batch) -> list[Batch]:
        """Return the parts of a batch after each of which the components change."""
        return [batch]

    def _lesson(self, batch: Batch, codes: Codes, W: Array) -> Codes:
        """Return what the dictionary learns from a batch that was encoded with W."""
        return codes

    def _observe(self, batch: Batch, codes: Codes, W: Array) -> None:
        """Take note of a batch that was encoded with W."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from all of X, batch by batch, forgetting what was learned before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data; ``NaN`` marks gaps.
        y : ignored
            Present for scikit-learn.

        Returns
        -------
        self
            The fitted estimator.
        """
        rng = generator(self.random_state)
        with rollback_on_error(self):
            X = check_data(self, X, reset=True)
            n, epochs = X.shape[0], check_count("epochs", self.epochs)
            self._prepare(X)
            size, order = self._size(n), self._order(n, rng)
            shape = X.shape[1], check_count("n_components", self.n_components), size
            looked_at = self._looked_at if self.shuffle else 0
            with few_threads(*shape):
                update = self._begin(self._batch(X[order[: max(size, looked_at)]]), rng)
        with few_threads(*shape):
            for epoch in range(epochs):
                order = order if epoch == 0 else self._order(n, rng)
                for begin in range(0, n, size):
                    batch = self._batch(X[order[begin : begin + size]])
                    self._absorb(batch, update, n * epochs)
            self._conclude(update)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from one more batch.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data; ``NaN`` marks gaps.
        y : ignored
            Present for scikit-learn.

        Returns
        -------
        self
            The fitted estimator.
        """
        if hasattr(self, "components_"):
            X = check_data(self, X, reset=False).astype(self.components_.dtype, copy=False)
            check_callback(self.callback)
            self._check_frozen()
            update = self._update()
        else:
            with rollback_on_error(self):
                X = check_data(self, X, reset=True)
                self._prepare(X)
                with few_threads(*self._shape(X)):
                    update = self._begin(self._batch(X), generator(self.random_state))
        with few_threads(*self._shape(X)):
            self._absorb(self._batch(X), update, None)
            self._conclude(update)
        return self

    def _shape(self, X: Any) -> tuple[int, int, int]:
        return X.shape[1], check_count("n_components", self.n_components), X.shape[0]

    def _check_frozen(self) -> None:
        """Raise if components were given to keep since the stream began."""
        given = getattr(self, "frozen_components", None)
        if given is None:
            return
        W = self.components_.T
        fixed = frozen_columns(given, W.shape[1], W.shape[0]).astype(W.dtype)
        if not np.array_equal(fixed, W[:, : fixed.shape[1]]):
            raise ParameterError(
                "frozen_components must be those of the first batch, got others. "
                "Call fit to start again with new ones."
            )

    def _begin(self, batch: Batch, rng: np.random.Generator) -> DictionaryUpdate[Any]:
        check_callback(self.callback)
        self._update()  # a wrong parameter of it is told before anything is learned
        W = self._start(batch, rng)
        update = self._update()
        self.components_ = np.ascontiguousarray(W.T)
        self.statistics_ = update.init(W)
        self.code_prior_ = empty_prior(W.shape[1])
        self.n_samples_seen_ = 0
        self.n_batches_seen_ = 0
        self.outlier_share_ = 0.0
        self.__dict__.pop("history_", None)  # of an earlier fit
        return update

    def _absorb(self, batch: Batch, update: DictionaryUpdate[Any], total: int | None) -> None:
        windows, encoder = self._windows(batch), self._tune(batch)
        share = sum(self._learn(window, encoder, update) for window in windows) / len(windows)
        self._count(share, update, total)

    def _count(self, share: float, update: DictionaryUpdate[Any], total: int | None) -> None:
        """Count a batch with its share of outliers, and tell whoever wants to know."""
        self.n_batches_seen_ += 1
        self.outlier_share_ += (share - self.outlier_share_) / min(self.n_batches_seen_, _RECENT)
        if self.callback is not None or self.keep_history:
            self._tell(self._refreshed(update), total)

    def _learn(self, batch: Batch, encoder: Encoder, update: DictionaryUpdate[Any]) -> float:
        """Encode, move the dictionary, and return the share of outliers."""
        W = self.components_.T
        codes = encoder.encode(batch.V, W, observed=batch.observed)
        lesson = self._lesson(batch, codes, W)
        self._observe(batch, codes, W)
        if due(self.n_batches_seen_):
            self.code_prior_ = self.code_prior_.follow(look(batch, codes, self.code_prior_))
        update = self._refreshed(update)
        W, self.statistics_ = update.step(W, self.statistics_, batch.V, lesson, batch.observed)
        self.components_ = np.ascontiguousarray(W.T)
        self.n_samples_seen_ += batch.V.shape[1]
        return self._outlier_share(batch, codes)

    def _refreshed(self, update: DictionaryUpdate[Any]) -> DictionaryUpdate[Any]:
        """Return the update with what the latest batch has shown."""
        return update

    def _outlier_share(self, batch: Batch, codes: Codes) -> float:
        return outlier_share(batch, codes.R)

    def _tell(self, update: DictionaryUpdate[Any], total: int | None) -> None:
        self._conclude(update)
        progress = Progress(self.n_samples_seen_, total, self.objective_, self.outlier_share_)
        if self.keep_history:
            self.__dict__.setdefault("history_", []).append(progress)
        if self.callback is not None:
            self.callback(progress)

    def _conclude(self, update: DictionaryUpdate[Any]) -> None:
        self.objective_ = update.objective(self.components_.T, self.statistics_)

    def _order(self, n: int, rng: np.random.Generator) -> Indices:
        """Return the order in which a pass takes the samples."""
        return rng.permutation(n) if self.shuffle else np.arange(n)

    def _size(self, n: int) -> int:
        """Return the batch size; on its own about 200 batches, of 8 to 256 samples."""
        if isinstance(self.batch_size, str) and self.batch_size == "auto":
            return int(np.clip(n // 200, 8, 256))
        return check_count("batch_size", self.batch_size)

    def _stream_size(self, stream: Any) -> int:
        n = getattr(stream, "n_samples", None)
        return self._size(_SOME if n is None else n)


def outlier_share(batch: Batch, R: Array) -> float:
    """Return the share of the entries observed that are outliers."""
    taken = R != 0.0
    if batch.observed is None:
        return int(np.count_nonzero(taken)) / max(R.size, 1)
    return int(np.count_nonzero(taken & batch.observed)) / max(
        int(np.count_nonzero(batch.observed)), 1
    )
