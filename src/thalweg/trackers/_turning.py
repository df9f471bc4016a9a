"""What the trackers that rotate an orthonormal basis have in common."""

from typing import NamedTuple

import numpy as np

from thalweg import _kernels
from thalweg._checks import require_positive
from thalweg._typing import Array, Mask
from thalweg.errors import ParameterError
from thalweg.trackers import Track
from thalweg.trackers._blocks import as_rows
from thalweg.trackers._robust_fit import RobustFit

__all__ = ["Steered", "choose", "follow", "steady"]

_RULES = {
    "greedy": _kernels.GREEDY,
    "constant": _kernels.CONSTANT,
    "diminishing": _kernels.DIMINISHING,
    "adaptive": _kernels.ADAPTIVE,
    "proximal": _kernels.PROXIMAL,
}


class Steered(NamedTuple):
    """A basis that turns, and what its next turn is judged by.

    ``direction`` and ``code`` are the last gradient, a matrix of rank one and norm one;
    ``control`` holds the step's variable and level, the mean of |h|^2, and the number of samples.
    """

    U: Array
    direction: Array
    code: Array
    control: Array


def choose(step_size: str, rate: float, *known: str) -> int:
    """Return the number of a rule for steps; raise if it is not among those known."""
    require_positive(rate=rate)
    if step_size not in known:
        raise ParameterError(
            f"step_size must be one of {', '.join(map(repr, known))}, got {step_size!r}. "
            "Use one of these names."
        )
    return _RULES[step_size]


def steady(U: Array) -> Steered:
    """Return the basis U before it has turned."""
    F, K = U.shape
    return Steered(U, np.zeros(F, U.dtype), np.zeros(K), np.zeros(4))


def follow(
    state: Steered, V: Array, observed: Mask | None, rule: int, rate: float, fit: RobustFit
) -> tuple[Steered, Track]:
    """Return the state after the columns of V, with codes of least absolute residual."""
    X, mask = as_rows(V, observed, state.U.dtype)
    U = np.array(state.U.T, order="C")
    direction, code, control = (x.copy() for x in state[1:])
    H, R = np.empty((len(X), len(U)), dtype=U.dtype), np.empty_like(X)
    error = np.empty(len(X))
    how = rule, rate, fit.rho, fit.tol, fit.max_iter
    _kernels.track_l1(U, X, mask, *how, control, direction, code, H, R, error)
    return Steered(U.T, direction, code, control), Track(H.T, R.T, error)
