"""Recursive least squares for the rows of a basis, each with a matrix of its own."""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from thalweg._checks import require_positive
from thalweg._linalg import pack_rows
from thalweg._native import RowUpdate
from thalweg._typing import Array
from thalweg.errors import ParameterError

__all__ = [
    "RowState",
    "check_forgetting",
    "check_row_update",
    "init_rows",
    "row_update",
    "step_settings",
]

# Sine of the angle between sample and subspace above which eta of [T] (26) is 1.
_FULL_STEP_SINE = 0.5


class RowState(NamedTuple):
    """A basis, and a matrix of second moments of the codes for each of its rows.

    ``D`` and ``L`` are the LDL' factors of the matrices, in blocks of rows. They are zero before
    the first sample, whose norm sets their scale.
    """

    U: Array
    D: Array
    L: Array


# The sine above which eta is 1, or 0 for eta = 1; and whether eta multiplies the forgetting factor,
# not the step.
_STEP_SIZES = {
    "full": (0.0, False),
    "adaptive": (_FULL_STEP_SINE, False),
    "forgetting": (_FULL_STEP_SINE, True),
}


def init_rows(U: Array) -> RowState:
    """Return the state before the first sample."""
    blocks, K = pack_rows(U), U.shape[1]
    triangle = np.zeros((len(blocks), K * (K - 1) // 2, blocks.shape[2]), dtype=U.dtype)
    return RowState(U, np.zeros_like(blocks), triangle)


def check_forgetting(forgetting: float) -> None:
    """Raise unless a forgetting factor is above 0 and at most 1."""
    if not (isinstance(forgetting, Real) and 0.0 < forgetting <= 1.0):
        raise ParameterError(
            f"forgetting must be above 0 and at most 1, got {forgetting!r}. "
            "1 forgets nothing; half_life(n) computes the factor that halves after n samples."
        )


def check_row_update(step_size: str, ridge: float) -> None:
    """Raise unless the parameters of the recursion are valid."""
    if step_size not in _STEP_SIZES:
        raise ParameterError(
            f"step_size must be one of {', '.join(map(repr, _STEP_SIZES))}, got {step_size!r}. "
            "Use one of these names."
        )
    require_positive(ridge=ridge)


def row_update(forgetting: float, step_size: str, ridge: float) -> RowUpdate:
    """Return the settings of the recursion for the compiled loops."""
    return RowUpdate(forgetting=forgetting, ridge=ridge, **step_settings(step_size))


def step_settings(step_size: str) -> dict[str, Any]:
    """Return the settings of the compiled loops that a kind of step has."""
    sine, scales_forgetting = _STEP_SIZES[step_size]
    return {"adaptive_sine": sine, "scales_forgetting": scales_forgetting}
