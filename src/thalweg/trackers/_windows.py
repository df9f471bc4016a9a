"""Trackers that move when a window is full of samples without outliers and gaps."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from thalweg._checks import require_positive
from thalweg._typing import Array, Mask
from thalweg.errors import ParameterError
from thalweg.trackers import Track
from thalweg.trackers._blocks import as_rows
from thalweg.trackers._encoders import LeastSquares
from thalweg.trackers._sensing import Recovered, Sensing
from thalweg.trackers.start import robust_basis

__all__ = ["Window", "check_windows", "emptied", "first", "follow", "known", "moved", "sensing"]

S = TypeVar("S", bound=Any)

# Samples from which the level of noise is taken anew when the basis has moved.
_SOME = 8
# Share of a feature that cannot be outliers: then its row of the basis is wrong.
_MOST = 0.6


class Window(NamedTuple):
    """The latest samples, as columns, up to some number.

    Attributes
    ----------
    V : array of shape (F, window)
        The samples, with NaN at gaps.
    H : array of shape (K, window)
        Their codes in the basis that was taken off them.
    outliers : boolean array of shape (F, window)
        Which of their entries are outliers.
    """

    V: Array
    H: Array
    outliers: Mask

    @classmethod
    def empty(cls, size: int, shape: tuple[int, ...], dtype: Any) -> "Window":
        """Return room for so many samples, at least one for each code."""
        F, K = shape
        if size < K:
            raise ParameterError(
                f"window must be at least the number of codes, {K}, got {size!r}. "
                "Set it to several times that number."
            )
        flags = np.zeros((F, size), dtype=np.bool_)
        return cls(np.zeros((F, size), dtype), np.zeros((K, size), dtype), flags)

    def put(self, start: int, X: Array, mask: Mask, found: Recovered) -> None:
        """Write samples that were taken apart, the rows of X, into the columns from ``start``."""
        columns = slice(start, start + len(X))
        self.V[:, columns] = np.where(mask, X, np.nan).T
        self.H[:, columns] = 0.0
        self.H[: found.H.shape[1], columns] = found.H.T
        self.outliers[:, columns] = (found.R != 0.0).T

    def recovered(self, Q: Array, senses: Sensing) -> Array:
        """Return the samples with ``Q @ H`` at outliers and gaps.

        Where a feature has outliers in most samples, it is the subspace that is wrong there:
        the method supposes that they are few in each feature. Such a feature is fitted to the
        codes anew, or the basis would be confirmed by its own errors.
        """
        observed, H = ~np.isnan(self.V), self.H[: Q.shape[1]]
        outliers, model = self.outliers.copy(), Q @ H
        wrong = outliers.sum(axis=1) > _MOST * observed.sum(axis=1)
        if wrong.any():
            X = np.where(observed, self.V, 0.0)[wrong].astype(np.float64)
            rows = senses.recover(X, observed[wrong], H.T, np.zeros(2), 0.0)
            model[wrong], outliers[wrong] = rows.H @ H, rows.R != 0.0
        return np.where(observed & ~outliers, self.V, model)


def check_windows(tracker: Any, *counts: str) -> None:
    """Raise where a parameter of a tracker by windows has no meaning."""
    require_positive(limit=tracker.limit, change=tracker.change)
    for name in ("noise_bound", "support_threshold", "change_threshold"):
        if getattr(tracker, name) is not None:
            require_positive(**{name: getattr(tracker, name)})
    for name in counts:
        value = getattr(tracker, name)
        if not (isinstance(value, (int, np.integer)) and value >= 1):
            raise ParameterError(
                f"{name} must be a positive integer, got {value!r}. Set it to 1 or more."
            )


def known(state: Any) -> bool:
    """Tell whether there is a subspace that can be taken off samples."""
    return bool(state.counts[2])


def first(V: Array, U: Array) -> Array:
    """Return the subspace of samples with NaN at gaps, all of them at once; U is a guess."""
    observed = ~np.isnan(V)
    return robust_basis(np.where(observed, V, 0), U.shape[1], observed, guess=U)


def emptied(state: S, left: int) -> S:
    """Return the state with an empty window, and so many updates to come."""
    after: S = state._replace(counts=np.array([0, left, 1], dtype=np.intp))
    return after


def moved(tracker: Any, state: S, Q: Array, left: int, **bases: Array) -> S:
    """Return the same with other bases, and the level of noise that some samples have off Q."""
    level = np.zeros(2)
    V = state.window.V[:, -_SOME:].T.astype(np.float64)
    sensing(tracker).recover(np.nan_to_num(V), ~np.isnan(V), Q, level, V.shape[1])
    after: S = emptied(state._replace(level=level, **bases), left)
    return after


def sensing(tracker: Any, level: float = 0.0) -> Sensing:
    """Return what takes the samples of a tracker apart."""
    return Sensing(tracker.limit, tracker.noise_bound, tracker.support_threshold, level)


def follow(
    tracker: Any,
    state: S,
    block: tuple[Array, Mask | None],
    basis: Callable[[S], Array],
    full: Callable[[S], S],
) -> tuple[S, Track]:
    """Return the state after a block of samples, and what was found in them.

    The block is cut where windows get full. ``basis`` is what is taken off the samples, and
    ``full`` what becomes of the state with a full window. Samples with no more entries than
    codes tell nothing, and do not go into the window.
    """
    X, mask = as_rows(*block, np.dtype(np.float64))
    window = Window(*(part.copy() for part in state.window))
    state = state._replace(window=window, level=state.level.copy())
    senses, size = sensing(tracker), window.V.shape[1]
    parts, start = [Recovered(np.empty((0, state.U.shape[1])), X[:0], np.empty(0))], 0
    while start < len(X):
        Q, filled = basis(state), int(state.counts[0])
        telling = start + np.flatnonzero(mask[start:].sum(axis=1) > Q.shape[1])[: size - filled]
        is_full = telling.size == size - filled
        stop = int(telling[-1]) + 1 if is_full else len(X)
        piece = slice(start, stop)
        found = senses.recover(X[piece], mask[piece], Q, state.level, size)
        some = Recovered(*(part[telling - start] for part in found))
        window.put(filled, X[telling], mask[telling], some)
        parts.append(found if Q is state.U else _reported(found, X[piece], mask[piece], state.U))
        counts = state.counts.copy()
        counts[0] += telling.size
        state = state._replace(counts=counts)
        state, start = full(state) if is_full else state, stop
    H, R, error = (np.concatenate(part) for part in zip(*parts, strict=True))
    return state, Track(H.astype(state.U.dtype).T, R.astype(state.U.dtype).T, error)


def _reported(found: Recovered, X: Array, mask: Mask, U: Array) -> Recovered:
    """Return codes and residuals in the basis U of samples that were sensed with another one."""
    clean = mask & (found.R == 0.0)
    wide = U.astype(np.float64)
    H = LeastSquares().encode(X.T, wide, observed=clean.T).H.T
    error = np.full(len(X), np.nan)
    for s, places in enumerate(mask):
        count = np.count_nonzero(places)
        if count > U.shape[1]:
            e = np.abs(X[s] - wide @ H[s])[places]
            error[s] = np.median(e[:: max(1, count // 1024)])
    return found._replace(H=H, error=error)
