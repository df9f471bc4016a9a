"""Distances between archetypes, data and true archetypes, and the sparsity, as in [A]."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thalweg._typing import Array
from thalweg.archetypes.data_matrix import DataMatrix
from thalweg.archetypes.hull_projection import nearest_in_hull
from thalweg.errors import InputError
from thalweg.metrics._checks import matrix, require_shape

__all__ = ["Robustness", "archetype_distance", "hull_distance", "robustness", "sparsity"]

# Points per block, which bounds the memory.
_BLOCK_SIZE = 1024


class Robustness(NamedTuple):
    """Squared distances between true and estimated archetypes, relative to |true|^2.

    Attributes
    ----------
    weak : float
        From each true archetype to the nearest estimate: 0 if each true one was found.
    strong : float
        From each estimate to the nearest true archetype: 0 if each estimate is a true one.

    Examples
    --------
    >>> from thalweg.metrics import robustness
    >>> robustness([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]])
    Robustness(weak=1.0, strong=0.0)
    """

    weak: float
    strong: float


def hull_distance(points: ArrayLike, hull: ArrayLike) -> float:
    """Return D(points, hull) of [A], the sum of squared distances to the convex hull.

    sum_p min_t |p - t hull|^2 over t >= 0 with sum(t) = 1.

    Parameters
    ----------
    points : array of shape (n_points, n_features)
        One point per row.
    hull : array of shape (n_corners, n_features)
        The points whose convex hull is taken, one per row. If there are many more rows than
        features, the solver works with subsets of them.

    Examples
    --------
    >>> from thalweg.metrics import hull_distance
    >>> hull_distance([[2.0, 0.5], [0.5, 0.5]], [[0, 0], [1, 0], [1, 1], [0, 1]])
    1.0
    """
    P, corners = _complete("points", points), DataMatrix.of(_complete("hull", hull))
    require_shape("points", P, (len(P), corners.shape[1]), "hull")
    total = 0.0
    for begin in range(0, len(P), _BLOCK_SIZE):
        block = P[begin : begin + _BLOCK_SIZE]
        T, _ = nearest_in_hull(corners, corners.correlated(block))
        total += float(np.sum(np.square(block - corners.mixed(T))))
    return total


def archetype_distance(one: ArrayLike, other: ArrayLike) -> float:
    """Return L(one, other) of [A] (5), the sum of squared distances to the nearest row.

    sum_i min_j |one_i - other_j|^2, which is not symmetric.

    Parameters
    ----------
    one, other : arrays of shapes (k1, n_features) and (k2, n_features)
        Archetypes as rows.

    Examples
    --------
    >>> from thalweg.metrics import archetype_distance
    >>> archetype_distance([[0.0, 0.0], [3.0, 0.0]], [[0.0, 1.0]])
    11.0
    """
    A, B = _complete("one", one), _complete("other", other)
    require_shape("other", B, (len(B), A.shape[1]), "one")
    return float(sum(np.sum((B - row) ** 2, axis=1).min() for row in A))


def robustness(true: ArrayLike, found: ArrayLike) -> Robustness:
    """Return weak and strong robustness, Definition 1 of [A], relative to |true|^2.

    Parameters
    ----------
    true, found : arrays of shapes (k1, n_features) and (k2, n_features)
        Archetypes as rows.

    Examples
    --------
    >>> from thalweg.metrics import robustness
    >>> robustness([[2.0, 0.0]], [[2.0, 0.0], [0.0, 0.0]])
    Robustness(weak=0.0, strong=1.0)
    """
    size = float(np.sum(_complete("true", true) ** 2))
    if size == 0.0:
        raise InputError(
            "true must have a nonzero entry, got zeros only: the distances are relative to its "
            "norm. Use archetype_distance instead."
        )
    return Robustness(
        archetype_distance(true, found) / size, archetype_distance(found, true) / size
    )


def sparsity(components: ArrayLike) -> float:
    """Return the share of nonzero entries, |H|_0 / (k n).

    Parameters
    ----------
    components : array of shape (n_components, n_features)
        Any matrix.

    Examples
    --------
    >>> from thalweg.metrics import sparsity
    >>> sparsity([[1.0, 0.0], [0.0, 0.0]])
    0.25
    """
    H = _complete("components", components)
    return float(np.count_nonzero(H) / H.size)


def _complete(name: str, values: ArrayLike) -> Array:
    rows = matrix(name, values)
    if np.isnan(rows).any():
        raise InputError(
            f"{name} must have no missing entries, got NaN. "
            "Fill the gaps first, for example with decompose(X).low_rank."
        )
    return rows
