"""Upper bound of the suboptimality of a fit, from its initial state: Proposition 5 of [A]."""

from typing import NamedTuple

import numpy as np

from thalweg.archetypes.objective import Problem, State
from thalweg.archetypes.outer_approximation import OuterResult, relative_gap

__all__ = ["Certificate"]


class Certificate(NamedTuple):
    """A lower bound of (22) with its gap, and the objective (17) of the initial state.

    Attributes
    ----------
    bound : float
        Lower bound of D(H, X) for all H with the given number of nonzeros.
    gap : float
        Relative gap between the bound and the best H found for (22): OG of [A].
    start : float
        Value of (17) at the initial state.

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
    def of(
        cls, problem: Problem, start: State, plain: OuterResult, anchored: OuterResult
    ) -> "Certificate":
        """Return the certificate of two runs: the bound of ``plain``, the best point of both."""
        size = float(problem.rows.squares.max(initial=0.0))
        gap = relative_gap(min(plain.upper, anchored.upper), plain.lower, size)
        return cls(plain.lower, gap, problem.at(start).objective)

    def guarantee(self, weight: float, objective: float) -> float:
        """Return the right-hand side of (29), an upper bound of (objective - minimum) / objective.

        (29) is (D(X, S) + weight OG D(S, X)) / (weight (1 - OG) D(S, X)) for an initial state S,
        which equals (Phi(S) - weight bound) / (weight bound). It requires an objective of at most
        Phi(S); here the larger of both is used.
        """
        least = weight * self.bound
        return (max(self.start, objective) - least) / least if least > 0.0 else np.inf
