"""Where to begin: zero, successive projections, samples, chance, or given archetypes."""

import numpy as np

from thalweg._typing import Array, Indices
from thalweg.archetypes.data_matrix import DataMatrix
from thalweg.archetypes.hull_projection import nearest_in_hull
from thalweg.archetypes.objective import State
from thalweg.solvers.simplex import simplex_least_squares

__all__ = ["around", "drawn", "furthest_sum", "projections", "robust_projections", "zero"]


def zero(rows: DataMatrix, k: int) -> State:
    """Return H = 0, with all weight of W and T on the first archetype and sample.

    [A] leaves W and T open. Equal weights would be no start: archetypes that begin alike stay
    alike; here each next sweep splits off one more.

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


def around(rows: DataMatrix, H: Array) -> State:
    """Return given archetypes with their best codes and hull points.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.initialisation import around
    >>> around(DataMatrix.of(np.array([[0.25, 0.75]])), np.eye(2)).W
    array([[0.25, 0.75]])
    """
    HX = rows.correlated(H)
    W, _ = simplex_least_squares(H @ H.T, HX.T)
    T, _ = nearest_in_hull(rows, HX)
    return State(H, W, T)


def projections(rows: DataMatrix, k: int) -> Indices:
    """Return k samples by successive projections (M. C. U. Araujo et al., 2001).

    The largest sample is taken and projected out of all others, k times. When nothing is left
    over the samples are repeated.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.initialisation import projections
    >>> projections(DataMatrix.of(np.array([[3.0, 0.0], [2.0, 1.0], [0.0, 2.0]])), 2)
    array([0, 2])
    """
    left, chosen = rows.squares.copy(), list[int]()
    basis: Array = np.empty((0, rows.shape[1]))
    floor = 1e-12 * left.max(initial=0.0)
    while len(chosen) < min(k, rows.shape[0]):
        best = int(np.argmax(left))
        if left[best] <= floor:
            break
        basis = _orthogonalised(basis, rows.take([best])[0])
        left = np.maximum(left - rows.correlated(basis[-1:])[0] ** 2, 0.0)
        left[best] = 0.0
        chosen.append(best)
    return np.resize(np.array(chosen or [0], dtype=np.intp), k)


def robust_projections(rows: DataMatrix, k: int, near: int = 5) -> Array:
    """Return archetypes by successive projections, each the mean of samples next to the extreme.

    One noisy sample is a poor vertex; the ``near`` samples that reach farthest into the same
    direction are nearly as extreme, and their mean has less noise (after N. Gillis, 2019).

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.initialisation import robust_projections
    >>> X = np.array([[3.0, 0.0], [2.8, 0.0], [1.0, 0.0], [0.5, 0.0]])
    >>> robust_projections(DataMatrix.of(X), 1, near=2)
    array([[2.9, 0. ]])
    """
    left, found = rows.squares.copy(), list[Array]()
    basis: Array = np.empty((0, rows.shape[1]))
    floor = 1e-12 * left.max(initial=0.0)
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
    """Return k samples far from one another (M. Morup and L. K. Hansen, 2012).

    Each next one has the largest sum of distances to those before; then the first ones, which
    had little to go by, are chosen anew.

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
    for turn in range(1, k + min(k, 10)):
        if turn >= k:
            total -= _distances(rows, chosen.pop(0))
        allowed = np.where(np.isin(np.arange(m), chosen), -np.inf, total)
        chosen.append(int(np.argmax(allowed)))
        total += _distances(rows, chosen[-1])
    return np.array(chosen, dtype=np.intp)


def drawn(rows: DataMatrix, k: int, rng: np.random.Generator) -> Indices:
    """Return k samples by chance, each once as long as there are enough.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.initialisation import drawn
    >>> sorted(drawn(DataMatrix.of(np.eye(3)), 3, np.random.default_rng(0)).tolist())
    [0, 1, 2]
    """
    m = rows.shape[0]
    order = np.concatenate([rng.permutation(m) for _ in range(-(-k // m))])
    return order[:k].astype(np.intp)


def _orthogonalised(basis: Array, x: Array) -> Array:
    for _ in range(2):  # twice is enough against rounding
        x = x - basis.T @ (basis @ x)
    return np.vstack([basis, x / np.linalg.norm(x)])


def _distances(rows: DataMatrix, index: int) -> Array:
    inner = rows.correlated(rows.take([index]))[0]
    distances: Array = np.sqrt(np.maximum(rows.squares + rows.squares[index] - 2.0 * inner, 0.0))
    return distances
