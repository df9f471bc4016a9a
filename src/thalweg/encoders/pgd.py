"""Projected gradient on the codes, closed-form outliers: OPGD's encoder."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from thalweg._typing import Array, Indices, Mask
from thalweg.encoders import Codes
from thalweg.encoders._iteration import Exit, StoppingRule, encode_chunks
from thalweg.encoders._robust_problem import Point, RobustProblem
from thalweg.encoders.columns import times
from thalweg.encoders.initial_codes import ridge_codes
from thalweg.prox import Prox
from thalweg.prox.l1 import L1
from thalweg.prox.orthant import Orthant

__all__ = ["Pgd"]


@dataclass(frozen=True)
class Pgd:
    """argmin over h, r of |v - W h - r|^2/2 + g(r) + omega(h), by [O] (13)-(17).

    Codes begin at ridge least squares, where the paper draws them at random (VII-B1): a sample
    then has one result, and it does not depend on the samples beside it.

    Parameters
    ----------
    outliers : Prox
        Penalty of the outliers, with their bounds.
    penalty : Prox
        Penalty of the codes.
    tol : float
        Relative accuracy.
    exit : {"decrease", "gap"}
        Stop when the loss decreases by less than ``tol``, or when the duality gap is below it.
    max_iter : int
        Cap on the number of steps; the paper's is 50.
    kappa : float
        Step size times the Lipschitz constant, in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.pgd import Pgd
    >>> from thalweg.prox.l1 import L1
    >>> V = np.array([[1.0], [1.0], [9.0]])
    >>> Pgd(outliers=L1(0.1), exit="gap", tol=1e-9, max_iter=10_000).encode(
    ...     V, np.ones((3, 1))
    ... ).H.round(3)
    array([[1.05]])
    """

    name: ClassVar[str] = "pgd"

    outliers: Prox = field(default_factory=L1)
    penalty: Prox = field(default_factory=Orthant)
    tol: float = 1e-3
    exit: Exit = "decrease"
    max_iter: int = 50
    kappa: float = 0.7

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Mask | None = None
    ) -> Codes:
        """Encode the columns of V; see :class:`thalweg.encoders.Encoder`."""
        rule = StoppingRule(self.tol, self.exit, self.max_iter, every=25)
        L = float(np.linalg.norm(W, 2)) ** 2
        iteration = _Descent(self.kappa / L if L > 0.0 else 1.0)
        return encode_chunks(
            RobustProblem(V, W, observed, self.outliers, self.penalty),
            H0,
            lambda problem, start: rule.run(problem, iteration, start),
        )


class _Descent:
    def __init__(self, step: float) -> None:
        self.eta = step

    def start(self, problem: RobustProblem) -> Array:
        """Return codes near least squares: from zero, 50 steps end far from the optimum."""
        return ridge_codes(problem.V, problem.W, problem.observed, problem.penalty)

    def step(self, problem: RobustProblem, H: Array, point: Point) -> Array:
        """Return the codes after a step down the gradient and back into the set."""
        slope = times(problem.W.T, point.E)
        return problem.penalty.prox(H + self.eta * slope, self.eta)  # [O] (13), (15)

    def settled(self, tol: float) -> bool:
        """Tell that the codes show all there is."""
        return True

    def keep(self, columns: Indices) -> None:
        """Nothing is remembered of a sample but its codes."""
