"""Batch NMF under a divergence: the twin that [D] calls Batch."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse

from thalweg._checks import check_callback, check_count, check_tol, choose, generator
from thalweg.divergences.huber import Huber
from thalweg.divergences.l1 import L1
from thalweg.encoders import Encoder
from thalweg.estimators._divergence import DivergenceEstimator
from thalweg.estimators.base import rollback_on_error
from thalweg.estimators.rounds import RoundsEstimator
from thalweg.estimators.validation import check_data
from thalweg.learning.batches import DataForm
from thalweg.learning.divergence_rounds import DivergenceRounds
from thalweg.learning.progress import Progress
from thalweg.learning.rounds import LocalBlocks
from thalweg.learning.threads import few_threads

__all__ = ["DivergenceNMF"]

_SOLVERS = ("auto", "mu", "reweighted")
# Entries of the data that are converted to batches at a time.
_BLOCK_ENTRIES = 2**22
# Entries of the samples for the initial dictionary and the scale of the loss.
_INIT_ENTRIES = 2**20
# Samples of a matrix product, for the choice of BLAS threads.
_SAMPLES_AT_ONCE = 256


class DivergenceNMF(DivergenceEstimator, RoundsEstimator):
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

    _outlier_losses = (Huber, L1)
    _published = ("loss", "form")

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
        check_callback(self.callback)
        max_iter, rng = check_count("max_iter", self.max_iter), generator(self.random_state)
        with rollback_on_error(self):
            X = check_data(self, X, reset=True)
            learner = self.make_learner()
            count = learner.model.n_components
            rows = _random_rows(X, max(_INIT_ENTRIES // X.shape[1], 2 * count), rng)
            form = learner.model.form(rows)
            with few_threads(X.shape[1], count, min(X.shape[0], _SAMPLES_AT_ONCE)):
                state = learner.init(form.batch(rows), form, rng)
            self.discard_fit()
        cuts = _cuts(X, form)
        blocks = LocalBlocks(lambda: (form.batch(X[cut]) for cut in cuts))
        watched = self.keep_history or self.callback is not None
        state = learner.run(state, blocks, len(cuts), max_iter, self.set_state, watched)
        self.finish(state)
        self.estimate_code_prior(X)
        return self._warned(state)

    def make_learner(self) -> DivergenceRounds:
        """Return the learner of these parameters, which are checked.

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
        width = (X.nnz if sparse.issparse(X) else np.count_nonzero(X)) // n
    size = max(1, _BLOCK_ENTRIES // max(width, 1))
    return [slice(start, start + size) for start in range(0, n, size)]


def _random_rows(X: Any, count: int, rng: np.random.Generator) -> Any:
    """Return all rows, or ``count`` random ones if there are more."""
    if X.shape[0] <= count:
        return X
    return X[np.sort(rng.choice(X.shape[0], count, replace=False))]
