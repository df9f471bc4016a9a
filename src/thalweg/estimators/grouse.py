"""GROUSE as an estimator."""

from collections.abc import Callable
from typing import Any, ClassVar

from thalweg.estimators._tracking import Tracking
from thalweg.learning.progress import Progress
from thalweg.trackers.grouse import GrouseTracker

__all__ = ["Grouse"]


class Grouse(Tracking):
    """Track a subspace through gaps by one rotation for each sample.

    GROUSE of Balzano, Nowak and Recht (2010). The subspace rotates along the geodesic of the
    Grassmannian given by the gradient of the least squares residual |v - U h|^2, by default until
    it contains the sample with its gaps filled. The basis is the only memory. A subspace without
    noise is found exactly; with noise the latest samples dominate, unless the steps diminish. There
    is no model of outliers: see :class:`thalweg.Grasta`.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Number of dimensions of the subspace.
        ``"auto"`` chooses it by hidden entries of the first samples, together with
        ``init="robust"``; see ``rank_evidence_``.
    step_size : {"greedy", "constant", "diminishing"}, default="greedy"
        Rule of the rotation angle. Diminishing steps are multiplied by K / (K + t) at sample t.
    rate : float, default=1.0
        Factor of the steps that are not greedy; with 1 they are about as long as greedy ones.
    init : {"robust", "random"} or array of shape (n_components, n_features), default="robust"
        Initial basis: fitted to the first samples, robust to gaps and outliers; random; or given.
    init_samples : int or "auto", default="auto"
        Number of samples that a robust initialisation uses. "auto" waits until each feature is
        observed 128 + 8 n_components times on average. Before that, the basis is fitted again each
        time that the number of samples has doubled.
    on_jump : {"note", "reset"}, default="note"
        What to do when the residuals indicate that the subspace has jumped: record it in
        ``jumps_``, or also start a new robust initialisation.
    center : bool, default=False
        Whether the model has a robust mean of each feature, ``mean_``, estimated with the basis:
        X = mean_ + codes @ components_ + outliers.
    orthonormal : bool, default=False
        Whether ``components_`` are made orthonormal. The basis is orthonormal up to rounding.
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
    state_ : NamedTuple
        State of the tracking: all that changes from sample to sample.
    drift_ : array
        Largest principal angle between the subspaces at successive checks, in radians. There is a
        check every 32 samples; the latest 4096 are kept.
    jumps_ : array of int
        Number of samples at each detected jump; the latest 4096 are kept.
    outlier_share_ : float
        Share of outliers among the recent observed entries; always 0 here.
    n_samples_seen_ : int
        Number of samples.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from thalweg import Grouse, metrics, synthetic
    >>> data = synthetic.subspace_stream(2000, 30, 2, outlier_density=0.0, random_state=0)
    >>> model = Grouse(2, step_size="diminishing", random_state=0).fit(data.X)
    >>> metrics.sep(model.components_, data.basis_at(1999).T) < 1e-3
    True
    """

    _tracker_class: ClassVar[type[Any]] = GrouseTracker

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        step_size: str = "greedy",
        rate: float = 1.0,
        init: Any = "robust",
        init_samples: Any = "auto",
        on_jump: str = "note",
        center: bool = False,
        orthonormal: bool = False,
        epochs: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callable[[Progress], None] | None = None,
    ) -> None:
        self.n_components = n_components
        self.step_size = step_size
        self.rate = rate
        self.init = init
        self.init_samples = init_samples
        self.on_jump = on_jump
        self.center = center
        self.orthonormal = orthonormal
        self.epochs = epochs
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
