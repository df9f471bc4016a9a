"""Online NMF by robust stochastic approximation, [R]."""

from collections.abc import Callable
from typing import Any

from thalweg._checks import check_count
from thalweg.errors import ParameterError
from thalweg.estimators import parameters
from thalweg.estimators._divergence import DivergenceEstimator
from thalweg.estimators.streaming import StreamingEstimator
from thalweg.learning.approximation import ApproximationLearner
from thalweg.learning.batches import DataForm
from thalweg.learning.progress import Progress
from thalweg.prox import Prox
from thalweg.updates.robust_approximation import RobustApproximation

__all__ = ["ORNMF"]

# Smallest buffer, in samples. [R] II-C keeps min(ceil(n / 10), 20). The length of a stream is
# unknown, and partial_fit must equal fit, so that short data keep 20, too.
_MIN_BUFFER = 20
# Samples per component; with fewer, the components are not determined.
_BUFFER_PER_COMPONENT = 2


class ORNMF(DivergenceEstimator, StreamingEstimator):
    """OR-NMF: learn nonnegative components from a stream by averaged stochastic gradients.

    Minimises the mean of d(x | codes @ components_) over the samples x. Each window of samples is
    encoded and added to a buffer. The components then take stochastic gradient steps on the
    samples of the buffer, and are set to the average of the iterates. Step sizes are in units of
    the largest gradient so far and of the diameter of the constraint set, so that they do not
    depend on the units of the data.

    Parameters
    ----------
    n_components : int or "auto", default=10
        Number of components. ``"auto"`` takes the smallest number whose error at hidden entries is
        within one standard error of the smallest error; see ``rank_evidence_``.
    buffer_size : "auto", int or None, default="auto"
        Number of samples in the buffer. None keeps all samples, so that memory and time per step
        grow with the stream: Algorithm 1 of [R] (OR-NMF). A number is Algorithm 3 (MOR-NMF).
        ``"auto"`` is the largest of 20, twice ``n_components`` and ``window``; [R] has
        ``min(ceil(n_samples / 10), 20)``.
    window : int, default=1
        Number of samples between two updates of the components; more than 1 is WOR-NMF of [R].
    loss : str or Divergence, default="squared"
        ``"squared"``, ``"itakura-saito"`` (OR-NMF-IS), ``"kl"`` or a
        :class:`thalweg.divergences.beta.Beta`.
    constraint : str, Prox or pair, default="simplex"
        Set of each component: ``"simplex"``, ``"l1-ball"``, ``"l2-ball"``,
        ``"elastic-net-ball"``, ``"box"``, or an object such as ``L2Ball(radius)``. It must be
        bounded. A pair ``(lower, upper)`` bounds the entries (section III-C): numbers, or arrays of
        shape (n_features,) or (n_components, n_features).
    code_penalty : str or Prox, optional
        Penalty of the codes: ``"l1"`` (section III-A), ``"l2"``, ``"elastic-net"``, or an object.
    dictionary_penalty : str or Prox, optional
        Penalty of the components: ``"l2"`` (section III-B), ``"l1"``, ``"elastic-net"``, or an
        object.
    frozen_components : array of shape (n_frozen, n_features), optional
        Known components. They come first and never change.
    horizon : int or None, default=None
        Number of windows after which the step size is 0. It decreases like a cosine, as in [R]. For
        a fit whose batches are whole windows, use ``epochs * ceil(n_samples / window)``. None is
        for streams of unknown length: the step size decreases like the inverse of the number of
        windows.
    tol : float, default=1e-3
        The steps after a window stop when the relative change of the average is at most this
        value, after at least one step for each sample of the buffer.
    batch_size : "auto" or int, default="auto"
        Number of samples per batch in :meth:`fit`. Callbacks are called after each batch; the
        components are updated after each window.
    epochs : int, default=1
        Number of epochs in :meth:`fit`: how often all samples are used.
    shuffle : bool, default=True
        Whether :meth:`fit` uses the samples in random order.
    init : {"auto", "random", "svd", "samples"} or array, default="auto"
        Initial components, as in :class:`thalweg.OnlineNMF`; ``"auto"`` is ``"random"``, as in
        [R].
    random_state : int, Generator, RandomState or None, default=None
        Seed of the initial components, of the order of the samples, and of the steps.
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
    statistics_ : Buffer
        Statistics of all samples so far: the state of the dictionary update.
    loss_ : Divergence
        The loss in use.
    floor_ : float
        Smallest entry that is passed to losses that are infinite at 0; 0 for other losses.
    objective_ : float
        Mean objective per sample: the loss of the buffer at ``components_``, with the codes from
        when each sample was encoded.
    outlier_share_ : float
        Share of outliers among the observed entries; 0, since the model has no outliers.
    history_ : list of Progress
        The progress after each batch, with ``keep_history=True``.
    n_samples_seen_, n_batches_seen_, n_features_in_ : int
        Numbers of samples, batches and features.

    References
    ----------
    N. Guan, D. Tao, Z. Luo and B. Yuan, "Online nonnegative matrix factorization with robust
    stochastic approximation", IEEE Transactions on Neural Networks and Learning Systems, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import ORNMF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((400, 3)) @ rng.gamma(0.5, 1.0, (3, 20))
    >>> model = ORNMF(3, random_state=0).fit(X)
    >>> bool(-model.score(X) < 0.02 * np.mean(np.sum(X**2, axis=1)))
    True
    """

    _auto_init = "random"
    _published = ("loss", "form")

    def __init__(
        self,
        n_components: int | str = 10,
        *,
        buffer_size: str | int | None = "auto",
        window: int = 1,
        loss: Any = "squared",
        constraint: Any = "simplex",
        code_penalty: Any = None,
        dictionary_penalty: Any = None,
        frozen_components: Any = None,
        horizon: int | None = None,
        tol: float = 1e-3,
        batch_size: str | int = "auto",
        epochs: int = 1,
        shuffle: bool = True,
        init: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callable[[Progress], None] | None = None,
        keep_history: bool = False,
    ) -> None:
        self.n_components = n_components
        self.buffer_size = buffer_size
        self.window = window
        self.loss = loss
        self.constraint = constraint
        self.code_penalty = code_penalty
        self.dictionary_penalty = dictionary_penalty
        self.frozen_components = frozen_components
        self.horizon = horizon
        self.tol = tol
        self.batch_size = batch_size
        self.epochs = epochs
        self.shuffle = shuffle
        self.init = init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.keep_history = keep_history

    def make_learner(self) -> ApproximationLearner:
        """Check the parameters, and return the learner.

        Returns
        -------
        ApproximationLearner
            A frozen dataclass.
        """
        model, window = self._model(), check_count("window", self.window)
        l1, l2 = parameters.dictionary_penalty(self.dictionary_penalty)
        update = RobustApproximation(
            loss=model.loss,
            constraint=model.constraint,
            l1=l1,
            l2=l2,
            buffer_size=self._buffer_size(model.n_components, window),
            horizon=None if self.horizon is None else check_count("horizon", self.horizon),
            tol=model.tol,
            frozen=model.frozen.shape[1],
        )
        return ApproximationLearner(model, update, window)

    def _constraint(self) -> Prox:
        if not isinstance(self.constraint, (tuple, list)):
            return super()._constraint()
        return parameters.entry_bounds(self.constraint, (self._rank(), self.n_features_in_))

    def _buffer_size(self, n_components: int, window: int) -> int | None:
        if self.buffer_size is None:
            return None
        if not isinstance(self.buffer_size, str):
            return check_count("buffer_size", self.buffer_size)
        if self.buffer_size != "auto":
            raise ParameterError(
                f"buffer_size must be 'auto', a positive integer or None, got "
                f"{self.buffer_size!r}. None keeps all samples."
            )
        return max(_MIN_BUFFER, _BUFFER_PER_COMPONENT * n_components, window)

    def _batch_size(self, n: int, form: DataForm) -> int:
        """Return the batch size; an automatic one is a multiple of the window."""
        size, window = super()._batch_size(n, form), check_count("window", self.window)
        return -(-size // window) * window if isinstance(self.batch_size, str) else size
