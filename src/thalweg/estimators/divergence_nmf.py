"""Batch NMF under a divergence: the twin that [D] calls Batch."""

from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Any, Self

import numpy as np
from scipy import sparse

from thalweg._typing import Array
from thalweg.divergences import HalfQuadratic
from thalweg.divergences.huber import Huber
from thalweg.divergences.l1 import L1
from thalweg.encoders.columns import times
from thalweg.encoders.divergence_problem import coefficients
from thalweg.estimators import _parameters as parameters
from thalweg.estimators._divergence import Diverging
from thalweg.estimators._input import Batch, check_data
from thalweg.estimators._noise import Noise
from thalweg.estimators._rollback import rollback_on_error
from thalweg.estimators._streaming import Progress, outlier_share
from thalweg.estimators._threads import few_threads
from thalweg.updates.batch_fast import BatchFast
from thalweg.updates.batch_multiplicative import BatchMultiplicative
from thalweg.updates.batch_reweighted import BatchReweighted
from thalweg.updates.surrogate import Surrogate

__all__ = ["DivergenceNMF"]

# Entries of the data that are made dense, or brought into another form, at a time.
_BLOCK = 2**22
# Entries of the samples from which the start, and the scale of a loss, are taken.
_SAMPLE = 2**20
# Samples that are multiplied at a time, for the choice of threads.
_AT_ONCE = 256
# A look at the objective costs as much as a round: without anybody watching, it is taken after
# every fifth one.
EVERY = 5
# Reweighted least squares keep a matrix for every feature, as long as it takes no more numbers
# than this.
_LARGEST = 2**26
SOLVERS = ("auto", "mu", "reweighted")
# Exact rounds on a sample in which a scale follows the residual; then it is left alone, so that
# all rounds of the descent lower one and the same objective.
_SETTLING = 10
# Zeros of the dictionary found by then, which would stay zeros, begin at this share of the
# largest entry of their column.
_LIFT = 0.01

Blocks = Callable[[], Iterator[Batch]]


