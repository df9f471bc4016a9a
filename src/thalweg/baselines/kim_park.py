"""NMF with a penalty that makes components sparse (Kim and Park, 2007)."""

from typing import Any

import numpy as np

from thalweg._checks import check_positive
from thalweg._typing import Array
from thalweg.archetypes import DataMatrix
from thalweg.baselines._base import Baseline, Learned, half_squares
from thalweg.solvers.nnls import nnls, prepare

__all__ = ["KimParkNMF"]


class KimParkNMF(Baseline):
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
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((30, 12))
    >>> baselines.KimParkNMF(2, random_state=0).fit(X).components_.shape
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

    def _learn(self, rows: DataMatrix, k: int, rng: np.random.Generator) -> Learned:
        penalty = check_positive("penalty", self.penalty)
        ridge = check_positive("ridge", self.ridge)
        # codes and components share the units of the data
        unit = float(np.sqrt(rows.squares.mean() / rows.shape[1])) or 1.0
        W: Array = np.sqrt(unit) * rng.random((rows.shape[0], k))
        last, rounds = np.inf, 0
        while rounds < self.max_iter:
            rounds += 1
            H = nnls(prepare(W.T @ W + penalty), rows.mixed(W.T))[0]
            W = nnls(prepare(H @ H.T + ridge * np.eye(k)), rows.correlated(H))[0].T
            value = half_squares(rows, W, H) + 0.5 * ridge * float(np.sum(W**2))
            value += 0.5 * penalty * float(np.sum(H.sum(axis=0) ** 2))
            if last - value <= self.tol * value:
                break
            last = value
        return Learned(H, value, rounds)
