"""Online NMF with outliers, [O]."""

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._checks import check_share
from thalweg._typing import Array
from thalweg.estimators import parameters
from thalweg.estimators._robust import MATRIX_SOLVERS, RobustEstimator
from thalweg.estimators.streaming import StreamingEstimator
from thalweg.learning.noise import NoiseEstimate
from thalweg.learning.online import SAMPLE_WEIGHT_EXPONENT
from thalweg.learning.progress import Progress
from thalweg.learning.robust import RobustLearner
from thalweg.solvers.block_coordinate import BlockCoordinate
from thalweg.updates.surrogate import Surrogate

__all__ = ["RobustOnlineNMF"]


class RobustOnlineNMF(RobustEstimator, StreamingEstimator):
    """Online NMF with outliers: learn nonnegative components from a stream.

    Minimises |x - code @ components_ - outliers|^2 / 2 + outlier_weight |outliers|_1 over the
    observed entries, averaged over the samples x, batch by batch. Codes and outliers of a batch are
    computed with the current components; the components then minimise a quadratic surrogate of the
    loss of all samples so far ([O], Algorithm 1). The memory does not grow with their number.

    Parameters
    ----------
    n_components : int or "auto", default=10
        Number of components. ``"auto"`` takes the smallest number whose error at hidden entries is
        within one standard error of the smallest error; see ``rank_evidence_``.
    solver : {"fast", "pgd", "admm"}, default="fast"
        ``"fast"`` alternates closed-form outliers with exact nonnegative least squares;
        ``"pgd"`` and ``"admm"`` are OPGD and OADMM of [O].
    outlier_weight : "auto" or float, default="auto"
        Weight of the l1 norm of the outliers, in the units of the data (lambda of [O]): larger
        residuals are outliers. ``"auto"`` estimates it from the noise, so that results do not
        depend on units.
    outlier_bound : float, optional
        Largest absolute value of an outlier (M of [O]); None or inf for no bound.
    outlier_sign : {"any", "nonnegative"}, default="any"
        Whether outliers may be negative.
    outlier_structure : {"entries", "samples"}, default="entries"
        Whether single entries or whole samples are outliers.
    noise : {"common", "per-feature"}, default="common"
        Whether all features have the same noise scale, as in [O], or each has its own, by which it
        is weighed and its outliers are judged. The scales are estimated while learning. Choose
        "per-feature" if features have other units, or sensors of different quality.
    constraint : str or Prox, default="l2-ball"
        Set of each component: ``"nonnegative"``, ``"l2-ball"``, ``"l1-ball"``, ``"simplex"``,
        ``"elastic-net-ball"``, ``"box"``, or an object of :mod:`thalweg.prox`.
    code_penalty : str or Prox, optional
        Penalty of the codes: ``"l1"``, ``"l2"``, ``"elastic-net"``, ``"group-lasso"``,
        ``"sparse-group-lasso"``, or an object.
    dictionary_penalty : str or Prox, optional
        Penalty of the components: ``"l1"``, ``"l2"``, ``"elastic-net"``, or an object.
    frozen_components : array of shape (n_frozen, n_features), optional
        Known components. They come first and never change.
    forgetting : float, default=1.0
        Factor by which each sample reduces the weight of the earlier ones; see
        :func:`thalweg.half_life`.
    batch_size : "auto" or int, default="auto"
        Number of samples between two updates of the components in :meth:`fit`.
    epochs : int, default=1
        Number of epochs in :meth:`fit`: how often all samples are used.
    shuffle : bool, default=True
        Whether :meth:`fit` uses the samples in random order. Use False for a drifting stream.
    init : {"auto", "random", "svd", "samples"} or array, default="auto"
        Initial components: uniform random numbers, the positive or negative parts of singular
        vectors mixed with the mean sample, or samples. ``"auto"`` is ``"random"``, since outliers
        distort singular vectors.
    tol : float, default=1e-3
        Relative tolerance of the codes; below 1e-5 their duality gap is at most this value. During
        learning, ``solver="fast"`` computes codes with three times this tolerance, and components
        with this tolerance.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the initial components and of the order of the samples.
    n_jobs : int or None, default=None
        Number of threads, with the meaning of scikit-learn: None is 1 unless a
        ``joblib.parallel_config`` says otherwise, -1 all cores. Results do not depend on it.
    callback : callable, optional
        Called with a :class:`thalweg.estimators.Progress` after each batch.
    keep_history : bool, default=False
        Whether to keep the progress of each batch in ``history_``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components.
    n_components_ : int
        Number of components.
    rank_evidence_ : RankEvidence
        With ``n_components="auto"``: the numbers that were tried, with loss and standard error.
    statistics_ : Statistics
        Statistics of all samples so far: the state of the dictionary update.
    outlier_weight_ : float
        The outlier weight in use, in the units of the data. With ``noise="per-feature"`` it is that
        of a feature with the median noise scale; that of the others is proportional to theirs.
    noise_scale_ : float, or array of shape (n_features,)
        Standard deviation of the noise, of each feature with ``noise="per-feature"``; NaN if it was
        not estimated.
    relative_scales_ : array of shape (n_features,), or None
        Noise scales of the features in units of their median, by which they are weighed; None while
        all are weighed the same.
    outlier_share_ : float
        Share of outliers among the observed entries of the latest batches.
    residual_law_ : ResidualLaw
        Law of the residuals, from which p-values are computed: noise scales of the features, and
        the tail that they share.
    objective_ : float
        Mean objective per sample: the value of the surrogate at ``components_``.
    history_ : list of Progress
        The progress after each batch, with ``keep_history=True``.
    n_samples_seen_, n_batches_seen_, n_features_in_ : int
        Numbers of samples, batches and features.

    References
    ----------
    R. Zhao and V. Y. F. Tan, "Online nonnegative matrix factorization with outliers", IEEE
    Transactions on Signal Processing, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import RobustOnlineNMF, synthetic
    >>> data = synthetic.nmf_with_outliers(2000, 100, 10, random_state=0)
    >>> model = RobustOnlineNMF(10, random_state=0).fit(data.X)
    >>> found = model.decompose(data.X).low_rank
    >>> error = np.mean((found - data.clean) ** 2)
    >>> bool(error < 0.2 * np.mean((data.X - data.clean) ** 2))
    True
    """

    _published = ("noise_estimate", "outlier_weight", "form", "residual_counts", "relative_scales")

    def __init__(
        self,
        n_components: int | str = 10,
        *,
        solver: str = "fast",
        outlier_weight: str | float = "auto",
        outlier_bound: float | None = None,
        outlier_sign: str = "any",
        outlier_structure: str = "entries",
        noise: str = "common",
        constraint: Any = "l2-ball",
        code_penalty: Any = None,
        dictionary_penalty: Any = None,
        frozen_components: Any = None,
        forgetting: float = 1.0,
        batch_size: str | int = "auto",
        epochs: int = 1,
        shuffle: bool = True,
        init: Any = "auto",
        tol: float = 1e-3,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callable[[Progress], None] | None = None,
        keep_history: bool = False,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.outlier_weight = outlier_weight
        self.outlier_bound = outlier_bound
        self.outlier_sign = outlier_sign
        self.outlier_structure = outlier_structure
        self.noise = noise
        self.constraint = constraint
        self.code_penalty = code_penalty
        self.dictionary_penalty = dictionary_penalty
        self.frozen_components = frozen_components
        self.forgetting = forgetting
        self.batch_size = batch_size
        self.epochs = epochs
        self.shuffle = shuffle
        self.init = init
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.keep_history = keep_history

    @property
    def noise_scale_(self) -> float | Array:
        """Standard deviation of the noise, or that of each feature; NaN if not estimated."""
        estimate: NoiseEstimate = self.noise_estimate_
        scale = estimate.positive_scale if estimate.n_batches else float("nan")
        if self.noise == "common":
            return scale
        relative = self.relative_scales_
        return np.full(self.n_features_in_, scale) if relative is None else scale * relative

    def make_learner(self) -> RobustLearner:
        """Check the parameters, and return the learner.

        Returns
        -------
        RobustLearner
            A frozen dataclass.
        """
        model = parameters.robust_model(self)
        l1, l2 = parameters.dictionary_penalty(self.dictionary_penalty)
        fast = self.solver == "fast"
        update = Surrogate(
            solver=BlockCoordinate(tol=float(self.tol)) if fast else MATRIX_SOLVERS[self.solver](),
            constraint=model.constraint,
            l1=l1,
            l2=l2,
            forgetting=check_share("forgetting", self.forgetting),
            frozen=model.frozen.shape[1],
            fade=SAMPLE_WEIGHT_EXPONENT if fast else 0.0,
        )
        return RobustLearner(model, update)
