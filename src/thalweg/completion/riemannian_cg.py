"""Matrix completion by conjugate gradients on the manifold of matrices of a fixed rank."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from thalweg import _native
from thalweg._checks import require_nonnegative, require_positive
from thalweg._typing import Array, Mask
from thalweg.completion import Completed
from thalweg.completion._fixed_rank_manifold import (
    Point,
    Tangent,
    add,
    embed,
    inner,
    project,
    retract,
    transport,
)
from thalweg.completion._singular_vectors import leading, padded, unit

__all__ = ["RiemannianCG"]

# Line search: share of the predicted decrease that a step must attain (Vandereycken, 2013), and
# number of halvings.
_ARMIJO_SHARE, _MAX_HALVINGS = 1e-4, 40
# Smallest cosine of the angle between a direction and the negative gradient; directions with a
# smaller one are replaced by the negative gradient (Vandereycken, 2013).
_MIN_COSINE = 0.1
# Rounding error of the objective, in machine epsilons of its value.
_OBJECTIVE_ROUNDING = 4.0


@dataclass(frozen=True)
class RiemannianCG:
    """Compute argmin_{rank X = K} of the sum of (v - x)^2 / 2 over the observed entries.

    Riemannian conjugate gradients: Polak-Ribiere directions with restarts, vector transport by
    projection, a first trial step that is exact for the linearised problem, backtracking, and the
    nearest matrix of rank K as retraction. An iteration takes O((F + N) K^2 + n K) operations for n
    observed entries; X is never formed. Typically tens of iterations are needed, but thousands if
    the ratio of the singular values of X exceeds about 100.

    Parameters
    ----------
    tol : float
        Stop when the norm of the Riemannian gradient is at most this share of the norm of the
        data.
    max_iter : int
        Maximum number of iterations.

    References
    ----------
    B. Vandereycken, "Low-rank matrix completion by Riemannian optimization", SIAM Journal on
    Optimization, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.completion.riemannian_cg import RiemannianCG
    >>> rng = np.random.default_rng(0)
    >>> V = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 80))
    >>> observed = rng.random(V.shape) < 0.4
    >>> found = RiemannianCG().complete(V * observed, observed, 3)
    >>> bool(np.linalg.norm(found.U @ found.H - V) < 1e-6 * np.linalg.norm(V))
    True
    """

    name: ClassVar[str] = "riemannian-cg"

    tol: float = 1e-8
    max_iter: int = 500

    def __post_init__(self) -> None:
        require_nonnegative(tol=self.tol)
        require_positive(max_iter=self.max_iter)

    def complete(
        self,
        V: Array,
        observed: Mask | None,
        n_components: int,
        rng: np.random.Generator | int | None = 0,
    ) -> Completed:
        """Return the low-rank part; see :class:`thalweg.completion.Completion`."""
        problem = _Entries.of(V, observed)
        size = unit(problem.values)
        problem = problem._replace(values=problem.values / size)
        rank = min(n_components, *V.shape)
        start = Point(*leading(problem.start(), rank, np.random.default_rng(rng)))
        point, n_iter, converged = self._descend(problem, start)
        U, H = padded(point.U, size * point.s[:, None] * point.V.T, n_components, V.dtype)
        return Completed(U, H, np.zeros_like(V), n_iter, converged)

    def _descend(self, problem: "_Entries", point: Point) -> tuple[Point, int, bool]:
        goal = self.tol * float(np.linalg.norm(problem.values))
        misfit = problem.misfit(point)
        gradient = problem.gradient(point, misfit)
        direction = add(gradient, gradient, -2.0)
        for n_iter in range(1, int(self.max_iter) + 1):
            if inner(gradient, gradient) ** 0.5 <= goal:
                return point, n_iter, True
            found = _search(problem, point, misfit, inner(gradient, direction), direction)
            if found is None:
                return point, n_iter, False
            last = point, gradient, direction
            point, misfit = found
            gradient = problem.gradient(point, misfit)
            direction = _conjugate(point, gradient, *last)
        return point, int(self.max_iter), False


class _Entries(NamedTuple):
    """The observed entries: their positions in CSR format, and their values."""

    shape: tuple[int, int]
    indptr: Any
    indices: Any
    values: Array

    @classmethod
    def of(cls, V: Array, observed: Mask | None) -> "_Entries":
        """Return the observed entries of V in double precision."""
        if observed is None:
            observed = np.ones(V.shape, dtype=np.bool_)
        places = sparse.csr_array(observed)
        values = np.ascontiguousarray(V)[np.ascontiguousarray(observed)].astype(np.float64)
        return cls(V.shape, places.indptr, places.indices, values)

    def matrix(self, values: Array) -> Any:
        """Return the sparse matrix with other values at the same positions."""
        return sparse.csr_array((values, self.indices, self.indptr), shape=self.shape)

    def start(self) -> Any:
        """Return an unbiased estimate of the matrix: 0 at missing entries, the others scaled up."""
        share = self.values.size / max(self.shape[0] * self.shape[1], 1)
        return self.matrix(self.values / max(share, np.finfo(np.float64).tiny))

    def at(self, left: Array, right: Array) -> Array:
        """Return the entries of left @ right.T at the observed positions."""
        found = np.empty_like(self.values)
        rows, columns = np.ascontiguousarray(left), np.ascontiguousarray(right)
        _native.sampled_products(self.indptr, self.indices, columns, rows, found)
        return found

    def misfit(self, point: Point) -> Array:
        """Return the point minus the data at the observed entries."""
        difference: Array = self.at(point.U * point.s, point.V) - self.values
        return difference

    def gradient(self, point: Point, misfit: Array) -> Tangent:
        """Return the Riemannian gradient of half the sum of squares."""
        G = self.matrix(misfit)
        return project(point, G @ point.V, G.T @ point.U)


def _search(
    problem: _Entries, point: Point, misfit: Array, slope: float, direction: Tangent
) -> tuple[Point, Array] | None:
    """Return the next point and its misfit, or None if no step decreases the objective."""
    change = problem.at(*embed(point, direction))
    curvature = float(change @ change)
    if curvature == 0.0:
        return None
    step = -float(change @ misfit) / curvature  # the minimum along the tangent
    value = 0.5 * float(misfit @ misfit)
    rounding = _OBJECTIVE_ROUNDING * float(np.finfo(np.float64).eps) * value
    for _ in range(_MAX_HALVINGS):
        trial = retract(point, direction, step)
        left = problem.misfit(trial)
        if 0.5 * float(left @ left) <= value + _ARMIJO_SHARE * step * slope + rounding:
            return trial, left
        step *= 0.5
    return None


def _conjugate(
    to: Point, gradient: Tangent, before: Point, old_gradient: Tangent, old_direction: Tangent
) -> Tangent:
    """Return the next Polak-Ribiere direction, or the negative gradient if it descends too little.

    Negative coefficients are replaced by 0 (PR+).
    """
    steepest = add(gradient, gradient, -2.0)
    change = add(gradient, transport(before, old_gradient, to), -1.0)
    beta = max(0.0, inner(gradient, change) / inner(old_gradient, old_gradient))
    direction = add(steepest, transport(before, old_direction, to), beta)
    lengths = (inner(direction, direction) * inner(gradient, gradient)) ** 0.5
    return direction if -inner(gradient, direction) > _MIN_COSINE * lengths else steepest
