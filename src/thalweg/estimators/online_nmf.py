"""Online NMF under a divergence: [D]."""

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
    """Nonnegative low-rank components of a stream, under the loss that fits its noise.

    Minimises the mean of d(x | codes @ components_) batch by batch, in memory that does not grow
    with the number of samples.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    loss : str or Divergence, default="kl"
        The divergence d: ``"kl"`` for counts, ``"itakura-saito"`` for spectra, ``"squared-l2"``,
        ``"huber"``, ``"l1"`` or ``"l2"`` for data with outliers, ``"hellinger"``, or an object of
        :mod:`thalweg.divergences` such as ``Beta(1.5)``. Huber's loss without a knee takes it
        from the noise.
    solver : {"fast", "mu", "spsgd"}, default="fast"
        ``"fast"`` finds codes by Newton's method with exact nonnegative least squares, and moves
        the components by a quadratic that keeps the loss's curvature; on data with less than a
        tenth of entries that are not zero, under a loss that need not see the zeros, both are
        multiplicative. ``"mu"`` is multiplicative always (Lefevre et al., 2011); under ``"l1"`` an
        entry that fits then holds all codes of its sample, so that little is learned. ``"spsgd"``
        is the paper's stochastic projected subgradient method.
    step_schedule : tuple of float, default=(1.0, 2e4)
        ``solver="spsgd"`` only: a and b of the steps a / (1 + n / b) after n samples, in units
        of the inverse curvature. The paper's a = b = 2e4 is (1.0, 2e4); b = inf keeps the step.
    step_rule : {"scaled", "absolute"}, default="scaled"
        ``solver="spsgd"`` only. ``"absolute"`` is the paper's step as printed, a / (b + n) without
        curvature, where its a and b are (2e4, 2e4): results depend on the units of the data, and
        for entries of about 1000 the components go to the bounds of their set.
    codes : {"exact", "subgradient"}, default="exact"
        ``solver="spsgd"`` only: the codes of the batches. ``"exact"`` are those of ``"fast"``, the
        minimum that the paper asks for. ``"subgradient"`` is the paper's own, longer way to it,
        Algorithms 2 and 3 (:class:`thalweg.encoders.subgradient.Subgradient`); with
        ``step_rule="absolute"`` its bounds and trial steps are as printed, too.
    constraint : str, Prox or None, default="l2-ball"
        Set of each component: ``"nonnegative"``, ``"l2-ball"``, ``"l1-ball"``, ``"simplex"``,
        ``"elastic-net-ball"``, ``"box"``, or an object of :mod:`thalweg.prox`. None, with
        ``solver="spsgd"`` only, is the paper's set: entries between 0 and 1, and every feature
        of a sum of at least 1e-8 over the components.
    code_penalty : str or Prox, optional
        Penalty of the codes: ``"l1"``, ``"l2"``, ``"elastic-net"``, or an object.
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
    init : {"auto", "svd", "random", "samples"} or array, default="auto"
        First components: singular vectors of the first samples, one sign of each, with the mean
        sample mixed in; uniform numbers times the mean of each feature; or samples. ``"auto"`` is
        the first if there are more than ``n_components`` samples and features to begin with, no
        more than half of their entries are gaps, and the loss is not Huber's; else the second.
    tol : float, default=1e-3
        Relative accuracy of the codes; while learning, ten times that.
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
    statistics_ : Statistics, Majorisers or Scales
        All that is remembered of the samples.
    loss_ : Divergence
        The loss in use.
    floor_ : float
        The smallest entry that a loss is shown which is infinite at zero; 0 for the others.
    sparse_ : bool
        Whether only the entries that are not zero are visited.
    outlier_share_ : float
        Share of outliers among the entries observed in the latest batches, under Huber's loss.
    objective_ : float
        What stands for the mean loss of all samples, at ``components_``.
    history_ : list of Progress
        Only with ``keep_history=True``.
    n_samples_seen_, n_batches_seen_, n_features_in_ : int
        Counts.

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
        n_components: int = 10,
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
        self.callback = callback
        self.keep_history = keep_history

    @property
    def noise_scale_(self) -> float:
        """Standard deviation of the noise, under Huber's loss; NaN if it was not estimated."""
        return (
            self.noise_estimate_.positive_scale if self.noise_estimate_.n_batches else float("nan")
        )

    def make_learner(self) -> DivergenceLearner:
        """Return the learner of these parameters, which are checked.

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
        """Return the set of each component; for the paper's set, the bounds of its entries."""
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
        """Return the batch size; by default 16 batches of sparse data, about 200 of others.

        Only many samples tell the topics of sparse counts apart.
        """
        if isinstance(self.batch_size, str) and self.batch_size == "auto":
            n_batches, least, most = (16, 16, 256) if form.sparse else (200, 32, 128)
            return int(np.clip(n // n_batches, least, most))
        return super()._batch_size(n, form)

    def _stream_form(self, stream: Any) -> DataForm:
        # a copy checks the first samples, so that the size is the same when a fit is resumed
        automatic = isinstance(self.batch_size, str) and self.batch_size == "auto"
        first = next(iter(stream.batches(_FORM_SAMPLES)), None) if automatic else None
        if first is None:
            return DataForm()
        probe = clone(self)
        X = check_data(probe, first[1], reset=True)
        form: DataForm = probe.make_learner().form(X)
        return form
