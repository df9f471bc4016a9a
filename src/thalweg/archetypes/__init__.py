"""Sparse archetypal NMF [A]: archetypes near the hull of the data, with few nonzeros.

Rows are samples here, as in [A]. For data X (m, n) the problem is

    min  |X - W H|^2 + weight |H - T X|^2   over W, T with rows in the simplex, and H >= 0
                                            with at most ``nonzeros`` entries that are not 0

where H (k, n) are the archetypes, W (m, k) the codes, and T (k, m) the matrix that [A] calls
W with a tilde: T X is the nearest point of the data's hull for each archetype.

A :class:`Problem` is minimised from a start (:mod:`~thalweg.archetypes.starts`,
:mod:`~thalweg.archetypes.outer`) along a path of easier problems
(:mod:`~thalweg.archetypes.path`), each by :func:`~thalweg.archetypes.descent.descend`.
"""

from thalweg.archetypes.problem import Point, Problem, State
from thalweg.archetypes.rows import Rows

__all__ = ["Point", "Problem", "Rows", "State"]
