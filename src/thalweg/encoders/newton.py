"""Codes by Newton's method: each step is a weighted nonnegative least-squares problem."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from thalweg import _kernels
from thalweg._typing import Array, Mask
from thalweg.divergences import Divergence
from thalweg.divergences.kl import KL
from thalweg.encoders import Codes
from thalweg.encoders._iteration import encode_divergence_chunks
from thalweg.encoders.columns import take_columns, times
from thalweg.encoders.divergence_problem import DivergenceProblem, coefficients
from thalweg.encoders.multiplicative import multiply
from thalweg.prox import Prox
from thalweg.prox.orthant import Orthant
from thalweg.solvers.nnls import nnls, prepare

__all__ = ["Newton", "quadratic_minimum"]

# Multiplicative updates that bring a cold start near enough for the quadratic to be trusted.
_WARM = 3
# A share of the mean diagonal that keeps a Gram matrix of few entries from being singular.
_RIDGE = 1e-11
# Share of the predicted decrease that a step has to reach, and how often it is halved for it.
_ARMIJO, _HALVINGS = 1e-4, 8
# A loss below this share of the first one is as good as zero.
_NOTHING = 1e-12
# Share of a sample's mean code that a zero one gets, to be multiplied.
_SEED = 1e-9
# How much steeper than that of the mean residual the weight of an entry may be.
_STEEPEST = 1e4
# Steps that fall by more than this share of the one before are taken to fall by this share.
_SLOWEST = 0.95


@dataclass(frozen=True)
class Newton:
    """argmin over h >= 0 of d(v | W h) + omega(h), by exact minima of quadratic models.

    The model has the divergence's curvature: the second derivative where the loss is convex,
    half-quadratic weights for robust losses. Where the curvature is the same for all samples, or
    for all features of a sample, one Gram matrix serves all, and for a quadratic loss one step is
    all.

    Parameters
    ----------
    loss : Divergence
        The loss d.
    penalty : Prox
        Penalty of the codes: an elastic net on the orthant.
    tol : float
        A sample is done when, at the rate of its last steps, less than this share of its loss is
        left to gain.
    max_iter : int
        Cap on the number of steps.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.newton import Newton
    >>> Newton().encode(np.array([[1.0], [3.0]]), np.ones((2, 1))).H.round(6)
    array([[2.]])
    """

    name: ClassVar[str] = "newton"

    loss: Divergence = field(default_factory=KL)
    penalty: Prox = field(default_factory=Orthant)
    tol: float = 1e-3
    max_iter: int = 50

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Mask | None = None
    ) -> Codes:
        """Encode the columns of V; see :class:`thalweg.encoders.Encoder`."""
        l1, l2 = coefficients(self.penalty)
        problem = DivergenceProblem(self.loss, V, W, observed, l1, l2)
        return encode_divergence_chunks(problem, H0, self._run, n_work=W.shape[1] ** 2 // 4)

    def _run(self, problem: DivergenceProblem, H: Array) -> Codes:
        for _ in range(_WARM):
            H = multiply(problem, H, problem.model(H))
        result, alive = H.copy(order="F"), np.arange(H.shape[1])
        solved = np.zeros(alive.size, dtype=np.bool_)
        whole, P = problem, problem.model(H)
        value = problem.value(P, H)
        negligible = _NOTHING * value
        before: Array | None = None
        for _ in range(self.max_iter):
            H, P, fall, surprise = _step(problem, H, P, value)
            result.T[alive] = H.T
            value = value - fall
            left = _left(before, fall) if before is not None else surprise
            still = left <= self.tol * value + negligible[alive]
            before = fall
            if still.any():
                solved[alive[still]] = True
                rest = np.flatnonzero(~still)
                alive, value, before = alive[rest], value[rest], fall[rest]
                problem, H, P = problem.take(rest), take_columns(H, rest), take_columns(P, rest)
            if alive.size == 0:
                break
        return whole.codes(result, solved)


def _left(before: Array, fall: Array) -> Array:
    """Return how much is left to fall, if the falls go on like the last two."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(before > 0.0, np.minimum(fall / before, _SLOWEST), 0.0)
    left: Array = fall * rate / (1.0 - rate)
    return left


