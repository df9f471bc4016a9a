"""Codes by projected subgradients: the paper's own encoder, [D] Algorithms 2 and 3."""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np

from thalweg._typing import Array, Indices, Mask
from thalweg.divergences import Divergence
from thalweg.divergences.huber import Huber
from thalweg.divergences.kl import KL
from thalweg.divergences.l1 import L1
from thalweg.divergences.mahalanobis import Mahalanobis
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.encoders import Codes
from thalweg.encoders._iteration import encode_divergence_chunks
from thalweg.encoders.columns import take_columns, times
from thalweg.encoders.divergence_problem import DivergenceProblem, coefficients
from thalweg.errors import ParameterError
from thalweg.prox import Prox
from thalweg.prox.orthant import Orthant

__all__ = ["Rule", "Subgradient"]

Rule = Literal["auto", "armijo", "constant", "polyak"]

# Losses whose curvature is nowhere larger than where the model fits.
_BOUNDED = (Huber, Mahalanobis, SquaredL2)
# [D] Algorithm 3: share of the promised decrease, factor of a shorter trial, number of those.
_ALPHA, _GAMMA, _TRIALS = 0.01, 0.1, 10
# The first trial is so many times the inverse of a bound on the curvature.
_FIRST = 10.0
# What is left to gain is taken for less than the last step's fall times the inverse of this.
_SHARE = 0.1
# Rounds of the power method that bounds the largest eigenvalue, and the least that an entry of
# its vector may be of the largest.
_ROUNDS, _SMALLEST = 8, 1e-3
# A loss below this share of the first one is as good as zero.
_NOTHING = 1e-12
# Polyak's steps: a fall that counts, as a share of what is aimed at; steps without one.
_STRIDE, _PATIENCE = 0.01, 100


