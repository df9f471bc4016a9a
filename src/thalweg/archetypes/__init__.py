"""Sparse archetypal NMF [A]: sparse archetypes near the convex hull of the data.

Rows are samples here, as in [A]. For data X (m, n) the problem is

    min  |X - W H|^2 + weight |H - T X|^2   over W, T with rows in the simplex, and H >= 0
                                            with at most ``nonzeros`` nonzero entries

where H (k, n) are the archetypes, W (m, k) the codes, and T (k, m) the matrix that [A] calls
W with a tilde: T X is the projection of the archetypes onto the convex hull of the data.

A :class:`Problem` is minimised from an initial state (:mod:`~thalweg.archetypes.initialisation`,
:mod:`~thalweg.archetypes.outer_approximation`) for decreasing weights
(:mod:`~thalweg.archetypes.continuation`), each by block descent
(:mod:`~thalweg.archetypes.block_descent`).
"""

from thalweg.archetypes.data_matrix import DataMatrix
from thalweg.archetypes.objective import Point, Problem, State

__all__ = ["DataMatrix", "Point", "Problem", "State"]
