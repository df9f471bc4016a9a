"""NORST: nearly optimal robust subspace tracking."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

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
from thalweg.trackers._singular_directions import has_new_direction, leading_directions

__all__ = ["NorstState", "NorstTracker"]


class NorstState(NamedTuple):
    """The subspace, and the latest samples.

    Attributes
    ----------
    U : array of shape (F, K)
        Orthonormal basis.
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
    >>> from thalweg.trackers.norst import NorstTracker
    >>> NorstTracker(window=20).init(np.eye(3, 2)).window.V.shape
    (3, 20)
    """

    U: Array
    window: Window
    progress: WindowProgress
    noise: NoiseAverage


@dataclass(frozen=True)
class NorstTracker:
    """Track a subspace by NORST of Narayanamurthy and Vaswani (2018).

    Missing entries are treated as in NORST-miss-robust. Outliers and missing entries of each sample
    are recovered by projected compressive sensing. When a window is full of recovered samples, the
    subspace becomes that of their leading singular vectors. After some updates the tracker only
    tests whether samples leave the subspace, and restarts the updates if they do.

    Parameters
    ----------
    window : int
        Number of samples in a window (alpha); at least K.
    updates : int
        Number of updates after a change (the paper's K).
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
    P. Narayanamurthy and N. Vaswani, "Nearly optimal robust subspace tracking", ICML, 2018.
    P. Narayanamurthy, V. Daneshpajooh and N. Vaswani, "Provable subspace tracking from missing
    data and matrix completion", IEEE Transactions on Signal Processing, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.norst import NorstTracker
    >>> rng = np.random.default_rng(0)
    >>> U = np.linalg.qr(rng.normal(size=(20, 2)))[0]
    >>> V = U @ rng.normal(size=(2, 200))
    >>> V[rng.random(V.shape) < 0.1] = 5.0
    >>> tracker = NorstTracker()
    >>> state, _ = tracker.step(tracker.init(np.eye(20, 2)), V)
    >>> bool(np.allclose(U @ (U.T @ state.U), state.U, atol=1e-6))
    True
    """

    window: int = 60  # the authors' code for videos
    updates: int = 5
    threshold: float = 3.0  # benchmark: tracking_table
    change: float = 1.5  # benchmark: tracking_table
    noise_bound: float | None = None
    support_threshold: float | None = None
    change_threshold: float | None = None
    trusted: bool = False
    name: ClassVar[str] = "norst"

    def __post_init__(self) -> None:
        check_windows(self, "window", "updates")

    def init(self, U: Array) -> NorstState:
        """Return the state before the first sample, with the basis U."""
        window = Window.empty(self.window, U.shape, U.dtype)
        progress = WindowProgress(0, self.updates, int(self.trusted))
        return NorstState(U.copy(), window, progress, NoiseAverage())

    def step(
        self, state: NorstState, V: Array, observed: Mask | None = None
    ) -> tuple[NorstState, Track]:
        """Return the state after the columns of V, and their codes and outliers."""
        return track_windows(self, state, V, observed, lambda now: now.U, self._update)

    def encoder(self, state: NorstState) -> Encoder:
        """Return projected compressive sensing at the noise scale of the state."""
        return encoder_of(self, state.noise.scale)

    def noise_scale_of(self, state: NorstState) -> float:
        """Return the standard deviation of the noise."""
        return state.noise.scale

    def _update(self, state: NorstState) -> NorstState:
        """Move the subspace or test for a change, and empty the window."""
        U, n_updates = state.U, state.progress.n_updates
        if not state.progress.is_known:
            U = first_basis(state.window.V, U)
            return move_basis(self, state, U, n_updates, U=U)
        L = state.window.low_rank(U, encoder_of(self))
        if n_updates > 0:
            U = leading_directions(L, U)
            return move_basis(self, state, U, n_updates - 1, U=U)
        is_changed = has_new_direction(L, U, self.change, self.change_threshold)
        return empty_window(state, self.updates if is_changed else 0)
