"""Robust PCA with missing entries by projected gradient descent on the factors."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from thalweg._checks import require_nonnegative, require_positive
from thalweg._typing import Array, Mask
from thalweg.completion import Completed
from thalweg.completion._singular_vectors import leading, padded, unit
from thalweg.errors import ParameterError

__all__ = ["FactoredGradientDescent", "largest"]

_TINY = float(np.finfo(np.float64).tiny)
# Rounding error of share * n, so that 0.3 * 10 counts as 3.
_COUNT_ROUNDING = 1e-9


@dataclass(frozen=True)
class FactoredGradientDescent:
    """Compute argmin_{A, B, R} |V - A B' - R|^2 / 2 over observed entries, R sparse.

    R has at most a given share of nonzeros in each row and each column. In each iteration R is the
    part of the residual that is among the largest entries of both its row and its column; then both
    factors take a gradient step on the rest. The initial factors are singular vectors of the data
    without their largest entries. A balancing term keeps the factors at the same scale, and a
    projection bounds the norms of their rows (incoherence).

    Parameters
    ----------
    outlier_share : float
        Largest share of outliers in a row or column (alpha), below 1; 0 for none.
    slack : float
        Factor of that share in the iteration (gamma), at least 1. ``slack * outlier_share`` is the
        share of entries that may be outliers, and must be well below 1/2.
    incoherence : float
        Bound of the squared norm of a row of a factor, in units of its mean (mu), at least 1.
    step : float
        Step size in units of the inverse of the largest singular value (eta).
    tol : float
        Stop when the factors change by at most this share of their norm.
    max_iter : int
        Maximum number of iterations.

    References
    ----------
    X. Yi, D. Park, Y. Chen and C. Caramanis, "Fast algorithms for robust PCA via gradient
    descent", NIPS, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.completion.factored_gradient_descent import FactoredGradientDescent
    >>> rng = np.random.default_rng(0)
    >>> L = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 100))
    >>> R = np.where(rng.random(L.shape) < 0.05, 10.0, 0.0)
    >>> found = FactoredGradientDescent().complete(L + R, None, 2)
    >>> bool(np.linalg.norm(found.U @ found.H - L) < 1e-4 * np.linalg.norm(L))
    True
    """

    name: ClassVar[str] = "factored-gradient-descent"

    outlier_share: float = 0.1
    slack: float = 2.0
    incoherence: float = 10.0
    step: float = 0.5
    tol: float = 1e-7
    max_iter: int = 1000

    def __post_init__(self) -> None:
        require_nonnegative(tol=self.tol)
        require_positive(step=self.step, max_iter=self.max_iter)
        require_positive(slack=self.slack, incoherence=self.incoherence)
        if not 0.0 <= self.outlier_share < 1.0:
            raise ParameterError(
                f"outlier_share must be at least 0 and below 1, got {self.outlier_share!r}. "
                "Use the largest share of outliers in a sample or a feature."
            )
        for name in ("slack", "incoherence"):
            if getattr(self, name) < 1.0:
                raise ParameterError(
                    f"{name} must be at least 1, got {getattr(self, name)!r}. "
                    f"Use for example {name}=2.0."
                )

    def complete(
        self,
        V: Array,
        observed: Mask | None,
        n_components: int,
        rng: np.random.Generator | int | None = 0,
    ) -> Completed:
        """Return the low-rank part and outliers; see :class:`thalweg.completion.Completion`."""
        Y = (V if observed is None else np.where(observed, V, V.dtype.type(0))).astype(np.float64)
        scale = unit(Y)
        problem = _Problem(Y / scale, observed, 1.0 if observed is None else float(observed.mean()))
        rank = min(n_components, *V.shape)
        pair, size = self._start(problem, rank, np.random.default_rng(rng))
        n_iter, converged = 0, size == 0.0
        if not converged:
            pair, n_iter, converged = self._descend(problem, pair, size)
        R = scale * self._outliers(problem, pair)
        U, H = padded(*_orthonormal(pair[0], scale * pair[1]), n_components, V.dtype)
        return Completed(U, H, R.astype(V.dtype), n_iter, converged)

    def _start(
        self, problem: "_Problem", rank: int, rng: np.random.Generator
    ) -> tuple[tuple[Array, Array], float]:
        """Return factors of the data without their largest entries, and their spectral norm."""
        # With missing entries [Yi et al.] allow twice the share, in rows of fewer entries.
        share = self.outlier_share * (1.0 if problem.observed is None else 2.0 * problem.density)
        rest = problem.Y - largest(problem.Y, share)
        L, s, R = leading(rest / max(problem.density, _TINY), rank, rng)
        root = np.sqrt(s)
        return (self._project(L * root, root[0]), self._project(R * root, root[0])), float(s[0])

    def _descend(
        self, problem: "_Problem", pair: tuple[Array, Array], size: float
    ) -> tuple[tuple[Array, Array], int, bool]:
        A, B = pair
        # Gradient of the balancing term |A'A - B'B|^2 / 8, or / 64 with missing entries.
        balance = 1.0 / 2.0 if problem.observed is None else 1.0 / 16.0
        norm = np.sqrt(size)
        for n_iter in range(1, int(self.max_iter) + 1):
            E = problem.residual(A, B)
            E = (largest(E, self._share(problem)) - E) / problem.density
            D = balance * (A.T @ A - B.T @ B)
            # In units of the current factors; the initial ones may be too small.
            step = self.step / max(np.linalg.norm(A, 2), np.linalg.norm(B, 2)) ** 2
            new = (
                self._project(A - step * (E @ B + A @ D), norm),
                self._project(B - step * (E.T @ A - B @ D), norm),
            )
            moved = np.linalg.norm(new[0] - A) ** 2 + np.linalg.norm(new[1] - B) ** 2
            A, B = new
            if moved <= self.tol**2 * (np.linalg.norm(A) ** 2 + np.linalg.norm(B) ** 2):
                return (A, B), n_iter, True
        return (A, B), int(self.max_iter), False

    def _outliers(self, problem: "_Problem", pair: tuple[Array, Array]) -> Array:
        return largest(problem.residual(*pair), self._share(problem))

    def _share(self, problem: "_Problem") -> float:
        return min(self.slack * self.outlier_share * problem.density, 1.0)

    def _project(self, A: Array, norm: float) -> Array:
        """Return A with rows clipped to the norm sqrt(2 mu K / F) ``norm``."""
        n, rank = A.shape
        bound = np.sqrt(2.0 * self.incoherence * rank / n) * norm
        lengths = np.linalg.norm(A, axis=1, keepdims=True)
        shorter: Array = A * (bound / np.maximum(lengths, max(bound, _TINY)))
        return shorter


class _Problem(NamedTuple):
    """Data with 0 at missing entries, and the share of observed entries."""

    Y: Array
    observed: Mask | None
    density: float

    def residual(self, A: Array, B: Array) -> Array:
        """Return the data minus A B' at observed entries, 0 elsewhere."""
        E: Array = self.Y - A @ B.T
        return E if self.observed is None else E * self.observed


