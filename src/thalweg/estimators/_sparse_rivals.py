"""The methods that [A] compares with, each a small estimator of complete data."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.archetypes import Rows
from thalweg.archetypes.codes import SimplexCodes
from thalweg.archetypes.exact import archetypal_analysis
from thalweg.archetypes.starts import furthest_sum
from thalweg.encoders import Codes, Encoder
from thalweg.errors import InputError, ParameterError
from thalweg.estimators import _parameters as parameters
from thalweg.estimators._input import check_data
from thalweg.estimators._surface import Factorization
from thalweg.prox.top import Top
from thalweg.solvers.nnls import nnls, prepare

__all__ = ["ArchetypalAnalysis", "HoyerNMF", "KimParkNMF", "PeharzPernkopfNMF", "project_sparse"]


class _Learned(NamedTuple):
    components: Array
    objective: float
    rounds: int


@dataclass(frozen=True)
class _LeastSquares:
    """argmin_h |v - W h|^2 / 2 over h >= 0, samples without gaps."""

    name: ClassVar[str] = "least-squares"

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, seen: Mask | None = None
    ) -> Codes:
        """Encode the columns of V."""
        H, _, solved = nnls(prepare(W.T @ W), W.T @ V)
        rest = V - W @ H
        loss = 0.5 * np.einsum("fb,fb->b", rest, rest)
        zero = np.zeros_like(loss)
        return Codes(H.astype(V.dtype), np.zeros_like(V), loss.astype(V.dtype), zero, solved)


class _Rival(Factorization):
    """Base of the rivals: fit, and the checks that all of them need."""

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
        X = check_data(self, X, reset=True)
        rows = Rows.of(X)
        if np.isnan(rows.squares.sum()):
            raise InputError(
                f"{type(self).__name__} needs complete data, but NaN came. "
                "Fill the gaps first, or use SparseArchetypalNMF."
            )
        count = parameters.check_count("n_components", self.n_components)
        parameters.check_count("max_iter", self.max_iter)
        parameters.check_positive("tol", self.tol)
        learned = self._learn(rows, count, parameters.generator(self.random_state))
        self.components_ = learned.components.astype(X.dtype)
        self.objective_, self.n_iter_ = learned.objective, learned.rounds
        self.n_samples_seen_ = X.shape[0]
        return self

    def _encoder(self) -> Encoder:
        return _LeastSquares()

    def _learn(self, rows: Rows, k: int, rng: np.random.Generator) -> _Learned:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


def project_sparse(x: Array, total: float, norm: float) -> Array:
    """Return the nearest y >= 0 with sum(y) = total and |y| = norm (Hoyer, 2004).

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.estimators._sparse_rivals import project_sparse
    >>> project_sparse(np.array([3.0, 1.0, 0.5]), 1.0, 1.0).round(6)
    array([1., 0., 0.])
    """
    free = np.ones(x.shape, dtype=bool)
    y = x + (total - x.sum()) / x.size
    while True:
        middle = np.where(free, total / free.sum(), 0.0)
        away = y - middle
        a, b, c = away @ away, 2.0 * (middle @ away), middle @ middle - norm**2
        step = (-b + np.sqrt(max(b * b - 4.0 * a * c, 0.0))) / (2.0 * a) if a > 0 else 0.0
        y = middle + step * away
        if np.all(y >= 0.0):
            found: Array = y
            return found
        free &= y > 0.0
        y = np.where(free, y, 0.0)
        y[free] -= (y.sum() - total) / free.sum()


class HoyerNMF(_Rival):
    """NMF whose components have a given sparseness (Hoyer, 2004).

    Minimises |X - codes @ components_|^2 / 2 with each component of norm 1 and of sparseness
    (sqrt(n) - |h|_1 / |h|_2) / (sqrt(n) - 1). Gradient steps on the components are projected,
    and made shorter where the objective would rise; codes are multiplicative.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    sparseness : float, default=0.5
        Between 0 (all entries equal) and 1 (one entry).
    max_iter : int, default=500
        Cap on the rounds.
    tol : float, default=1e-5
        Relative decrease in ten rounds at which to end.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the start.

    References
    ----------
    P. O. Hoyer, "Non-negative matrix factorization with sparseness constraints", JMLR, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import rivals
    >>> X = np.random.default_rng(0).random((30, 12))
    >>> rivals.HoyerNMF(2, sparseness=0.6, random_state=0).fit(X).components_.shape
    (2, 12)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        sparseness: float = 0.5,
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.sparseness = sparseness
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _learn(self, rows: Rows, k: int, rng: np.random.Generator) -> _Learned:
        level: Any = self.sparseness
        if not (isinstance(level, (int, float, np.number)) and 0.0 <= level < 1.0):
            raise ParameterError(
                f"sparseness should be at least 0 and below 1, but {level!r} came. 0.5 is a middle."
            )
        n = rows.shape[1]
        total = np.sqrt(n) - float(level) * (np.sqrt(n) - 1.0)
        H = _projected(rng.random((k, n)), total)
        W = rng.random((rows.shape[0], k))
        step, last, round_ = 1.0, np.inf, 0
        value = _half_squares(rows, W, H)
        for round_ in range(1, self.max_iter + 1):
            H, value, step = _sparse_step(rows, W, H, value, total, step)
            floor = np.finfo(np.float64).tiny
            W = W * rows.correlated(H).T / np.maximum(W @ (H @ H.T), floor)
            value = _half_squares(rows, W, H)
            if round_ % 10 == 0:
                if last - value <= self.tol * value:
                    break
                last = value
        return _Learned(H, value, round_)


