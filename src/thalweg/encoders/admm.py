"""Codes by the alternating direction method of multipliers: the encoder of OADMM [O]."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from thalweg._typing import Array, Indices, Mask, Observed
from thalweg.encoders import Codes
from thalweg.encoders._iteration import Exit, StoppingRule, encode_chunks
from thalweg.encoders._robust_problem import Point, RobustProblem
from thalweg.encoders.columns import take_columns, times
from thalweg.encoders.entry_weights import mask_of, require_mask
from thalweg.prox import Prox, apart
from thalweg.prox.l1 import L1
from thalweg.prox.orthant import Orthant
from thalweg.solvers import mean_diagonal

__all__ = ["Admm"]

# Steps between two computations of the duality gap.
# speed only: a sample stops at most this number of steps late
_GAP_INTERVAL = 10


@dataclass(frozen=True)
class Admm:
    """Compute argmin_{h, r} |v - W h - r|^2/2 + g(r) + omega(h) by ADMM, [O] (25)-(30).

    The result is the feasible copy u of the codes with the outliers that are optimal for it; h of
    the paper may be negative before convergence. Each penalty parameter is ``rho`` times the mean
    diagonal entry of its Hessian: rho_1 = rho tr(W'W) / K and rho_2 = rho. For atoms of norm 1
    this is rho_1 = rho_2 = rho of the paper. For small atoms, as in the simplex, an absolute rho_1
    would keep the codes at their initial values.

    Parameters
    ----------
    outliers : Prox
        Penalty of the outliers, bounds included.
    penalty : Prox
        Penalty of the codes.
    tol : float
        Tolerance relative to the loss.
    exit : {"decrease", "gap"}
        Stop when the change of the loss, or when the duality gap, is at most ``tol``.
    max_iter : int
        Maximum number of steps, 50 in the paper.
    rho : float
        Penalty parameter of both augmentation terms, in units of their Hessians.

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
        self, V: Array, W: Array, H0: Array | None = None, observed: Observed | None = None
    ) -> Codes:
        """Encode the columns of V; see :class:`thalweg.encoders.Encoder`."""
        require_mask(observed, "Admm")
        rule = StoppingRule(self.tol, self.exit, self.max_iter, _GAP_INTERVAL)
        G = W.T @ W
        rho = self.rho * mean_diagonal(G), self.rho
        factor = cho_factor(G + rho[0] * np.eye(W.shape[1], dtype=W.dtype))
        return encode_chunks(
            RobustProblem(V, W, mask_of(observed), self.outliers, self.penalty),
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
        """Return zero codes."""
        return np.zeros_like(self.alpha)

    def step(self, problem: RobustProblem, H: Array, point: Point) -> Array:
        """Return the feasible copy of the codes after one iteration."""
        rho1, rho2, u = self.rho1, self.rho2, H
        rhs = times(problem.W.T, problem.V - self.r) + rho1 * u - self.alpha
        h = np.asfortranarray(cho_solve(self.factor, rhs), dtype=H.dtype)  # [O] (25)
        residual = problem.V - times(problem.W, h)
        target = (rho2 * self.q + residual - self.beta) / (1.0 + rho2)
        if problem.observed is not None:  # the penalty ignores missing entries
            target *= problem.observed
        r = self.norm.prox(target, 1.0 / (1.0 + rho2))  # (26)
        if problem.observed is not None:  # r is free at missing entries
            r = np.where(problem.observed.T, r.T, residual.T).T
        self.last, self.fit = self.fit, self._fit(problem, residual, r)
        u = problem.penalty.prox(h + self.alpha / rho1, 1.0 / rho1)  # (27)
        self.q = np.clip(r + self.beta / rho2, self.lower, self.upper)  # (28)
        self.alpha = self.alpha + rho1 * (h - u)  # (29)
        self.beta = self.beta + rho2 * (r - self.q)  # (30)
        if problem.observed is not None:  # no constraint r = q at missing entries
            self.beta *= problem.observed
        self.r = r
        return u

    def settled(self, tol: float) -> Mask:
        """Return where the loss at (h, r), as in the paper, has converged; u may do so earlier."""
        still: Mask = np.abs(self.last - self.fit) <= tol * self.last
        return still

    def _fit(self, problem: RobustProblem, residual: Array, r: Array) -> Array:
        error = residual - r  # 0 at missing entries
        cost = self.norm.value(r if problem.observed is None else r * problem.observed)
        fit: Array = 0.5 * np.einsum("fb,fb->b", error, error) + cost
        return fit

    def keep(self, columns: Indices) -> None:
        """Drop the state of all other samples."""
        self.fit, self.last = self.fit[columns], self.last[columns]
        self.alpha, self.beta = take_columns(self.alpha, columns), take_columns(self.beta, columns)
        self.q, self.r = take_columns(self.q, columns), take_columns(self.r, columns)