class DivergenceNMF(Diverging):
    """Nonnegative low-rank components of a matrix, under the loss that fits its noise.

    Minimises the mean of d(x | codes @ components_) over codes and components by multiplicative
    updates, or by reweighted least squares where the loss is robust. The data stay as they are:
    sparse ones are made dense a block of rows at a time, or visited only where they are not zero.
    For data that still arrive, and for a faster fit, use :class:`OnlineNMF`.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    loss : str or Divergence, default="kl"
        The divergence d; see :class:`OnlineNMF`. Huber's loss without a knee takes it from the
        noise of a sample of the rows, before the descent begins.
    solver : {"auto", "mu", "reweighted"}, default="auto"
        ``"mu"`` multiplies all codes and all components in turn, with the exponents of Fevotte
        and Idier (2011), and half-quadratic weights for ``"huber"``, ``"l1"`` and ``"l2"``; no
        round raises the loss. ``"reweighted"``, for these three only, minimises the weighted
        squares exactly; see :class:`thalweg.updates.batch_reweighted.BatchReweighted`. Under
        ``"l1"`` and ``"l2"`` multiplicative updates freeze: an entry that fits holds all codes
        of its sample. ``"auto"`` is ``"reweighted"`` for the three losses unless
        n_features * n_components**2 is above 2**26, and ``"mu"`` else.
    constraint : str or Prox, default="l2-ball"
        Set of each component: ``"nonnegative"``, ``"l2-ball"``, ``"l1-ball"``, ``"simplex"``,
        ``"elastic-net-ball"``, ``"box"``, or an object of theirs. All but the box are met by
        rescaling, and restrict nothing but the scale of the codes.
    code_penalty : str or Prox, optional
        Penalty of the codes: ``"l1"``, ``"l2"``, ``"elastic-net"``, or an object.
    frozen_components : array of shape (n_frozen, n_features), optional
        Components that are known; they come first and never change.
    max_iter : int, default=200
        Cap on the number of rounds.
    init : {"auto", "svd", "random", "samples"} or array, default="auto"
        First components: singular vectors of the first samples, one sign of each, with the mean
        sample mixed in; uniform numbers times the mean of each feature; or samples. ``"auto"`` is
        the first if there are more than ``n_components`` samples and features to begin with, no
        more than half of their entries are gaps, and the loss is neither ``"l1"`` nor
        Huber's, which expect outliers; else the second.
    tol : float, default=1e-4
        Relative decrease of the objective in a round, the mean of five, below which the fit
        ends; also the relative accuracy of the codes that users get.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the first components.
    callback : callable, optional
        Called with a :class:`thalweg.estimators.Progress` after each round.
    keep_history : bool, default=False
        Whether to keep each round's progress in ``history_``. This, as a callback, makes rounds
        take about twice as long, for each needs the objective.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components.
    loss_ : Divergence
        The loss in use.
    floor_ : float
        The smallest entry that a loss is shown which is infinite at zero; 0 for the others.
    sparse_ : bool
        Whether only the entries that are not zero are visited.
    outlier_share_ : float
        Share of outliers among the entries observed, under Huber's loss; 0 else.
    objective_ : float
        Mean loss of the samples, with the penalty of their codes.
    n_iter_ : int
        Number of rounds.
    history_ : list of Progress
        Only with ``keep_history=True``. The objective never rises. With ``"reweighted"`` it is
        the smoothed loss of the round, an upper bound that falls to the loss; the last is the
        loss itself.
    n_samples_seen_, n_features_in_ : int
        Counts.

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

    _misled = (Huber, L1)

    def __init__(
        self,
        n_components: int = 10,
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
        self.callback = callback
        self.keep_history = keep_history

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from all of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data; ``NaN`` marks gaps.
        y : ignored
            Present for scikit-learn.

        Returns
        -------
        self
            The fitted estimator.
        """
        count = parameters.check_count("n_components", self.n_components)
        parameters.choose("solver", self.solver, SOLVERS)
        cap = parameters.check_count("max_iter", self.max_iter)
        rng = parameters.generator(self.random_state)
        with rollback_on_error(self):
            X = check_data(self, X, reset=True)
            shape = X.shape[1], count, min(X.shape[0], _AT_ONCE)
            with few_threads(*shape):
                W = self._begin(_some(X, max(_SAMPLE // X.shape[1], 2 * count), rng), rng)
        with few_threads(*shape):
            self.n_samples_seen_ = X.shape[0]
            self._descend(self._blocks(X), W, cap)
        self._estimate_code_prior(X)
        return self

    def _begin(self, rows: Any, rng: np.random.Generator) -> Array:
        """Return the first dictionary, from some rows."""
        parameters.check_callback(self.callback)
        self._prepare(rows)
        self._method()  # a wrong parameter of it is told before anything is learned
        sample = self._batch(rows)
        for name in ("history_", "code_prior_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if self.keep_history:
            self.history_: list[Progress] = []
        return self._settle(sample, self._start(sample, rng))

    def _descend(self, blocks: Blocks, W: Array, cap: int) -> None:
        method = self._method()
        W, H = method.start(blocks(), W)
        watched = self.keep_history or self.callback is not None
        previous = np.inf
        for round_ in range(1, cap + 1):
            method = method.in_round(round_)
            W, H = method.sweep(blocks(), W, H)
            due = round_ % EVERY == 0
            if watched or due or round_ == cap:
                self.n_iter_ = round_
                self._note(W, method.objective(blocks(), W, H), self._share(blocks, W, H))
            if due:
                if self._done(previous):
                    break
                previous = self.objective_
        self._end(method, lambda last: last.objective(blocks(), W, H))

    def _end(self, method: BatchMultiplicative, objective: Callable[[Any], float]) -> None:
        """Note the loss itself in the place of the smoothed one."""
        last = method.in_round(inf)
        if last is method:
            return
        self.objective_ = objective(last)
        if self.keep_history:
            self.history_[-1] = self.history_[-1]._replace(objective=self.objective_)

    def _done(self, previous: float) -> bool:
        """Tell whether the objective has hardly fallen since it was looked at last."""
        return bool(previous - self.objective_ <= EVERY * self.tol * self.objective_)

    def _note(self, W: Array, objective: float, share: float) -> None:
        self.components_ = np.ascontiguousarray(W.T)
        self.objective_, self.outlier_share_ = objective, share
        progress = Progress(self.n_samples_seen_, None, self.objective_, self.outlier_share_)
        if self.keep_history:
            self.history_.append(progress)
        if self.callback is not None:
            self.callback(progress)

    def _share(self, blocks: Blocks, W: Array, H: Array) -> float:
        """Return the share of outliers among the entries observed, which Huber's loss tells."""
        if not isinstance(self.loss_, Huber):
            return 0.0
        begin, outliers, entries = 0, 0.0, 0
        for batch in blocks():
            B = batch.V.shape[1]
            share, count = self._share_of(batch, W, H[:, begin : begin + B])
            begin, outliers, entries = begin + B, outliers + count * share, entries + count
        return outliers / max(entries, 1)

    def _share_of(self, batch: Batch, W: Array, H: Array) -> tuple[float, int]:
        """Return the share of outliers in a block, and the number of its entries observed."""
        if not isinstance(self.loss_, Huber):
            return 0.0, 0
        count = batch.V.size if batch.observed is None else int(np.count_nonzero(batch.observed))
        return outlier_share(batch, self.loss_.outliers(batch.V, times(W, H))), count

    def _settle(self, sample: Batch, W: Array) -> Array:
        """Give a loss without units the scale of the residual that a good dictionary leaves.

        The descent begins at that dictionary, since where the knee is small it is slow.
        """
        if not isinstance(self.loss_, Huber) or getattr(self.loss, "alpha", None) is not None:
            return W
        update = Surrogate(constraint=self._constraint(), frozen=self._frozen())
        state = BatchFast().start(sample.V, W, sample.observed)
        for _ in range(_SETTLING):
            state = BatchFast(self._encoder(), update).advance(sample.V, state, sample.observed)
            self.noise_ = Noise()  # the latest dictionary is the one that counts
            self._follow(sample, state.W, state.H)
        lifted = np.maximum(state.W, W.dtype.type(_LIFT) * state.W.max(axis=0))
        return np.where(np.arange(W.shape[1]) < self._frozen(), W, lifted)

    def _method(self) -> BatchMultiplicative:
        l1, l2 = coefficients(self._code_penalty())
        common = self._constraint(), l1, l2, self._frozen()
        if self.solver == "reweighted" or (self.solver == "auto" and self._robust):
            return BatchReweighted(self.loss_, *common)  # type: ignore[arg-type]
        return BatchMultiplicative(self.loss_, *common)

    @property
    def _robust(self) -> bool:
        """Whether the loss has half-quadratic weights, and there is room for their matrices."""
        numbers = self.n_features_in_ * int(self.n_components) ** 2
        return isinstance(self.loss_, HalfQuadratic) and numbers <= _LARGEST

    def _blocks(self, X: Any) -> Blocks:
        """Return what yields the data a block of rows at a time, as often as it is called."""
        n, width = X.shape
        values = X.data if sparse.issparse(X) else X
        if self.sparse_ and not np.isnan(np.sum(values, dtype=np.float64)):
            X = sparse.csr_array(X)
            width = X.nnz // n
        size = max(1, _BLOCK // max(width, 1))
        return partial(self._cut, X, size)

    def _cut(self, X: Any, size: int) -> Iterator[Batch]:
        for begin in range(0, X.shape[0], size):
            yield self._batch(X[begin : begin + size])


def _some(X: Any, count: int, rng: np.random.Generator) -> Any:
    """Return all rows, or so many at random when there are more."""
    if X.shape[0] <= count:
        return X
    return X[np.sort(rng.choice(X.shape[0], count, replace=False))]
