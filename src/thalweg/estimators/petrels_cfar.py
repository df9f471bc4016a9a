"""PETRELS-CFAR as an estimator."""

from collections.abc import Callable
from typing import Any, ClassVar

from thalweg.estimators._tracking import Tracking
from thalweg.learning.progress import Progress
from thalweg.trackers.petrels_cfar import PetrelsCFARTracker

__all__ = ["PetrelsCFAR"]


class PetrelsCFAR(Tracking):
    """Track a subspace through gaps and outliers, with a constant false alarm rate.

    PETRELS-CFAR of Linh-Trung, Nguyen, Thameri, Minh-Chinh and Abed-Meraim (2018), a comparison
    method of [T] for :class:`thalweg.PetrelsADMM`. An entry is an outlier if its squared residual
    exceeds the mean square of the residuals in earlier samples by a factor that noise exceeds with
    the probability ``false_alarms``. The other entries update the basis by recursive least squares.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Number of dimensions of the subspace.
        ``"auto"`` chooses it by hidden entries of the first samples, together with
        ``init="robust"``; see ``rank_evidence_``.
    forgetting : float, default=0.999
        Factor by which each sample multiplies the weights of all earlier ones;
        :func:`thalweg.half_life` computes it from a number of samples.
    false_alarms : float, default=0.01
        Share of clean entries that are treated as outliers.
    window : float, default=100.0
        Number of samples that the mean square of the residuals comes from.
    noise : {"common", "per-feature"}, default="common"
        Whether the reference cells are those of all features, as in the paper, or each feature has
        a noise scale of its own.
    ridge : float, default=1.0
        Weight of the initial basis, in samples.
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
        Standard deviation of the noise, from the residuals of the entries kept; of each feature
        with ``noise="per-feature"``.
    state_ : NamedTuple
        State of the tracking: all that changes from sample to sample.
    drift_ : array
        Largest principal angle between the subspaces at successive checks, in radians. There is a
        check every 32 samples; the latest 4096 are kept.
    jumps_ : array of int
        Number of samples at each detected jump; the latest 4096 are kept.
    outlier_share_ : float
        Share of outliers among the recent observed entries.
    residual_law_ : ResidualLaw
        Law of the residuals, from which p-values are computed: noise scales of the features, and
        the tail that they share.
    change_p_value_ : float
        Probability of as much evidence of a change of the subspace without one.
    n_samples_seen_ : int
        Number of samples.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from thalweg import PetrelsCFAR, metrics, synthetic
    >>> data = synthetic.subspace_stream(2000, 30, 2, outlier_density=0.2, random_state=0)
    >>> model = PetrelsCFAR(2, random_state=0).fit(data.X)
    >>> metrics.sep(model.components_, data.basis_at(1999).T) < 1e-3
    True
    """

    _tracker_class: ClassVar[type[Any]] = PetrelsCFARTracker

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        forgetting: float = 0.999,
        false_alarms: float = 0.01,
        window: float = 100.0,
        noise: str = "common",
        ridge: float = 1.0,
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
        self.forgetting = forgetting
        self.false_alarms = false_alarms
        self.window = window
        self.noise = noise
        self.ridge = ridge
        self.init = init
        self.init_samples = init_samples
        self.on_jump = on_jump
        self.center = center
        self.orthonormal = orthonormal
        self.epochs = epochs
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
