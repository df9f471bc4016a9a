"""Archetypal analysis: archetypes in the convex hull of the data."""

from typing import NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.archetypes.data_matrix import DataMatrix
from thalweg.archetypes.hull_projection import nearest_in_hull
from thalweg.solvers.simplex import simplex_least_squares

__all__ = ["ArchetypesInHull", "archetypal_analysis"]


class ArchetypesInHull(NamedTuple):
    """Archetypes T X in the convex hull of the data.

    Attributes
    ----------
    T : array of shape (k, m)
        Weights of the samples in the archetypes.
    W : array of shape (m, k)
        Codes: weights of the archetypes in the samples.
    objective : float
        |X - W T X|^2.
    rounds : int
        Number of iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.archetypal_analysis import archetypal_analysis
    >>> archetypal_analysis(DataMatrix.of(np.eye(3)), np.eye(3)).objective
    0.0
    """

    T: Array
    W: Array
    objective: float
    rounds: int


def archetypal_analysis(
    rows: DataMatrix, T: Array, tol: float = 1e-6, max_rounds: int = 200
) -> ArchetypesInHull:
    """Minimise |X - W T X|^2 over W and T with rows in the simplex (A. Cutler, L. Breiman, 1994).

    The codes are computed exactly by an active-set method. Then each archetype in turn is set to
    the projection onto the convex hull of its unconstrained optimum (Y. Chen et al., 2014).

    Parameters
    ----------
    rows : DataMatrix
        The data.
    T : array of shape (k, m)
        Initial weights.
    tol : float
        Relative decrease of the objective in an iteration, at which to stop.
    max_rounds : int
        Maximum number of iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.archetypal_analysis import archetypal_analysis
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.3, 0.3]])
    >>> start = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 0.5, 0.5]])
    >>> archetypal_analysis(DataMatrix.of(X), start).T.round(3)
    array([[1., 0., 0., 0.],
           [0., 1., 0., 0.],
           [0., 0., 1., 0.]])
    """
    T, Z, last = T.copy(), rows.mixed(T), np.inf
    W, _ = simplex_least_squares(Z @ Z.T, rows.correlated(Z).T)
    for round_ in range(1, max_rounds + 1):
        W, _ = simplex_least_squares(Z @ Z.T, rows.correlated(Z).T, W)
        objective = _squares(rows, W, Z)
        if (tol > 0.0 and last - objective <= tol * objective) or round_ == max_rounds:
            break
        last = objective
        pull = rows.mixed(W.T) - (W.T @ W) @ Z  # W'(X - W Z)
        for k in range(len(T)):
            size = W[:, k] @ W[:, k]
            if size == 0.0:
                continue
            goal = (Z[k] + pull[k] / size)[None]
            T[k] = nearest_in_hull(rows, rows.correlated(goal), T[k : k + 1])[0][0]
            moved = rows.mixed(T[k : k + 1])[0]
            pull -= np.outer(W.T @ W[:, k], moved - Z[k])
            Z[k] = moved
    return ArchetypesInHull(T, W, objective, round_)


def _squares(rows: DataMatrix, W: Array, Z: Array) -> float:
    parts = (np.sum(np.square(block - W[where] @ Z)) for where, block in rows.blocks())
    return float(sum(parts))