@dataclass(frozen=True)
class Subgradient:
    """argmin over h in H of d(v | W h) + omega(h), by projected subgradient steps.

    H is the box of codes between ``low`` and ``high`` times sum(v) / sum(W), the code of a
    sample that all atoms share alike, where the descent begins, too. The paper's bounds, 1e-8
    and 1e8, have units, and so has its first trial step, 1: here all of them follow the data.

    Parameters
    ----------
    loss : Divergence
        The loss d.
    penalty : Prox
        Penalty of the codes: an elastic net on the orthant.
    step : {"auto", "armijo", "constant", "polyak"}
        ``"armijo"`` shortens each step until the loss falls by enough. ``"constant"`` is the
        inverse of the largest curvature, for losses that have one. ``"polyak"`` aims below the
        best value so far, by ever less, and returns the best codes: the loss may have kinks.
        ``"auto"`` takes the last for the l1 distance, and the second where it can.
    low, high : float
        The ends of H.
    tol : float
        A sample is done when a step lowers its objective by less than a tenth of this share
        of it; with ``"polyak"``, when no more than this share is aimed at, the paper's delta.
        Neither is a certificate.
    max_iter : int
        Cap on the number of steps.
    absolute : bool
        Whether ``low``, ``high``, Armijo's first trial of 1 and, with ``"polyak"``, ``tol`` are
        the paper's as printed, in units of their own. It suits data of one size only.

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
                f"low and high must be numbers below and above 1, got low={self.low!r} and "
                f"high={self.high!r}. They are relative to the sample's own level."
            )

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Mask | None = None
    ) -> Codes:
        """Encode the columns of V; see :class:`thalweg.encoders.Encoder`."""
        l1, l2 = coefficients(self.penalty)
        run = self._seek if self._rule() == "polyak" else self._descend
        return encode_divergence_chunks(
            DivergenceProblem(self.loss, V, W, observed, l1, l2), H0, run
        )

    def _rule(self) -> str:
        bounded = isinstance(self.loss, _BOUNDED)
        if self.step == "auto":  # [D] V-C
            return "polyak" if isinstance(self.loss, L1) else "constant" if bounded else "armijo"
        if self.step == "constant" and not bounded:
            raise ParameterError(
                f"a constant step needs a loss of bounded curvature, got {self.loss!r}. Use "
                "step='armijo', or step='polyak' for the l1 distance."
            )
        return self.step

    def _start(self, problem: DivergenceProblem, H: Array) -> "_Point":
        """Return the first point, with the ends of H and the constant step for each sample."""
        level = problem.start()[0]
        level = np.ones_like(level) if self.absolute else level
        limits = [self.low * level, self.high * level]
        if self._rule() == "constant":  # [D] V-C, beta = 1 / L
            largest = _largest(problem, problem.curvature(problem.V, np.inf), _ROUNDS)
            limits.append(np.broadcast_to(_inverse(largest), level.shape))
        empty = np.empty(0, H.dtype)
        return _Point(problem, H, empty, empty, np.array(limits, H.dtype)).at(H)

    def _descend(self, problem: DivergenceProblem, H: Array) -> Codes:
        point = self._start(problem, H)
        armijo = partial(_armijo, trial=1.0 if self.absolute else None)
        advance = _constant if self._rule() == "constant" else armijo
        result, alive = point.H.copy(order="F"), np.arange(H.shape[1])
        solved = np.zeros(alive.size, dtype=np.bool_)
        negligible = _NOTHING * point.value
        for _ in range(self.max_iter):
            previous, point = point.value, advance(point)
            result.T[alive] = point.H.T
            enough = _SHARE * self.tol * point.value + negligible[alive]
            still = previous - point.value <= enough
            if still.any():
                solved[alive[still]] = True
                rest = np.flatnonzero(~still)
                alive, point = alive[rest], point.take(rest)
            if alive.size == 0:
                break
        return problem.codes(result, solved)

    def _seek(self, problem: DivergenceProblem, H: Array) -> Codes:
        point = self._start(problem, H)
        result, alive = point.H.copy(order="F"), np.arange(H.shape[1])
        solved = np.zeros(alive.size, dtype=np.bool_)
        aim = _Aim.below(point.value)
        for _ in range(self.max_iter):
            point, stuck = _polyak(point, aim.mark - aim.delta)
            better = point.value < aim.best
            result.T[alive[better]] = point.H.T[better]
            aim, tired = aim.after(point.value)
            if tired.any():
                point = point.at(np.where(tired, take_columns(result, alive), point.H))
            done = stuck | (aim.delta <= self.tol * (1.0 if self.absolute else aim.best))
            if done.any():
                solved[alive[done]] = True
                rest = np.flatnonzero(~done)
                alive, point, aim = alive[rest], point.take(rest), aim.take(rest)
            if alive.size == 0:
                break
        return problem.codes(result, solved)


class _Aim(NamedTuple):
    """What Polyak's steps aim at: ``delta`` below ``mark``, a value that was the best.

    The mark follows the best value in strides of a share of delta. A sample that makes none for
    some steps has gone too far: it goes back to its best codes, and delta is halved.
    """

    best: Array
    mark: Array
    delta: Array
    waited: Array

    @classmethod
    def below(cls, value: Array) -> "_Aim":
        """Return the first aim, half of the value."""
        return cls(value, value, 0.5 * value, np.zeros_like(value))

    def after(self, value: Array) -> tuple["_Aim", Mask]:
        """Return the aim after a step, and which samples have gone too far."""
        best = np.minimum(self.best, value)
        stride = best <= self.mark - _STRIDE * self.delta
        waited = np.where(stride, 0.0, self.waited + 1.0)
        tired = waited >= _PATIENCE
        mark = np.where(stride | tired, best, self.mark)
        delta = np.where(tired, 0.5 * self.delta, self.delta)
        return _Aim(best, mark, delta, np.where(tired, 0.0, waited)), tired

    def take(self, columns: Indices) -> "_Aim":
        """Return the aims of some of the samples."""
        return _Aim(*(number[columns] for number in self))


class _Point(NamedTuple):
    """Where some samples are; ``limits`` are the ends of H and, if constant, the step."""

    problem: DivergenceProblem
    H: Array
    P: Array
    value: Array
    limits: Array

    def at(self, H: Array) -> "_Point":
        """Return the samples at the nearest codes in their box."""
        H = np.clip(H, self.limits[0], self.limits[1])
        P = self.problem.model(H)
        return self._replace(H=H, P=P, value=self.problem.value(P, H))

    def slope(self) -> Array:
        """Return a subgradient in the codes."""
        slope = times(self.problem.W.T, self.problem.grad(self.P))
        slope += slope.dtype.type(self.problem.l1)
        return slope + slope.dtype.type(self.problem.l2) * self.H if self.problem.l2 else slope

    def take(self, columns: Indices) -> "_Point":
        """Return some of the samples."""
        parts = (take_columns(X, columns) for X in (self.H, self.P, self.value, self.limits))
        return _Point(self.problem.take(columns), *parts)


def _constant(point: _Point) -> _Point:
    """Return the samples after a step of constant length, [D] (12)."""
    return point.at(point.H - point.limits[2] * point.slope())


def _armijo(point: _Point, trial: float | None = None) -> _Point:
    """Return the samples after a step that is cut until the objective falls by enough.

    [D] Algorithm 3 tests the point before it is projected, which may be negative; its loss is
    then NaN, and passes. Here the projected point is tested. The first trial is by default that
    of the curvature.
    """
    slope = point.slope()
    step = np.full_like(point.value, trial) if trial is not None else _first_trial(point)
    for _ in range(_TRIALS + 1):
        tried = point.at(point.H - step * slope)
        promised = np.einsum("kb,kb->b", slope, tried.H - point.H)
        short = ~(tried.value <= point.value + _ALPHA * promised)
        if not short.any():
            return tried
        step[short] *= _GAMMA
    return tried.at(np.where(short, point.H, tried.H))


def _first_trial(point: _Point) -> Array:
    """Return a step for each sample that is too long rather than too short."""
    curvature = point.problem.curvature(point.P, np.inf)
    curvature = np.where(point.limits[1] > 0.0, curvature, 0.0)  # of nothing it may be infinite
    first = _FIRST * _inverse(_largest(point.problem, curvature, rounds=1))
    return np.broadcast_to(first, point.value.shape).copy()


def _polyak(point: _Point, level: Array) -> tuple[_Point, Mask]:
    """Return the samples after a step that would reach a level of a linear loss.

    Entries that the box holds back do not count, and those that nothing else moves are stuck.
    """
    slope = point.slope()
    room = np.where(slope > 0.0, point.H - point.limits[0], point.limits[1] - point.H)
    slope[room <= 0.0] = 0.0
    size = np.einsum("kb,kb->b", slope, slope)
    return point.at(point.H - (point.value - level) * _inverse(size) * slope), size == 0.0


def _largest(problem: DivergenceProblem, curvature: Array, rounds: int) -> Array:
    """Return a bound on the largest eigenvalue of W' diag(c) W + l2 I for each sample.

    For a nonnegative matrix G and any x > 0 it is at most max (G x) / x; powers of G make it
    tight.
    """
    W, l2 = problem.W, problem.W.dtype.type(problem.l2)
    x = np.ones((W.shape[1], curvature.shape[1]), W.dtype)
    bound: Array = np.full(x.shape[1], np.inf, W.dtype)
    for _ in range(rounds):
        y = times(W.T, curvature * times(W, x)) + l2 * x
        bound = np.minimum(bound, np.max(y / x, axis=0))
        x = np.maximum(y * _inverse(y.max(axis=0)), _SMALLEST)
    return bound


def _inverse(x: Array) -> Array:
    """Return 1 / x, and 0 where x is zero."""
    inverse: Array = np.divide(1.0, x, out=np.zeros_like(x), where=x > 0.0)
    return inverse
