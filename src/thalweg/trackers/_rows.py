"""What the trackers by recursive least squares have in common: rows with matrices of their own."""

from typing import NamedTuple

import numpy as np

from thalweg._checks import require_positive
from thalweg._typing import Array
from thalweg.errors import ParameterError
from thalweg.trackers._blocks import pack

__all__ = ["Rows", "first_rows", "motion"]

# The sine of the angle between sample and subspace above which eta of [T] (26) is 1.
_FULL_STEP = 0.5
# Names of what eta multiplies: nothing, the step, or the forgetting factor; as the kernels want it.
_STEPS = {"full": (0.0, 0.0), "adaptive": (_FULL_STEP, 0.0), "forgetting": (_FULL_STEP, 1.0)}


class Rows(NamedTuple):
    """A basis, and a matrix of second moments for each of its rows.

    ``D`` and ``L`` are the factors of the rows' matrices, in blocks of rows; they are zero before
    the first sample, whose size sets their scale.
    """

    U: Array
    D: Array
    L: Array


def first_rows(U: Array) -> Rows:
    """Return the basis U with nothing learned."""
    blocks, K = pack(U), U.shape[1]
    triangle = np.zeros((len(blocks), K * (K - 1) // 2, blocks.shape[2]), dtype=U.dtype)
    return Rows(U, np.zeros_like(blocks), triangle)


def motion(forgetting: float, step_size: str, ridge: float) -> Array:
    """Return how rows move, as the kernels want it; raise if a parameter has no meaning."""
    if not 0.0 < forgetting <= 1.0:
        raise ParameterError(
            f"forgetting must be above 0 and at most 1, got {forgetting!r}. "
            "1 forgets nothing; half_life(n) gives the factor that halves after n samples."
        )
    if step_size not in _STEPS:
        raise ParameterError(
            f"step_size must be one of {', '.join(map(repr, _STEPS))}, got {step_size!r}. "
            "Use one of these names."
        )
    require_positive(ridge=ridge)
    return np.array([forgetting, ridge, *_STEPS[step_size]])
