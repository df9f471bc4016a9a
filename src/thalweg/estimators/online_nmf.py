"""Online NMF under a divergence: [D]."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from thalweg._typing import Array
from thalweg.divergences.huber import Huber
from thalweg.encoders import Codes, Encoder
from thalweg.encoders.divergence_problem import coefficients
from thalweg.encoders.multiplicative import Multiplicative as MultiplicativeCodes
from thalweg.encoders.subgradient import Subgradient as SubgradientCodes
from thalweg.errors import ParameterError
from thalweg.estimators import _parameters as parameters
from thalweg.estimators._divergence import Diverging
from thalweg.estimators._input import Batch, check_data
from thalweg.estimators._streaming import Progress, Streaming
from thalweg.prox import Prox
from thalweg.prox.box import Box
from thalweg.updates import DictionaryUpdate
from thalweg.updates.multiplicative import Multiplicative
from thalweg.updates.second_order import SecondOrderSurrogate
from thalweg.updates.subgradient import Subgradient
from thalweg.updates.surrogate import Surrogate

__all__ = ["OnlineNMF"]

_SOLVERS = ("fast", "mu", "spsgd")
_STEP_RULES = ("scaled", "absolute")
_CODES = ("exact", "subgradient")
# How fast the samples encoded by the first, poor dictionaries lose their weight.
_FADE = 8.0
# While learning, codes need not be as accurate as those that users get.
_LOOSER = 10.0
# Curvature is kept for every feature as long as it takes no more numbers than this.
_LARGEST = 2**24
# Samples of a stream from which it is told whether it is sparse.
_PROBED = 256


class OnlineNMF(Diverging, Streaming):
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
    step : tuple of float, default=(1.0, 2e4)
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

    def __init__(
        self,
        n_components: int = 10,
        *,
        loss: Any = "kl",
        solver: str = "fast",
        step: tuple[float, float] = (1.0, 2e4),
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
        self.step = step
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

    def _update(self) -> DictionaryUpdate[Any]:
        solver = parameters.choose("solver", self.solver, _SOLVERS)
        self._check_loss()
        common: dict[str, Any] = {
            "constraint": self._constraint(),
            "forgetting": parameters.check_share("forgetting", self.forgetting),
            "frozen": self._frozen(),
            "fade": _FADE,
        }
        if solver == "fast" and isinstance(self.loss_, Huber):
            return Surrogate(**common)
        if solver == "spsgd":
            common |= {"constraint": None} if self.constraint is None else {}
            parameters.choose("codes", self.codes, _CODES)
            common |= {"schedule": self._schedule(), "absolute": self._absolute}
            return Subgradient(self.loss_, **common)
        l1, l2 = coefficients(self._code_penalty())
        common |= {"loss": self.loss_, "code_l1": l1, "code_l2": l2}
        large = self.n_features_in_ * int(self.n_components) ** 2 > _LARGEST
        multiplicative = solver == "mu" or self.sparse_ or large
        return Multiplicative(**common) if multiplicative else SecondOrderSurrogate(**common)

    def _prepare(self, X: Any) -> None:
        super()._prepare(X)
        if self.solver == "spsgd":  # its steps need the model at all entries
            self.sparse_ = False

    def _constraint(self) -> Prox:
        """Return the set of each component; of the paper's, what it asks of a component alone."""
        if self.constraint is not None:
            return super()._constraint()
        if self.solver != "spsgd":
            raise ParameterError(
                f"constraint must be a set unless solver='spsgd', got None with "
                f"solver={self.solver!r}. Use a set such as 'l2-ball'."
            )
        return Box()

    def _start(self, batch: Batch, rng: np.random.Generator) -> Array:
        W, update = super()._start(batch, rng), self._update()
        if isinstance(update, Subgradient) and update.constraint is None:
            return update.inside(W, W[:, : update.frozen])  # the paper's set bounds rows, too
        return W

    @property
    def _absolute(self) -> bool:
        return parameters.choose("step_rule", self.step_rule, _STEP_RULES) == "absolute"

    def _schedule(self) -> tuple[float, float]:
        try:
            a, b = (float(number) for number in self.step)
        except (TypeError, ValueError):
            raise ParameterError(
                f"step must be two positive numbers, got {self.step!r}. Example: (1.0, 2e4)."
            ) from None
        return a, b

    @property
    def _looked_at(self) -> int:
        return 1000 if self.sparse_ else 256

    def _size(self, n: int) -> int:
        """Return the batch size; on its own 16 batches of sparse data, about 200 of others.

        The topics of sparse counts are told apart only by many samples.
        """
        if isinstance(self.batch_size, str) and self.batch_size == "auto":
            fewest, most = (16, 256) if self.sparse_ else (32, 128)
            return int(np.clip(n // (16 if self.sparse_ else 200), fewest, most))
        return super()._size(n)

    def _stream_size(self, stream: Any) -> int:
        # The first samples tell whether data are sparse. They are shown to a copy, so that the
        # size is the same when a fit goes on later.
        automatic = isinstance(self.batch_size, str) and self.batch_size == "auto"
        first = next(iter(stream.batches(_PROBED)), None) if automatic else None
        if first is None:
            return super()._size(_PROBED)
        probe = clone(self)
        probe._prepare(check_data(probe, first[1], reset=True))
        return int(super(OnlineNMF, probe)._stream_size(stream))

    def _tune(self, batch: Batch) -> Encoder:
        if self.solver == "mu":
            return MultiplicativeCodes(self.loss_, self._code_penalty(), tol=float(self.tol))
        if self.solver == "spsgd" and self.codes == "subgradient":
            tol = _LOOSER * float(self.tol)
            return SubgradientCodes(
                self.loss_, self._code_penalty(), tol=tol, absolute=self._absolute
            )
        return self._encoder_for(self.loss_, _LOOSER)

    def _observe(self, batch: Batch, codes: Codes, W: Array) -> None:
        self._follow(batch, W, codes.H)

    def _refreshed(self, update: DictionaryUpdate[Any]) -> DictionaryUpdate[Any]:
        if isinstance(self.loss_, Huber) and isinstance(update, (Multiplicative, Subgradient)):
            return replace(update, loss=self.loss_)
        return update

    def _outlier_share(self, batch: Batch, codes: Codes) -> float:
        if isinstance(self.loss_, Huber):
            return super()._outlier_share(batch, codes)
        return 0.0
