"""What the baselines share: fit, checks, and codes by least squares."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from thalweg._checks import check_count, check_positive, generator
from thalweg._typing import Array, Mask
from thalweg.archetypes import DataMatrix
from thalweg.encoders import Codes, Encoder
from thalweg.errors import InputError
from thalweg.estimators.base import Factorization, rollback_on_error
from thalweg.estimators.validation import check_data
from thalweg.solvers.nnls import nnls, prepare

__all__ = ["Baseline", "Learned", "LeastSquares", "half_squares"]


class Learned(NamedTuple):
    """Components, what they cost, and how many rounds they took."""

    components: Array
    objective: float
    rounds: int


@dataclass(frozen=True)
class LeastSquares:
    """argmin_h |v - W h|^2 / 2 over h >= 0, samples without gaps."""

    name: ClassVar[str] = "least-squares"

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Mask | None = None
    ) -> Codes:
        """Encode the columns of V."""
        if observed is not None:
            raise _incomplete("Least squares")
        H, _, solved = nnls(prepare(W.T @ W), W.T @ V)
        rest = V - W @ H
        loss = 0.5 * np.einsum("fb,fb->b", rest, rest)
        zero = np.zeros_like(loss)
        return Codes(H.astype(V.dtype), np.zeros_like(V), loss.astype(V.dtype), zero, solved)


class Baseline(Factorization):
    """Base of the baselines: fit, and the checks that all of them need."""

    n_components: Any
    max_iter: Any
    tol: Any
    random_state: Any

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from all of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data without gaps.
        y : ignored
            Present for scikit-learn.

        Returns
        -------
        self
            The fitted estimator.
        """
        with rollback_on_error(self):
            X = check_data(self, X, reset=True)
            learned = self._learned(X)
        self.components_ = learned.components.astype(X.dtype)
        self.objective_, self.n_iter_ = learned.objective, learned.rounds
        self.n_samples_seen_ = X.shape[0]
        return self

    def _learned(self, X: Any) -> Learned:
        """Check what came, and learn from it."""
        rows = DataMatrix.of(X)
        if np.isnan(rows.squares.sum()):
            raise _incomplete(type(self).__name__)
        count = check_count("n_components", self.n_components)
        check_count("max_iter", self.max_iter)
        check_positive("tol", self.tol)
        return self._learn(rows, count, generator(self.random_state))

    def _encoder(self) -> Encoder:
        return LeastSquares()

    def _learn(self, rows: DataMatrix, k: int, rng: np.random.Generator) -> Learned:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


def _incomplete(who: str) -> InputError:
    return InputError(
        f"{who} needs complete data, got NaN. Fill the gaps first, or use SparseArchetypalNMF."
    )


def half_squares(rows: DataMatrix, W: Array, H: Array) -> float:
    """Return |X - W H|^2 / 2."""
    total = 0.0
    for where, block in rows.blocks():
        total += float(np.sum(np.square(block - W[where] @ H)))
    return 0.5 * total
