"""NMF with a penalty that makes components sparse (Kim and Park, 2007)."""

from typing import Any

import numpy as np

from thalweg._checks import check_positive
from thalweg._typing import Array
from thalweg.archetypes import DataMatrix
from thalweg.baselines._base import (
    BatchBaseline,
    BatchResult,
    half_squares,
    initial_components,
    is_random,
)
from thalweg.solvers.nnls import nnls, prepare

__all__ = ["KimParkNMF"]


class KimParkNMF(BatchBaseline):
    """NMF with a squared l1 penalty on the features of the components.

    Minimises ``|X - W H|^2 / 2 + ridge |W|^2 / 2 + penalty sum_j |h_j|_1^2 / 2`` over nonnegative
    codes W and components H by alternating nonnegative least squares. h_j is column j of H: the
    entries of feature j.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    penalty : float, default=0.1
        Weight of the squared l1 norms, in the units of the data.
    ridge : float, default=0.1
        Weight of the squares of the codes, in the units of the data. Without it the penalty would
        vanish by scaling.
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-5
        Relative decrease of the objective in an iteration below which the fit stops. With 0 it
        runs to ``max_iter``.
    init : {"auto", "random", "svd", "samples"} or array, default="auto"
        Initial components, as in :class:`thalweg.OnlineFactorization`. ``"auto"`` is ``"random"``,
        which starts from random codes instead.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the initial codes or components.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components.
    objective_ : float
        The objective, with both penalties.
    n_iter_ : int
        Number of iterations.
    n_samples_seen_, n_features_in_ : int
        Counts.

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
        init: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.penalty = penalty
        self.ridge = ridge
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.random_state = random_state

    def _minimise(
        self, rows: DataMatrix, k: int, init: Any, rng: np.random.Generator
    ) -> BatchResult:
        penalty = check_positive("penalty", self.penalty)
        ridge = check_positive("ridge", self.ridge)
        W = _initial_codes(init, rows, k, rng, ridge)
        last, n_iter, converged = np.inf, 0, False
        while n_iter < self.max_iter and not converged:
            n_iter += 1
            H = nnls(prepare(W.T @ W + penalty), rows.mixed(W.T))[0]
            W = _codes(rows, H, ridge)
            value = half_squares(rows, W, H) + 0.5 * ridge * float(np.sum(W**2))
            value += 0.5 * penalty * float(np.sum(H.sum(axis=0) ** 2))
            converged, last = self._is_small(last - value, value), value
        return BatchResult(H, value, n_iter, converged)


def _initial_codes(
    init: Any, rows: DataMatrix, k: int, rng: np.random.Generator, ridge: float
) -> Array:
    """Return random codes, or those of initial components."""
    if not is_random(init):
        return _codes(rows, initial_components(init, rows, k, rng), ridge)
    # codes and components share the units of the data
    unit = float(np.sqrt(rows.squares.mean() / rows.shape[1])) or 1.0
    codes: Array = np.sqrt(unit) * rng.random((rows.shape[0], k))
    return codes


def _codes(rows: DataMatrix, H: Array, ridge: float) -> Array:
    """Return the codes of all samples for fixed components."""
    codes: Array = nnls(prepare(H @ H.T + ridge * np.eye(len(H))), rows.correlated(H))[0].T
    return codes
