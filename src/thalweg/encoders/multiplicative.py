"""Codes by multiplicative updates, which minimise a separable majoriser."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from thalweg._typing import Array, Observed
from thalweg.divergences import Divergence
from thalweg.divergences.kl import KL
from thalweg.encoders import Codes
from thalweg.encoders._iteration import encode_divergence_chunks
from thalweg.encoders.columns import take_columns
from thalweg.encoders.divergence_problem import DivergenceProblem, coefficients
from thalweg.encoders.sparse_divergence_problem import make_divergence_problem
from thalweg.prox import Prox
from thalweg.prox.orthant import Orthant
from thalweg.solvers.multiplicative import rescale

__all__ = ["Multiplicative", "multiply"]


@dataclass(frozen=True)
class Multiplicative:
    """Compute argmin_{h >= 0} d(v | W h) + omega(h) by multiplicative updates.

    No step increases the objective.

    Parameters
    ----------
    loss : Divergence
        The loss d.
    penalty : Prox
        Penalty of the codes: an elastic net on the orthant.
    tol : float
        Relative decrease of the objective of a sample in a step, at which it stops.
    max_iter : int
        Maximum number of steps.

    References
    ----------
    C. Fevotte and J. Idier, "Algorithms for nonnegative matrix factorization with the
    beta-divergence", Neural Computation, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.multiplicative import Multiplicative
    >>> Multiplicative().encode(np.array([[1.0], [3.0]]), np.ones((2, 1))).H
    array([[2.]])
    """

    name: ClassVar[str] = "mu"

    loss: Divergence = field(default_factory=KL)
    penalty: Prox = field(default_factory=Orthant)
    tol: float = 1e-4
    max_iter: int = 200

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Observed | None = None
    ) -> Codes:
        """Encode the columns of V; see :class:`thalweg.encoders.Encoder`."""
        l1, l2 = coefficients(self.penalty)
        return encode_divergence_chunks(
            make_divergence_problem(self.loss, V, W, observed, l1, l2), H0, self._run
        )

    def _run(self, problem: DivergenceProblem, H: Array) -> Codes:
        result, alive = H.copy(order="F"), np.arange(H.shape[1])
        solved = np.zeros(alive.size, dtype=np.bool_)
        whole, P = problem, problem.model(H)
        value = problem.value(P, H)
        for _ in range(self.max_iter):
            H = multiply(problem, H, P)
            P = problem.model(H)
            previous, value = value, problem.value(P, H)
            result.T[alive] = H.T
            still = previous - value <= self.tol * value
            if still.any():
                solved[alive[still]] = True
                rest = np.flatnonzero(~still)
                alive, value, problem = alive[rest], value[rest], problem.take(rest)
                H, P = take_columns(H, rest), problem.model(take_columns(H, rest))
            if alive.size == 0:
                break
        return whole.codes(result, solved)


def multiply(problem: DivergenceProblem, H: Array, P: Array) -> Array:
    """Return the codes after one multiplicative update from H, with P the model at H.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.kl import KL
    >>> from thalweg.encoders.divergence_problem import DivergenceProblem
    >>> from thalweg.encoders.multiplicative import multiply
    >>> problem = DivergenceProblem(KL(), np.array([[1.0], [3.0]]), np.ones((2, 1)), None)
    >>> H = np.ones((1, 1))
    >>> multiply(problem, H, problem.model(H))
    array([[2.]])
    """
    neg, pos = problem.split(P)
    l2 = H * H.dtype.type(problem.l2) if problem.l2 else 0.0
    return H * rescale(neg, pos, problem.loss.growth, problem.l1, l2)
