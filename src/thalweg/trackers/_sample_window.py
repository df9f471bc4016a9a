"""Windows of recovered samples, for trackers that update once per window (ReProCS, NORST)."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from thalweg._checks import require_positive, require_whole
from thalweg._linalg import as_rows
from thalweg._typing import Array, Indices, Mask
from thalweg.encoders.least_squares import LeastSquares
from thalweg.encoders.projected_cs import NoiseAverage, ProjectedCS, RecoveredSamples
from thalweg.errors import ParameterError
from thalweg.trackers import Track
from thalweg.trackers.robust_init import robust_basis

__all__ = [
    "Window",
    "WindowProgress",
    "check_windows",
    "empty_window",
    "encoder_of",
    "first_basis",
    "move_basis",
    "track_windows",
]

S = TypeVar("S", bound=Any)

# Number of samples from which the noise scale is estimated after the basis has moved. With 4 or 32,
# some streams with gaps and outliers end with errors 40 times as large. benchmark: tracking_table
_NOISE_SAMPLES = 8
# Largest share of outliers in a feature. Beyond it, the row of the basis is wrong: the theory has
# few outliers in each feature. Safety margin: any value in 0.6..0.8 gives the same results.
_LARGEST_OUTLIER_SHARE = 0.6
# Number of entries from which a median residual is computed at least. Safety margin: the relative
# error of a median of 1024 entries is about 4 %.
_MEDIAN_ENTRIES = 1024


class Window(NamedTuple):
    """The latest samples, as columns.

    Attributes
    ----------
    V : array of shape (F, window)
        The samples, NaN at missing entries.
    H : array of shape (K, window)
        Their codes in the basis that they were recovered with.
    outliers : boolean array of shape (F, window)
        Mask of their outliers.
    """

    V: Array
    H: Array
    outliers: Mask

    @classmethod
    def empty(cls, size: int, shape: tuple[int, ...], dtype: Any) -> "Window":
        """Return a window for ``size`` samples, at least one for each code."""
        F, K = shape
        if size < K:
            raise ParameterError(
                f"window must be at least the number of codes, {K}, got {size!r}. "
                "Set it to several times that number."
            )
        flags = np.zeros((F, size), dtype=np.bool_)
        return cls(np.zeros((F, size), dtype), np.zeros((K, size), dtype), flags)

    def put(self, start: int, X: Array, mask: Mask, found: RecoveredSamples) -> None:
        """Write the recovered rows of X into the columns from ``start`` on."""
        columns = slice(start, start + len(X))
        self.V[:, columns] = np.where(mask, X, np.nan).T
        self.H[:, columns] = 0.0
        self.H[: found.H.shape[1], columns] = found.H.T
        self.outliers[:, columns] = (found.R != 0.0).T

    def low_rank(self, Q: Array, encoder: ProjectedCS) -> Array:
        """Return the samples with ``Q @ H`` at outliers and missing entries.

        A feature with outliers in most samples has a wrong row in the basis. It is refitted to the
        codes; otherwise the basis would be confirmed by its own errors.
        """
        observed, H = ~np.isnan(self.V), self.H[: Q.shape[1]]
        outliers, model = self.outliers.copy(), Q @ H
        wrong = outliers.sum(axis=1) > _LARGEST_OUTLIER_SHARE * observed.sum(axis=1)
        if wrong.any():
            X = np.where(observed, self.V, 0.0)[wrong].astype(np.float64)
            rows, _ = encoder.recover(X, observed[wrong], H.T, NoiseAverage(), 0.0)
            model[wrong], outliers[wrong] = rows.H @ H, rows.R != 0.0
        np.copyto(model, self.V, where=observed & ~outliers)
        return model


class WindowProgress(NamedTuple):
    """Position of a tracker in its cycle of windows.

    ``n_filled`` samples are in the window, ``n_updates`` updates follow (0 while changes are looked
    for), and ``is_known`` is 1 once there is a basis to recover samples with.
    """

    n_filled: int
    n_updates: int
    is_known: int


def check_windows(tracker: Any, *counts: str) -> None:
    """Raise unless the parameters of a tracker by windows are valid."""
    require_positive(threshold=tracker.threshold, change=tracker.change)
    for name in ("noise_bound", "support_threshold", "change_threshold"):
        if getattr(tracker, name) is not None:
            require_positive(**{name: getattr(tracker, name)})
    require_whole(1, **{name: getattr(tracker, name) for name in counts})


def first_basis(V: Array, U: Array) -> Array:
    """Fit a robust basis to all samples of a window, NaN at missing entries; U is a guess."""
    observed = ~np.isnan(V)
    return robust_basis(np.where(observed, V, 0), U.shape[1], observed, guess=U)


def empty_window(state: S, n_updates: int) -> S:
    """Return the state with an empty window, and ``n_updates`` updates to come."""
    after: S = state._replace(progress=WindowProgress(0, n_updates, 1))
    return after


def move_basis(tracker: Any, state: S, Q: Array, n_updates: int, **bases: Array) -> S:
    """Return the state with other bases, and the noise scale of some samples off Q."""
    V = state.window.V[:, -_NOISE_SAMPLES:].T.astype(np.float64)
    _, noise = encoder_of(tracker).recover(
        np.nan_to_num(V), ~np.isnan(V), Q, NoiseAverage(), V.shape[1]
    )
    after: S = state._replace(noise=noise, **bases)
    return empty_window(after, n_updates)


def encoder_of(tracker: Any, noise_scale: float = 0.0) -> ProjectedCS:
    """Return the encoder with which a tracker recovers samples."""
    return ProjectedCS(
        tracker.threshold, tracker.noise_bound, tracker.support_threshold, noise_scale
    )


def track_windows(
    tracker: Any,
    state: S,
    V: Array,
    observed: Mask | None,
    basis_of: Callable[[S], Array],
    update: Callable[[S], S],
) -> tuple[S, Track]:
    """Return the state after the columns of V, and their codes and outliers.

    The block is split where windows become full; then ``update`` returns the new state. Samples are
    recovered with the basis ``basis_of(state)``. Samples with no more entries than codes carry no
    information on the subspace, and are left out of the window.
    """
    X, mask = as_rows(V, observed, np.dtype(np.float64))
    window = Window(*(part.copy() for part in state.window))
    state = state._replace(window=window)
    encoder, size = encoder_of(tracker), window.V.shape[1]
    parts, start = [RecoveredSamples(np.empty((0, state.U.shape[1])), X[:0], np.empty(0))], 0
    while start < len(X):
        Q, n_filled = basis_of(state), state.progress.n_filled
        usable = start + np.flatnonzero(mask[start:].sum(axis=1) > Q.shape[1])[: size - n_filled]
        is_full = usable.size == size - n_filled
        stop = int(usable[-1]) + 1 if is_full else len(X)
        piece = slice(start, stop)
        found, noise = encoder.recover(X[piece], mask[piece], Q, state.noise, size)
        _store(window, n_filled, X[piece], mask[piece], found, usable - start)
        parts.append(found if Q is state.U else _in_basis(found, X[piece], mask[piece], state.U))
        progress = state.progress._replace(n_filled=n_filled + usable.size)
        state = state._replace(progress=progress, noise=noise)
        state, start = update(state) if is_full else state, stop
    H, R, error = (np.concatenate(part) for part in zip(*parts, strict=True))
    return state, Track(H.astype(state.U.dtype).T, R.astype(state.U.dtype).T, error)


def _store(
    window: Window, n_filled: int, X: Array, mask: Mask, found: RecoveredSamples, rows: Indices
) -> None:
    """Write some of the recovered rows of X into a window."""
    kept = RecoveredSamples(*(part[rows] for part in found))
    window.put(n_filled, X[rows], mask[rows], kept)


def _in_basis(found: RecoveredSamples, X: Array, mask: Mask, U: Array) -> RecoveredSamples:
    """Return codes and residuals in the basis U of samples that were recovered with another."""
    clean = mask & (found.R == 0.0)
    basis = U.astype(np.float64)
    H = LeastSquares().encode(X.T, basis, observed=clean.T).H.T
    error = np.full(len(X), np.nan)
    for s, places in enumerate(mask):
        count = np.count_nonzero(places)
        if count > U.shape[1]:
            e = np.abs(X[s] - basis @ H[s])[places]
            error[s] = np.median(e[:: max(1, count // _MEDIAN_ENTRIES)])
    return found._replace(H=H, error=error)