def _projected(H: Array, total: float) -> Array:
    return np.array([project_sparse(h, total, 1.0) for h in H])


def _sparse_step(
    rows: Rows, W: Array, H: Array, value: float, total: float, step: float
) -> tuple[Array, float, float]:
    slope = (W.T @ W) @ H - rows.mixed(W.T)
    while step > 1e-12:
        moved = _projected(H - step * slope, total)
        lower = _half_squares(rows, W, moved)
        if lower <= value:
            return moved, lower, 1.2 * step
        step /= 2.0
    return H, value, 1.0


class KimParkNMF(_Rival):
    """NMF with a squared l1 penalty on the components' columns (Kim and Park, 2007).

    Minimises |X - W H|^2 / 2 + ridge |W|^2 / 2 + penalty sum_j |h_j|_1^2 / 2 over codes W and
    components H, both nonnegative, by exact nonnegative least squares in turn; h_j has the
    entries of feature j.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    penalty : float, default=0.1
        Weight of the l1 norms.
    ridge : float, default=0.1
        Weight of the codes' squares; without it the penalty could be scaled away.
    max_iter : int, default=200
        Cap on the rounds.
    tol : float, default=1e-5
        Relative decrease in a round at which to end.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the start.

    References
    ----------
    H. Kim and H. Park, "Sparse non-negative matrix factorizations via alternating
    non-negativity-constrained least squares for microarray data analysis", Bioinformatics, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import rivals
    >>> X = np.random.default_rng(0).random((30, 12))
    >>> rivals.KimParkNMF(2, random_state=0).fit(X).components_.shape
    (2, 12)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        penalty: float = 0.1,
        ridge: float = 0.1,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.penalty = penalty
        self.ridge = ridge
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _learn(self, rows: Rows, k: int, rng: np.random.Generator) -> _Learned:
        penalty = parameters.check_positive("penalty", self.penalty)
        ridge = parameters.check_positive("ridge", self.ridge)
        W: Array = rng.random((rows.shape[0], k))
        last, rounds = np.inf, 0
        while rounds < self.max_iter:
            rounds += 1
            H = nnls(prepare(W.T @ W + penalty), rows.mixed(W.T))[0]
            W = nnls(prepare(H @ H.T + ridge * np.eye(k)), rows.correlated(H))[0].T
            value = _half_squares(rows, W, H) + 0.5 * ridge * float(np.sum(W**2))
            value += 0.5 * penalty * float(np.sum(H.sum(axis=0) ** 2))
            if last - value <= self.tol * value:
                break
            last = value
        return _Learned(H, value, rounds)


class PeharzPernkopfNMF(_Rival):
    """NMF whose components have few nonzeros each (Peharz and Pernkopf, 2012).

    Codes by nonnegative least squares; components likewise, of which the largest entries are
    kept; then multiplicative updates of both, which leave zeros alone. The best round counts.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    sparsity : float, default=0.5
        Share of the entries of each component that may differ from 0.
    max_iter : int, default=30
        Number of rounds.
    updates : int, default=10
        Multiplicative updates in a round.
    tol : float, default=1e-5
        Relative change in a round at which to end.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the start.

    References
    ----------
    R. Peharz and F. Pernkopf, "Sparse nonnegative matrix factorization with l0-constraints",
    Neurocomputing, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import rivals
    >>> X = np.random.default_rng(0).random((30, 12))
    >>> H = rivals.PeharzPernkopfNMF(2, sparsity=0.25, random_state=0).fit(X).components_
    >>> (H > 0).sum(axis=1)
    array([3, 3])
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        sparsity: float = 0.5,
        max_iter: int = 30,
        updates: int = 10,
        tol: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.sparsity = sparsity
        self.max_iter = max_iter
        self.updates = updates
        self.tol = tol
        self.random_state = random_state

    def _learn(self, rows: Rows, k: int, rng: np.random.Generator) -> _Learned:
        share: Any = self.sparsity
        if not (isinstance(share, (float, int, np.number)) and 0.0 < share <= 1.0):
            raise ParameterError(
                f"sparsity should be a share above 0 and at most 1, but {share!r} came. "
                "0.5 lets every second entry differ from 0."
            )
        keep = Top(max(1, int(float(share) * rows.shape[1])))
        parameters.check_count("updates", self.updates)
        H: Array = rng.random((k, rows.shape[1]))
        best, last, round_ = _Learned(H, np.inf, 0), np.inf, 0
        for round_ in range(1, self.max_iter + 1):
            W = nnls(prepare(H @ H.T), rows.correlated(H))[0].T
            H = keep.prox(nnls(prepare(W.T @ W), rows.mixed(W.T))[0].T).T
            for _ in range(self.updates):
                W, H = _multiplied(rows, W, H)
            value = _half_squares(rows, W, H)
            if value < best.objective:
                best = _Learned(H, value, round_)
            if abs(last - value) <= self.tol * value:
                break
            last = value
        return best._replace(rounds=round_)


