"""PETRELS-CFAR as an estimator."""

from collections.abc import Callable
from typing import Any

from thalweg.estimators._tracking import Tracking
from thalweg.learning.progress import Progress
from thalweg.trackers import Tracker, petrels_cfar as room

__all__ = ["PetrelsCFAR"]


class PetrelsCFAR(Tracking):
    """Follow a subspace through gaps and outliers, with a constant false alarm rate.

    PETRELS-CFAR of Linh-Trung, Nguyen, Thameri, Minh-Chinh and Abed-Meraim (2018), a baseline of
    :class:`thalweg.PetrelsADMM` in [T]: entries whose residual stands out from those of the
    samples before are left out, and the rest is taken in by recursive least squares.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the subspace.
    forgetting : float, default=0.999
        What a sample's weight is multiplied by with each later sample;
        :func:`thalweg.half_life` gives it for a number of samples.
    false_alarms : float, default=0.01
        Share of clean entries that are taken for outliers.
    window : float, default=100.0
        Samples that the level of the residuals is taken from.
    ridge : float, default=1.0
        Weight of the first basis, in samples.
    init : {"robust", "random"} or array of shape (n_components, n_features), default="robust"
        First basis: from the first samples in spite of gaps and outliers, random, or given.
    start_samples : "auto" or int, default="auto"
        Samples from which a robust start is made; on its own, enough to see each feature about
        a hundred times. Before, the basis is made anew each time that the samples have doubled.
    on_jump : {"note", "reset"}, default="note"
        What to do when the residuals tell that the subspace has jumped: note it in ``jumps_``,
        or make a new start from the samples that follow as well.
    orthonormal : bool, default=False
        Whether ``components_`` are given orthonormal.
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
        A basis of the subspace as it is now, one vector a row.
    noise_ : float
        Level of the residuals of the entries kept.
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

    Examples
    --------
    >>> from thalweg import PetrelsCFAR, metrics, synthetic
    >>> data = synthetic.subspace_stream(2000, 30, 2, outlier_density=0.2, random_state=0)
    >>> model = PetrelsCFAR(2, random_state=0).fit(data.X)
    >>> metrics.sep(model.components_, data.basis_at(1999).T) < 1e-3
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        forgetting: float = 0.999,
        false_alarms: float = 0.01,
        window: float = 100.0,
        ridge: float = 1.0,
        init: Any = "robust",
        start_samples: Any = "auto",
        on_jump: str = "note",
        orthonormal: bool = False,
        epochs: int = 1,
        random_state: Any = None,
        callback: Callable[[Progress], None] | None = None,
    ) -> None:
        self.n_components = n_components
        self.forgetting = forgetting
        self.false_alarms = false_alarms
        self.window = window
        self.ridge = ridge
        self.init = init
        self.start_samples = start_samples
        self.on_jump = on_jump
        self.orthonormal = orthonormal
        self.epochs = epochs
        self.random_state = random_state
        self.callback = callback

    def _tracker(self) -> Tracker[Any]:
        return room.PetrelsCFAR(self.forgetting, self.false_alarms, self.window, self.ridge)

    def _show(self) -> None:
        super()._show()
        self.noise_ = float(self.state_.noise[0] ** 0.5)
