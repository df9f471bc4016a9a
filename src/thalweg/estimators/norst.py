"""NORST as an estimator."""

from collections.abc import Callable
from typing import Any, ClassVar

from thalweg.estimators._tracking import Tracking
from thalweg.learning.progress import Progress
from thalweg.trackers.norst import NorstTracker

__all__ = ["Norst"]


class Norst(Tracking):
    """Track a subspace through gaps and outliers by windows: NORST.

    Outliers and missing entries of each sample are recovered by projected compressive sensing: x
    minimises |x|_1 subject to a bound on the norm of v - x off the subspace. After a change, the
    leading singular vectors of each window become the subspace; then it is constant until samples
    leave it. A move takes one window of samples, and the accuracy is that of a window.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Number of dimensions of the subspace.
        ``"auto"`` chooses it by hidden entries of the first samples, together with
        ``init="robust"``; see ``rank_evidence_``.
    window : int, default=60
        Number of samples in a window (alpha), from which the subspace is updated.
    updates : int, default=5
        Number of updates after a change (the paper's K).
    threshold : float, default=3.0
        Smallest outlier, in noise scales.
    change : float, default=1.5
        A change is a direction off the subspace with a singular value this many times the largest
        one of noise.
    noise_bound, support_threshold, change_threshold : float, optional
        The published rules instead, in data units: bound of the residual norm (xi), smallest
        outlier (omega_supp), and smallest eigenvalue of a new direction (omega_evals).
    init : {"robust", "random"} or array of shape (n_components, n_features), default="robust"
        Initial basis: fitted to the first samples, robust to gaps and outliers; random; or given.
        A random basis is replaced by a robust fit to the first window.
    init_samples : int or "auto", default="auto"
        Number of samples that a robust initialisation uses. "auto" waits until each feature is
        observed 128 + 8 n_components times on average. Before that, the basis is fitted again each
        time that the number of samples has doubled.
    on_jump : {"note", "reset"}, default="reset"
        What to do when the residuals indicate that the subspace has jumped: record it in
        ``jumps_``, or also start a new robust initialisation.
    center : bool, default=False
        Whether the model has a robust mean of each feature, ``mean_``, estimated with the basis:
        X = mean_ + codes @ components_ + outliers.
    orthonormal : bool, default=False
        Whether ``components_`` are made orthonormal. They are orthonormal up to rounding.
    epochs : int, default=1
        Number of passes over the data in :meth:`fit`.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the initial basis.
    n_jobs : int or None, default=None
        Number of threads, with the meaning of scikit-learn: None is 1 unless a
        ``joblib.parallel_config`` says otherwise, -1 all cores. Results do not depend on it.
    callback : callable, optional
        Called with a :class:`thalweg.estimators.Progress` after each block of samples; its
        objective is the geometric mean of the recent median residuals.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal basis of the current subspace, one vector per row.
    mean_ : array of shape (n_features,)
        With ``center=True``: mean of each feature.
    n_components_ : int
        Number of components; 1 before the first robust basis with ``n_components="auto"``.
    rank_evidence_ : RankEvidence
        With ``n_components="auto"``: the numbers that were tried, with loss and standard error.
    noise_scale_ : float
        Standard deviation of the noise.
    state_ : NamedTuple
        State of the tracking: all that changes from sample to sample.
    drift_ : array
        Largest principal angle between the subspaces at successive checks, in radians. There is a
        check every 32 samples; the latest 4096 are kept.
    jumps_ : array of int
        Number of samples at each detected jump; the latest 4096 are kept.
    outlier_share_ : float
        Share of outliers among the recent observed entries.
    n_samples_seen_ : int
        Number of samples.
    n_features_in_ : int
        Number of features.

    References
    ----------
    P. Narayanamurthy and N. Vaswani, "Nearly optimal robust subspace tracking", ICML, 2018.
    P. Narayanamurthy, V. Daneshpajooh and N. Vaswani, "Provable subspace tracking from missing
    data and matrix completion", IEEE Transactions on Signal Processing, 2019.

    Examples
    --------
    >>> from thalweg import Norst, metrics, synthetic
    >>> data = synthetic.subspace_stream(2000, 30, 2, outlier_density=0.1, random_state=0)
    >>> model = Norst(2, random_state=0).fit(data.X)
    >>> metrics.sep(model.components_, data.basis_at(1999).T) < 2e-3
    True
    """

    _tracker_class: ClassVar[type[Any]] = NorstTracker

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        window: int = 60,
        updates: int = 5,
        threshold: float = 3.0,
        change: float = 1.5,
        noise_bound: float | None = None,
        support_threshold: float | None = None,
        change_threshold: float | None = None,
        init: Any = "robust",
        init_samples: Any = "auto",
        on_jump: str = "reset",
        center: bool = False,
        orthonormal: bool = False,
        epochs: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
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
        self.init_samples = init_samples
        self.on_jump = on_jump
        self.center = center
        self.orthonormal = orthonormal
        self.epochs = epochs
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback

    @property
    def _tracker_options(self) -> dict[str, bool]:
        return {"trusted": not (isinstance(self.init, str) and self.init == "random")}
