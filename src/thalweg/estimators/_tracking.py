"""The loop of every tracker: a robust start, samples in order, an eye on jumps."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from thalweg._checks import as_numbers, check_callback, check_count, choose, generator, in_words
from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder
from thalweg.errors import ParameterError
from thalweg.estimators._stream_fit import StreamFit
from thalweg.estimators.base import Factorization, rollback_on_error
from thalweg.estimators.validation import check_data
from thalweg.learning.batches import Batch, as_batch
from thalweg.learning.progress import Progress
from thalweg.learning.threads import few_threads
from thalweg.trackers import Track, Tracker
from thalweg.trackers.angles import largest_angle, orthonormal
from thalweg.trackers.cusum import Cusum
from thalweg.trackers.start import robust_basis

__all__ = ["Tracking"]

# Samples after which drift and jumps are looked at. Counted from the first sample on, so that
# nothing depends on how the stream is cut into calls.
_LOOK = 32
_KEPT = 4096  # looks whose drift is kept
_BLOCK = 2**22  # entries that are taken in at a time, or kept for the start
# Entries of each feature from which a start is made: some, and some more for each component.
_PER_FEATURE, _PER_COMPONENT = 128, 8


_FADE = 0.9  # of the counts of outliers, from look to look
_TEST = Cusum()


class _Waiting(NamedTuple):
    """The samples with any entry, as columns, from which a start is being made."""

    V: Array
    observed: Mask


class Tracking(StreamFit, Factorization):
    """Base of the estimators that follow a subspace."""

    signed: ClassVar[bool] = True

    n_components: Any
    init: Any
    start_samples: Any
    on_jump: Any
    orthonormal: bool
    epochs: Any
    random_state: Any
    callback: Callable[[Progress], None] | None
    _waiting: _Waiting | None
    _restarts: bool = True  # whether a jump may lead to a new start

    def _tracker(self) -> Tracker[Any]:
        """Return the tracker, its parameters checked."""
        raise NotImplementedError

    def _encoder(self) -> Encoder:
        return self._tracker().encoder(self.state_)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Follow the rows of X in their order, forgetting what was learned before.

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
        epochs = check_count("epochs", self.epochs)
        with rollback_on_error(self):
            X = check_data(self, X, reset=True)
            self._begin(X)
        total = X.shape[0] * epochs
        for _ in range(epochs):
            self._follow(X, total)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Follow more rows, from where the last call ended.

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
            first = not hasattr(self, "components_")
            X = check_data(self, X, reset=first)
            if first:
                self._begin(X)
        self._check()
        self._follow(X.astype(self.components_.dtype, copy=False), None)
        return self

    def complete(self, X: Any, *, passes: int = 3) -> Array:
        """Learn from all of X in several passes, and return it with its gaps filled.

        One basis has to do for all rows, so jumps are noted, but lead to no new start.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data; ``NaN`` marks gaps.
        passes : int
            How many times the rows are followed; the last basis fills the gaps.

        Returns
        -------
        array of shape (n_samples, n_features)
            X where it was observed, and the low-rank part elsewhere.
        """
        count = check_count("passes", passes)
        self._restarts = False
        try:
            self.fit(X)
            for _ in range(count - 1):
                self.partial_fit(X)
        finally:
            del self._restarts
        return self.fill(X)

    def _check(self) -> None:
        """Check the parameters that matter to every sample."""
        check_callback(self.callback)
        choose("on_jump", self.on_jump, ("note", "reset"))
        if self.start_samples != "auto":
            check_count("start_samples", self.start_samples)

    def _begin(self, X: Any) -> None:
        """Check the parameters, and take the first basis."""
        K, F = check_count("n_components", self.n_components), X.shape[1]
        if K > F:
            raise ParameterError(
                f"n_components must be at most the number of features, n_features={F}, got "
                f"n_components={K}. Use fewer components."
            )
        self._check()
        self._seed = int(generator(self.random_state).integers(2**31))
        U = self._first_basis(F, K, X.dtype)
        self.state_ = self._tracker().init(U)
        robust = isinstance(self.init, str) and self.init == "robust"
        self._waiting = self._nobody() if robust else None
        self.n_samples_seen_ = 0
        self.outlier_share_, self._counts = 0.0, np.zeros(2)
        self.drift_, self.jumps_ = np.zeros(0), np.zeros(0, dtype=np.intp)
        self.evidence_ = _TEST.init()
        self._before = U
        self._show()

    def _first_basis(self, F: int, K: int, dtype: Any) -> Array:
        if not isinstance(self.init, str):
            return _given(self.init, K, F).astype(dtype)
        choose("init", self.init, ("robust", "random"))
        rng = np.random.default_rng(self._seed)
        return np.linalg.qr(rng.normal(size=(F, K)))[0].astype(dtype)

    def _nobody(self) -> _Waiting:
        """Return a start without any sample yet."""
        F = len(self.state_.U)
        return _Waiting(np.empty((F, 0), self.state_.U.dtype), np.empty((F, 0), np.bool_))

    def _follow(self, X: Any, total: int | None) -> None:
        rows = max(1, _BLOCK // X.shape[1])
        with few_threads(X.shape[1], len(self.components_), _LOOK):
            for start in range(0, X.shape[0], rows):
                batch = as_batch(X[start : start + rows])
                self._absorb(batch)
                if self.callback is not None:
                    self._show()
                    self.callback(self._progress(total))
        self._show()

    def _progress(self, total: int | None) -> Progress:
        """Return where the stream stands; there is no level before any residual was watched."""
        level = float(np.exp(self.evidence_.level)) if self.evidence_.heard else np.nan
        return Progress(self.n_samples_seen_, total, level, self.outlier_share_)

    def _absorb(self, batch: Batch) -> None:
        start, n = 0, batch.V.shape[1]
        while start < n:
            stop = min(n, start + self._until_look())
            observed = None if batch.observed is None else batch.observed[:, start:stop]
            self._take(Batch(batch.V[:, start:stop], observed))
            start = stop

    def _until_look(self) -> int:
        """Return the samples until drift and jumps are looked at, or a start is tried again."""
        look: int = _LOOK - self.n_samples_seen_ % _LOOK
        if self._waiting is None:
            return look
        waiting = int(self._waiting.V.shape[1])
        return min(look, (1 << waiting.bit_length()) - waiting)

    def _take(self, batch: Batch) -> None:
        tracker = self._tracker()
        self.state_, track = tracker.step(self.state_, batch.V, batch.observed)
        self.n_samples_seen_ += batch.V.shape[1]
        looking = self.n_samples_seen_ % _LOOK == 0
        self._count(batch, track, looking)
        if self._waiting is not None:
            self._start_again(tracker, batch, looking)
        else:
            self._watch(track, looking)

    def _count(self, batch: Batch, track: Track, looking: bool) -> None:
        """Count outliers and entries observed, with weights that fade from look to look."""
        observed = batch.V.size if batch.observed is None else np.count_nonzero(batch.observed)
        self._counts += np.array([np.count_nonzero(track.R), observed])
        self.outlier_share_ = float(self._counts[0] / max(self._counts[1], 1.0))
        if looking:
            self._counts *= _FADE

    def _start_again(self, tracker: Tracker[Any], batch: Batch, looking: bool) -> None:
        """Make a start from the samples so far, each time that these have doubled."""
        assert self._waiting is not None
        observed = (
            np.ones(batch.V.shape, dtype=np.bool_) if batch.observed is None else batch.observed
        )
        some = observed.any(axis=0)
        V = np.hstack([self._waiting.V, batch.V[:, some]])
        observed = np.hstack([self._waiting.observed, observed[:, some]])
        self._waiting = _Waiting(V, observed)
        n, enough = V.shape[1], looking and self._enough(V, observed)
        if enough or (some.any() and n & (n - 1) == 0):
            K = self.state_.U.shape[1]
            U = robust_basis(V, K, observed, seed=self._seed, guess=self.state_.U)
            self.state_, _ = tracker.step(tracker.init(U), V, observed)
        if enough:
            self._waiting = None
            self._before = orthonormal(self.state_.U)

    def _enough(self, V: Array, observed: Mask) -> bool:
        """Tell whether there are samples enough for a start."""
        F, n = V.shape
        if self.start_samples != "auto":
            return bool(n >= self.start_samples)
        K = self.state_.U.shape[1]
        counts = observed.sum(axis=0)
        useful = int(counts[counts > K].sum())
        return useful >= F * (_PER_FEATURE + _PER_COMPONENT * K) or V.size >= _BLOCK

    def _watch(self, track: Track, looking: bool) -> None:
        """Note how far the subspace has turned, and whether it has jumped."""
        self.evidence_, jumped = _TEST.step(self.evidence_, track.error)
        if not looking:
            return
        now = orthonormal(self.state_.U)
        self.drift_ = np.append(self.drift_, largest_angle(now, self._before))[-_KEPT:]
        self._before = now
        if jumped:
            self.jumps_ = np.append(self.jumps_, self.n_samples_seen_)[-_KEPT:]
            self.evidence_ = _TEST.init()
            if self.on_jump == "reset" and self._restarts:
                self._waiting = self._nobody()

    def _show(self) -> None:
        """Set the components to the basis of the state."""
        U = self.state_.U
        if self.orthonormal:
            U = np.linalg.qr(U)[0]
        self.components_ = np.ascontiguousarray(U.T)


def _given(init: Any, K: int, F: int) -> Array:
    """Return the basis that a user gave as rows, as orthonormal columns."""
    rows = as_numbers(init)
    if rows is None or rows.shape != (K, F) or not np.isfinite(rows).all():
        fits = rows is not None and rows.shape == (K, F)
        found = "infinite entries or NaN" if fits else in_words(init)
        raise ParameterError(
            f"init must be 'robust', 'random' or a finite array of shape ({K}, {F}), got {found}. "
            "Pass the components of an earlier fit unchanged."
        )
    Q, T = np.linalg.qr(rows.astype(np.float64).T)
    if np.abs(np.diag(T)).min() <= 1e-12 * np.abs(np.diag(T)).max():
        raise ParameterError(
            "init must have linearly independent rows, got rows that are combinations of others. "
            "Remove them and use fewer components."
        )
    return Q
