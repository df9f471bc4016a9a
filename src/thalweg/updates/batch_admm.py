"""Batch factorisation by the alternating direction method of multipliers: BADMM [O]."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from thalweg._typing import Array, Observed
from thalweg.encoders.columns import times
from thalweg.encoders.entry_weights import require_mask
from thalweg.prox import Prox, apart
from thalweg.prox.l1 import L1
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.orthant import Orthant
from thalweg.solvers import mean_diagonal
from thalweg.updates import Factors
from thalweg.updates._batch_sums import (
    Sums,
    empty_like,
    fill_missing,
    some_columns,
    visit_chunks,
)

__all__ = ["BatchAdmm", "BatchAdmmState"]


class BatchAdmmState(NamedTuple):
    """The variables H, R, W, their feasible copies U, Q, Psi, and the dual variables A, B, D.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.batch_admm import BatchAdmm
    >>> BatchAdmm().start(np.ones((3, 2)), np.ones((3, 1)), None).U.shape
    (1, 2)
    """

    H: Array
    R: Array
    W: Array
    U: Array
    Q: Array
    Psi: Array
    A: Array
    B: Array
    D: Array


@dataclass(frozen=True)
class BatchAdmm:
    """Minimise the augmented Lagrangian over one variable after another: [O] (S-12)-(S-20).

    Each penalty parameter is ``rho`` times the mean diagonal entry of its Hessian: W'W for the
    codes, I for the outliers, H H' for the dictionary. So the iterates do not depend on the units
    of the data, nor on the scale of the atoms. For atoms of norm 1 the parameter of the codes is
    that of the paper.

    Parameters
    ----------
    outliers, penalty, constraint : Prox
        Penalties of the outliers, of the codes, and of the columns of the dictionary.
    l1, l2 : float
        Elastic-net weights on the dictionary, relative to the mean loss of the samples.
    frozen : int
        Number of leading columns of the dictionary that are fixed.
    rho : float
        Penalty parameter of the augmentation terms, in units of their Hessians.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.batch_admm import BatchAdmm
    >>> V = np.array([[1.0, 2.0], [1.0, 2.0]])
    >>> method = BatchAdmm()
    >>> state = method.start(V, np.array([[1.0], [0.5]]), None)
    >>> for _ in range(300):
    ...     state = method.advance(V, state, None)
    >>> (state.Psi @ state.U).round(2)
    array([[1., 2.],
           [1., 2.]])
    """

    name: ClassVar[str] = "batch-admm"
    shared: ClassVar[tuple[str, ...]] = ("W", "Psi", "D")

    outliers: Prox = field(default_factory=L1)
    penalty: Prox = field(default_factory=Orthant)
    constraint: Prox = field(default_factory=L2Ball)
    l1: float = 0.0
    l2: float = 0.0
    frozen: int = 0
    rho: float = 1.0

    def start(self, V: Array, W: Array, observed: Observed | None) -> BatchAdmmState:
        """Return the initial state."""
        require_mask(observed, "BatchAdmm")
        H = np.zeros((W.shape[1], V.shape[1]), dtype=V.dtype)
        R = fill_missing(np.zeros_like(V), V, W @ H, observed)
        return BatchAdmmState(
            H, R, W, H, R, W, np.zeros_like(H), np.zeros_like(R), np.zeros_like(W)
        )

    def advance(
        self,
        V: Array,
        state: BatchAdmmState,
        observed: Observed | None,
        sample_weight: Array | None = None,
    ) -> BatchAdmmState:
        """Return the state after one iteration."""
        return self.move(*self.visit(V, state, observed, sample_weight))

    def visit(
        self,
        V: Array,
        state: BatchAdmmState,
        observed: Observed | None,
        sample_weight: Array | None = None,
    ) -> tuple[BatchAdmmState, Sums]:
        """Update codes and outliers, their copies and duals; return the sums for W."""
        W, rho = state.W, self.rho
        G = W.T @ W
        rho_h = rho * mean_diagonal(G)
        ridge = _ridge(G, rho_h)
        norm, bounds = apart(self.outliers)
        fields = ("H", "R", "U", "Q", "A", "B")

        def visit_chunk(columns: slice) -> tuple[tuple[Array, ...], Sums]:
            v, known = some_columns(columns, V, observed)
            each = None if sample_weight is None else sample_weight[columns]
            H, R, U, Q, A, B = some_columns(columns, *(getattr(state, name) for name in fields))
            H = cho_solve(ridge, times(W.T, v - R) + rho_h * U - A)  # (S-12)
            product = times(W, H)
            target = (rho * Q + v - B - product) / (1.0 + rho)
            if known is not None:
                target = target * known
            R = fill_missing(norm.prox(target, 1.0 / (1.0 + rho)), v, product, known)  # (S-13)
            U = self.penalty.prox(H + A / rho_h, 1.0 / rho_h)  # (S-15)
            Q = np.clip(R + B / rho, *bounds)  # (S-16)
            A = A + rho_h * (H - U)  # (S-18)
            B = B + rho * (R - Q)  # (S-19)
            if known is not None:  # no constraint R = Q at missing entries
                B = B * known
            return (H, R, U, Q, A, B), Sums.of(H, v - R, each)

        results = tuple(empty_like(getattr(state, name)) for name in fields)
        sums = visit_chunks(visit_chunk, V, results)
        return state._replace(**dict(zip(fields, results, strict=True))), sums

    def merge(self, sums: Sequence[Sums]) -> Sums:
        """Return the sums over several blocks."""
        return Sums.merge(sums)

    def move(self, state: BatchAdmmState, sums: Sums) -> BatchAdmmState:
        """Update the dictionary, its copy and its dual."""
        W, Psi, D = state.W, state.Psi, state.D
        rho_w = self.rho * mean_diagonal(sums.A)
        l1, l2 = (sums.n * weight for weight in (self.l1, self.l2))
        kept, free = np.split(np.arange(W.shape[1]), [self.frozen])
        # Frozen columns are constants and belong to the linear term.
        linear = sums.B[:, free] - l1 - Psi[:, kept] @ sums.A[np.ix_(kept, free)]
        linear = linear - D[:, free] + rho_w * Psi[:, free]
        moved = cho_solve(_ridge(sums.A[np.ix_(free, free)], rho_w + l2), linear.T).T  # (S-14)
        W = np.hstack([Psi[:, kept], moved])
        projected = self.constraint.prox(moved + D[:, free] / rho_w, 1.0 / rho_w)  # (S-17)
        Psi = np.hstack([Psi[:, kept], projected])
        return state._replace(W=W, Psi=Psi, D=D + rho_w * (W - Psi))  # (S-20)

    def factors(self, state: BatchAdmmState) -> Factors:
        """Return the feasible copies."""
        return Factors(state.Psi, state.U, state.Q)


def _ridge(G: Array, rho: float) -> tuple[Array, bool]:
    """Return the Cholesky factor of G + rho I."""
    factor: tuple[Array, bool] = cho_factor(G + rho * np.eye(len(G), dtype=G.dtype))
    return factor
