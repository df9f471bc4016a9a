"""NMF with a given number of nonzeros (Peharz and Pernkopf, 2012)."""

from typing import Any

import numpy as np

from thalweg._checks import check_count
from thalweg._typing import Array
from thalweg.archetypes import DataMatrix
from thalweg.baselines._base import BatchBaseline, BatchResult, half_squares, initial_components
from thalweg.errors import ParameterError
from thalweg.prox.top import Top
from thalweg.solvers.nnls import nnls, prepare

__all__ = ["PeharzPernkopfNMF"]


class PeharzPernkopfNMF(BatchBaseline):
    """NMF whose components have a limited number of nonzeros.

    Minimises ``|X - W H|^2 / 2`` over nonnegative codes W and components H, each component with
    at most a share of nonzeros. An iteration computes the codes, then the components by
    nonnegative least squares, keeps the largest entries of each component, and applies
    multiplicative updates to both, which do not change zeros. The result is the best iteration.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    sparsity : float, default=0.5
        Largest share of nonzeros in each component.
    max_iter : int, default=30
        Maximum number of iterations.
    n_updates : int, default=10
        Multiplicative updates in an iteration.
    tol : float, default=1e-5
        Relative change of the objective in an iteration below which the fit stops. With 0 it runs
        to ``max_iter``.
    init : {"auto", "random", "svd", "samples"} or array, default="auto"
        Initial components, as in :class:`thalweg.OnlineFactorization`. ``"auto"`` is ``"random"``.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the initial components.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components.
    objective_ : float
        ``|X - W H|^2 / 2``.
    n_iter_ : int
        Number of iterations.
    n_samples_seen_, n_features_in_ : int
        Counts.

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
        n_updates: int = 10,
        tol: float = 1e-5,
        init: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.sparsity = sparsity
        self.max_iter = max_iter
        self.n_updates = n_updates
        self.tol = tol
        self.init = init
        self.random_state = random_state

    def _minimise(
        self, rows: DataMatrix, k: int, init: Any, rng: np.random.Generator
    ) -> BatchResult:
        largest = Top(_nonzeros(self.sparsity, rows.shape[1]))
        n_updates = check_count("n_updates", self.n_updates)
        H = initial_components(init, rows, k, rng)
        best, least, last, n_iter, converged = H, np.inf, np.inf, 0, False
        while n_iter < self.max_iter and not converged:
            n_iter += 1
            W = nnls(prepare(H @ H.T), rows.correlated(H))[0].T
            H = largest.prox(nnls(prepare(W.T @ W), rows.mixed(W.T))[0].T).T
            for _ in range(n_updates):
                W, H = _multiplied(rows, W, H)
            value = half_squares(rows, W, H)
            if value < least:
                best, least = H, value
            converged, last = self._is_small(abs(last - value), value), value
        return BatchResult(best, least, n_iter, converged)


def _nonzeros(sparsity: Any, n: int) -> int:
    """Return the largest number of nonzeros of a component with n entries."""
    if not (isinstance(sparsity, (float, int, np.number)) and 0.0 < sparsity <= 1.0):
        raise ParameterError(
            f"sparsity must be above 0 and at most 1, got {sparsity!r}. It is the share of "
            "nonzeros: 0.5 allows half of the entries of a component."
        )
    return max(1, int(float(sparsity) * n))


def _multiplied(rows: DataMatrix, W: Array, H: Array) -> tuple[Array, Array]:
    """Return codes and components after a multiplicative update of each, H last."""
    tiny = np.finfo(np.float64).tiny
    W = W * rows.correlated(H).T / np.maximum(W @ (H @ H.T), tiny)
    return W, H * rows.mixed(W.T) / np.maximum((W.T @ W) @ H, tiny)