def largest(E: Array, share: float) -> Array:
    """Keep the entries that are among the largest of both their row and their column.

    Parameters
    ----------
    E : array of shape (F, N)
        Residuals.
    share : float
        Largest share of a row or a column that is kept, rounded down.

    Returns
    -------
    array of shape (F, N)
        E with 0 at all other entries. The published method keeps entries that are not smaller than
        the k-th largest, here those larger than the (k + 1)-th. This differs for ties, which are
        not kept: otherwise all entries of a constant matrix would be outliers.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.completion.factored_gradient_descent import largest
    >>> largest(np.array([[9.0, 1.0, 2.0], [3.0, -8.0, 4.0], [5.0, 6.0, 7.0]]), 0.34)
    array([[ 9.,  0.,  0.],
           [ 0., -8.,  0.],
           [ 0.,  0.,  7.]])
    """
    size = np.abs(E)
    kept = size > _after_largest(size, share, 1)
    kept &= size > _after_largest(size, share, 0)
    found: Array = np.where(kept, E, 0.0)
    return found


def _after_largest(size: Array, share: float, axis: int) -> Array:
    """Return the (k + 1)-th largest number along an axis, with k = share * n rounded down."""
    n = size.shape[axis]
    k = int(share * n + _COUNT_ROUNDING)
    if k >= n:
        return np.full((1, 1), -1.0)
    return np.take(np.partition(size, n - 1 - k, axis=axis), [n - 1 - k], axis=axis)


def _orthonormal(A: Array, B: Array) -> tuple[Array, Array]:
    """Return U H = A B' with orthonormal columns of U, in descending order of singular values."""
    Q, upper = np.linalg.qr(A)
    P, s, Vt = np.linalg.svd(upper @ B.T, full_matrices=False)
    return Q @ P, s[:, None] * Vt
