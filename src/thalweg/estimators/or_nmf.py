"""Online NMF by robust stochastic approximation: [R]."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.encoders import Encoder
from thalweg.encoders.newton import Newton
from thalweg.errors import ParameterError
from thalweg.estimators import _parameters as parameters
from thalweg.estimators._divergence import Diverging
from thalweg.estimators._input import Batch
from thalweg.estimators._plain import LEAST_SQUARES
from thalweg.estimators._streaming import Progress, Streaming
from thalweg.prox import Prox
from thalweg.updates import DictionaryUpdate
from thalweg.updates.robust_approximation import Buffer, RobustApproximation

__all__ = ["ORNMF"]

# Relative accuracy of codes that have no closed form.
_CODES = 1e-4
# [R] II-C keeps min(ceil(n / 10), 20) samples. A stream has no n, and partial_fit has to do what
# fit does, so short data keep 20, too; fewer than 2 K leave the components undetermined.
_FEWEST, _FOR_EACH = 20, 2


class ORNMF(Diverging, Streaming):
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
    init : {"random", "svd", "samples", "auto"} or array, default="random"
        First components, as in :class:`thalweg.OnlineNMF`.
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
        init: Any = "random",
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

    def _constraint(self) -> Prox:
        if not isinstance(self.constraint, (tuple, list)):
            return super()._constraint()
        count = parameters.check_count("n_components", self.n_components)
        return parameters.entry_bounds(self.constraint, (count, self.n_features_in_))

    def _encoder(self) -> Encoder:
        penalty = self._code_penalty()
        if isinstance(self.loss_, SquaredL2):
            return replace(LEAST_SQUARES, penalty=penalty)
        return Newton(loss=self.loss_, penalty=penalty, tol=_CODES)

    def _update(self) -> DictionaryUpdate[Buffer]:
        self._check_loss()
        l1, l2 = parameters.dictionary_penalty(self.dictionary_penalty)
        horizon = self.horizon
        return RobustApproximation(
            loss=self.loss_,
            constraint=self._constraint(),
            l1=l1,
            l2=l2,
            buffer_size=self._kept(),
            horizon=None if horizon is None else parameters.check_count("horizon", horizon),
            tol=parameters.check_positive("tol", self.tol),
            frozen=self._frozen(),
        )

    def _kept(self) -> int | None:
        if self.buffer_size is None:
            return None
        if not isinstance(self.buffer_size, str):
            return parameters.check_count("buffer_size", self.buffer_size)
        if self.buffer_size != "auto":
            raise ParameterError(
                f"buffer_size must be 'auto', a positive integer or None, got "
                f"{self.buffer_size!r}. None remembers all samples."
            )
        window = parameters.check_count("window", self.window)
        count = parameters.check_count("n_components", self.n_components)
        return max(_FEWEST, _FOR_EACH * count, window)

    def _prepare(self, X: Any) -> None:
        super()._prepare(X)
        self.sparse_ = False  # the steps need the model at all entries

    def _begin(self, batch: Batch, rng: np.random.Generator) -> DictionaryUpdate[Any]:
        update = super()._begin(batch, rng)
        seed = rng.integers(np.iinfo(np.uint64).max, size=1, dtype=np.uint64)
        self.statistics_ = self.statistics_._replace(seed=seed)
        return update

    def _windows(self, batch: Batch) -> list[Batch]:
        size = parameters.check_count("window", self.window)
        if size >= batch.V.shape[1]:
            return [batch]
        cuts = [slice(start, start + size) for start in range(0, batch.V.shape[1], size)]
        observed = batch.observed
        return [Batch(batch.V[:, c], None if observed is None else observed[:, c]) for c in cuts]

    def _size(self, n: int) -> int:
        """Return the batch size; on its own whole windows."""
        size, window = super()._size(n), parameters.check_count("window", self.window)
        return -(-size // window) * window if isinstance(self.batch_size, str) else size

    def _outlier_share(self, *_: Any) -> float:
        return 0.0
