"""Codes by Newton's method, with weighted nonnegative least squares in each step."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from thalweg import _native
from thalweg._typing import Array, Mask, Observed
from thalweg.divergences import Divergence
from thalweg.divergences.kl import KL
from thalweg.encoders import Codes
from thalweg.encoders._iteration import encode_divergence_chunks
from thalweg.encoders.columns import take_columns, times
from thalweg.encoders.divergence_problem import DivergenceProblem, coefficients, dense_problem
from thalweg.encoders.multiplicative import multiply
from thalweg.prox import Prox
from thalweg.prox.orthant import Orthant
from thalweg.solvers.nnls import nnls, prepare

__all__ = ["Newton", "quadratic_minimum"]

# Multiplicative updates before the first Newton step, so that the quadratic model is a good
# approximation from uniform initial codes.
_N_INITIAL_UPDATES = 3
# Ridge, in units of the mean diagonal entry, that keeps the Gram matrix of few entries definite.
_RIDGE = 1e-11
# Line search: share of the predicted decrease that a step must attain, and number of halvings.
# The share is the usual one (Nocedal and Wright, Numerical Optimization, 3.1).
_ARMIJO_SHARE, _MAX_HALVINGS = 1e-4, 8
# A decrease below this share of the initial objective counts as 0.
_NEGLIGIBLE_SHARE = 1e-12
# Zero codes are raised to this share of the mean code before a multiplicative update, which cannot
# change zeros.
_MIN_CODE_SHARE = 1e-9
# Largest half-quadratic weight of an entry, in units of the weight of the mean residual.
_MAX_WEIGHT = 1e4
# Largest ratio of the decreases of two successive steps in the estimate of the remaining decrease.
_MAX_RATE = 0.95


@dataclass(frozen=True)
class Newton:
    """Compute argmin_{h >= 0} d(v | W h) + omega(h) by quadratic models.

    The models have the curvature of the divergence: its second derivative if it is convex,
    half-quadratic weights for robust losses. If the curvature is the same for all samples, or for
    all features of a sample, all samples share one Gram matrix. A quadratic loss needs one step.

    Parameters
    ----------
    loss : Divergence
        The loss d.
    penalty : Prox
        Penalty of the codes: an elastic net on the orthant.
    tol : float
        A sample stops when the remaining decrease of its objective, extrapolated from the last
        two steps, is at most this share of the objective.
    max_iter : int
        Maximum number of steps.

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
        self, V: Array, W: Array, H0: Array | None = None, observed: Observed | None = None
    ) -> Codes:
        """Encode the columns of V; see :class:`thalweg.encoders.Encoder`."""
        l1, l2 = coefficients(self.penalty)
        problem = dense_problem(self.loss, V, W, observed, l1, l2)
        return encode_divergence_chunks(problem, H0, self._run, n_work=W.shape[1] ** 2 // 4)

    def _run(self, problem: DivergenceProblem, H: Array) -> Codes:
        for _ in range(_N_INITIAL_UPDATES):
            H = multiply(problem, H, problem.model(H))
        result, alive = H.copy(order="F"), np.arange(H.shape[1])
        solved = np.zeros(alive.size, dtype=np.bool_)
        whole, P = problem, problem.model(H)
        value = problem.value(P, H)
        negligible = _NEGLIGIBLE_SHARE * value
        previous: Array | None = None
        for _ in range(self.max_iter):
            H, P, decrease, model_error = _step(problem, H, P, value)
            result.T[alive] = H.T
            value = value - decrease
            remaining = model_error if previous is None else _remaining(previous, decrease)
            converged = remaining <= self.tol * value + negligible[alive]
            previous = decrease
            if converged.any():
                solved[alive[converged]] = True
                rest = np.flatnonzero(~converged)
                alive, value, previous = alive[rest], value[rest], decrease[rest]
                problem, H, P = problem.take(rest), take_columns(H, rest), take_columns(P, rest)
            if alive.size == 0:
                break
        return whole.codes(result, solved)


def _remaining(previous: Array, decrease: Array) -> Array:
    """Return the sum of all further decreases, extrapolated as a geometric series."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(previous > 0.0, np.minimum(decrease / previous, _MAX_RATE), 0.0)
    remaining: Array = decrease * rate / (1.0 - rate)
    return remaining


def _step(
    problem: DivergenceProblem, H: Array, P: Array, value: Array
) -> tuple[Array, Array, Array, Array]:
    """Return codes and model after a step, the decrease of the objective, and the model error.

    The model error is the difference between the decreases of the objective and of its quadratic
    model, 0 for a quadratic loss.
    """
    slope = times(problem.W.T, problem.grad(P)) + H.dtype.type(problem.l1)
    if problem.l2:
        slope += H.dtype.type(problem.l2) * H
    curvature = problem.curvature(P, _MAX_WEIGHT)
    move = quadratic_minimum(problem, H, slope, curvature).astype(H.dtype, copy=False) - H
    predicted = -np.einsum("kb,kb->b", slope, move)
    trial, model, reached, failed = _line_search(problem, H, move, value, predicted)
    if failed.any():
        # If the quadratic model is poor (model near 0, kinks), a multiplicative update still
        # decreases the objective. If only rounding errors remain, the sample keeps its codes.
        retry = failed & (np.abs(predicted) > _NEGLIGIBLE_SHARE * value)
        trial = np.where(retry, _multiplied(problem, H), np.where(failed, H, trial))
        model = problem.model(trial)
        reached = problem.value(model, trial)
    quadratic = np.sum(curvature * (model - P) ** 2, axis=0)
    quadratic += problem.l2 * np.sum((trial - H) ** 2, axis=0)
    expected = -np.einsum("kb,kb->b", slope, trial - H) - 0.5 * quadratic
    decrease = value - reached
    # Half-quadratic weights majorise a robust loss, but do not approximate its curvature.
    approximates = not getattr(problem.loss, "half_quadratic", False)
    error = np.abs(decrease - expected) if approximates else decrease
    return trial, model, decrease, np.where(failed, _MAX_RATE / (1.0 - _MAX_RATE) * decrease, error)


def _multiplied(problem: DivergenceProblem, H: Array) -> Array:
    """Return the codes after a multiplicative update from positive codes."""
    H = np.maximum(H, H.dtype.type(_MIN_CODE_SHARE) * H.mean(axis=0))
    return multiply(problem, H, problem.model(H))


def _line_search(
    problem: DivergenceProblem, H: Array, move: Array, value: Array, predicted: Array
) -> tuple[Array, Array, Array, Mask]:
    """Halve the step of each sample until Armijo's condition holds.

    Returns codes, model and objective of the last trial, and for which samples it failed.
    """
    step = np.ones_like(value)
    ascent = ~(predicted > 0.0)
    for _ in range(_MAX_HALVINGS):
        trial = H + step * move
        model = problem.model(trial)
        reached = problem.value(model, trial)
        failed = ~(reached <= value - _ARMIJO_SHARE * step * predicted)
        if not (failed & ~ascent).any():
            break
        step[failed] /= 2.0
    return trial, model, reached, failed | ascent


def quadratic_minimum(
    problem: DivergenceProblem, H: Array, slope: Array, curvature: Array
) -> Array:
    """Minimise the quadratic model of a divergence problem over nonnegative codes.

    The model has the gradient ``slope`` at H and the Hessian W' diag(c) W + l2 I of each sample,
    with c its column of ``curvature``.

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
    _native.weighted_grams(weights, np.ascontiguousarray(W), 0.0, 1.0, G)
    diagonal = np.einsum("bkk->bk", G)
    diagonal += l2 + _RIDGE * diagonal.mean(axis=1, keepdims=True)
    return nnls(prepare(G), np.einsum("bkl,lb->kb", G, H) - slope)[0]