def _step(
    problem: DivergenceProblem, H: Array, P: Array, value: Array
) -> tuple[Array, Array, Array, Array]:
    """Return codes and model after a step, the fall of the objective, and how it surprised.

    The surprise is the difference from the fall of the quadratic model: zero if that is exact.
    """
    slope = times(problem.W.T, problem.grad(P)) + H.dtype.type(problem.l1)
    if problem.l2:
        slope += H.dtype.type(problem.l2) * H
    curvature = problem.curvature(P, _STEEPEST)
    move = quadratic_minimum(problem, H, slope, curvature).astype(H.dtype, copy=False) - H
    promised = -np.einsum("kb,kb->b", slope, move)
    tried, model, reached, short = _search(problem, H, move, value, promised)
    if short.any():
        # Where the quadratic is of no use (an entry hardly explained, a kink), a multiplicative
        # update never fails; where nothing is left but rounding, a sample stays.
        stuck = short & (np.abs(promised) > _NOTHING * value)
        tried = np.where(stuck, _multiplied(problem, H), np.where(short, H, tried))
        model = problem.model(tried)
        reached = problem.value(model, tried)
    bend = np.sum(curvature * (model - P) ** 2, axis=0)
    bend += problem.l2 * np.sum((tried - H) ** 2, axis=0)
    expected = -np.einsum("kb,kb->b", slope, tried - H) - 0.5 * bend
    fall = value - reached
    # Weights that majorise a robust loss have little to do with how it bends.
    trusted = not getattr(problem.loss, "half_quadratic", False)
    surprise = np.abs(fall - expected) if trusted else fall
    return tried, model, fall, np.where(short, _SLOWEST / (1.0 - _SLOWEST) * fall, surprise)


def _multiplied(problem: DivergenceProblem, H: Array) -> Array:
    """Return the codes after a multiplicative update, for which none may be zero."""
    H = np.maximum(H, H.dtype.type(_SEED) * H.mean(axis=0))
    return multiply(problem, H, problem.model(H))


def _search(
    problem: DivergenceProblem, H: Array, move: Array, value: Array, promised: Array
) -> tuple[Array, Array, Array, Mask]:
    """Halve the step of each sample until its objective falls by a share of what was promised.

    The last result tells for which samples that did not come about.
    """
    step = np.ones_like(value)
    hopeless = ~(promised > 0.0)
    for _ in range(_HALVINGS):
        tried = H + step * move
        model = problem.model(tried)
        reached = problem.value(model, tried)
        short = ~(reached <= value - _ARMIJO * step * promised)
        if not (short & ~hopeless).any():
            break
        step[short] /= 2.0
    return tried, model, reached, short | hopeless


def quadratic_minimum(
    problem: DivergenceProblem, H: Array, slope: Array, curvature: Array
) -> Array:
    """Return the nonnegative minimum of the quadratic with this slope at H and this curvature.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.divergences.squared_l2 import SquaredL2
    >>> from thalweg.encoders.divergence_problem import DivergenceProblem
    >>> from thalweg.encoders.newton import quadratic_minimum
    >>> problem = DivergenceProblem(SquaredL2(), np.array([[1.0], [3.0]]), np.ones((2, 1)), None)
    >>> quadratic_minimum(problem, np.ones((1, 1)), np.array([[-2.0]]), np.ones((1, 1)))
    array([[2.]])
    """
    W, l2 = problem.W, problem.l2
    K = len(H)
    if curvature.shape[1] == 1:
        G = (W * curvature).T @ W + l2 * np.eye(K, dtype=W.dtype)
        return nnls(prepare(G), G @ H - slope)[0]
    if curvature.shape[0] == 1 and l2 == 0.0 and (curvature > 0.0).all():
        G = W.T @ W
        return nnls(prepare(G), G @ H - slope / curvature)[0]
    weights = np.ascontiguousarray(np.broadcast_to(curvature, problem.V.shape).T, dtype=W.dtype)
    G = np.zeros((len(weights), K, K), dtype=W.dtype)
    _kernels.weighted_grams(weights, np.ascontiguousarray(W), W.dtype.type(0), W.dtype.type(1), G)
    diagonal = np.einsum("bkk->bk", G)
    diagonal += l2 + _RIDGE * diagonal.mean(axis=1, keepdims=True)
    return nnls(prepare(G), np.einsum("bkl,lb->kb", G, H) - slope)[0]
