"""Batch NMF with outliers, [O] S-2."""

from collections.abc import Callable
from typing import Any, Self

from thalweg._checks import check_callback, check_count, check_tol, generator
from thalweg._threads import few_threads, pool_threads
from thalweg.encoders import Encoder
from thalweg.encoders.columns import MAX_CHUNK_SIZE
from thalweg.errors import ParameterError
from thalweg.estimators import parameters
from thalweg.estimators._callbacks import FitTasks, with_callbacks
from thalweg.estimators._robust import MATRIX_SOLVERS, RobustEstimator
from thalweg.estimators._weights import weighted
from thalweg.estimators.fitting import rollback_on_error
from thalweg.estimators.rounds import RoundsEstimator
from thalweg.estimators.validation import check_fit_data
from thalweg.learning.batches import as_batch, unweighted
from thalweg.learning.progress import Progress
from thalweg.learning.robust_rounds import NoisePlan, RobustRounds
from thalweg.learning.rounds import LocalBlocks

__all__ = ["RobustNMF"]


class RobustNMF(RobustEstimator, RoundsEstimator):
    """Batch NMF with outliers: learn nonnegative components from all samples.

    Minimises |X - codes @ components_ - outliers|^2 / 2 + outlier_weight |outliers|_1 over the
    observed entries, by alternating updates of codes, outliers and components. For streams, and
    for data that do not fit into memory, use :class:`RobustOnlineNMF`.

    Parameters
    ----------
    n_components : int or "auto", default=10
        Number of components. ``"auto"`` takes the smallest number whose error at hidden entries is
        within one standard error of the smallest error; see ``rank_evidence_``.
    solver : {"fast", "pgd", "admm"}, default="fast"
        ``"fast"`` minimises exactly over codes, outliers and components in turn; ``"pgd"`` and
        ``"admm"`` are BPGD and BADMM of [O].
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
        Set of each component; see :class:`RobustOnlineNMF`.
    code_penalty : str or Prox, optional
        Penalty of the codes; see :class:`RobustOnlineNMF`.
    dictionary_penalty : str or Prox, optional
        Penalty of the components: ``"l1"``, ``"l2"``, ``"elastic-net"``, or an object.
    frozen_components : array of shape (n_frozen, n_features), optional
        Known components. They come first and never change.
    max_iter : int, default=200
        Maximum number of iterations.
    init : {"auto", "random", "svd", "samples"} or array, default="auto"
        Initial components: uniform random numbers, the positive or negative parts of singular
        vectors mixed with the mean sample, or samples. ``"auto"`` is ``"random"``, since outliers
        distort singular vectors.
    tol : float, default=1e-4
        The fit stops when the relative decrease of the objective in an iteration is at most this
        value. 0 runs all ``max_iter`` iterations. Also the relative tolerance of the codes; below
        1e-5 their duality gap is at most this value.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the initial components.
    n_jobs : int or None, default=None
        Number of threads, with the meaning of scikit-learn: None is 1 unless a
        ``joblib.parallel_config`` says otherwise, -1 all cores. Results do not depend on it.
    callback : callable, optional
        Called with a :class:`thalweg.estimators.Progress` after each iteration.
    keep_history : bool, default=False
        Whether to keep the progress of each iteration in ``history_``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components, frozen ones first. The others are sorted by the mean square of their share
        of the samples, unless ``init`` is an array.
    n_components_ : int
        Number of components.
    rank_evidence_ : RankEvidence
        With ``n_components="auto"``: the numbers that were tried, with loss and standard error.
    outlier_weight_ : float
        The outlier weight in use, in the units of the data. With ``noise="per-feature"`` it is that
        of a feature with the median noise scale; that of the others is proportional to theirs.
    noise_scale_ : float, or array of shape (n_features,)
        Standard deviation of the noise, of each feature with ``noise="per-feature"``; NaN if it was
        not estimated, with a given outlier weight.
    relative_scales_ : array of shape (n_features,), or None
        Noise scales of the features in units of their median, by which they are weighed; None if
        all are weighed the same.
    outlier_share_ : float
        Share of outliers among the observed entries.
    residual_law_ : ResidualLaw
        Law of the residuals, from which p-values are computed: noise scales of the features, and
        the tail that they share.
    objective_ : float
        Mean objective per sample: the loss, including outliers and penalties.
    n_iter_ : int
        Number of iterations.
    history_ : list of Progress
        The progress after each iteration, with ``keep_history=True``.
    n_samples_seen_, n_features_in_ : int
        Numbers of samples and features.

    References
    ----------
    R. Zhao and V. Y. F. Tan, "Online nonnegative matrix factorization with outliers", IEEE
    Transactions on Signal Processing, 2017, supplement S-2.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import RobustNMF, synthetic
    >>> data = synthetic.nmf_with_outliers(500, 100, 10, random_state=0)
    >>> model = RobustNMF(10, random_state=0).fit(data.X)
    >>> found = model.decompose(data.X).low_rank
    >>> error = np.mean((found - data.clean) ** 2)
    >>> bool(error < 0.2 * np.mean((data.X - data.clean) ** 2))
    True
    """

    _published = ("outlier_weight", "form", "noise_scale", "relative_scales")

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
        max_iter: int = 200,
        init: Any = "auto",
        tol: float = 1e-4,
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
        self.max_iter = max_iter
        self.init = init
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.keep_history = keep_history

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, weights: Any = None) -> Self:
        """Learn from all samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data; ``NaN`` marks missing entries.
        y : ignored
            Present for scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples: 2 counts a sample twice, 0 leaves it out.
        weights : array-like or sparse matrix of the shape of X, optional
            Weights of the entries, as inverse variances of their noise; 0 is a missing entry.

        Returns
        -------
        self
            The fitted estimator.
        """
        check_callback(self.callback)
        with pool_threads(self.n_jobs):
            return self._fit(X, sample_weight, weights)

    def _fit(self, X: Any, sample_weight: Any, weights: Any) -> Self:
        with rollback_on_error(self):
            X = weighted(check_fit_data(self, X), sample_weight, weights)
            batch, max_iter = as_batch(X), check_count("max_iter", self.max_iter)
            learner = self.find_rank(X).make_learner()
            shape = X.shape[1], learner.model.n_components, min(X.shape[0], MAX_CHUNK_SIZE)
            with few_threads(*shape):
                state = learner.init(batch, generator(self.random_state))
            learner.method(state.outlier_weight)  # raises if a parameter is invalid
            self.discard_fit()
        tasks = FitTasks(self, "iteration", max_iter, unweighted(X))
        tasks.begin()
        plan = NoisePlan.of(X.shape[1], [X.shape[0]])
        with few_threads(*shape):
            state = learner.run(
                state, LocalBlocks(lambda: [batch]), plan, max_iter, self.reporter(tasks)
            )
            self.estimate_code_prior(X)
            self.order_components()
            self.count_residuals(X)
        tasks.close()
        if not tasks.stopped:
            self.warn_unless_converged(state)
        return self

    def make_learner(self) -> RobustRounds:
        """Check the parameters, and return the learner.

        Returns
        -------
        RobustRounds
            A frozen dataclass.
        """
        model = parameters.robust_model(self)
        l1, l2 = parameters.dictionary_penalty(self.dictionary_penalty)
        if model.per_feature and self.solver != "fast":
            raise ParameterError(
                f"noise must be 'common' with solver={self.solver!r}, got 'per-feature'. "
                "Use solver='fast'."
            )
        penalty = parameters.code_penalty(self.code_penalty, model.n_components)
        solver = MATRIX_SOLVERS[self.solver]()
        return RobustRounds(model, self.solver, solver, penalty, l1, l2, check_tol(self.tol))

    def _encoder(self) -> Encoder:
        return parameters.robust_model(self).encoder(self.outlier_weight_, self.relative_scales_)
