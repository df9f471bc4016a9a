"""The objective of encoders for sparse data: the model is evaluated at nonzeros only."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from thalweg import _native
from thalweg._typing import Array, Indices, Mask, Observed
from thalweg.divergences import Divergence
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.encoders import Codes
from thalweg.encoders.divergence_problem import (
    DivergenceProblem,
    dense_problem,
    model_offset,
    weighted_codes,
)
from thalweg.encoders.squared_l2_problem import SquaredL2Problem

__all__ = ["SparseDivergenceProblem", "make_divergence_problem", "supports_sparse"]


def supports_sparse(loss: Divergence) -> bool:
    """Return whether sparse data are factorised without evaluating the model at their zeros.

    This needs a loss that is linear in the model where the data are 0, or squares, for which
    products with the dictionary suffice.

    Examples
    --------
    >>> from thalweg.divergences.itakura_saito import ItakuraSaito
    >>> from thalweg.divergences.kl import KL
    >>> from thalweg.encoders.sparse_divergence_problem import supports_sparse
    >>> supports_sparse(KL()), supports_sparse(ItakuraSaito())
    (True, False)
    """
    linear = loss.slope_at_zero is not None and loss.growth[0] == 0.0
    return linear or isinstance(loss, SquaredL2)


def make_divergence_problem(
    loss: Divergence,
    V: Any,
    W: Array,
    observed: Observed | None,
    l1: float = 0.0,
    l2: float = 0.0,
) -> DivergenceProblem:
    """Return the problem of dense or of sparse data; that of products for squares.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from thalweg.divergences.kl import KL
    >>> from thalweg.encoders.sparse_divergence_problem import make_divergence_problem
    >>> V = sparse.csc_array(np.eye(2))
    >>> type(make_divergence_problem(KL(), V, np.ones((2, 1)), None)).__name__
    'SparseDivergenceProblem'
    """
    if isinstance(loss, SquaredL2) and observed is None:
        return SquaredL2Problem(loss, V, W, None, l1, l2)
    if sparse.issparse(V):
        return SparseDivergenceProblem(loss, V, W, None, l1, l2)
    return dense_problem(loss, V, W, observed, l1, l2)


@dataclass(frozen=True, eq=False)
class SparseDivergenceProblem(DivergenceProblem):
    """The objective d(V | W H) + l1 sum(H) + l2/2 |H|^2 of each column of a sparse V (F, B).

    V is in CSC format. The model is the vector of the entries of W H at the stored entries of V.
    Elsewhere the loss must be linear in the model, so that only sums of W and H are needed.

    Parameters
    ----------
    loss : Divergence
        The loss d.
    V : sparse array of shape (F, B)
        Samples.
    W : array of shape (F, K)
        Dictionary.
    observed : None
        Sparse data have no missing entries.
    l1, l2 : float
        Weights of the penalty of the codes.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from thalweg.divergences.kl import KL
    >>> from thalweg.encoders.sparse_divergence_problem import SparseDivergenceProblem
    >>> V = sparse.csc_array(np.array([[0.0], [4.0]]))
    >>> SparseDivergenceProblem(KL(), V, np.ones((2, 1)), None).start()
    array([[2.]])
    """

    V: Any

    def model(self, H: Array) -> Array:
        """Return W H + eps^(3/4) mean(v) at the stored entries of V."""
        P = np.empty_like(self.V.data)
        rows, atoms = np.ascontiguousarray(H.T), np.ascontiguousarray(self.W)
        _native.sampled_products(self.V.indptr, self.V.indices, atoms, rows, P)
        offset = model_offset(P.dtype) * self._totals() / len(self.W)
        P += np.repeat(offset, np.diff(self.V.indptr)).astype(P.dtype)
        model: Array = P
        return model

    def value(self, P: Array, H: Array) -> Array:
        """Return the objective of each sample."""
        slope = P.dtype.type(self.loss.slope_at_zero or 0.0)
        each = self.loss.value(self.V.data[None], P[None]) - slope * P
        value: Array = self._sums(each) + slope * (self.W.sum(axis=0) @ H) + self.cost(H)
        return value

    def split(self, P: Array) -> tuple[Array, Array]:
        """Return the negative and the positive part of the derivative of the loss in the codes."""
        neg, slope = self._parts(P)
        negative: Array = (neg.T @ self.W).T
        return negative, slope * self.W.sum(axis=0)[:, None]

    def split_in_dictionary(self, H: Array, shares: Array | None = None) -> tuple[Array, Array]:
        """Return the negative and the positive part of the derivative in the dictionary."""
        neg, slope = self._parts(self.model(H))
        G = weighted_codes(H, shares)
        return neg @ np.ascontiguousarray(G.T), slope * G.sum(axis=1)

    def take(self, columns: Indices | slice) -> "SparseDivergenceProblem":
        """Return the problem of the selected samples."""
        return replace(self, V=self.V[:, columns])

    def codes(self, H: Array, solved: Mask) -> Codes:
        """Return the result of an encoder at codes H; there are no outliers."""
        R = np.broadcast_to(np.zeros((), H.dtype), self.V.shape)
        return Codes(H, R, self.value(self.model(H), H), self.cost(H), solved)

    def _totals(self) -> Array:
        return self._sums(self.V.data)

    def _parts(self, P: Array) -> tuple[Any, np.floating[Any]]:
        neg, _ = self.loss.split(self.V.data, P)
        slope = P.dtype.type(self.loss.slope_at_zero or 0.0)
        return sparse.csc_array((neg, self.V.indices, self.V.indptr), shape=self.V.shape), slope

    def _sums(self, each: Array) -> Array:
        """Return the sum of the entries of each sample.

        A cumulative sum would lose small samples next to large ones.
        """
        sums, filled = np.zeros(self.V.shape[1]), np.diff(self.V.indptr) > 0
        if filled.any():
            sums[filled] = np.add.reduceat(each, self.V.indptr[:-1][filled], dtype=np.float64)
        return sums.astype(each.dtype)
