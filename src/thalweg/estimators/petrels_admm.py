"""PETRELS-ADMM as an estimator."""

from collections.abc import Callable
from typing import Any, ClassVar

from thalweg.estimators._filtering import FilteringTracker
from thalweg.learning.progress import Progress
from thalweg.trackers.petrels_admm import PetrelsADMMTracker

__all__ = ["PetrelsADMM"]


class PetrelsADMM(FilteringTracker):
    """Track a subspace through gaps and outliers: PETRELS-ADMM of [T].

    Codes h and outliers s of each sample minimise

        |v - U h - s|^2 / 2 + huber_threshold noise_scale |s|_1

    over the observed entries. Entries farther than ``threshold`` noise scales from the fit are
    outliers, and the others update the basis U by recursive least squares. The noise scale is
    estimated, so that the result does not depend on the units of the data.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Number of dimensions of the subspace.
        ``"auto"`` chooses it by hidden entries of the first samples, together with
        ``init="robust"``; see ``rank_evidence_``.
    forgetting : float or "auto", default="auto"
        Factor by which each sample multiplies the weights of all earlier ones;
        :func:`thalweg.half_life` computes it from a number of samples. "auto" follows the drift of
        the subspace: it remembers 10,000 samples while the subspace is constant, and down to 5 if
        it turns fast.
    noise : {"per-feature", "common"}, default="per-feature"
        Whether each feature has a noise scale of its own, by which it is weighed and its outliers
        are judged, or all have the same, as in [T].
    huber_threshold : float, default=0.5
        Threshold of Huber's function in the robust fit, which is the weight of the l1 norm of the
        outliers, in noise scales.
    threshold : float, default=2.5
        Residual beyond which an entry is an outlier, in noise scales.
    noise_scale : float or "auto", default="auto"
        Standard deviation of the noise, in data units; "auto" estimates it from the entries that
        are no outliers.
    solver : {"fast", "admm"}, default="fast"
        How the robust fit is computed: exactly in a few Newton steps, or by Algorithm 2 of [T].
    step_size : {"full", "adaptive", "forgetting"}, default="full"
        "full" moves each row of the basis to its new minimum. "adaptive", the modified PETRELS of
        [T] (26), multiplies the step by eta: the sine of the angle between sample and subspace, or
        1 for a sine above 1/2. "forgetting" multiplies the forgetting factor by eta instead, [T]
        II-B. Neither is better than "full" for a constant subspace.
    ridge : float, default=1.0
        Weight of the initial basis, in samples.
    init : {"robust", "random"} or array of shape (n_components, n_features), default="robust"
        Initial basis: fitted to the first samples, robust to gaps and outliers; random; or given.
    init_samples : int or "auto", default="auto"
        Number of samples that a robust initialisation uses. "auto" waits until each feature is
        observed 128 + 8 n_components times on average. Before that, the basis is fitted again each
        time that the number of samples has doubled.
    on_jump : {"note", "reset"}, default="reset"
        What to do when the residuals indicate that the subspace has jumped: record it in
        ``jumps_``, or also replace the basis. A jump is recorded only if a basis fitted to later
        samples explains the next ones clearly better.
    center : bool, default=False
        Whether the model has a robust mean of each feature, ``mean_``, estimated with the basis:
        X = mean_ + codes @ components_ + outliers.
    dynamics : None, "auto" or Dynamics, default=None
        Model in time, for rows at equal steps; rows of ``NaN`` stand for missing ones. Then
        :meth:`transform` and :meth:`fill` use the rows before, fills have standard errors and
        intervals, and :meth:`forecast` continues the stream. EM learns the parameters from the
        latest rows. "auto" uses the past as much as it helps to fill hidden entries. None takes
        rows for independent. :meth:`decompose` and p-values are those of the row alone.
    bounds : None, "auto" or pair, default=None
        Lower and upper bounds of fills and forecasts: two numbers, or two arrays with an entry per
        feature. "auto" fills features that had no negative entries so far nonnegatively, and those
        without positive ones nonpositively.
    orthonormal : bool, default=False
        Whether ``components_`` are made orthonormal.
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
        A basis of the current subspace, one vector per row.
    mean_ : array of shape (n_features,)
        With ``center=True``: mean of each feature.
    n_components_ : int
        Number of components; 1 before the first robust basis with ``n_components="auto"``.
    rank_evidence_ : RankEvidence
        With ``n_components="auto"``: the numbers that were tried, with loss and standard error.
    noise_scale_ : float, or array of shape (n_features,)
        Standard deviation of the noise, common or of each feature.
    filter_ : FilterState
        With ``dynamics``: the latest rows, the model in time with the moments of the last row, and
        the errors of hidden entries.
    bounds_ : tuple of two arrays, or None
        Bounds of fills and forecasts.
    extent_ : Extent
        With ``bounds="auto"``: the smallest and the largest entry of each feature.
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

    Examples
    --------
    >>> from thalweg import PetrelsADMM, metrics, synthetic
    >>> data = synthetic.subspace_stream(2000, 30, 2, outlier_density=0.2, random_state=0)
    >>> model = PetrelsADMM(2, random_state=0).fit(data.X)
    >>> metrics.sep(model.components_, data.basis_at(1999).T) < 1e-4
    True

    The newest rows of sensors that vary slowly, filled from the past, and the rows that follow:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.cumsum(rng.normal(size=(900, 6)), axis=0)
    >>> model = PetrelsADMM(2, dynamics="auto", random_state=0).fit(X[:890])
    >>> gaps = X[890:].copy()
    >>> gaps[:3, 0] = np.nan
    >>> values, lower, upper = model.fill(gaps, interval=0.9)
    >>> bool(np.abs(values - X[890:])[:3, 0].max() < 5)
    True
    >>> model.partial_fit(gaps).forecast(3).shape
    (3, 6)
    """

    _tracker_class: ClassVar[type[Any]] = PetrelsADMMTracker

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        forgetting: Any = "auto",
        noise: str = "per-feature",
        huber_threshold: float = 0.5,
        threshold: float = 2.5,
        noise_scale: Any = "auto",
        solver: str = "fast",
        step_size: str = "full",
        ridge: float = 1.0,
        init: Any = "robust",
        init_samples: Any = "auto",
        on_jump: str = "reset",
        center: bool = False,
        dynamics: Any = None,
        bounds: Any = None,
        orthonormal: bool = False,
        epochs: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callable[[Progress], None] | None = None,
    ) -> None:
        self.n_components = n_components
        self.forgetting = forgetting
        self.noise = noise
        self.huber_threshold = huber_threshold
        self.threshold = threshold
        self.noise_scale = noise_scale
        self.solver = solver
        self.step_size = step_size
        self.ridge = ridge
        self.init = init
        self.init_samples = init_samples
        self.on_jump = on_jump
        self.center = center
        self.dynamics = dynamics
        self.bounds = bounds
        self.orthonormal = orthonormal
        self.epochs = epochs
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
