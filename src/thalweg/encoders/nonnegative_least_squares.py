"""Nonnegative codes under the squared l2 distance, exactly."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from thalweg._typing import Array, Observed
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.encoders import Codes
from thalweg.encoders._iteration import encode_divergence_chunks
from thalweg.encoders.columns import times
from thalweg.encoders.divergence_problem import DivergenceProblem, coefficients, dense_problem
from thalweg.encoders.newton import quadratic_minimum
from thalweg.encoders.squared_l2_problem import SquaredL2Problem
from thalweg.prox import Prox
from thalweg.prox.orthant import Orthant
from thalweg.solvers.nnls import nnls, prepare

__all__ = ["NonnegativeLeastSquares"]


@dataclass(frozen=True)
class NonnegativeLeastSquares:
    """Compute argmin_{h >= 0} |v - W h|^2 / 2 + omega(h) over the observed entries.

    Samples without missing entries need the products W'V and W'W only, so V may be sparse. A
    sample with missing entries has a Gram matrix of its own. There are no outliers.

    Parameters
    ----------
    penalty : Prox
        Penalty of the codes: an elastic net on the orthant.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.nonnegative_least_squares import NonnegativeLeastSquares
    >>> NonnegativeLeastSquares().encode(np.array([[1.0], [3.0]]), np.ones((2, 1))).H
    array([[2.]])
    """

    name: ClassVar[str] = "nonnegative-least-squares"

    penalty: Prox = field(default_factory=Orthant)

    def encode(
        self, V: Any, W: Array, H0: Array | None = None, observed: Observed | None = None
    ) -> Codes:
        """Encode the columns of V, dense or sparse; see :class:`thalweg.encoders.Encoder`.

        H0 is ignored, since the solution is direct.
        """
        l1, l2 = coefficients(self.penalty)
        if observed is not None:
            masked = dense_problem(SquaredL2(), V, W, observed, l1, l2)
            return encode_divergence_chunks(masked, None, _incomplete, W.shape[1] ** 2 // 4)
        problem = SquaredL2Problem(SquaredL2(), V, W, None, l1, l2)
        ridge = l2 * np.eye(W.shape[1], dtype=W.dtype)
        H, _, solved = nnls(prepare(problem.gram + ridge), problem.linear - W.dtype.type(l1))
        return problem.codes(H.astype(W.dtype, copy=False), solved)


def _incomplete(problem: DivergenceProblem, H: Array) -> Codes:
    """Encode a chunk of samples, each with the Gram matrix of its observed entries."""
    zeros = np.zeros_like(H)
    weights = problem.entry_weights()
    slope = H.dtype.type(problem.l1) - times(problem.W.T, problem.V * weights)
    found = quadratic_minimum(problem, zeros, slope, weights).astype(H.dtype, copy=False)
    return problem.codes(found, np.ones(H.shape[1], dtype=np.bool_))
