"""GROUSE as an estimator."""

from collections.abc import Callable
from typing import Any

from thalweg.estimators._tracking import Tracking
from thalweg.learning.progress import Progress
from thalweg.trackers import Tracker, grouse as room

__all__ = ["Grouse"]


class Grouse(Tracking):
    """Follow a subspace through gaps by one rotation a sample.

    GROUSE of Balzano, Nowak and Recht (2010): the subspace turns along a geodesic of the
    Grassmannian, by default until it holds the sample with its gaps filled. It needs no memory
    but the basis, and finds a subspace without noise exactly; of noisy data the latest samples
    decide, unless steps diminish. It knows no outliers: :class:`thalweg.Grasta` does.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the subspace.
    step : {"greedy", "constant", "diminishing"}, default="greedy"
        How far to turn. Diminishing steps are shorter by K / (K + t) at sample t.
    rate : float, default=1.0
        Factor of the steps that are not greedy, relative to about the greedy one.
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
        Share of outliers among the entries observed lately; always 0 here.
    n_samples_seen_, n_features_in_ : int
        Counts.

    Examples
    --------
    >>> from thalweg import Grouse, metrics, synthetic
    >>> data = synthetic.subspace_stream(2000, 30, 2, outlier_density=0.0, random_state=0)
    >>> model = Grouse(2, step="diminishing", random_state=0).fit(data.X)
    >>> metrics.sep(model.components_, data.basis_at(1999).T) < 1e-3
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        step: str = "greedy",
        rate: float = 1.0,
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
        self.init = init
        self.start_samples = start_samples
        self.on_jump = on_jump
        self.orthonormal = orthonormal
        self.epochs = epochs
        self.random_state = random_state
        self.callback = callback

    def _tracker(self) -> Tracker[Any]:
        return room.Grouse(self.step, self.rate)
