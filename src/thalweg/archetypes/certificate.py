"""How far from the best a start and the fit from it can be: Proposition 5 of [A]."""

from typing import NamedTuple

import numpy as np

from thalweg.archetypes.objective import Problem, State
from thalweg.archetypes.outer_approximation import Found, relative_gap

__all__ = ["Certificate"]


class Certificate(NamedTuple):
    """A lower bound on (22) with its gap, and the objective (17) of the start.

    Attributes
    ----------
    bound : float
        No H with so many nonzeros has D(H, X) below this.
    gap : float
        Relative gap between the bound and the best H found for (22), OG of [A].
    start : float
        (17) at the start.

    Examples
    --------
    >>> from thalweg.archetypes.certificate import Certificate
    >>> Certificate(bound=2.0, gap=0.1, start=30.0).guarantee(weight=10.0, objective=25.0)
    0.5
    """

    bound: float
    gap: float
    start: float

    @classmethod
    def of(cls, problem: Problem, start: State, plain: Found, anchored: Found) -> "Certificate":
        """Take the bound of (22) itself; points of both runs are feasible for it."""
        size = float(problem.rows.squares.max(initial=0.0))
        gap = relative_gap(min(plain.upper, anchored.upper), plain.lower, size)
        return cls(plain.lower, gap, problem.at(start).objective)

    def guarantee(self, weight: float, objective: float) -> float:
        """Return the right-hand side of (29), a bound on (objective - minimum) / objective.

        (29) has D(X, S) + weight OG D(S, X) over weight (1 - OG) D(S, X) for a start S, which is
        (Phi(S) - weight bound) / (weight bound). It needs an objective that is not above Phi(S),
        and the larger of both is taken.
        """
        least = weight * self.bound
        return (max(self.start, objective) - least) / least if least > 0.0 else np.inf
