"""Batch factorisation by projected gradient steps: BPGD [O]."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from thalweg._typing import Array, Observed
from thalweg.encoders.columns import times
from thalweg.encoders.entry_weights import require_mask
from thalweg.encoders.initial_codes import ridge_codes
from thalweg.prox import Prox
from thalweg.prox.l1 import L1
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.orthant import Orthant
from thalweg.updates import Factors
from thalweg.updates._batch_sums import (
    Sums,
    empty_like,
    fill_missing,
    some_columns,
    visit_chunks,
)

__all__ = ["BatchPgd"]


@dataclass(frozen=True)
class BatchPgd:
    """Take one step on codes, outliers and dictionary in turn: [O] (S-8)-(S-10).

    Parameters
    ----------
    outliers, penalty, constraint : Prox
        Penalties of the outliers, of the codes, and of the columns of the dictionary.
    l1, l2 : float
        Elastic-net weights on the dictionary, relative to the mean loss of the samples.
    frozen : int
        Number of leading columns of the dictionary that are fixed.
    kappa : float
        Step sizes times their Lipschitz constants, in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.batch_pgd import BatchPgd
    >>> V = np.array([[1.0, 2.0], [1.0, 2.0]])
    >>> method = BatchPgd()
    >>> state = method.start(V, np.array([[1.0], [0.5]]), None)
    >>> for _ in range(200):
    ...     state = method.advance(V, state, None)
    >>> state.W.ravel().round(3)
    array([0.707, 0.707])
    """

    name: ClassVar[str] = "batch-pgd"
    shared: ClassVar[tuple[str, ...]] = ("W",)

    outliers: Prox = field(default_factory=L1)
    penalty: Prox = field(default_factory=Orthant)
    constraint: Prox = field(default_factory=L2Ball)
    l1: float = 0.0
    l2: float = 0.0
    frozen: int = 0
    kappa: float = 0.7

    def start(self, V: Array, W: Array, observed: Observed | None) -> Factors:
        """Return the initial state: ridge codes, zero outliers."""
        require_mask(observed, "BatchPgd")
        H = ridge_codes(V, W, observed, self.penalty)
        return Factors(W, H, fill_missing(np.zeros_like(V), V, W @ H, observed))

    def advance(
        self,
        V: Array,
        state: Factors,
        observed: Observed | None,
        sample_weight: Array | None = None,
    ) -> Factors:
        """Return the state after one iteration."""
        return self.move(*self.visit(V, state, observed, sample_weight))

    def visit(
        self,
        V: Array,
        state: Factors,
        observed: Observed | None,
        sample_weight: Array | None = None,
    ) -> tuple[Factors, Sums]:
        """Take the steps on codes and outliers; return the sums for the dictionary."""
        W = state.W
        tiny = float(np.finfo(V.dtype).tiny)
        eta = self.kappa / max(float(np.linalg.norm(W, 2)) ** 2, tiny)
        results = empty_like(state.H), empty_like(V)

        def visit_chunk(columns: slice) -> tuple[tuple[Array, ...], Sums]:
            v, h, r, known = some_columns(columns, V, state.H, state.R, observed)
            each = None if sample_weight is None else sample_weight[columns]
            h = self.penalty.prox(h - eta * times(W.T, times(W, h) + r - v), eta)  # (S-8)
            product = times(W, h)
            residual = v - product
            if known is not None:
                residual *= known
            r = fill_missing(self.outliers.prox(residual), v, product, known)  # (S-9)
            return (h, r), Sums.of(h, product + r - v, each)

        sums = visit_chunks(visit_chunk, V, results)
        return Factors(W, *results), sums

    def merge(self, sums: Sequence[Sums]) -> Sums:
        """Return the sums over several blocks."""
        return Sums.merge(sums)

    def move(self, state: Factors, sums: Sums) -> Factors:
        """Take the step on the dictionary."""
        W, slope = state.W, sums.B
        l1, l2 = (sums.n * weight for weight in (self.l1, self.l2))
        tiny = float(np.finfo(W.dtype).tiny)
        size = float(np.hypot.reduce(sums.A, axis=None))  # without overflow of the squares
        eta = self.kappa / max(size + l2, tiny)
        moved = self.constraint.prox(W - eta * (slope + l1 + l2 * W), eta)  # (S-10)
        return state._replace(W=np.where(np.arange(W.shape[1]) < self.frozen, W, moved))

    def factors(self, state: Factors) -> Factors:
        """Return the state itself."""
        return state
