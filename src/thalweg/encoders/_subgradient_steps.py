"""Points and steps of the projected subgradient methods of [D]."""

from typing import NamedTuple

import numpy as np

from thalweg._typing import Array, Indices, Mask
from thalweg.encoders.columns import take_columns, times
from thalweg.encoders.divergence_problem import DivergenceProblem

__all__ = ["Point", "armijo_step", "constant_step", "inverse", "largest_curvature", "polyak_step"]

# Armijo's rule, [D] Algorithm 3: share of the predicted decrease, factor between two trial steps,
# number of reductions.
_ARMIJO_SHARE, _STEP_FACTOR, _MAX_REDUCTIONS = 0.01, 0.1, 10
# First trial step, in units of the inverse of a bound on the curvature.
_FIRST_STEP = 10.0
# Smallest entry of a vector of the power method, relative to the largest: the bound needs x > 0.
# Safety margin: the bound holds for any positive value.
_MIN_POWER_ENTRY = 1e-3


class Point(NamedTuple):
    """Codes, model and objective; ``limits`` holds the bounds and, if constant, the step."""

    problem: DivergenceProblem
    H: Array
    P: Array
    value: Array
    limits: Array

    def at(self, H: Array) -> "Point":
        """Return the point at the projection of H onto the box."""
        H = np.clip(H, self.limits[0], self.limits[1])
        P = self.problem.model(H)
        return self._replace(H=H, P=P, value=self.problem.value(P, H))

    def slope(self) -> Array:
        """Return a subgradient in the codes."""
        slope = times(self.problem.W.T, self.problem.grad(self.P))
        slope += slope.dtype.type(self.problem.l1)
        return slope + slope.dtype.type(self.problem.l2) * self.H if self.problem.l2 else slope

    def take(self, columns: Indices) -> "Point":
        """Return the selected samples."""
        parts = (take_columns(X, columns) for X in (self.H, self.P, self.value, self.limits))
        return Point(self.problem.take(columns), *parts)


def constant_step(point: Point) -> Point:
    """Return the point after a step of constant size, [D] (12)."""
    return point.at(point.H - point.limits[2] * point.slope())


def armijo_step(point: Point, trial: float | None = None) -> Point:
    """Return the point after a step that satisfies Armijo's condition.

    [D] Algorithm 3 tests the point before its projection; that may be negative, with a loss of
    NaN, which passes. Here the projected point is tested. By default the first trial step follows
    from the curvature.
    """
    slope = point.slope()
    step = np.full_like(point.value, trial) if trial is not None else _first_trial(point)
    for _ in range(_MAX_REDUCTIONS + 1):
        tried = point.at(point.H - step * slope)
        predicted = np.einsum("kb,kb->b", slope, tried.H - point.H)
        failed = ~(tried.value <= point.value + _ARMIJO_SHARE * predicted)
        if not failed.any():
            return tried
        step[failed] *= _STEP_FACTOR
    return tried.at(np.where(failed, point.H, tried.H))


def _first_trial(point: Point) -> Array:
    """Return a first trial step for each sample, rather too large than too small."""
    curvature = point.problem.curvature(point.P, np.inf)
    curvature = np.where(point.limits[1] > 0.0, curvature, 0.0)  # infinite for some zero samples
    first = _FIRST_STEP * inverse(largest_curvature(point.problem, curvature, iterations=1))
    return np.broadcast_to(first, point.value.shape).copy()


def polyak_step(point: Point, target: Array) -> tuple[Point, Mask]:
    """Return the point after a step that reaches the target value if the loss is linear.

    Codes at a bound that the step would leave do not move. The second result is True for samples
    of which no code moves.
    """
    slope = point.slope()
    room = np.where(slope > 0.0, point.H - point.limits[0], point.limits[1] - point.H)
    slope[room <= 0.0] = 0.0
    size = np.einsum("kb,kb->b", slope, slope)
    return point.at(point.H - (point.value - target) * inverse(size) * slope), size == 0.0


def largest_curvature(problem: DivergenceProblem, curvature: Array, iterations: int) -> Array:
    """Return an upper bound of the largest eigenvalue of W' diag(c) W + l2 I for each sample.

    For a nonnegative matrix G and any x > 0 the largest eigenvalue is at most max_k (G x)_k / x_k
    (Collatz and Wielandt); the power method tightens the bound.
    """
    W, l2 = problem.W, problem.W.dtype.type(problem.l2)
    x = np.ones((W.shape[1], curvature.shape[1]), W.dtype)
    bound: Array = np.full(x.shape[1], np.inf, W.dtype)
    for _ in range(iterations):
        y = times(W.T, curvature * times(W, x)) + l2 * x
        bound = np.minimum(bound, np.max(y / x, axis=0))
        x = np.maximum(y * inverse(y.max(axis=0)), _MIN_POWER_ENTRY)
    return bound


def inverse(x: Array) -> Array:
    """Return 1 / x, and 0 where x is 0."""
    quotient: Array = np.divide(1.0, x, out=np.zeros_like(x), where=x > 0.0)
    return quotient
