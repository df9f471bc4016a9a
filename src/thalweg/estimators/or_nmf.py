"""Online NMF by robust stochastic approximation: [R]."""

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

# [R] II-C keeps min(ceil(n / 10), 20) samples. A stream has no n, and partial_fit must equal fit,
# so that short data keep 20, too. Fewer than 2 K leave the components undetermined.
_SMALLEST_BUFFER, _BUFFER_PER_COMPONENT = 20, 2


class ORNMF(DivergenceEstimator, StreamingEstimator):
    """Nonnegative low-rank components of a stream, by averaged stochastic gradients.

    OR-NMF: each window of samples is encoded and put into a buffer; then the components take
    gradient steps on one sample of the buffer after the other, and the average of all points on
    the way is where they go. The steps need no tuning to units: they are in units of the largest
    gradient so far and of the diameter of the constraint.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    buffer_size : "auto", int or None, default="auto"
        Samples that are remembered. None remembers all of them, and memory and time of a step
        grow with the stream: the paper's Algorithm 1 (OR-NMF); a number is Algorithm 3
        (MOR-NMF). ``"auto"`` is 20, twice ``n_components`` or ``window``, whichever is most. The
        paper has ``min(ceil(n_samples / 10), 20)``.
    window : int, default=1
        Samples between two changes of the components; more than 1 is the paper's WOR-NMF.
    loss : str or Divergence, default="squared"
        ``"squared"``, ``"itakura-saito"`` (OR-NMF-IS), ``"kl"`` or a
        :class:`thalweg.divergences.beta.Beta`.
    constraint : str, Prox or pair, default="simplex"
        Set of each component: ``"simplex"``, ``"l1-ball"``, ``"l2-ball"``,
        ``"elastic-net-ball"``, ``"box"``, or an object such as ``L2Ball(radius)``. It has to be
        bounded. A pair ``(lower, upper)`` are bounds (section III-C): numbers, arrays of shape
        (n_features,), or of shape (n_components, n_features) for each entry its own.
    code_penalty : str or Prox, optional
        Penalty of the codes: ``"l1"`` (section III-A), ``"l2"``, ``"elastic-net"``, or an object.
    dictionary_penalty : str or Prox, optional
        Penalty of the components: ``"l2"`` (section III-B), ``"l1"``, ``"elastic-net"``, or an
        object.
    frozen_components : array of shape (n_frozen, n_features), optional
        Components that are known; they come first and never change.
    horizon : int or None, default=None
        Windows after which the components come to rest, as in the paper, whose steps fall like a
        cosine: ``epochs * ceil(n_samples / window)`` for a fit, if a batch is whole windows.
        None is for streams without an end; there the steps fall like the inverse of the number
        of windows.
    tol : float, default=1e-3
        Relative change of the average below which the steps after a window end, after at least
        one for each sample of the buffer.
    batch_size : "auto" or int, default="auto"
        Samples that :meth:`fit` hands over at a time; callbacks come after each batch, the
        components change after each window in it.
    epochs : int, default=1
        Passes over the data in :meth:`fit`.
    shuffle : bool, default=True
        Whether :meth:`fit` takes the samples in random order.
    init : {"auto", "random", "svd", "samples"} or array, default="auto"
        Initial components, as in :class:`thalweg.OnlineNMF`; ``"auto"`` is ``"random"``, as in the
        paper.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the first components, of the order of the samples, and of the steps.
    callback : callable, optional
        Called with a :class:`thalweg.estimators.Progress` after each batch.
    keep_history : bool, default=False
        Whether to keep each batch's progress in ``history_``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components.
    statistics_ : Buffer
        All that is remembered of the samples.
    loss_ : Divergence
        The loss in use.
    floor_ : float
        The smallest entry that a loss is shown which is infinite at zero; 0 for the others.
    objective_ : float
        Mean loss over the buffer, at ``components_``, with the codes that were found on the way.
    outlier_share_ : float
        Always 0: there are no outliers in this model.
    history_ : list of Progress
        Only with ``keep_history=True``.
    n_samples_seen_, n_batches_seen_, n_features_in_ : int
        Counts.

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
        n_components: int = 10,
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
        self.callback = callback
        self.keep_history = keep_history

    def make_learner(self) -> ApproximationLearner:
        """Return the learner of these parameters, which are checked.

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
        count = check_count("n_components", self.n_components)
        return parameters.entry_bounds(self.constraint, (count, self.n_features_in_))

    def _buffer_size(self, n_components: int, window: int) -> int | None:
        if self.buffer_size is None:
            return None
        if not isinstance(self.buffer_size, str):
            return check_count("buffer_size", self.buffer_size)
        if self.buffer_size != "auto":
            raise ParameterError(
                f"buffer_size must be 'auto', a positive integer or None, got "
                f"{self.buffer_size!r}. None remembers all samples."
            )
        return max(_SMALLEST_BUFFER, _BUFFER_PER_COMPONENT * n_components, window)

    def _batch_size(self, n: int, form: DataForm) -> int:
        """Return the batch size; an automatic one is a multiple of the window."""
        size, window = super()._batch_size(n, form), check_count("window", self.window)
        return -(-size // window) * window if isinstance(self.batch_size, str) else size
