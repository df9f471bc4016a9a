"""ReProCS: recursive projected compressive sensing, in its simple form."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from thalweg._typing import Array, Indices, Mask
from thalweg.encoders import Encoder
from thalweg.trackers import Track
from thalweg.trackers._directions import changed, leading, new_directions, spread
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

__all__ = ["Extended", "ReProCS"]


class Extended(NamedTuple):
    """The subspace, directions that are being added to it, and the latest samples.

    Attributes
    ----------
    U : array of shape (F, K)
        Orthonormal basis; while directions are added, the K strongest of ``wide``.
    wide : array of shape (F, K + directions)
        The basis before the change and new directions; zero where there are none.
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
    >>> from thalweg.trackers.reprocs import ReProCS
    >>> ReProCS().init(np.eye(4, 2)).wide.shape
    (4, 3)
    """

    U: Array
    wide: Array
    window: Window
    counts: Indices
    level: Array


@dataclass(frozen=True)
class ReProCS:
    """Simple ReProCS of Narayanamurthy and Vaswani (2018), for slow changes of the subspace.

    Each sample is freed of outliers and gaps by projected compressive sensing. When samples of
    a window leave the subspace, the strongest direction off it is added for some windows, each
    time found anew (projection-SVD); then the subspace becomes that of the leading singular
    vectors of a window, and what it no longer needs is gone.

    Parameters
    ----------
    window : int
        Samples in a window (alpha); at least K.
    updates : int
        Windows for which directions are added after a change (the paper's K).
    directions : int
        Directions that may change at a time; the paper's theory has one.
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
    C. Qiu, N. Vaswani, B. Lois and L. Hogben, "Recursive robust PCA or recursive sparse recovery
    in large but structured noise", IEEE Transactions on Information Theory, 2014.
    P. Narayanamurthy and N. Vaswani, "Provable dynamic robust PCA or robust subspace tracking",
    IEEE Transactions on Information Theory, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.reprocs import ReProCS
    >>> rng = np.random.default_rng(0)
    >>> U = np.linalg.qr(rng.normal(size=(20, 2)))[0]
    >>> V = U @ rng.normal(size=(2, 200))
    >>> V[rng.random(V.shape) < 0.1] = 5.0
    >>> tracker = ReProCS()
    >>> state, _ = tracker.step(tracker.init(np.eye(20, 2)), V)
    >>> bool(np.allclose(U @ (U.T @ state.U), state.U, atol=1e-6))
    True
    """

    window: int = 60
    updates: int = 5
    directions: int = 1
    limit: float = 3.0
    change: float = 1.5
    noise_bound: float | None = None
    support_threshold: float | None = None
    change_threshold: float | None = None
    trusted: bool = False
    name: ClassVar[str] = "reprocs"

    def __post_init__(self) -> None:
        check_windows(self, "window", "updates", "directions")

    def init(self, U: Array) -> Extended:
        """Return the state with the basis U and nothing learned."""
        wide = np.pad(U, ((0, 0), (0, self._added(U))))
        counts = np.array([0, 1 - self.trusted, self.trusted], dtype=np.intp)
        window = Window.empty(self.window, wide.shape, U.dtype)
        return Extended(U.copy(), wide, window, counts, np.zeros(2))

    def step(
        self, state: Extended, V: Array, observed: Mask | None = None
    ) -> tuple[Extended, Track]:
        """Return the state after the columns of V, and what was found in them."""
        return follow(self, state, (V, observed), _basis, self._full)

    def encoder(self, state: Extended) -> Encoder:
        """Return projected compressive sensing at the level of noise of the state."""
        return sensing(self, float(state.level[0]))

    def _full(self, state: Extended) -> Extended:
        """Move the subspace, or look for a change; then the window is empty."""
        U, left = state.U, int(state.counts[1])
        none, added = np.zeros_like(state.wide), self._added(U)
        if not known(state):
            U = first(state.window.V, U)
            return moved(self, state, U, left, U=U, wide=none)
        L = state.window.recovered(_basis(state), sensing(self))
        if left > 1:
            base = _basis(state)[:, : U.shape[1]]
            new = new_directions(L, base, added)
            # The theory has dense directions; one of a single feature would explain its outliers.
            if spread(new):
                wide = np.hstack([base, new])
                U = wide @ leading(wide.T @ L, wide.T @ U)
                return moved(self, state, wide, left - 1, U=U, wide=wide)
        if left > 0:
            U = leading(L, U)
            return moved(self, state, U, 0, U=U, wide=none)
        again = added > 0 and changed(L, U, self.change, self.change_threshold)
        return emptied(state, self.updates + 1 if again else 0)

    def _added(self, U: Array) -> int:
        """Return how many directions can be added."""
        F, K = U.shape
        return min(self.directions, int(F - K))


def _basis(state: Extended) -> Array:
    """Return what is taken off the samples: with new directions, where there are some."""
    return state.wide if state.wide[:, state.U.shape[1] :].any() else state.U
