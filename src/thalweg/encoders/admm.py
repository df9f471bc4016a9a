"""Alternating direction method of multipliers: OADMM's encoder."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from thalweg._typing import Array, Indices, Mask
from thalweg.encoders import Codes
from thalweg.encoders._iteration import Exit, StoppingRule, encode_chunks
from thalweg.encoders._robust_problem import Point, RobustProblem
from thalweg.encoders.columns import take_columns, times
from thalweg.prox import Prox, apart
from thalweg.prox.l1 import L1
from thalweg.prox.orthant import Orthant
from thalweg.solvers import mean_diagonal

__all__ = ["Admm"]


@dataclass(frozen=True)
class Admm:
    """argmin over h, r of |v - W h - r|^2/2 + g(r) + omega(h), by [O] (25)-(30).

    The codes returned are the feasible copy u, with the outliers that are best for it; the
    paper's h may be negative before convergence. Each augmentation weight is ``rho`` times the
    mean diagonal entry of the Hessian beside it: rho_1 = rho tr(W'W) / K and rho_2 = rho. With
    atoms of norm 1 that is the paper's rho_1 = rho_2 = rho; under a constraint that makes atoms
    small, such as the simplex, an absolute rho_1 would hold the codes at their start.

    Parameters
    ----------
    outliers : Prox
        Penalty of the outliers, with their bounds.
    penalty : Prox
        Penalty of the codes.
    tol : float
        Relative accuracy.
    exit : {"decrease", "gap"}
        Stop when the loss changes by less than ``tol``, or when the duality gap is below it.
    max_iter : int
        Cap on the number of steps; the paper's is 50.
    rho : float
        Weight of both augmentation terms, relative to their Hessians.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.admm import Admm
    >>> from thalweg.prox.l1 import L1
    >>> V = np.array([[1.0], [1.0], [9.0]])
    >>> Admm(outliers=L1(0.1), exit="gap", tol=1e-9, max_iter=10_000).encode(
    ...     V, np.ones((3, 1))
    ... ).H.round(3)
    array([[1.05]])
    """

    name: ClassVar[str] = "admm"

    outliers: Prox = field(default_factory=L1)
    penalty: Prox = field(default_factory=Orthant)
    tol: float = 1e-3
    exit: Exit = "decrease"
    max_iter: int = 50
    rho: float = 1.0

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Mask | None = None
    ) -> Codes:
        """Encode the columns of V; see :class:`thalweg.encoders.Encoder`."""
        rule = StoppingRule(self.tol, self.exit, self.max_iter, every=10)
        G = W.T @ W
        rho = self.rho * mean_diagonal(G), self.rho
        factor = cho_factor(G + rho[0] * np.eye(W.shape[1], dtype=W.dtype))
        return encode_chunks(
            RobustProblem(V, W, observed, self.outliers, self.penalty),
            H0,
            lambda problem, start: rule.run(problem, _Splitting(problem, factor, *rho), start),
        )


class _Splitting:
    def __init__(
        self, problem: RobustProblem, factor: tuple[Array, bool], rho1: float, rho2: float
    ) -> None:
        self.factor, self.rho1, self.rho2 = factor, rho1, rho2
        self.norm, (self.lower, self.upper) = apart(problem.outliers)
        B, F, K = problem.V.shape[1], *problem.W.shape
        self.alpha = np.zeros((B, K), dtype=problem.V.dtype).T
        self.beta = np.zeros((B, F), dtype=problem.V.dtype).T
        self.q = np.zeros_like(self.beta)
        self.r = np.zeros_like(self.beta)
        self.fit = self.last = 0.5 * np.einsum("fb,fb->b", problem.V, problem.V)

    def start(self, problem: RobustProblem) -> Array:
        """Return no codes."""
        return np.zeros_like(self.alpha)

    def step(self, problem: RobustProblem, H: Array, point: Point) -> Array:
        """Return the feasible copy of the codes after one round."""
        rho1, rho2, u = self.rho1, self.rho2, H
        rhs = times(problem.W.T, problem.V - self.r) + rho1 * u - self.alpha
        h = np.asfortranarray(cho_solve(self.factor, rhs), dtype=H.dtype)  # [O] (25)
        left = problem.V - times(problem.W, h)
        target = (rho2 * self.q + left - self.beta) / (1.0 + rho2)
        if problem.observed is not None:  # the penalty does not know of gaps
            target *= problem.observed
        r = self.norm.prox(target, 1.0 / (1.0 + rho2))  # (26)
        if problem.observed is not None:  # a gap's r is free, and takes all that is left
            r = np.where(problem.observed.T, r.T, left.T).T
        self.last, self.fit = self.fit, self._fit(problem, left, r)
        u = problem.penalty.prox(h + self.alpha / rho1, 1.0 / rho1)  # (27)
        self.q = np.clip(r + self.beta / rho2, self.lower, self.upper)  # (28)
        self.alpha = self.alpha + rho1 * (h - u)  # (29)
        self.beta = self.beta + rho2 * (r - self.q)  # (30)
        if problem.observed is not None:  # nothing binds a gap's r to its copy
            self.beta *= problem.observed
        self.r = r
        return u

    def settled(self, tol: float) -> Mask:
        """Tell where the loss at h and r, the paper's, hardly changes: u may rest before."""
        still: Mask = np.abs(self.last - self.fit) <= tol * self.last
        return still

    def _fit(self, problem: RobustProblem, left: Array, r: Array) -> Array:
        rest = left - r  # zero at gaps
        cost = self.norm.value(r if problem.observed is None else r * problem.observed)
        fit: Array = 0.5 * np.einsum("fb,fb->b", rest, rest) + cost
        return fit

    def keep(self, columns: Indices) -> None:
        """Forget all samples but these."""
        self.fit, self.last = self.fit[columns], self.last[columns]
        self.alpha, self.beta = take_columns(self.alpha, columns), take_columns(self.beta, columns)
        self.q, self.r = take_columns(self.q, columns), take_columns(self.r, columns)
