"""Codes by projected subgradient steps: [D] Algorithms 2 and 3."""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np

from thalweg._typing import Array, Indices, Mask, Observed
from thalweg.divergences import Divergence
from thalweg.divergences.huber import Huber
from thalweg.divergences.kl import KL
from thalweg.divergences.l1 import L1
from thalweg.divergences.mahalanobis import Mahalanobis
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.encoders import Codes
from thalweg.encoders._iteration import encode_divergence_chunks
from thalweg.encoders._subgradient_steps import (
    Point,
    armijo_step,
    constant_step,
    inverse,
    largest_curvature,
    polyak_step,
)
from thalweg.encoders.columns import take_columns
from thalweg.encoders.divergence_problem import DivergenceProblem, coefficients, dense_problem
from thalweg.errors import ParameterError
from thalweg.prox import Prox
from thalweg.prox.orthant import Orthant

__all__ = ["Rule", "Subgradient"]

Rule = Literal["auto", "armijo", "constant", "polyak"]

# Losses whose curvature is largest at an exact fit.
_BOUNDED_CURVATURE = (Huber, Mahalanobis, SquaredL2)
# A sample stops when a step decreases its objective by less than this multiple of tol times it: the
# decrease of all further steps is assumed to be at most 10 times that of the last.
_STEP_TOL_SHARE = 0.1
# A decrease below this share of the initial objective counts as 0.
_NEGLIGIBLE_SHARE = 1e-12
# Iterations of the power method that bounds a constant curvature; any number gives a bound.
_POWER_ITERATIONS = 8
# Polyak's rule: decrease, as a share of delta, that resets the counter of steps without progress,
# and number of such steps after which delta is halved.
_PROGRESS_SHARE, _PATIENCE = 0.01, 100


