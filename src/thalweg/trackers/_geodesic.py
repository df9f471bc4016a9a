"""Rotations of an orthonormal basis along geodesics of the Grassmannian, with l1 codes."""

from typing import NamedTuple

import numpy as np

from thalweg import _native
from thalweg._checks import require_positive
from thalweg._linalg import as_rows
from thalweg._typing import Array, Mask
from thalweg.encoders.robust_regression import RobustRegression
from thalweg.errors import ParameterError
from thalweg.trackers import Track

__all__ = ["GeodesicState", "StepControl", "check_step", "init_geodesic", "step_of", "track_l1"]

STEP_RULES = {
    "greedy": _native.StepRule.GREEDY,
    "constant": _native.StepRule.CONSTANT,
    "diminishing": _native.StepRule.DIMINISHING,
    "adaptive": _native.StepRule.ADAPTIVE,
    "proximal": _native.StepRule.PROXIMAL,
}


class StepControl(NamedTuple):
    """State of the step size.

    ``variable`` and ``level`` are m and l of the adaptive step 2^-l / (1 + m); ``code_size`` is the
    running mean of |h|^2.
    """

    variable: float = 0.0
    level: float = 0.0
    code_size: float = 0.0
    n_samples: float = 0.0


class GeodesicState(NamedTuple):
    """An orthonormal basis, and its last gradient.

    ``direction`` (F,) and ``code`` (K,) are the factors of the last gradient, which has rank one
    and norm one.
    """

    U: Array
    direction: Array
    code: Array
    control: StepControl


def check_step(step_size: str, rate: float, *known: str) -> None:
    """Raise unless the step size is one of the known names and the rate is positive."""
    require_positive(rate=rate)
    if step_size not in known:
        raise ParameterError(
            f"step_size must be one of {', '.join(map(repr, known))}, got {step_size!r}. "
            "Use one of these names."
        )


def step_of(step_size: str, rate: float) -> _native.GeodesicStep:
    """Return the rule of the angles for compiled code."""
    return _native.GeodesicStep(rule=STEP_RULES[step_size], rate=rate)


def init_geodesic(U: Array) -> GeodesicState:
    """Return the state before the first sample, with the basis U."""
    F, K = U.shape
    return GeodesicState(U, np.zeros(F, U.dtype), np.zeros(K), StepControl())


def track_l1(
    state: GeodesicState,
    V: Array,
    observed: Mask | None,
    step_size: str,
    rate: float,
    regression: RobustRegression,
) -> tuple[GeodesicState, Track]:
    """Return the state after the columns of V, with codes of least absolute residuals."""
    X, mask = as_rows(V, observed, state.U.dtype)
    U, control = np.array(state.U.T, order="C"), _native.StepControl(**state.control._asdict())
    direction, code = state.direction.copy(), state.code.copy()
    H, R = np.empty((len(X), len(U)), dtype=U.dtype), np.empty_like(X)
    error = np.empty(len(X))
    step, problem = step_of(step_size, rate), regression.problem()
    _native.track_l1(U, X, mask, step, problem, control, (direction, code), (H, R, error))
    after = StepControl(*(getattr(control, name) for name in StepControl._fields))
    return GeodesicState(U.T, direction, code, after), Track(H.T, R.T, error)
