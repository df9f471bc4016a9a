"""NORST: nearly optimal robust subspace tracking."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from thalweg._typing import Array, Indices, Mask
from thalweg.encoders import Encoder
from thalweg.trackers import Track
from thalweg.trackers._directions import changed, leading
from thalweg.trackers._windows import (
    Window,
    check_windows,
    emptied,
    first,
    follow,
    known,
    moved,
    sensing,
)

__all__ = ["Norst", "Windowed"]


class Windowed(NamedTuple):
    """The subspace, and the latest samples.

    Attributes
    ----------
    U : array of shape (F, K)
        Orthonormal basis.
    window : NamedTuple of arrays
        Samples ``V``, their codes ``H`` and where they have ``outliers``, as columns; the first
        ``counts[0]`` are in use.
    counts : array of shape (3,)
        Samples in the window, updates to come (none while changes are looked for), and whether
        a subspace is known.
    level : array of shape (2,)
        Level of noise, and the number of samples that it comes from.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.norst import Norst
    >>> Norst(window=20).init(np.eye(3, 2)).window.V.shape
    (3, 20)
    """

    U: Array
    window: Window
    counts: Indices
    level: Array


@dataclass(frozen=True)
class Norst:
    """NORST of Narayanamurthy and Vaswani (2018), with gaps as in NORST-miss-robust.

    Each sample is freed of outliers and gaps by projected compressive sensing. Whenever a
    window is full of such samples, the subspace becomes that of their leading singular vectors;
    after some updates the tracker only looks whether samples leave the subspace, and begins to
    update again when they do.

    Parameters
    ----------
    window : int
        Samples in a window (alpha); at least K.
    updates : int
        Updates after a change (the paper's K).
    limit : float
        Entry of the sensed outliers beyond which it is one, in units of the level of noise.
    change : float
        A change is a direction off the subspace so much stronger than the strongest of noise.
    noise_bound, support_threshold, change_threshold : float, optional
        The published rules in the units of the data: bound of the residual (xi), threshold of
        outliers (omega_supp), and of an eigenvalue off the subspace (omega_evals).
    trusted : bool
        Whether the basis to begin with is near the subspace, as the papers have it. If not, the
        first window is waited for, and a basis fitted robustly to all of it.

    References
    ----------
    P. Narayanamurthy and N. Vaswani, "Nearly optimal robust subspace tracking", ICML, 2018.
    P. Narayanamurthy, V. Daneshpajooh and N. Vaswani, "Provable subspace tracking from missing
    data and matrix completion", IEEE Transactions on Signal Processing, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.norst import Norst
    >>> rng = np.random.default_rng(0)
    >>> U = np.linalg.qr(rng.normal(size=(20, 2)))[0]
    >>> V = U @ rng.normal(size=(2, 200))
    >>> V[rng.random(V.shape) < 0.1] = 5.0
    >>> tracker = Norst()
    >>> state, _ = tracker.step(tracker.init(np.eye(20, 2)), V)
    >>> bool(np.allclose(U @ (U.T @ state.U), state.U, atol=1e-6))
    True
    """

    window: int = 60
    updates: int = 5
    limit: float = 3.0
    change: float = 1.5
    noise_bound: float | None = None
    support_threshold: float | None = None
    change_threshold: float | None = None
    trusted: bool = False
    name: ClassVar[str] = "norst"

    def __post_init__(self) -> None:
        check_windows(self, "window", "updates")

    def init(self, U: Array) -> Windowed:
        """Return the state with the basis U and nothing learned."""
        counts = np.array([0, self.updates, self.trusted], dtype=np.intp)
        window = Window.empty(self.window, U.shape, U.dtype)
        return Windowed(U.copy(), window, counts, np.zeros(2))

    def step(
        self, state: Windowed, V: Array, observed: Mask | None = None
    ) -> tuple[Windowed, Track]:
        """Return the state after the columns of V, and what was found in them."""
        return follow(self, state, (V, observed), lambda now: now.U, self._full)

    def encoder(self, state: Windowed) -> Encoder:
        """Return projected compressive sensing at the level of noise of the state."""
        return sensing(self, float(state.level[0]))

    def _full(self, state: Windowed) -> Windowed:
        """Move the subspace, or look for a change; then the window is empty."""
        U, left = state.U, int(state.counts[1])
        if not known(state):
            U = first(state.window.V, U)
            return moved(self, state, U, left, U=U)
        L = state.window.recovered(U, sensing(self))
        if left > 0:
            U = leading(L, U)
            return moved(self, state, U, left - 1, U=U)
        again = changed(L, U, self.change, self.change_threshold)
        return emptied(state, self.updates if again else 0)
