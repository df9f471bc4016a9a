"""GRASTA as an estimator."""

from collections.abc import Callable
from typing import Any

from thalweg._checks import check_count
from thalweg.estimators._tracking import Tracking
from thalweg.learning.progress import Progress
from thalweg.trackers import Tracker, grasta as room

__all__ = ["Grasta"]


class Grasta(Tracking):
    """Follow a subspace through gaps and outliers by rotations of bounded influence.

    GRASTA of He, Balzano and Szlam (2012): codes have the least absolute residual, and the
    subspace turns along a geodesic of the Grassmannian by the multipliers of that fit, which are
    as large for a small outlier as for a large one. Steps get shorter while they contradict one
    another, and longer when they agree: so it follows jumps on its own.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the subspace.
    step : {"adaptive", "constant", "diminishing"}, default="adaptive"
        How far to turn; diminishing steps are rate / (1 + t) at sample t.
    rate : float, default=1.0
        Factor of the steps, which are angles in radians for a typical sample.
    rho : float, default=1.8
        Weight of ADMM in units of the mean residual: it changes the way and not the end.
    tol : float, default=1e-3
        ADMM ends when loss and dual differ by no more than this share of the loss.
    max_rounds : int, default=200
        Cap on the rounds of ADMM while learning; :meth:`transform` has one 20 times as high.
    init : {"robust", "random"} or array of shape (n_components, n_features), default="robust"
        First basis: from the first samples in spite of gaps and outliers, random, or given.
    start_samples : "auto" or int, default="auto"
        Samples from which a robust start is made; on its own, enough to see each feature about
        a hundred times. Before, the basis is made anew each time that the samples have doubled.
    on_jump : {"note", "reset"}, default="note"
        What to do when the residuals tell that the subspace has jumped: note it in ``jumps_``,
        or make a new start from the samples that follow as well.
    orthonormal : bool, default=False
        Whether ``components_`` are given orthonormal; the basis is, up to rounding.
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
        An orthonormal basis of the subspace as it is now, one vector a row.
    state_ : NamedTuple of arrays
        Everything that the tracker knows.
    drift_ : array
        Largest angle, in radians, between the subspaces at two successive looks, one every 32
        samples; the latest 4096.
    jumps_ : array of int
        How many samples had been observed each time that a jump was noticed.
    outlier_share_ : float
        Share of entries observed lately that the fit does not hit: noise counts, so it is near 1.
    n_samples_seen_, n_features_in_ : int
        Counts.

    Examples
    --------
    >>> from thalweg import Grasta, metrics, synthetic
    >>> data = synthetic.subspace_stream(2000, 30, 2, outlier_density=0.1, random_state=0)
    >>> model = Grasta(2, random_state=0).fit(data.X)
    >>> metrics.sep(model.components_, data.basis_at(1999).T) < 1e-3
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        step: str = "adaptive",
        rate: float = 1.0,
        rho: float = 1.8,
        tol: float = 1e-3,
        max_rounds: int = 200,
        init: Any = "robust",
        start_samples: Any = "auto",
        on_jump: str = "note",
        orthonormal: bool = False,
        epochs: int = 1,
        random_state: Any = None,
        callback: Callable[[Progress], None] | None = None,
    ) -> None:
        self.n_components = n_components
        self.step = step
        self.rate = rate
        self.rho = rho
        self.tol = tol
        self.max_rounds = max_rounds
        self.init = init
        self.start_samples = start_samples
        self.on_jump = on_jump
        self.orthonormal = orthonormal
        self.epochs = epochs
        self.random_state = random_state
        self.callback = callback

    def _tracker(self) -> Tracker[Any]:
        max_rounds = check_count("max_rounds", self.max_rounds)
        return room.Grasta(self.step, self.rate, self.rho, self.tol, max_rounds)
