"""Online robust PCA as an estimator."""

from collections.abc import Callable
from typing import Any

from thalweg._checks import check_count
from thalweg.estimators._tracking import Tracking
from thalweg.learning.progress import Progress
from thalweg.trackers import Tracker, online_robust_pca as room

__all__ = ["OnlineRobustPCA"]


class OnlineRobustPCA(Tracking):
    """Learn a subspace through gaps and outliers from the statistics of all samples.

    ORPCA of Feng, Xu and Yan (2013): codes and outliers of a sample minimise

        |v - U h - r|^2 / 2 + lambda1 |h|^2 / 2 + lambda2 |r|_1

    and the basis minimises the sum of this over all samples, as they were when they came. So
    noise averages out, and only with ``forgetting`` below 1 a subspace that moves is followed.
    Both weights are for samples of a typical length of 1: data are taken as if divided by theirs.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the subspace.
    lambda1 : float, optional
        Weight of codes and basis; 1 / sqrt(n_features) by default.
    lambda2 : float, optional
        Weight of outliers; 1 / sqrt(n_features) by default, which means that an outlier is what
        is farther from the fit than the median size of an entry.
    forgetting : float, default=1.0
        What a sample's weight is multiplied by with each later sample;
        :func:`thalweg.half_life` gives it for a number of samples.
    sweeps : int, default=1
        Passes of block coordinate descent over the basis for each sample.
    tol : float, default=1e-3
        Codes are found by ADMM, which ends when loss and dual differ by no more than this share.
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
    >>> from thalweg import OnlineRobustPCA, metrics, synthetic
    >>> data = synthetic.subspace_stream(2000, 30, 2, outlier_density=0.1, random_state=0)
    >>> model = OnlineRobustPCA(2, random_state=0).fit(data.X)
    >>> metrics.sep(model.components_, data.basis_at(1999).T) < 1e-3
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        lambda1: float | None = None,
        lambda2: float | None = None,
        forgetting: float = 1.0,
        sweeps: int = 1,
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
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.forgetting = forgetting
        self.sweeps = sweeps
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
        return room.OnlineRobustPCA(
            self.lambda1,
            self.lambda2,
            self.forgetting,
            check_count("sweeps", self.sweeps),
            self.tol,
            check_count("max_rounds", self.max_rounds),
        )
