"""ReProCS: recursive projected compressive sensing, in its simple form."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder
from thalweg.encoders.projected_cs import NoiseAverage
from thalweg.trackers import Track
from thalweg.trackers._sample_window import (
    Window,
    WindowProgress,
    check_windows,
    empty_window,
    encoder_of,
    first_basis,
    move_basis,
    track_windows,
)
from thalweg.trackers._singular_directions import (
    are_dense,
    has_new_direction,
    leading_directions,
    new_directions,
)

__all__ = ["ReProCSState", "ReProCSTracker"]


class ReProCSState(NamedTuple):
    """The subspace, directions that are being added to it, and the latest samples.

    Attributes
    ----------
    U : array of shape (F, K)
        Orthonormal basis; while directions are added, the K strongest of ``extended``.
    extended : array of shape (F, K + directions)
        The basis before the change and the new directions; zero if there are none.
    window : NamedTuple of arrays
        Samples ``V``, their codes ``H`` and the mask of their ``outliers``, as columns.
    progress : NamedTuple of int
        ``n_filled`` samples in the window, ``n_updates`` to come, and ``is_known``: whether there
        is a basis to recover samples with.
    noise : NoiseAverage
        Noise scale.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.reprocs import ReProCSTracker
    >>> ReProCSTracker().init(np.eye(4, 2)).extended.shape
    (4, 3)
    """

    U: Array
    extended: Array
    window: Window
    progress: WindowProgress
    noise: NoiseAverage


@dataclass(frozen=True)
class ReProCSTracker:
    """Track a subspace that changes slowly, by simple ReProCS of Narayanamurthy and Vaswani (2018).

    Outliers and missing entries of each sample are recovered by projected compressive sensing. When
    the samples of a window leave the subspace, the strongest direction off it is added for some
    windows, and estimated again in each (projection-SVD). Then the subspace becomes that of the
    leading singular vectors of a window, which deletes the directions that are no longer needed.

    Parameters
    ----------
    window : int
        Number of samples in a window (alpha); at least K.
    updates : int
        Number of windows for which directions are added after a change (the paper's K).
    directions : int
        Number of directions that may change at a time; 1 in the paper's theory.
    threshold : float
        Smallest outlier, in noise scales.
    change : float
        A change is a direction off the subspace with a singular value this many times the largest
        one of noise.
    noise_bound, support_threshold, change_threshold : float, optional
        The published rules, in data units: bound of the residual norm (xi), smallest outlier
        (omega_supp), and smallest eigenvalue of a new direction (omega_evals).
    trusted : bool
        Whether the initial basis is near the subspace, as the papers assume. If not, a robust basis
        is fitted to all samples of the first window.

    References
    ----------
    C. Qiu, N. Vaswani, B. Lois and L. Hogben, "Recursive robust PCA or recursive sparse recovery
    in large but structured noise", IEEE Transactions on Information Theory, 2014.
    P. Narayanamurthy and N. Vaswani, "Provable dynamic robust PCA or robust subspace tracking",
    IEEE Transactions on Information Theory, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.reprocs import ReProCSTracker
    >>> rng = np.random.default_rng(0)
    >>> U = np.linalg.qr(rng.normal(size=(20, 2)))[0]
    >>> V = U @ rng.normal(size=(2, 200))
    >>> V[rng.random(V.shape) < 0.1] = 5.0
    >>> tracker = ReProCSTracker()
    >>> state, _ = tracker.step(tracker.init(np.eye(20, 2)), V)
    >>> bool(np.allclose(U @ (U.T @ state.U), state.U, atol=1e-6))
    True
    """

    window: int = 60  # the authors' code for videos
    updates: int = 5
    directions: int = 1
    threshold: float = 3.0  # benchmark: tracking_table
    change: float = 1.5  # benchmark: tracking_table
    noise_bound: float | None = None
    support_threshold: float | None = None
    change_threshold: float | None = None
    trusted: bool = False
    name: ClassVar[str] = "reprocs"

    def __post_init__(self) -> None:
        check_windows(self, "window", "updates", "directions")

    def init(self, U: Array) -> ReProCSState:
        """Return the state before the first sample, with the basis U."""
        extended = np.pad(U, ((0, 0), (0, self._n_added(U))))
        window = Window.empty(self.window, extended.shape, U.dtype)
        progress = WindowProgress(0, int(not self.trusted), int(self.trusted))
        return ReProCSState(U.copy(), extended, window, progress, NoiseAverage())

    def step(
        self, state: ReProCSState, V: Array, observed: Mask | None = None
    ) -> tuple[ReProCSState, Track]:
        """Return the state after the columns of V, and their codes and outliers."""
        return track_windows(self, state, V, observed, _current_basis, self._update)

    def encoder(self, state: ReProCSState) -> Encoder:
        """Return projected compressive sensing at the noise scale of the state."""
        return encoder_of(self, state.noise.scale)

    def noise_scale_of(self, state: ReProCSState) -> float:
        """Return the standard deviation of the noise."""
        return state.noise.scale

    def _update(self, state: ReProCSState) -> ReProCSState:
        """Move the subspace or test for a change, and empty the window."""
        U, n_updates = state.U, state.progress.n_updates
        none, n_added = np.zeros_like(state.extended), self._n_added(U)
        if not state.progress.is_known:
            U = first_basis(state.window.V, U)
            return move_basis(self, state, U, n_updates, U=U, extended=none)
        L = state.window.low_rank(_current_basis(state), encoder_of(self))
        if n_updates > 1:
            base = _current_basis(state)[:, : U.shape[1]]
            new = new_directions(L, base, n_added)
            # The theory has dense directions; a direction in one feature would fit its outliers.
            if are_dense(new):
                extended = np.hstack([base, new])
                U = extended @ leading_directions(extended.T @ L, extended.T @ U)
                return move_basis(self, state, extended, n_updates - 1, U=U, extended=extended)
        if n_updates > 0:
            U = leading_directions(L, U)
            return move_basis(self, state, U, 0, U=U, extended=none)
        is_changed = n_added > 0 and has_new_direction(L, U, self.change, self.change_threshold)
        return empty_window(state, self.updates + 1 if is_changed else 0)

    def _n_added(self, U: Array) -> int:
        """Return the number of directions that can be added."""
        F, K = U.shape
        return min(self.directions, int(F - K))


def _current_basis(state: ReProCSState) -> Array:
    """Return the basis with which samples are recovered: with new directions if there are some."""
    return state.extended if state.extended[:, state.U.shape[1] :].any() else state.U
