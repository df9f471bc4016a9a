"""PETRELS-ADMM as an estimator."""

from collections.abc import Callable
from typing import Any

from thalweg._checks import check_positive
from thalweg.estimators._tracking import Tracking
from thalweg.learning.progress import Progress
from thalweg.trackers import Tracker, petrels_admm as room

__all__ = ["PetrelsADMM"]


class PetrelsADMM(Tracking):
    """Follow a subspace through gaps and outliers: PETRELS-ADMM of [T].

    Each sample is fitted robustly, entries far from the fit are outliers and left out, and the
    rest moves the subspace by recursive least squares. Thresholds follow the noise level, so
    that results do not depend on the units of the data.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the subspace.
    forgetting : float, default=0.9999
        What a sample's weight is multiplied by with each later sample;
        :func:`thalweg.half_life` gives it for a number of samples.
    outlier_weight : float, default=0.5
        Weight of the l1 norm of the outliers in the robust fit, in noise levels.
    threshold : float, default=2.5
        Distance from the fit beyond which an entry is an outlier, in noise levels.
    noise : "auto" or float, default="auto"
        Noise level; on its own it is measured on the entries that are no outliers.
    solver : {"fast", "admm"}, default="fast"
        How the robust fit is found: exactly in a few steps, or by the paper's Algorithm 2.
    step : {"full", "adaptive", "forgetting"}, default="full"
        "adaptive" multiplies the step by the sine eta of the angle between sample and subspace
        (1 above a half), [T] (26); "forgetting" multiplies the forgetting factor by it instead,
        [T] II-B. Neither is better than "full" where the subspace rests.
    ridge : float, default=1.0
        Weight of the first basis, in samples.
    init : {"robust", "random"} or array of shape (n_components, n_features), default="robust"
        First basis: from the first samples in spite of gaps and outliers, random, or given.
    start_samples : "auto" or int, default="auto"
        Samples from which a robust start is made; on its own, enough to see each feature about
        a hundred times. Before, the basis is made anew each time that the samples have doubled.
    on_jump : {"note", "reset"}, default="reset"
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

    Examples
    --------
    >>> from thalweg import PetrelsADMM, metrics, synthetic
    >>> data = synthetic.subspace_stream(2000, 30, 2, outlier_density=0.2, random_state=0)
    >>> model = PetrelsADMM(2, random_state=0).fit(data.X)
    >>> metrics.sep(model.components_, data.basis_at(1999).T) < 1e-4
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        forgetting: float = 0.9999,
        outlier_weight: float = 0.5,
        threshold: float = 2.5,
        noise: Any = "auto",
        solver: str = "fast",
        step: str = "full",
        ridge: float = 1.0,
        init: Any = "robust",
        start_samples: Any = "auto",
        on_jump: str = "reset",
        orthonormal: bool = False,
        epochs: int = 1,
        random_state: Any = None,
        callback: Callable[[Progress], None] | None = None,
    ) -> None:
        self.n_components = n_components
        self.forgetting = forgetting
        self.outlier_weight = outlier_weight
        self.threshold = threshold
        self.noise = noise
        self.solver = solver
        self.step = step
        self.ridge = ridge
        self.init = init
        self.start_samples = start_samples
        self.on_jump = on_jump
        self.orthonormal = orthonormal
        self.epochs = epochs
        self.random_state = random_state
        self.callback = callback

    def _tracker(self) -> Tracker[Any]:
        auto = isinstance(self.noise, str) and self.noise == "auto"
        return room.PetrelsADMM(
            forgetting=self.forgetting,
            step_size=self.step,
            ridge=self.ridge,
            knee=self.outlier_weight,
            limit=self.threshold,
            noise=0.0 if auto else check_positive("noise", self.noise),
            solver=self.solver,
        )

    def _show(self) -> None:
        super()._show()
        self.noise_ = float(self.state_.noise[0] ** 0.5)
