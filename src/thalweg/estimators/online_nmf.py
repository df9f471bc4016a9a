"""Online NMF with a general divergence, [D]."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from thalweg._checks import check_share, choose
from thalweg.errors import ParameterError
from thalweg.estimators._divergence import DivergenceEstimator
from thalweg.estimators.streaming import StreamingEstimator
from thalweg.estimators.validation import check_data
from thalweg.learning.batches import DataForm
from thalweg.learning.divergence import DivergenceLearner
from thalweg.learning.progress import Progress
from thalweg.prox import Prox
from thalweg.prox.box import Box

__all__ = ["OnlineNMF"]

_SOLVERS = ("fast", "mu", "spsgd")
_STEP_RULES = ("scaled", "absolute")
_CODES = ("exact", "subgradient")
# Samples of a stream from which the form of its data is chosen.
_FORM_SAMPLES = 256
# Shuffled samples for the initial dictionary, at least. benchmarks: topics, divergences
_INIT_SAMPLES, _SPARSE_INIT_SAMPLES = 256, 1000


class OnlineNMF(DivergenceEstimator, StreamingEstimator):
    """Online NMF: learn nonnegative components from a stream, for a given divergence.

    Minimises the mean of d(x | codes @ components_) over the samples x, batch by batch. The memory
    does not grow with the number of samples. The divergence d should match the noise.

    Parameters
    ----------
    n_components : int or "auto", default=10
        Number of components. ``"auto"`` takes the smallest number whose error at hidden entries is
        within one standard error of the smallest error; see ``rank_evidence_``.
    loss : str or Divergence, default="kl"
        The divergence d: ``"kl"`` for counts, ``"negative-binomial"`` and ``"zero-inflated"`` for
        counts that vary more or are lost, ``"itakura-saito"`` for spectra, ``"squared-l2"``,
        ``"huber"``, ``"l1"`` or ``"l2"`` for data with outliers, ``"hellinger"``, or an object of
        :mod:`thalweg.divergences` such as ``Beta(1.5)``. The Huber threshold is estimated from
        the noise, and the dispersion of counts from the first samples, unless they are given.
    solver : {"fast", "mu", "spsgd"}, default="fast"
        ``"fast"`` computes codes by Newton's method with exact nonnegative least squares, and
        updates the components with a quadratic model of the loss. For data with fewer than 10 %
        nonzeros and a loss that is cheap at zeros, both are multiplicative updates. ``"mu"`` always
        uses multiplicative updates (Lefevre et al., 2011); with ``"l1"`` they stall, since an entry
        with residual 0 fixes all codes of its sample. ``"spsgd"`` is the stochastic projected
        subgradient method of [D].
    step_schedule : tuple of float, default=(1.0, 2e4)
        Only for ``solver="spsgd"``: a and b of the step size a / (1 + n / b) after n samples, in
        units of the inverse curvature. (1.0, 2e4) is a = b = 2e4 of [D]; b = inf is a constant
        step size.
    step_rule : {"scaled", "absolute"}, default="scaled"
        Only for ``solver="spsgd"``. ``"absolute"`` is the step size as printed in [D], a / (b + n)
        without the curvature, with (2e4, 2e4). Results then depend on the units of the data; for
        entries of about 1000, the components reach the boundary of their set.
    codes : {"exact", "subgradient"}, default="exact"
        Only for ``solver="spsgd"``: the method for the codes. ``"exact"`` is that of ``"fast"``.
        ``"subgradient"`` is the slower method of [D], Algorithms 2 and 3
        (:class:`thalweg.encoders.subgradient.Subgradient`). With ``step_rule="absolute"`` its
        bounds and step sizes are as printed, too.
    constraint : str, Prox or None, default="l2-ball"
        Set of each component: ``"nonnegative"``, ``"l2-ball"``, ``"l1-ball"``, ``"simplex"``,
        ``"elastic-net-ball"``, ``"box"``, or an object of :mod:`thalweg.prox`. None, only for
        ``solver="spsgd"``, is the set of [D]: entries between 0 and 1, with a sum over the
        components of at least 1e-8 for every feature.
    code_penalty : str or Prox, optional
        Penalty of the codes: ``"l1"``, ``"l2"``, ``"elastic-net"``, or an object.
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
    init : {"auto", "svd", "random", "samples"} or array, default="auto"
        Initial components: the positive or negative parts of singular vectors mixed with the mean
        sample, uniform random numbers, or samples. ``"auto"`` is ``"svd"`` if there are more than
        ``n_components`` samples and features, at most half of the entries are missing, and the
        loss is not Huber's; otherwise ``"random"``.
    tol : float, default=1e-3
        Relative tolerance of the codes; ten times as large during learning.
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
    statistics_ : Statistics, Majorisers or Scales
        Statistics of all samples so far: the state of the dictionary update.
    loss_ : Divergence
        The loss in use.
    floor_ : float
        Smallest entry that is passed to losses that are infinite at 0; 0 for other losses.
    sparse_ : bool
        Whether only nonzero entries are visited.
    noise_scale_ : float
        Standard deviation of the noise, with Huber's loss; NaN if it was not estimated.
    outlier_share_ : float
        Share of outliers among the observed entries of the latest batches, with Huber's loss;
        otherwise 0.
    objective_ : float
        Mean objective per sample: the value of the surrogate at ``components_``.
    history_ : list of Progress
        The progress after each batch, with ``keep_history=True``.
    n_samples_seen_, n_batches_seen_, n_features_in_ : int
        Numbers of samples, batches and features.

    References
    ----------
    R. Zhao, V. Y. F. Tan and H. Xu, "Online nonnegative matrix factorization with general
    divergences", AISTATS, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import OnlineNMF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(rng.random((500, 3)) @ rng.gamma(0.5, 20.0, (3, 30)))
    >>> model = OnlineNMF(3, loss="kl", random_state=0).fit(X)
    >>> bool(-model.score(X) < 0.6 * 30)
    True
    """

    _published = ("noise_estimate", "loss", "form")

    def __init__(
        self,
        n_components: int | str = 10,
        *,
        loss: Any = "kl",
        solver: str = "fast",
        step_schedule: tuple[float, float] = (1.0, 2e4),
        step_rule: str = "scaled",
        codes: str = "exact",
        constraint: Any = "l2-ball",
        code_penalty: Any = None,
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
        self.loss = loss
        self.solver = solver
        self.step_schedule = step_schedule
        self.step_rule = step_rule
        self.codes = codes
        self.constraint = constraint
        self.code_penalty = code_penalty
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
    def noise_scale_(self) -> float:
        """Standard deviation of the noise, with Huber's loss; NaN if it was not estimated."""
        return (
            self.noise_estimate_.positive_scale if self.noise_estimate_.n_batches else float("nan")
        )

    def make_learner(self) -> DivergenceLearner:
        """Check the parameters, and return the learner.

        Returns
        -------
        DivergenceLearner
            A frozen dataclass.
        """
        solver = choose("solver", self.solver, _SOLVERS)
        absolute = choose("step_rule", self.step_rule, _STEP_RULES) == "absolute"
        codes = choose("codes", self.codes, _CODES)
        return DivergenceLearner(
            self._model(),
            solver,
            check_share("forgetting", self.forgetting),
            self._schedule(),
            absolute,
            solver == "spsgd" and codes == "subgradient",
            self.constraint is None,
        )

    def _constraint(self) -> Prox:
        """Return the set of each component; for the set of [D], the bounds of its entries."""
        if self.constraint is not None:
            return super()._constraint()
        if self.solver != "spsgd":
            raise ParameterError(
                f"constraint must be a set unless solver='spsgd', got None with "
                f"solver={self.solver!r}. Use a set such as 'l2-ball'."
            )
        return Box()

    def _schedule(self) -> tuple[float, float]:
        try:
            a, b = (float(number) for number in self.step_schedule)
        except (TypeError, ValueError):
            raise ParameterError(
                f"step_schedule must be two positive numbers, got {self.step_schedule!r}. "
                "Example: (1.0, 2e4)."
            ) from None
        return a, b

    def _init_sample_size(self, form: DataForm) -> int:
        return _SPARSE_INIT_SAMPLES if form.sparse else _INIT_SAMPLES

    def _batch_size(self, n: int, form: DataForm) -> int:
        """Return the batch size; by default 16 batches for sparse data, about 200 for others.

        Sparse counts need many samples per update to distinguish topics.
        """
        if isinstance(self.batch_size, str) and self.batch_size == "auto":
            n_batches, least, most = (16, 16, 256) if form.sparse else (200, 32, 128)
            return int(np.clip(n // n_batches, least, most))
        return super()._batch_size(n, form)

    def _stream_form(self, stream: Any) -> DataForm:
        # From the first samples of the stream, also when a fit is resumed in the middle.
        automatic = isinstance(self.batch_size, str) and self.batch_size == "auto"
        first = next(iter(stream.batches(_FORM_SAMPLES)), None) if automatic else None
        if first is None:
            return DataForm()
        probe = clone(self)
        X = check_data(probe, first[1], reset=True)
        form: DataForm = probe.make_learner().form(X)
        return form
