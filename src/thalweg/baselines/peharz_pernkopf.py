"""NMF with a given number of nonzeros (Peharz and Pernkopf, 2012)."""

from typing import Any

import numpy as np

from thalweg._checks import check_count
from thalweg._typing import Array
from thalweg.archetypes import DataMatrix
from thalweg.baselines._base import Baseline, Learned, half_squares
from thalweg.errors import ParameterError
from thalweg.prox.top import Top
from thalweg.solvers.nnls import nnls, prepare

__all__ = ["PeharzPernkopfNMF"]


class PeharzPernkopfNMF(Baseline):
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
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((30, 12))
    >>> H = baselines.PeharzPernkopfNMF(2, sparsity=0.25, random_state=0).fit(X).components_
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

    def _learn(self, rows: DataMatrix, k: int, rng: np.random.Generator) -> Learned:
        share: Any = self.sparsity
        if not (isinstance(share, (float, int, np.number)) and 0.0 < share <= 1.0):
            raise ParameterError(
                f"sparsity must be a share above 0 and at most 1, got {share!r}. "
                "0.5 lets every second entry differ from 0."
            )
        keep = Top(max(1, int(float(share) * rows.shape[1])))
        check_count("updates", self.updates)
        H: Array = rng.random((k, rows.shape[1]))
        best, last, round_ = Learned(H, np.inf, 0), np.inf, 0
        for round_ in range(1, self.max_iter + 1):
            W = nnls(prepare(H @ H.T), rows.correlated(H))[0].T
            H = keep.prox(nnls(prepare(W.T @ W), rows.mixed(W.T))[0].T).T
            for _ in range(self.updates):
                W, H = _multiplied(rows, W, H)
            value = half_squares(rows, W, H)
            if value < best.objective:
                best = Learned(H, value, round_)
            if abs(last - value) <= self.tol * value:
                break
            last = value
        return best._replace(rounds=round_)


def _multiplied(rows: DataMatrix, W: Array, H: Array) -> tuple[Array, Array]:
    """Return codes and components after a multiplicative update of each, H last."""
    tiny = np.finfo(np.float64).tiny
    W = W * rows.correlated(H).T / np.maximum(W @ (H @ H.T), tiny)
    return W, H * rows.mixed(W.T) / np.maximum((W.T @ W) @ H, tiny)
