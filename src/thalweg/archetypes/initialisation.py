"""Initial states: zero, selected samples, or given archetypes."""

import numpy as np

from thalweg._typing import Array, Indices
from thalweg.archetypes.data_matrix import DataMatrix
from thalweg.archetypes.hull_projection import nearest_in_hull
from thalweg.archetypes.objective import State
from thalweg.solvers.simplex import simplex_least_squares

__all__ = [
    "from_archetypes",
    "furthest_sum",
    "random_samples",
    "robust_successive_projections",
    "successive_projections",
    "zero",
]

# A squared norm below this share of the largest one is a rounding error.
_ROUNDING = 1e-12
# Number of samples that the furthest-sum method replaces (Morup and Hansen, 2012).
_MAX_REPLACED = 10


def zero(rows: DataMatrix, k: int) -> State:
    """Return H = 0, with all weight of W and T on the first archetype and the first sample.

    [A] does not define W and T. With uniform weights all archetypes would stay equal; here each
    sweep separates one more archetype from the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.initialisation import zero
    >>> zero(DataMatrix.of(np.ones((3, 4))), 2).H.shape
    (2, 4)
    """
    m, n = rows.shape
    W, T = np.zeros((m, k)), np.zeros((k, m))
    W[:, 0], T[:, 0] = 1.0, 1.0
    return State(np.zeros((k, n)), W, T)


def from_archetypes(rows: DataMatrix, H: Array) -> State:
    """Return the state of given archetypes, with optimal codes and hull points.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.initialisation import from_archetypes
    >>> from_archetypes(DataMatrix.of(np.array([[0.25, 0.75]])), np.eye(2)).W
    array([[0.25, 0.75]])
    """
    HX = rows.correlated(H)
    W, _ = simplex_least_squares(H @ H.T, HX.T)
    T, _ = nearest_in_hull(rows, HX)
    return State(H, W, T)


def successive_projections(rows: DataMatrix, k: int) -> Indices:
    """Select k samples by the successive projection algorithm (M. C. U. Araujo et al., 2001).

    In each of k steps, the sample with the largest norm is selected, and all samples are projected
    onto its orthogonal complement. If all projections are 0, the selected samples are repeated.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.initialisation import successive_projections
    >>> successive_projections(DataMatrix.of(np.array([[3.0, 0.0], [2.0, 1.0], [0.0, 2.0]])), 2)
    array([0, 2])
    """
    left, chosen = rows.squares.copy(), list[int]()
    basis: Array = np.empty((0, rows.shape[1]))
    floor = _ROUNDING * left.max(initial=0.0)
    while len(chosen) < min(k, rows.shape[0]):
        best = int(np.argmax(left))
        if left[best] <= floor:
            break
        basis = _orthogonalised(basis, rows.take([best])[0])
        left = np.maximum(left - rows.correlated(basis[-1:])[0] ** 2, 0.0)
        left[best] = 0.0
        chosen.append(best)
    return np.resize(np.array(chosen or [0], dtype=np.intp), k)


def robust_successive_projections(rows: DataMatrix, k: int, near: int = 5) -> Array:
    """Compute k archetypes by successive projections, each a mean of extreme samples.

    A single noisy sample is a poor vertex. The mean of the ``near`` samples that are most extreme
    in the same direction has less noise (after N. Gillis, 2019).

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.initialisation import robust_successive_projections
    >>> X = np.array([[3.0, 0.0], [2.8, 0.0], [1.0, 0.0], [0.5, 0.0]])
    >>> robust_successive_projections(DataMatrix.of(X), 1, near=2)
    array([[2.9, 0. ]])
    """
    left, found = rows.squares.copy(), list[Array]()
    basis: Array = np.empty((0, rows.shape[1]))
    floor = _ROUNDING * left.max(initial=0.0)
    near = min(near, max(1, rows.shape[0] // (2 * k)))
    while len(found) < min(k, rows.shape[0]) and left.max() > floor:
        vertex = rows.take([int(np.argmax(left))])[0]
        direction = vertex - basis.T @ (basis @ vertex)
        reach = rows.correlated(direction[None])[0]
        mean = rows.take(np.argsort(-reach, kind="stable")[:near]).mean(axis=0)
        basis = _orthogonalised(basis, mean)
        left = np.maximum(left - rows.correlated(basis[-1:])[0] ** 2, 0.0)
        found.append(mean)
    if not found:
        return np.zeros((k, rows.shape[1]))
    return np.array(found)[np.resize(np.arange(len(found)), k)]


def furthest_sum(rows: DataMatrix, k: int, rng: np.random.Generator) -> Indices:
    """Select k distant samples (M. Morup and L. K. Hansen, 2012).

    Each sample has the largest sum of distances to those selected before. Then the first ones,
    up to 10, are replaced in the same way.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.initialisation import furthest_sum
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.4, 0.4], [0.0, 1.0]])
    >>> sorted(furthest_sum(DataMatrix.of(X), 3, np.random.default_rng(0)).tolist())
    [0, 1, 3]
    """
    m = rows.shape[0]
    chosen = [int(rng.integers(m))]
    total = _distances(rows, chosen[0])
    for turn in range(1, k + min(k, _MAX_REPLACED)):
        if turn >= k:
            total -= _distances(rows, chosen.pop(0))
        allowed = np.where(np.isin(np.arange(m), chosen), -np.inf, total)
        chosen.append(int(np.argmax(allowed)))
        total += _distances(rows, chosen[-1])
    return np.array(chosen, dtype=np.intp)


def random_samples(rows: DataMatrix, k: int, rng: np.random.Generator) -> Indices:
    """Select k random samples, without repetition if there are enough.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.initialisation import random_samples
    >>> sorted(random_samples(DataMatrix.of(np.eye(3)), 3, np.random.default_rng(0)).tolist())
    [0, 1, 2]
    """
    m = rows.shape[0]
    order = np.concatenate([rng.permutation(m) for _ in range(-(-k // m))])
    return order[:k].astype(np.intp)


def _orthogonalised(basis: Array, x: Array) -> Array:
    for _ in range(2):  # "twice is enough" (Kahan and Parlett) against rounding errors
        x = x - basis.T @ (basis @ x)
    return np.vstack([basis, x / np.linalg.norm(x)])


def _distances(rows: DataMatrix, index: int) -> Array:
    inner = rows.correlated(rows.take([index]))[0]
    distances: Array = np.sqrt(np.maximum(rows.squares + rows.squares[index] - 2.0 * inner, 0.0))
    return distances
