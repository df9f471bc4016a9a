"""Exact archetypal analysis: archetypes inside of the data's hull."""

from typing import NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.archetypes.data_matrix import DataMatrix
from thalweg.archetypes.hull_projection import nearest_in_hull
from thalweg.solvers.simplex import simplex_least_squares

__all__ = ["Hull", "archetypal_analysis"]


class Hull(NamedTuple):
    """Archetypes T X that lie in the data's hull.

    Attributes
    ----------
    T : array of shape (k, m)
        How they are mixed from samples.
    W : array of shape (m, k)
        How samples are mixed from them.
    objective : float
        |X - W T X|^2.
    rounds : int
        How many it took.

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
) -> Hull:
    """Minimise |X - W T X|^2 over W and T with rows in the simplex (A. Cutler, L. Breiman, 1994).

    Codes are exact by an active set; then one archetype after the other is moved to the point of
    the hull next to where its samples would have it (Y. Chen et al., 2014).

    Parameters
    ----------
    rows : DataMatrix
        The data.
    T : array of shape (k, m)
        Where to begin.
    tol : float
        Relative decrease in a round at which to end.
    max_rounds : int
        Cap on the rounds.

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
        if last - objective <= tol * objective or round_ == max_rounds:
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
    return Hull(T, W, objective, round_)


def _squares(rows: DataMatrix, W: Array, Z: Array) -> float:
    parts = (np.sum(np.square(block - W[where] @ Z)) for where, block in rows.blocks())
    return float(sum(parts))
