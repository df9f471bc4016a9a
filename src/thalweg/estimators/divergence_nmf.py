"""Batch NMF with a general divergence, the method Batch of [D]."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse

from thalweg._checks import check_callback, check_count, check_tol, choose, generator
from thalweg._threads import few_threads, pool_threads
from thalweg.divergences.huber import Huber
from thalweg.divergences.l1 import L1
from thalweg.encoders import Encoder
from thalweg.estimators._callbacks import FitTasks, has_callbacks, with_callbacks
from thalweg.estimators._divergence import DivergenceEstimator
from thalweg.estimators._weights import weighted
from thalweg.estimators.fitting import rollback_on_error
from thalweg.estimators.rounds import RoundsEstimator
from thalweg.estimators.validation import check_fit_data
from thalweg.learning.batches import DataForm, WeightedRows, unweighted
from thalweg.learning.divergence_rounds import DivergenceRounds
from thalweg.learning.progress import Progress
from thalweg.learning.rounds import LocalBlocks

__all__ = ["DivergenceNMF"]

_SOLVERS = ("auto", "mu", "reweighted")
# Entries of the data that are converted to batches at a time.
_BLOCK_ENTRIES = 2**22
# Entries of the samples for the initial dictionary and the scale of the loss.
_INIT_ENTRIES = 2**20
# Samples of a matrix product, for the choice of BLAS threads.
_SAMPLES_AT_ONCE = 256


class DivergenceNMF(DivergenceEstimator, RoundsEstimator):
    """Batch NMF: learn nonnegative components from all samples, for a given divergence.

    Minimises the mean of d(x | codes @ components_) over the samples x, by multiplicative updates,
    or by reweighted least squares for robust losses. Sparse data are converted to dense blocks of
    rows one at a time, or only their nonzeros are visited. For streams, and for a faster fit, use
    :class:`OnlineNMF`.

    Parameters
    ----------
    n_components : int or "auto", default=10
        Number of components. ``"auto"`` takes the smallest number whose error at hidden entries is
        within one standard error of the smallest error; see ``rank_evidence_``.
    loss : str or Divergence, default="kl"
        The divergence d; see :class:`OnlineNMF`. Unless the Huber threshold is given, it is
        estimated from the noise of some rows before the first iteration.
    solver : {"auto", "mu", "reweighted"}, default="auto"
        ``"mu"`` alternates multiplicative updates of codes and components, with the exponents of
        Fevotte and Idier (2011), and half-quadratic weights for ``"huber"``, ``"l1"`` and
        ``"l2"``; the loss never increases. ``"reweighted"``, only for these three losses, solves
        the weighted least-squares problems exactly; see
        :class:`thalweg.updates.batch_reweighted.BatchReweighted`. With ``"l1"`` and ``"l2"``
        multiplicative updates stall, since an entry with residual 0 fixes all codes of its sample.
        ``"auto"`` is ``"reweighted"`` for the three losses unless n_features * n_components**2
        exceeds 2**26, and otherwise ``"mu"``.
    constraint : str or Prox, default="l2-ball"
        Set of each component: ``"nonnegative"``, ``"l2-ball"``, ``"l1-ball"``, ``"simplex"``,
        ``"elastic-net-ball"``, ``"box"``, or an object of :mod:`thalweg.prox`. All but the box are
        met by rescaling, which affects only the scale of the codes.
    code_penalty : str or Prox, optional
        Penalty of the codes: ``"l1"``, ``"l2"``, ``"elastic-net"``, or an object.
    frozen_components : array of shape (n_frozen, n_features), optional
        Known components. They come first and never change.
    max_iter : int, default=200
        Maximum number of iterations.
    init : {"auto", "svd", "random", "samples"} or array, default="auto"
        Initial components: the positive or negative parts of singular vectors mixed with the mean
        sample, uniform random numbers, or samples. ``"auto"`` is ``"svd"`` if there are more than
        ``n_components`` samples and features, at most half of the entries are missing, and the
        loss is neither ``"l1"`` nor Huber's, since outliers distort singular vectors; otherwise
        ``"random"``.
    tol : float, default=1e-4
        The fit stops when the relative decrease of the objective per iteration, the mean of five,
        is at most this value. 0 runs all ``max_iter`` iterations. Also the relative tolerance of
        the codes of :meth:`transform`.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the initial components.
    n_jobs : int or None, default=None
        Number of threads, with the meaning of scikit-learn: None is 1 unless a
        ``joblib.parallel_config`` says otherwise, -1 all cores. Results do not depend on it.
    callback : callable, optional
        Called with a :class:`thalweg.estimators.Progress` after each iteration.
    keep_history : bool, default=False
        Whether to keep the progress of each iteration in ``history_``. Like a callback, this about
        doubles the time per iteration, since each needs the objective.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components, frozen ones first. The others are sorted by the mean square of their share
        of the samples, unless ``init`` is an array.
    n_components_ : int
        Number of components.
    rank_evidence_ : RankEvidence
        With ``n_components="auto"``: the numbers that were tried, with loss and standard error.
    loss_ : Divergence
        The loss in use.
    floor_ : float
        Smallest entry that is passed to losses that are infinite at 0; 0 for other losses.
    sparse_ : bool
        Whether only nonzero entries are visited.
    outlier_share_ : float
        Share of outliers among the observed entries, with Huber's loss; otherwise 0.
    objective_ : float
        Mean objective per sample: the loss, including penalties.
    n_iter_ : int
        Number of iterations.
    history_ : list of Progress
        The progress after each iteration, with ``keep_history=True``.
        The objective never increases. With ``"reweighted"`` it is an upper bound, the smoothed
        loss, except for the last one, which is the loss.
    n_samples_seen_, n_features_in_ : int
        Numbers of samples and features.

    References
    ----------
    R. Zhao, V. Y. F. Tan and H. Xu, "Online nonnegative matrix factorization with general
    divergences", AISTATS, 2017.

    C. Fevotte and J. Idier, "Algorithms for nonnegative matrix factorization with the
    beta-divergence", Neural Computation, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import DivergenceNMF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(rng.random((500, 3)) @ rng.gamma(0.5, 20.0, (3, 30)))
    >>> model = DivergenceNMF(3, loss="kl", random_state=0).fit(X)
    >>> bool(-model.score(X) < 0.6 * 30)
    True
    """

    _outlier_losses = (Huber, L1)
    _published = ("loss", "form")

    def __init__(
        self,
        n_components: int | str = 10,
        *,
        loss: Any = "kl",
        solver: str = "auto",
        constraint: Any = "l2-ball",
        code_penalty: Any = None,
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
        self.loss = loss
        self.solver = solver
        self.constraint = constraint
        self.code_penalty = code_penalty
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
        max_iter, rng = check_count("max_iter", self.max_iter), generator(self.random_state)
        with rollback_on_error(self):
            X = weighted(check_fit_data(self, X), sample_weight, weights)
            learner = self.find_rank(X).make_learner()
            count = learner.model.n_components
            rows = _random_rows(X, max(_INIT_ENTRIES // X.shape[1], 2 * count), rng)
            form = learner.model.form(unweighted(rows))
            with few_threads(X.shape[1], count, min(X.shape[0], _SAMPLES_AT_ONCE)):
                state = learner.init(form.batch(rows), form, rng)
            self.discard_fit()
        tasks = FitTasks(self, "iteration", max_iter, unweighted(X))
        tasks.begin()
        cuts = _cuts(X, form)
        whole = [form.batch(X)] if len(cuts) == 1 else None
        blocks = LocalBlocks(lambda: whole or (form.batch(X[cut]) for cut in cuts))
        watched = self.keep_history or self.callback is not None or has_callbacks(self)
        with few_threads(X.shape[1], count, min(X.shape[0], cuts[0].stop)):
            state = learner.run(state, blocks, len(cuts), max_iter, self.reporter(tasks), watched)
        self.finish(state)
        self.estimate_code_prior(X)
        self.order_components()
        tasks.close()
        if not tasks.stopped:
            self.warn_unless_converged(state)
        return self

    def make_learner(self) -> DivergenceRounds:
        """Check the parameters, and return the learner.

        Returns
        -------
        DivergenceRounds
            A frozen dataclass.
        """
        solver = choose("solver", self.solver, _SOLVERS)
        return DivergenceRounds(self._model(), solver, check_tol(self.tol))

    def _encoder(self) -> Encoder:
        return self._model().encoder(self.loss_, self.form_)


def _cuts(X: Any, form: DataForm) -> list[slice]:
    """Return the rows of the blocks, which are converted one at a time."""
    n, width = X.shape
    if form.sparse:
        values = X.X if isinstance(X, WeightedRows) else X
        width = (values.nnz if sparse.issparse(values) else np.count_nonzero(values)) // n
    size = max(1, _BLOCK_ENTRIES // max(width, 1))
    return [slice(start, start + size) for start in range(0, n, size)]


def _random_rows(X: Any, count: int, rng: np.random.Generator) -> Any:
    """Return all rows, or ``count`` random ones if there are more."""
    if X.shape[0] <= count:
        return X
    return X[np.sort(rng.choice(X.shape[0], count, replace=False))]
