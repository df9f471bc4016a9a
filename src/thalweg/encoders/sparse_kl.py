"""Codes under the Kullback-Leibler divergence, for sparse counts."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from thalweg import _native
from thalweg._typing import Array, Observed
from thalweg.divergences.kl import KL
from thalweg.encoders import Codes
from thalweg.encoders.divergence_problem import coefficients, model_offset
from thalweg.encoders.entry_weights import are_weights
from thalweg.encoders.newton import Newton
from thalweg.encoders.sparse_divergence_problem import make_divergence_problem
from thalweg.errors import ParameterError
from thalweg.prox import Prox
from thalweg.prox.orthant import Orthant

__all__ = ["SparseKL"]


@dataclass(frozen=True)
class SparseKL:
    """Compute argmin_{h >= 0} KL(v | W h) + l1 sum(h), up to a duality gap.

    The steps are multiplicative updates in compiled code. A step visits the rows of W at the
    nonzeros of v, and computes the duality gap at no extra cost.

    Parameters
    ----------
    penalty : Prox
        Penalty of the codes: l1 on the orthant, or none.
    tol : float
        Duality gap of a sample, relative to its loss, at which it stops.
    max_iter : int
        Maximum number of steps.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.sparse_kl import SparseKL
    >>> SparseKL().encode(np.array([[0.0], [4.0]]), np.ones((2, 1))).H
    array([[2.]])
    """

    name: ClassVar[str] = "sparse-kl"

    penalty: Prox = field(default_factory=Orthant)
    tol: float = 1e-3
    max_iter: int = 2000

    def __post_init__(self) -> None:
        if coefficients(self.penalty)[1] > 0.0:
            raise ParameterError(
                f"penalty must be an l1 penalty or the orthant, got {self.penalty!r}. Use the "
                "encoder Multiplicative for a squared l2 penalty."
            )

    def encode(
        self, V: Any, W: Array, H0: Array | None = None, observed: Observed | None = None
    ) -> Codes:
        """Encode the columns of V, dense or sparse; see :class:`thalweg.encoders.Encoder`."""
        if are_weights(observed):  # the compiled steps are those of counts
            return Newton(KL(), self.penalty, self.tol).encode(V, W, H0, observed)
        l1, _ = coefficients(self.penalty)
        rows = sparse.csr_array((V if observed is None else V * observed).T)
        problem = make_divergence_problem(KL(), rows.T if observed is None else V, W, observed, l1)
        H = np.array(problem.start() if H0 is None else H0, dtype=W.dtype).T.copy(order="C")
        atoms = np.ascontiguousarray(W)
        mass = atoms.sum(axis=0)[None] if observed is None else observed.T.astype(W.dtype) @ atoms
        mass = np.maximum(mass + W.dtype.type(l1), np.finfo(W.dtype).tiny)
        offset = W.dtype.type(model_offset(W.dtype) / len(W))
        loss = np.zeros(len(H), dtype=W.dtype)
        settings = _native.SparseKLSettings(
            offset=float(offset), tol=self.tol, max_steps=self.max_iter
        )
        counts = (rows.data.astype(W.dtype, copy=False), rows.indices, rows.indptr)
        _native.sparse_kl_codes(counts, atoms, mass, H, loss, settings)
        zeros = np.broadcast_to(np.zeros((), W.dtype), V.shape)
        R = zeros if observed is None else np.where(observed, 0, V - W @ H.T)
        return Codes(H.T, R, np.abs(loss), problem.cost(H.T), loss >= 0.0)
