"""Online NMF with outliers: [O]."""

from collections.abc import Callable
from typing import Any

from thalweg._checks import check_share
from thalweg.estimators import parameters
from thalweg.estimators._robust import MATRIX_SOLVERS, RobustEstimator
from thalweg.estimators.streaming import StreamingEstimator
from thalweg.learning.progress import Progress
from thalweg.learning.robust import SAMPLE_WEIGHT_EXPONENT, RobustLearner
from thalweg.solvers.block_coordinate import BlockCoordinate
from thalweg.updates.surrogate import Surrogate

__all__ = ["RobustOnlineNMF"]


class RobustOnlineNMF(RobustEstimator, StreamingEstimator):
    """Nonnegative low-rank components of a stream with gaps and outliers.

    Finds ``X = codes @ components_ + outliers`` batch by batch, in memory that does not grow
    with the number of samples. Codes and outliers of a batch are found for the components so
    far; the components then minimise a quadratic that stands for all samples observed ([O],
    Algorithm 1).

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    solver : {"fast", "pgd", "admm"}, default="fast"
        ``"fast"`` alternates closed-form outliers with exact nonnegative least squares;
        ``"pgd"`` and ``"admm"`` are the paper's OPGD and OADMM.
    outlier_weight : "auto" or float, default="auto"
        Residual beyond which an entry is an outlier (the paper's lambda). ``"auto"`` follows
        the noise level of the stream, and does not depend on the data's units.
    outlier_bound : float, optional
        Largest size of an outlier (the paper's M); None or inf for none.
    outlier_sign : {"any", "nonnegative"}, default="any"
        Whether outliers may be negative.
    outlier_structure : {"entries", "samples"}, default="entries"
        Whether single entries or whole samples are outliers.
    constraint : str or Prox, default="l2-ball"
        Set of each component: ``"nonnegative"``, ``"l2-ball"``, ``"l1-ball"``, ``"simplex"``,
        ``"elastic-net-ball"``, ``"box"``, or an object of :mod:`thalweg.prox`.
    code_penalty : str or Prox, optional
        Penalty of the codes: ``"l1"``, ``"l2"``, ``"elastic-net"``, ``"group-lasso"``,
        ``"sparse-group-lasso"``, or an object.
    dictionary_penalty : str or Prox, optional
        Penalty of the components: ``"l1"``, ``"l2"``, ``"elastic-net"``, or an object.
    frozen_components : array of shape (n_frozen, n_features), optional
        Components that are known; they come first and never change.
    forgetting : float, default=1.0
        Factor of a sample's weight for each later sample; see :func:`thalweg.half_life`.
    batch_size : "auto" or int, default="auto"
        Samples between two changes of the components in :meth:`fit`.
    epochs : int, default=1
        Passes over the data in :meth:`fit`.
    shuffle : bool, default=True
        Whether :meth:`fit` takes the samples in random order; keep the order of a drifting
        stream with False.
    init : {"auto", "random", "svd", "samples"} or array, default="auto"
        Initial components: uniform random numbers, the positive or negative parts of singular
        vectors mixed with the mean sample, or samples. ``"auto"`` is ``"random"``, since outliers
        distort singular vectors.
    tol : float, default=1e-3
        Relative accuracy of the codes; below 1e-5 it is certified by a duality gap. While
        learning, ``solver="fast"`` finds codes to three times and components to this accuracy.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the first components and of the order of the samples.
    callback : callable, optional
        Called with a :class:`thalweg.estimators.Progress` after each batch.
    keep_history : bool, default=False
        Whether to keep each batch's progress in ``history_``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components.
    statistics_ : Statistics
        All that is remembered of the samples.
    outlier_weight_ : float
        The weight in use.
    outlier_share_ : float
        Share of outliers among the entries observed in the latest batches.
    objective_ : float
        The quadratic that stands for the loss of all samples, at ``components_``.
    history_ : list of Progress
        Only with ``keep_history=True``.
    n_samples_seen_, n_batches_seen_, n_features_in_ : int
        Counts.

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

    _published = ("noise_estimate", "outlier_weight", "form")

    def __init__(
        self,
        n_components: int = 10,
        *,
        solver: str = "fast",
        outlier_weight: str | float = "auto",
        outlier_bound: float | None = None,
        outlier_sign: str = "any",
        outlier_structure: str = "entries",
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
        callback: Callable[[Progress], None] | None = None,
        keep_history: bool = False,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.outlier_weight = outlier_weight
        self.outlier_bound = outlier_bound
        self.outlier_sign = outlier_sign
        self.outlier_structure = outlier_structure
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
        self.callback = callback
        self.keep_history = keep_history

    @property
    def noise_scale_(self) -> float:
        """Standard deviation of the noise; NaN before it was estimated."""
        return (
            self.noise_estimate_.positive_scale if self.noise_estimate_.n_batches else float("nan")
        )

    def make_learner(self) -> RobustLearner:
        """Return the learner of these parameters, which are checked.

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