@dataclass(frozen=True)
class Subgradient:
    """Compute argmin_{h in H} d(v | W h) + omega(h) by projected subgradient steps.

    H is the box of codes between ``low`` and ``high`` times sum(v) / sum(W). That level is also
    the initial code of all atoms. The paper's bounds, 1e-8 and 1e8, and its first trial step, 1,
    have units; here they scale with the data.

    Parameters
    ----------
    loss : Divergence
        The loss d.
    penalty : Prox
        Penalty of the codes: an elastic net on the orthant.
    step : {"auto", "armijo", "constant", "polyak"}
        ``"armijo"`` reduces each step until the objective decreases enough. ``"constant"`` is the
        inverse of the largest curvature, for losses of bounded curvature. ``"polyak"`` aims at a
        value ``delta`` below the best one so far, halves delta without progress, and returns the
        best codes; it suits losses with kinks. ``"auto"`` is ``"polyak"`` for the l1 distance,
        ``"constant"`` for losses of bounded curvature, and ``"armijo"`` otherwise.
    low, high : float
        Bounds of the box H.
    tol : float
        A sample stops when a step decreases its objective by at most ``0.1 * tol`` times the
        objective; with ``"polyak"``, when delta is at most ``tol`` times the objective. Neither
        bounds the suboptimality.
    max_iter : int
        Maximum number of steps.
    absolute : bool
        Whether ``low``, ``high``, a first trial step of 1 and, with ``"polyak"``, ``tol`` are in
        the units of the data, as printed in the paper. This suits data of one scale only.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.subgradient import Subgradient
    >>> Subgradient().encode(np.array([[1.0], [3.0]]), np.ones((2, 1))).H
    array([[2.]])
    """

    name: ClassVar[str] = "subgradient"

    loss: Divergence = field(default_factory=KL)
    penalty: Prox = field(default_factory=Orthant)
    step: Rule = "auto"
    low: float = 1e-8
    high: float = 1e8
    tol: float = 1e-3
    max_iter: int = 2000
    absolute: bool = False

    def __post_init__(self) -> None:
        if self.step not in get_args(Rule):
            raise ParameterError(
                f"step must be one of {', '.join(map(repr, get_args(Rule)))}, got "
                f"{self.step!r}. Use one of these names."
            )
        if not 0.0 <= self.low < 1.0 < self.high:
            raise ParameterError(
                f"low and high must satisfy 0 <= low < 1 < high, got low={self.low!r} and "
                f"high={self.high!r}. They are in units of the mean code of a sample."
            )

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Observed | None = None
    ) -> Codes:
        """Encode the columns of V; see :class:`thalweg.encoders.Encoder`."""
        l1, l2 = coefficients(self.penalty)
        run = self._polyak if self._rule() == "polyak" else self._descend
        return encode_divergence_chunks(dense_problem(self.loss, V, W, observed, l1, l2), H0, run)

    def _rule(self) -> str:
        bounded = isinstance(self.loss, _BOUNDED_CURVATURE)
        if self.step == "auto":  # [D] V-C
            return "polyak" if isinstance(self.loss, L1) else "constant" if bounded else "armijo"
        if self.step == "constant" and not bounded:
            raise ParameterError(
                f"loss must have bounded curvature if step='constant', got {self.loss!r}. Use "
                "step='armijo', or step='polyak' for the l1 distance."
            )
        return self.step

    def _start(self, problem: DivergenceProblem, H: Array) -> Point:
        """Return the initial point, with the bounds and the constant step of each sample."""
        level = problem.start()[0]
        level = np.ones_like(level) if self.absolute else level
        limits = [self.low * level, self.high * level]
        if self._rule() == "constant":  # [D] V-C, beta = 1 / L
            largest = largest_curvature(
                problem, problem.curvature(problem.V, np.inf), _POWER_ITERATIONS
            )
            limits.append(np.broadcast_to(inverse(largest), level.shape))
        empty = np.empty(0, H.dtype)
        return Point(problem, H, empty, empty, np.array(limits, H.dtype)).at(H)

    def _descend(self, problem: DivergenceProblem, H: Array) -> Codes:
        point = self._start(problem, H)
        armijo = partial(armijo_step, trial=1.0 if self.absolute else None)
        advance = constant_step if self._rule() == "constant" else armijo
        result, alive = point.H.copy(order="F"), np.arange(H.shape[1])
        solved = np.zeros(alive.size, dtype=np.bool_)
        negligible = _NEGLIGIBLE_SHARE * point.value
        for _ in range(self.max_iter):
            previous, point = point.value, advance(point)
            result.T[alive] = point.H.T
            enough = _STEP_TOL_SHARE * self.tol * point.value + negligible[alive]
            converged = previous - point.value <= enough
            if converged.any():
                solved[alive[converged]] = True
                rest = np.flatnonzero(~converged)
                alive, point = alive[rest], point.take(rest)
            if alive.size == 0:
                break
        return problem.codes(result, solved)

    def _polyak(self, problem: DivergenceProblem, H: Array) -> Codes:
        point = self._start(problem, H)
        result, alive = point.H.copy(order="F"), np.arange(H.shape[1])
        solved = np.zeros(alive.size, dtype=np.bool_)
        target = _Target.below(point.value)
        for _ in range(self.max_iter):
            point, stationary = polyak_step(point, target.reference - target.delta)
            better = point.value < target.best
            result.T[alive[better]] = point.H.T[better]
            target, stalled = target.after(point.value)
            if stalled.any():
                point = point.at(np.where(stalled, take_columns(result, alive), point.H))
            limit = self.tol * (1.0 if self.absolute else target.best)
            done = stationary | (target.delta <= limit)
            if done.any():
                solved[alive[done]] = True
                rest = np.flatnonzero(~done)
                alive, point, target = alive[rest], point.take(rest), target.take(rest)
            if alive.size == 0:
                break
        return problem.codes(result, solved)


class _Target(NamedTuple):
    """The target value of Polyak's steps: ``delta`` below ``reference``.

    The reference follows the best value once it has decreased by a share of delta. A sample without
    such progress for some steps returns to its best codes, and its delta is halved.
    """

    best: Array
    reference: Array
    delta: Array
    waited: Array

    @classmethod
    def below(cls, value: Array) -> "_Target":
        """Return the initial target, half of the value."""
        return cls(value, value, 0.5 * value, np.zeros_like(value))

    def after(self, value: Array) -> tuple["_Target", Mask]:
        """Return the target after a step, and which samples have stalled."""
        best = np.minimum(self.best, value)
        progress = best <= self.reference - _PROGRESS_SHARE * self.delta
        waited = np.where(progress, 0.0, self.waited + 1.0)
        stalled = waited >= _PATIENCE
        reference = np.where(progress | stalled, best, self.reference)
        delta = np.where(stalled, 0.5 * self.delta, self.delta)
        return _Target(best, reference, delta, np.where(stalled, 0.0, waited)), stalled

    def take(self, columns: Indices) -> "_Target":
        """Return the targets of the selected samples."""
        return _Target(*(number[columns] for number in self))
