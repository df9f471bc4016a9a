"""NMF with sparseness constraints (Hoyer, 2004)."""

from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.archetypes import DataMatrix
from thalweg.baselines._base import Baseline, Learned, half_squares
from thalweg.errors import ParameterError

__all__ = ["HoyerNMF", "project_sparse"]


def project_sparse(x: Array, total: float, norm: float) -> Array:
    """Return the nearest y >= 0 with sum(y) = total and |y| = norm (Hoyer, 2004).

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.baselines.hoyer import project_sparse
    >>> project_sparse(np.array([3.0, 1.0, 0.5]), 1.0, 1.0).round(6)
    array([1., 0., 0.])
    """
    free = np.ones(x.shape, dtype=bool)
    y = x + (total - x.sum()) / x.size
    for _ in range(x.size):  # each round but the last sets an entry to zero
        middle = np.where(free, total / free.sum(), 0.0)
        away = y - middle
        a, b, c = away @ away, 2.0 * (middle @ away), middle @ middle - norm**2
        step = (-b + np.sqrt(max(b * b - 4.0 * a * c, 0.0))) / (2.0 * a) if a > 0 else 0.0
        y = middle + step * away
        if np.all(y >= 0.0):
            break
        free &= y > 0.0
        y = np.where(free, y, 0.0)
        y[free] -= (y.sum() - total) / free.sum()
    found: Array = y
    return found


class HoyerNMF(Baseline):
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
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.sparseness = sparseness
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _learn(self, rows: DataMatrix, k: int, rng: np.random.Generator) -> Learned:
        level: Any = self.sparseness
        if not (isinstance(level, (int, float, np.number)) and 0.0 <= level < 1.0):
            raise ParameterError(
                f"sparseness must be at least 0 and below 1, got {level!r}. Example: 0.5."
            )
        m, n = rows.shape
        # steps and the start are for entries around 1; components do not depend on units
        unit = float(np.sqrt(rows.squares.sum() / (m * n))) or 1.0
        rows = DataMatrix(rows.X / unit)
        total = np.sqrt(n) - float(level) * (np.sqrt(n) - 1.0)
        H = _projected(rng.random((k, n)), total)
        W = rng.random((m, k))
        step, last, round_ = 1.0, np.inf, 0
        value = half_squares(rows, W, H)
        for round_ in range(1, self.max_iter + 1):
            H, value, step = _sparse_step(rows, W, H, value, total, step)
            floor = np.finfo(np.float64).tiny
            W = W * rows.correlated(H).T / np.maximum(W @ (H @ H.T), floor)
            value = half_squares(rows, W, H)
            if round_ % 10 == 0:
                if last - value <= self.tol * value:
                    break
                last = value
        return Learned(H, unit**2 * value, round_)


def _projected(H: Array, total: float) -> Array:
    return np.array([project_sparse(h, total, 1.0) for h in H])


def _sparse_step(
    rows: DataMatrix, W: Array, H: Array, value: float, total: float, step: float
) -> tuple[Array, float, float]:
    slope = (W.T @ W) @ H - rows.mixed(W.T)
    while step > 1e-12:
        moved = _projected(H - step * slope, total)
        lower = half_squares(rows, W, moved)
        if lower <= value:
            return moved, lower, 1.2 * step
        step /= 2.0
    return H, value, 1.0