def _multiplied(rows: Rows, W: Array, H: Array) -> tuple[Array, Array]:
    """Return codes and components after a multiplicative update of each, H last."""
    tiny = np.finfo(np.float64).tiny
    W = W * rows.correlated(H).T / np.maximum(W @ (H @ H.T), tiny)
    return W, H * rows.mixed(W.T) / np.maximum((W.T @ W) @ H, tiny)


class ArchetypalAnalysis(_Rival):
    """Archetypes that are mixtures of samples themselves (Cutler and Breiman, 1994).

    Minimises |X - W T X|^2 over W and T with rows in the simplex, by the active sets of Chen et
    al.; :class:`thalweg.SparseArchetypalNMF` lets archetypes leave the hull of the data.

    Parameters
    ----------
    n_components : int, default=10
        Number of archetypes.
    max_iter : int, default=200
        Cap on the rounds.
    tol : float, default=1e-6
        Relative decrease in a round at which to end.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the start: samples far from one another, found from one by chance.

    References
    ----------
    A. Cutler and L. Breiman, "Archetypal analysis", Technometrics, 1994.

    Y. Chen, J. Mairal and Z. Harchaoui, "Fast and robust archetypal analysis for representation
    learning", CVPR, 2014.

    M. Morup and L. K. Hansen, "Archetypal analysis for machine learning and data mining",
    Neurocomputing, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import rivals
    >>> corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> X = np.vstack([corners, np.random.default_rng(0).dirichlet(np.ones(3), 40) @ corners])
    >>> model = rivals.ArchetypalAnalysis(3, random_state=0).fit(X)
    >>> bool(model.objective_ < 1e-6)
    True
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _encoder(self) -> Encoder:
        return SimplexCodes()

    def _learn(self, rows: Rows, k: int, rng: np.random.Generator) -> _Learned:
        T = np.zeros((k, rows.shape[0]))
        T[np.arange(k), furthest_sum(rows, k, rng)] = 1.0
        found = archetypal_analysis(rows, T, self.tol, self.max_iter)
        return _Learned(rows.mixed(found.T), found.objective, found.rounds)


def _half_squares(rows: Rows, W: Array, H: Array) -> float:
    total = 0.0
    for where, block in rows.blocks():
        total += float(np.sum(np.square(block - W[where] @ H)))
    return 0.5 * total
