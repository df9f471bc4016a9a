"""How far archetypes are from data, from the truth, and from being sparse: distances of [A]."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thalweg._typing import Array
from thalweg.archetypes.hull import nearest_in_hull
from thalweg.archetypes.rows import Rows
from thalweg.errors import InputError
from thalweg.metrics._checks import matrix, require_shape

__all__ = ["Robustness", "archetype_distance", "hull_distance", "robustness", "sparsity"]

# Points whose nearest points are found together, so that memory does not grow with their number.
_POINTS = 1024


class Robustness(NamedTuple):
    """Distances between true and found archetypes, relative to the truth's square.

    Attributes
    ----------
    weak : float
        From each true archetype to the nearest that was found: 0 if all are there.
    strong : float
        From each that was found to the nearest true one: 0 if nothing else is there.

    Examples
    --------
    >>> from thalweg.metrics import robustness
    >>> robustness([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]])
    Robustness(weak=1.0, strong=0.0)
    """

    weak: float
    strong: float


def hull_distance(points: ArrayLike, hull: ArrayLike) -> float:
    """Return D(points, hull) of [A]: squared distances to the convex hull, summed over points.

    Parameters
    ----------
    points : array of shape (n_points, n_features)
        One point a row.
    hull : array of shape (n_corners, n_features)
        The rows span the hull. With many more rows than features they are looked through in
        working sets.

    Examples
    --------
    >>> from thalweg.metrics import hull_distance
    >>> hull_distance([[2.0, 0.5], [0.5, 0.5]], [[0, 0], [1, 0], [1, 1], [0, 1]])
    1.0
    """
    P, corners = _complete("points", points), Rows.of(_complete("hull", hull))
    require_shape("points", P, (len(P), corners.shape[1]), "hull")
    total = 0.0
    for begin in range(0, len(P), _POINTS):
        block = P[begin : begin + _POINTS]
        T, _ = nearest_in_hull(corners, corners.correlated(block))
        total += float(np.sum(np.square(block - corners.mixed(T))))
    return total


def archetype_distance(one: ArrayLike, other: ArrayLike) -> float:
    """Return L(one, other) of [A] (5): from each row of one to the nearest row of the other.

    A sum of squared distances; it is not symmetric.

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
            "true should have an entry that is not zero, but all are: distances are relative to "
            "its size. Use archetype_distance."
        )
    return Robustness(
        archetype_distance(true, found) / size, archetype_distance(found, true) / size
    )


def sparsity(components: ArrayLike) -> float:
    """Return the share of entries that are not zero, |H|_0 / (k n).

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
            f"{name} should be complete, but there is NaN in it: no distance is known then. "
            "Fill gaps first, with decompose(X).low_rank for instance."
        )
    return rows
