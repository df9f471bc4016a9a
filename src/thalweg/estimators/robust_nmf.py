"""Batch NMF with outliers: the twins of [O] S-2."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from thalweg._typing import Array
from thalweg.encoders.columns import MAX_CHUNK_SIZE
from thalweg.estimators import _parameters as parameters
from thalweg.estimators._input import Batch, as_batch, check_data
from thalweg.estimators._noise import measure
from thalweg.estimators._robust import Robust
from thalweg.estimators._rollback import rollback_on_error
from thalweg.estimators._start import frozen_columns
from thalweg.estimators._streaming import Progress, outlier_share
from thalweg.estimators._threads import few_threads
from thalweg.updates import BatchMethod, Factors
from thalweg.updates.batch_admm import BatchAdmm
from thalweg.updates.batch_fast import BatchFast
from thalweg.updates.batch_pgd import BatchPgd
from thalweg.updates.surrogate import Surrogate

__all__ = ["RobustNMF"]

# Rounds in which an automatic weight still follows the residual; then it is left alone, so that
# the rounds that follow lower one and the same objective.
_SETTLING = 10


class RobustNMF(Robust):
    """Nonnegative low-rank components of a matrix with gaps and outliers, all at once.

    Finds ``X = codes @ components_ + outliers`` from the whole of X in rounds over codes,
    outliers and components. For data that do not fit in memory, or still arrive, use
    :class:`RobustOnlineNMF`.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    solver : {"fast", "pgd", "admm"}, default="fast"
        ``"fast"`` solves for codes, outliers and components in turn; ``"pgd"`` and ``"admm"``
        are the paper's BPGD and BADMM.
    outlier_weight : "auto" or float, default="auto"
        Residual beyond which an entry is an outlier (the paper's lambda). ``"auto"`` follows
        the noise level of the data, and does not depend on their units.
    outlier_bound : float, optional
        Largest size of an outlier (the paper's M); None or inf for none.
    outlier_sign : {"any", "nonnegative"}, default="any"
        Whether outliers may be negative.
    outlier_structure : {"entries", "samples"}, default="entries"
        Whether single entries or whole samples are outliers.
    constraint : str or Prox, default="l2-ball"
        Set of each component; see :class:`RobustOnlineNMF`.
    code_penalty : str or Prox, optional
        Penalty of the codes; see :class:`RobustOnlineNMF`.
    dictionary_penalty : str or Prox, optional
        Penalty of the components: ``"l1"``, ``"l2"``, ``"elastic-net"``, or an object.
    frozen_components : array of shape (n_frozen, n_features), optional
        Components that are known; they come first and never change.
    max_iter : int, default=200
        Cap on the number of rounds.
    init : {"random", "samples"} or array of shape (n_components, n_features), default="random"
        First components.
    tol : float, default=1e-4
        Relative decrease of the objective in a round below which the fit ends; also the
        relative accuracy of the codes, certified by a duality gap below 1e-5.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the first components.
    callback : callable, optional
        Called with a :class:`thalweg.estimators.Progress` after each round.
    keep_history : bool, default=False
        Whether to keep each round's progress in ``history_``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components.
    outlier_weight_ : float
        The weight in use.
    outlier_share_ : float
        Share of outliers among the entries observed.
    objective_ : float
        Mean loss of the samples, outliers and penalties included.
    n_iter_ : int
        Number of rounds.
    history_ : list of Progress
        Only with ``keep_history=True``.
    n_samples_seen_, n_features_in_ : int
        Counts.

    References
    ----------
    R. Zhao and V. Y. F. Tan, "Online nonnegative matrix factorization with outliers", IEEE
    Transactions on Signal Processing, 2017, supplement S-2.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import RobustNMF, synthetic
    >>> data = synthetic.nmf_with_outliers(500, 100, 10, random_state=0)
    >>> model = RobustNMF(10, random_state=0).fit(data.X)
    >>> found = model.decompose(data.X).low_rank
    >>> error = np.mean((found - data.clean) ** 2)
    >>> bool(error < 0.2 * np.mean((data.X - data.clean) ** 2))
    True
    """

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
        max_iter: int = 200,
        init: Any = "random",
        tol: float = 1e-4,
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
        with rollback_on_error(self):
            X = check_data(self, X, reset=True)
            batch, cap = as_batch(X), parameters.check_count("max_iter", self.max_iter)
            count = parameters.check_count("n_components", self.n_components)
            shape = X.shape[1], count, min(X.shape[0], MAX_CHUNK_SIZE)
            with few_threads(*shape):
                W = self._begin(batch, parameters.generator(self.random_state))
            method = self._method(count)
        self.n_samples_seen_ = batch.V.shape[1]
        with few_threads(*shape):
            self._descend(batch, W, method, cap)
        self._estimate_code_prior(X)
        return self

    def _begin(self, batch: Batch, rng: np.random.Generator) -> Array:
        """Return the first dictionary, and forget an earlier fit."""
        parameters.check_callback(self.callback)
        for name in ("history_", "code_prior_"):
            self.__dict__.pop(name, None)
        if self.keep_history:
            self.history_: list[Progress] = []
        return self._start(batch, rng)

    def _descend(self, batch: Batch, W: Array, method: BatchMethod[Any], cap: int) -> None:
        V, observed = batch
        state = method.start(V, W, observed)
        calm = self._calm()
        for round_ in range(1, cap + 1):
            state = method.advance(V, state, observed)
            factors = method.factors(state)
            self.n_iter_ = round_
            R = factors.R if batch.observed is None else factors.R * batch.observed
            self._note(factors.W, self._loss(batch, factors), outlier_share(batch, R))
            if round_ <= calm.settling:
                self._settle(batch, factors.W, factors.H)
                method = self._method(W.shape[1])
            if calm.reached(round_, self.objective_):
                break

    def _calm(self) -> "_Calm":
        """Return what tells when to end; the objective of ADMM may stand still for a round."""
        settling = _SETTLING if self._automatic() else 0
        return _Calm(settling, self.tol, 3 if self.solver == "admm" else 1)

    def _settle(self, batch: Batch, W: Array, H: Array) -> None:
        """Take an automatic weight from the residual."""
        self.outlier_weight_ = measure(batch, W, H).weight or 1.0

    def _method(self, count: int) -> BatchMethod[Any]:
        l1, l2 = parameters.dictionary_penalty(self.dictionary_penalty)
        frozen = frozen_columns(self.frozen_components, count, self.n_features_in_).shape[1]
        constraint = self._constraint()
        dictionary = {"constraint": constraint, "l1": l1, "l2": l2, "frozen": frozen}
        encoder = self._encoder_for(self.outlier_weight_)
        if self.solver == "fast":
            return BatchFast(encoder, Surrogate(solver=self._solver(), **dictionary))
        twin = BatchPgd if self.solver == "pgd" else BatchAdmm
        return twin(
            outliers=self._outliers(self.outlier_weight_),
            penalty=self._code_penalty(),
            **dictionary,
        )

    def _note(self, W: Array, objective: float, share: float) -> None:
        self.components_ = np.ascontiguousarray(W.T)
        self.objective_, self.outlier_share_ = objective, share
        progress = Progress(self.n_samples_seen_, None, self.objective_, self.outlier_share_)
        if self.keep_history:
            self.history_.append(progress)
        if self.callback is not None:
            self.callback(progress)

    def _loss(self, batch: Batch, factors: Factors) -> float:
        """Return [O] (S-7) divided by the number of samples, with the dictionary's penalty."""
        return float(np.mean(self._losses(batch, factors))) + self._price(factors.W)

    def _losses(self, batch: Batch, factors: Factors) -> Array:
        """Return the part of each sample in [O] (S-7)."""
        W, H, R = factors
        E = batch.V - W @ H - R
        R = R if batch.observed is None else R * batch.observed
        E = E if batch.observed is None else E * batch.observed
        costs = self._outliers(self.outlier_weight_).value(R)
        costs = costs + self._code_penalty().value(H)
        losses: Array = 0.5 * np.einsum("fb,fb->b", E, E) + costs
        return losses

    def _price(self, W: Array) -> float:
        """Return the dictionary's penalty."""
        l1, l2 = parameters.dictionary_penalty(self.dictionary_penalty)
        return float(l1 * W.sum() + 0.5 * l2 * np.vdot(W, W))


class _Calm:
    """Tells when the objective has stood still, after the rounds in which a weight settles."""

    def __init__(self, settling: int, tol: float, patience: int) -> None:
        self.settling, self.tol, self.patience = settling, tol, patience
        self.calm, self.previous = 0, np.inf

    def reached(self, round_: int, objective: float) -> bool:
        """Take in the objective after a round, counted from 1."""
        if round_ <= self.settling:
            return False
        if np.isfinite(self.previous):
            still = abs(self.previous - objective) <= self.tol * self.previous
            self.calm = self.calm + 1 if still else 0
        self.previous = objective
        return self.calm == self.patience
