"""Codes by projected gradient steps with closed-form outliers: the encoder of OPGD [O]."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from thalweg._typing import Array, Indices, Observed
from thalweg.encoders import Codes
from thalweg.encoders._iteration import Exit, StoppingRule, encode_chunks
from thalweg.encoders._robust_problem import Point, RobustProblem
from thalweg.encoders.columns import times
from thalweg.encoders.entry_weights import mask_of, require_mask
from thalweg.encoders.initial_codes import ridge_codes
from thalweg.prox import Prox
from thalweg.prox.l1 import L1
from thalweg.prox.orthant import Orthant

__all__ = ["Pgd"]

# Steps between two computations of the duality gap. Many cheap steps are needed for a small gap.
# speed only: a sample stops at most this number of steps late
_GAP_INTERVAL = 25


@dataclass(frozen=True)
class Pgd:
    """Compute argmin_{h, r} |v - W h - r|^2/2 + g(r) + omega(h) by [O] (13)-(17).

    The codes move by proximal gradient steps; the outliers have a closed form.

    Initial codes are those of ridge regression. The paper draws them at random (VII-B1); here the
    result of a sample is deterministic and does not depend on the other samples of the batch.

    Parameters
    ----------
    outliers : Prox
        Penalty of the outliers, bounds included.
    penalty : Prox
        Penalty of the codes.
    tol : float
        Tolerance relative to the loss.
    exit : {"decrease", "gap"}
        Stop when the change of the loss, or when the duality gap, is at most ``tol``.
    max_iter : int
        Maximum number of steps, 50 in the paper.
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
        self, V: Array, W: Array, H0: Array | None = None, observed: Observed | None = None
    ) -> Codes:
        """Encode the columns of V; see :class:`thalweg.encoders.Encoder`."""
        require_mask(observed, "Pgd")
        rule = StoppingRule(self.tol, self.exit, self.max_iter, _GAP_INTERVAL)
        L = float(np.linalg.norm(W, 2)) ** 2
        iteration = _Descent(self.kappa / L if L > 0.0 else 1.0)
        return encode_chunks(
            RobustProblem(V, W, mask_of(observed), self.outliers, self.penalty),
            H0,
            lambda problem, start: rule.run(problem, iteration, start),
        )


class _Descent:
    def __init__(self, step: float) -> None:
        self.eta = step

    def start(self, problem: RobustProblem) -> Array:
        """Return ridge codes; from zero codes, 50 steps end far from the optimum."""
        return ridge_codes(problem.V, problem.W, problem.observed, problem.penalty)

    def step(self, problem: RobustProblem, H: Array, point: Point) -> Array:
        """Return the codes after a gradient step and a proximal step."""
        slope = times(problem.W.T, point.E)
        return problem.penalty.prox(H + self.eta * slope, self.eta)  # [O] (13), (15)

    def settled(self, tol: float) -> bool:
        """Return True, since there are no other variables than the codes."""
        return True

    def keep(self, columns: Indices) -> None:
        """Do nothing, since there is no state per sample."""
