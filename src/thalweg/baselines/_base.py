"""Base classes of the streaming and of the batch baselines."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from thalweg._checks import check_count, check_tol, choose, generator
from thalweg._typing import Array, Mask
from thalweg.archetypes import DataMatrix
from thalweg.encoders import Codes, Encoder
from thalweg.errors import InputError
from thalweg.estimators.base import Factorization
from thalweg.estimators.fitting import rollback_on_error, warn_max_iter
from thalweg.estimators.streaming import StreamingEstimator
from thalweg.estimators.validation import check_data
from thalweg.learning.batches import Batch
from thalweg.learning.composition import Composition
from thalweg.learning.dictionaries import INITS, scaled_dictionary
from thalweg.learning.progress import Progress
from thalweg.prox.orthant import Orthant
from thalweg.solvers.nnls import nnls, prepare
from thalweg.updates import DictionaryUpdate

__all__ = [
    "BatchBaseline",
    "BatchResult",
    "LeastSquares",
    "StreamingBaseline",
    "half_squares",
    "initial_components",
    "is_random",
]


class StreamingBaseline(StreamingEstimator):
    """Base of the baselines made of an encoder and a dictionary update.

    A subclass repeats the signature with its own defaults, since scikit-learn reads it.
    """

    def __init__(
        self,
        n_components: int,
        batch_size: str | int,
        epochs: int,
        shuffle: bool,
        init: Any,
        random_state: Any,
        callback: Callable[[Progress], None] | None,
        keep_history: bool,
    ) -> None:
        self.n_components = n_components
        self.batch_size = batch_size
        self.epochs = epochs
        self.shuffle = shuffle
        self.init = init
        self.random_state = random_state
        self.callback = callback
        self.keep_history = keep_history

    def _composition(
        self,
        encoder: Encoder,
        update: DictionaryUpdate[Any],
        learner: type[Composition] = Composition,
    ) -> Composition:
        """Return the learner with this encoder and update, after checking the parameters."""
        count = check_count("n_components", self.n_components)
        return learner(count, encoder, update, _chosen_init(self.init, INITS, "random"))


class BatchResult(NamedTuple):
    """Components, their objective, and the number of iterations."""

    components: Array
    objective: float
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class LeastSquares:
    """Compute argmin_{h >= 0} |v - W h|^2 / 2 for samples without missing entries."""

    name: ClassVar[str] = "least-squares"

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Mask | None = None
    ) -> Codes:
        """Encode the columns of V."""
        if observed is not None:
            raise _incomplete("codes by least squares")
        H, _, solved = nnls(prepare(W.T @ W), W.T @ V)
        residual = V - W @ H
        loss = 0.5 * np.einsum("fb,fb->b", residual, residual)
        zero = np.zeros_like(loss)
        return Codes(H.astype(V.dtype), np.zeros_like(V), loss.astype(V.dtype), zero, solved)


class BatchBaseline(Factorization):
    """Base of the baselines that need all samples in each iteration."""

    n_components: Any
    max_iter: Any
    tol: Any
    init: Any
    random_state: Any
    # choices of ``init``, and what "auto" stands for
    _inits: ClassVar[tuple[str, ...]] = INITS
    _auto_init: ClassVar[str] = "random"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from all of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data without missing entries.
        y : ignored
            Present for scikit-learn.

        Returns
        -------
        self
            The fitted estimator.
        """
        with rollback_on_error(self):
            X = check_data(self, X, reset=True)
            result = self._checked_result(X)
        self.components_ = result.components.astype(X.dtype)
        self.objective_, self.n_iter_ = result.objective, result.n_iter
        self.n_samples_seen_ = X.shape[0]
        if not result.converged:
            warn_max_iter(self, f"the objective changed by less than tol={self.tol:g}")
        return self

    def _checked_result(self, X: Any) -> BatchResult:
        """Check data and parameters, then run the method."""
        rows = DataMatrix.of(X)
        if np.isnan(rows.squares.sum()):
            raise _incomplete(type(self).__name__)
        count = check_count("n_components", self.n_components)
        check_count("max_iter", self.max_iter)
        check_tol(self.tol)
        init = _chosen_init(self.init, self._inits, self._auto_init)
        return self._minimise(rows, count, init, generator(self.random_state))

    def _minimise(
        self, rows: DataMatrix, k: int, init: Any, rng: np.random.Generator
    ) -> BatchResult:
        """Minimise the objective over k components and their codes."""
        raise NotImplementedError

    def _is_small(self, change: float, objective: float) -> bool:
        """Return whether the change of the objective is within the tolerance; never for 0."""
        return bool(self.tol > 0.0 and change <= self.tol * objective)

    def _encoder(self) -> Encoder:
        return LeastSquares()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


def _chosen_init(init: Any, choices: tuple[str, ...], auto: str) -> Any:
    """Return the initial components, or the name of a choice other than "auto"."""
    if not isinstance(init, str):
        return init
    return auto if choose("init", init, choices) == "auto" else init


def is_random(init: Any) -> bool:
    """Return whether the initial components are random numbers."""
    return isinstance(init, str) and init == "random"


def initial_components(init: Any, rows: DataMatrix, k: int, rng: np.random.Generator) -> Array:
    """Return k initial components."""
    n = rows.shape[1]
    if is_random(init):
        return rng.random((k, n))
    batch = Batch(rows.X.T, None)
    return scaled_dictionary(init, np.empty((n, 0)), k, batch, Orthant(), rng).T


def _incomplete(method: str) -> InputError:
    return InputError(
        f"X for {method} must be complete data, got NaN. Fill the missing entries first, or use "
        "SparseArchetypalNMF, which allows them."
    )


def half_squares(rows: DataMatrix, W: Array, H: Array) -> float:
    """Return |X - W H|^2 / 2."""
    total = 0.0
    for where, block in rows.blocks():
        total += float(np.sum(np.square(block - W[where] @ H)))
    return 0.5 * total
