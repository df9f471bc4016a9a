"""NORST as an estimator."""

from collections.abc import Callable
from typing import Any

from thalweg.estimators._tracking import Tracking
from thalweg.learning.progress import Progress
from thalweg.trackers import Tracker, norst as room

__all__ = ["Norst"]


class Norst(Tracking):
    """Follow a subspace through gaps and outliers by windows: NORST.

    Each sample is freed of outliers and gaps by projected compressive sensing. After a change
    the subspace becomes that of the leading singular vectors of such samples, window after
    window; then it rests until samples leave it. It takes one window of samples to move, and
    is no more accurate than a window allows.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the subspace.
    window : int, default=60
        Samples in a window (alpha), from which the subspace moves.
    updates : int, default=5
        Updates after a change (the paper's K).
    threshold : float, default=3.0
        Entry of the sensed outliers beyond which it is one, in noise levels.
    change : float, default=1.5
        A change is a direction off the subspace so much stronger than the strongest of noise.
    noise_bound, support_threshold, change_threshold : float, optional
        The published rules instead, in the units of the data: bound of the residual (xi),
        threshold of outliers (omega_supp), and of an eigenvalue off the subspace (omega_evals).
    init : {"robust", "random"} or array of shape (n_components, n_features), default="robust"
        First basis: from the first samples in spite of gaps and outliers, random, or given. A
        random one is replaced by a robust fit to the first window.
    start_samples : "auto" or int, default="auto"
        Samples from which a robust start is made; on its own, enough to see each feature about
        a hundred times. Before, the basis is made anew each time that the samples have doubled.
    on_jump : {"note", "reset"}, default="reset"
        What to do when the residuals tell that the subspace has jumped: note it in ``jumps_``,
        or make a new start from the samples that follow as well.
    orthonormal : bool, default=False
        Whether ``components_`` are given orthonormal; they are so in any case, up to rounding.
    epochs : int, default=1
        Passes over the data in :meth:`fit`.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the start.
    callback : callable, optional
        Called with a :class:`thalweg.estimators.Progress` now and then; its objective is the
        level of the residuals.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal basis of the subspace as it is now, one vector a row.
    noise_ : float
        Noise level.
    state_ : NamedTuple of arrays
        Everything that the tracker knows.
    drift_ : array
        Largest angle, in radians, between the subspaces at two successive looks, one every 32
        samples; the latest 4096.
    jumps_ : array of int
        How many samples had been observed each time that a jump was noticed.
    outlier_share_ : float
        Share of outliers among the entries observed lately.
    n_samples_seen_, n_features_in_ : int
        Counts.

    References
    ----------
    P. Narayanamurthy and N. Vaswani, "Nearly optimal robust subspace tracking", ICML, 2018.
    P. Narayanamurthy, V. Daneshpajooh and N. Vaswani, "Provable subspace tracking from missing
    data and matrix completion", IEEE Transactions on Signal Processing, 2019.

    Examples
    --------
    >>> from thalweg import metrics, synthetic
    >>> from thalweg import Norst
    >>> data = synthetic.subspace_stream(2000, 30, 2, outlier_density=0.1, random_state=0)
    >>> model = Norst(2, random_state=0).fit(data.X)
    >>> metrics.sep(model.components_, data.basis_at(1999).T) < 2e-3
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        window: int = 60,
        updates: int = 5,
        threshold: float = 3.0,
        change: float = 1.5,
        noise_bound: float | None = None,
        support_threshold: float | None = None,
        change_threshold: float | None = None,
        init: Any = "robust",
        start_samples: Any = "auto",
        on_jump: str = "reset",
        orthonormal: bool = False,
        epochs: int = 1,
        random_state: Any = None,
        callback: Callable[[Progress], None] | None = None,
    ) -> None:
        self.n_components = n_components
        self.window = window
        self.updates = updates
        self.threshold = threshold
        self.change = change
        self.noise_bound = noise_bound
        self.support_threshold = support_threshold
        self.change_threshold = change_threshold
        self.init = init
        self.start_samples = start_samples
        self.on_jump = on_jump
        self.orthonormal = orthonormal
        self.epochs = epochs
        self.random_state = random_state
        self.callback = callback

    def _tracker(self) -> Tracker[Any]:
        return room.Norst(
            window=self.window,
            updates=self.updates,
            limit=self.threshold,
            change=self.change,
            noise_bound=self.noise_bound,
            support_threshold=self.support_threshold,
            change_threshold=self.change_threshold,
            trusted=not (isinstance(self.init, str) and self.init == "random"),
        )

    def _show(self) -> None:
        super()._show()
        self.noise_ = float(self.state_.level[0])
