"""NMF with sparseness constraints (Hoyer, 2004)."""

from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.archetypes import DataMatrix
from thalweg.baselines._base import (
    BatchBaseline,
    BatchResult,
    half_squares,
    initial_components,
    is_random,
)
from thalweg.errors import ParameterError
from thalweg.solvers.nnls import nnls, prepare

__all__ = ["HoyerNMF", "project_sparse"]

# Iterations between two tests of convergence: a single one may be a short step.
_TESTED_EVERY = 10
# Step sizes grow by this factor after a decrease of the objective, and shrink by the other after
# an increase (the code of P. O. Hoyer).
_STEP_GROWTH, _STEP_SHRINKAGE = 1.2, 0.5
# Step size below which the components stay as they are, for data with a mean square of 1.
# safety margin: any value in 1e-14..1e-8 gives the same results
_SMALLEST_STEP = 1e-12
# Smallest initial code, in units of their mean: multiplicative updates cannot change zeros.
# safety margin: values in 1e-6..1e-3 lead to minima within 4 % of one another
_SMALLEST_CODE = 1e-4


def project_sparse(x: Array, total: float, norm: float) -> Array:
    """Compute argmin_y |y - x|^2 over y >= 0 with sum(y) = total and |y| = norm (Hoyer, 2004).

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.baselines.hoyer import project_sparse
    >>> project_sparse(np.array([3.0, 1.0, 0.5]), 1.0, 1.0).round(6)
    array([1., 0., 0.])
    """
    free = np.ones(x.shape, dtype=bool)
    y = x + (total - x.sum()) / x.size
    for _ in range(x.size):  # each iteration but the last sets an entry to zero
        centre = np.where(free, total / free.sum(), 0.0)
        offset = y - centre
        a, b, c = offset @ offset, 2.0 * (centre @ offset), centre @ centre - norm**2
        step = (-b + np.sqrt(max(b * b - 4.0 * a * c, 0.0))) / (2.0 * a) if a > 0 else 0.0
        y = centre + step * offset
        if np.all(y >= 0.0):
            break
        free &= y > 0.0
        y = np.where(free, y, 0.0)
        y[free] -= (y.sum() - total) / free.sum()
    found: Array = y
    return found


class HoyerNMF(BatchBaseline):
    """NMF whose components have a given sparseness.

    Minimises ``|X - W H|^2 / 2`` over nonnegative codes W and components H, where each component
    has the norm 1 and the sparseness ``(sqrt(n) - |h|_1 / |h|_2) / (sqrt(n) - 1)``. Components
    take projected gradient steps, which are shortened until the objective decreases; codes have
    multiplicative updates.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    sparseness : float, default=0.5
        Sparseness of each component, from 0 (all entries are equal) to below 1 (one nonzero entry).
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-5
        Relative decrease of the objective in ten iterations below which the fit stops. With 0 it
        runs to ``max_iter``.
    init : {"auto", "random", "svd", "samples"} or array, default="auto"
        Initial components, as in :class:`thalweg.OnlineFactorization`; they are projected onto the
        constraint set. ``"auto"`` is ``"random"``, with random codes as well.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the initial components and codes.

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
    P. O. Hoyer, "Non-negative matrix factorization with sparseness constraints", JMLR, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((30, 12))
    >>> baselines.HoyerNMF(2, sparseness=0.6, random_state=0).fit(X).components_.shape
    (2, 12)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        sparseness: float = 0.5,
        max_iter: int = 500,
        tol: float = 1e-5,
        init: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.sparseness = sparseness
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.random_state = random_state

    def _minimise(
        self, rows: DataMatrix, k: int, init: Any, rng: np.random.Generator
    ) -> BatchResult:
        total = _l1_norm(self.sparseness, rows.shape[1])
        H = _projected(initial_components(init, rows, k, rng), total)
        # steps and initial codes are for entries around 1; components do not depend on units
        unit = float(np.sqrt(rows.squares.mean() / rows.shape[1])) or 1.0
        rows = DataMatrix(rows.X / unit)
        W = _initial_codes(init, rows, H, rng)
        step, last, n_iter, converged = 1.0, np.inf, 0, False
        value = half_squares(rows, W, H)
        while n_iter < self.max_iter and not converged:
            n_iter += 1
            H, value, step = _sparse_step(rows, W, H, value, total, step)
            floor = np.finfo(np.float64).tiny
            W = W * rows.correlated(H).T / np.maximum(W @ (H @ H.T), floor)
            value = half_squares(rows, W, H)
            if n_iter % _TESTED_EVERY == 0:
                converged, last = self._is_small(last - value, value), value
        return BatchResult(H, unit**2 * value, n_iter, converged)


def _initial_codes(init: Any, rows: DataMatrix, H: Array, rng: np.random.Generator) -> Array:
    """Return random codes for random components, and those of least squares for others."""
    if is_random(init):
        return rng.random((rows.shape[0], len(H)))
    exact = nnls(prepare(H @ H.T), rows.correlated(H))[0].T
    raised: Array = np.maximum(exact, _SMALLEST_CODE * exact.mean())
    return raised


def _l1_norm(sparseness: Any, n: int) -> float:
    """Return the l1 norm of vectors of length n, norm 1 and this sparseness."""
    if not (isinstance(sparseness, (int, float, np.number)) and 0.0 <= sparseness < 1.0):
        raise ParameterError(
            f"sparseness must be at least 0 and below 1, got {sparseness!r}. Example: 0.5."
        )
    return float(np.sqrt(n) - float(sparseness) * (np.sqrt(n) - 1.0))


def _projected(H: Array, total: float) -> Array:
    return np.array([project_sparse(h, total, 1.0) for h in H])


def _sparse_step(
    rows: DataMatrix, W: Array, H: Array, value: float, total: float, step: float
) -> tuple[Array, float, float]:
    """Return components after a projected step, their objective, and the next step size."""
    gradient = (W.T @ W) @ H - rows.mixed(W.T)
    while step > _SMALLEST_STEP:
        moved = _projected(H - step * gradient, total)
        lower = half_squares(rows, W, moved)
        if lower <= value:
            return moved, lower, _STEP_GROWTH * step
        step *= _STEP_SHRINKAGE
    return H, value, 1.0
