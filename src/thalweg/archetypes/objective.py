"""The objective (17) of [A]."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.archetypes.data_matrix import DataMatrix

__all__ = ["Point", "Problem", "State"]


class State(NamedTuple):
    """The variables H, W and T.

    Attributes
    ----------
    H : array of shape (k, n)
        Archetypes.
    W : array of shape (m, k)
        Codes, with rows in the simplex.
    T : array of shape (k, m)
        Weights of the samples in the hull point T X of each archetype, with rows in the simplex.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import DataMatrix
    >>> from thalweg.archetypes.initialisation import zero
    >>> zero(DataMatrix.of(np.ones((3, 2))), 1).W.ravel()
    array([1., 1., 1.])
    """

    H: Array
    W: Array
    T: Array


class Point(NamedTuple):
    """A state with its objective and products of H.

    Attributes
    ----------
    state : State
        H, W and T.
    objective : float
        Value of (17).
    HX : array of shape (k, m)
        H X'.
    HH : array of shape (k, k)
        H H'.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Problem, DataMatrix
    >>> from thalweg.archetypes.initialisation import zero
    >>> problem = Problem(DataMatrix.of(np.ones((3, 2))), weight=1.0)
    >>> problem.at(zero(problem.rows, 1)).objective
    8.0
    """

    state: State
    objective: float
    HX: Array
    HH: Array


@dataclass(frozen=True, eq=False)
class Problem:
    """The problem [A] (17): minimise |X - W H|^2 + weight |H - T X|^2 over H, W and T.

    Parameters
    ----------
    rows : DataMatrix
        The data X.
    weight : float
        Weight lambda of the distance from the convex hull.
    nonzeros : int or None
        Largest number of nonzeros of H; None for no limit.
    emphasis : array of shape (m,), optional
        Weights of the squared errors of the samples, 1 by default. The constrained form (3) uses
        Lagrange multipliers.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.archetypes import Problem, DataMatrix
    >>> Problem(DataMatrix.of(np.eye(3)), weight=1.0, nonzeros=4).rows.shape
    (3, 3)
    """

    rows: DataMatrix
    weight: float
    nonzeros: int | None = None
    emphasis: Array | None = None

    def emphasised(self, W: Array) -> Array:
        """Return the codes times the weights of their samples."""
        return W if self.emphasis is None else self.emphasis[:, None] * W

    def at(self, state: State) -> Point:
        """Evaluate a state."""
        return self.known(state, self.rows.correlated(state.H), state.H @ state.H.T)

    def known(self, state: State, HX: Array, HH: Array) -> Point:
        """Evaluate a state with known products.

        The squares are expanded; cancellation leaves an error of about 1e-16 |X|^2.
        """
        _, W, T = state
        strong, squares = self.emphasised(W), self.emphasised(self.rows.squares[:, None])
        fit = squares.sum() - 2.0 * np.vdot(strong.T, HX) + np.vdot(W.T @ strong, HH)
        if self.weight:
            fit += self.weight * (np.trace(HH) - 2.0 * np.vdot(T, HX) + self._hull_squares(T))
        return Point(state, max(float(fit), 0.0), HX, HH)

    def exact(self, state: State) -> float:
        """Return (17) from the residuals, without cancellation."""
        H, W, T = state
        total = 0.0
        for where, block in self.rows.blocks():
            rest = np.sum(np.square(block - W[where] @ H), axis=1)
            total += float(np.sum(rest if self.emphasis is None else self.emphasis[where] * rest))
        if self.weight:
            total += self.weight * float(np.sum(np.square(H - self.rows.mixed(T))))
        return total

    def _hull_squares(self, T: Array) -> float:
        gram = self.rows.gram
        if gram is not None:
            return float(np.vdot(T @ gram, T))
        return float(np.sum(np.square(self.rows.mixed(T))))
