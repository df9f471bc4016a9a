"""A divergence between sparse data and a model that is looked at only where data are."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from thalweg import _kernels
from thalweg._typing import Array, Indices, Mask
from thalweg.divergences import Divergence
from thalweg.encoders import Codes
from thalweg.encoders.divergence_problem import DivergenceProblem

__all__ = ["SparseDivergenceProblem", "make_divergence_problem", "supports_sparse"]


def supports_sparse(loss: Divergence) -> bool:
    """Tell whether a loss needs no visit to the zeros of the data: there it is linear in p.

    Examples
    --------
    >>> from thalweg.divergences.itakura_saito import ItakuraSaito
    >>> from thalweg.divergences.kl import KL
    >>> from thalweg.encoders.sparse_divergence_problem import supports_sparse
    >>> supports_sparse(KL()), supports_sparse(ItakuraSaito())
    (True, False)
    """
    return loss.slope_at_zero is not None and loss.growth[0] == 0.0


def make_divergence_problem(
    loss: Divergence,
    V: Any,
    W: Array,
    observed: Mask | None,
    l1: float = 0.0,
    l2: float = 0.0,
) -> DivergenceProblem:
    """Return the loss of dense or of sparse data.

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
    if sparse.issparse(V):
        return SparseDivergenceProblem(loss, V, W, None, l1, l2)
    return DivergenceProblem(loss, V, W, observed, l1, l2)


@dataclass(frozen=True, eq=False)
class SparseDivergenceProblem(DivergenceProblem):
    """d(V | W H) + l1 sum(H) + l2/2 |H|^2 for each column of a sparse V (F, B) in CSC form.

    The model is the vector of the entries of W H where V has one. At the other places the loss
    has to be linear in the model, see :func:`supports_sparse`: there only sums are needed.

    Parameters
    ----------
    loss : Divergence
        The loss d.
    V : sparse array of shape (F, B)
        Samples.
    W : array of shape (F, K)
        Dictionary.
    observed : None
        Sparse data have no gaps.
    l1, l2 : float
        Weights of the codes' penalty.

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
        """Return the entries of W H where V has one, and a tiny share of the sample's mean."""
        P = np.empty_like(self.V.data)
        rows, atoms = np.ascontiguousarray(H.T), np.ascontiguousarray(self.W)
        _kernels.products_at(self.V.indptr, self.V.indices, atoms, rows, P)
        haze = np.finfo(P.dtype).eps ** 0.75 * self._totals() / len(self.W)
        P += np.repeat(haze, np.diff(self.V.indptr)).astype(P.dtype)
        found: Array = P
        return found

    def value(self, P: Array, H: Array) -> Array:
        """Return the objective of each sample."""
        slope = P.dtype.type(self.loss.slope_at_zero or 0.0)
        each = self.loss.value(self.V.data[None], P[None]) - slope * P
        value: Array = self._sums(each) + slope * (self.W.sum(axis=0) @ H) + self.cost(H)
        return value

    def split(self, P: Array) -> tuple[Array, Array]:
        """Return the two nonnegative parts of the derivative of the loss in the codes."""
        neg, slope = self._parts(P)
        back: Array = (neg.T @ self.W).T
        return back, slope * self.W.sum(axis=0)[:, None]

    def split_in_dictionary(self, H: Array) -> tuple[Array, Array]:
        """Return the two nonnegative parts of the derivative of the loss in the dictionary."""
        neg, slope = self._parts(self.model(H))
        return neg @ np.ascontiguousarray(H.T), slope * H.sum(axis=1)

    def take(self, columns: Indices | slice) -> "SparseDivergenceProblem":
        """Return the problem of some samples only."""
        return replace(self, V=self.V[:, columns])

    def codes(self, H: Array, solved: Mask) -> Codes:
        """Return the result at some codes; losses of sparse data know no outliers."""
        nothing = np.broadcast_to(np.zeros((), H.dtype), self.V.shape)
        return Codes(H, nothing, self.value(self.model(H), H), self.cost(H), solved)

    def _totals(self) -> Array:
        return self._sums(self.V.data)

    def _parts(self, P: Array) -> tuple[Any, np.floating[Any]]:
        neg, _ = self.loss.split(self.V.data, P)
        slope = P.dtype.type(self.loss.slope_at_zero or 0.0)
        return sparse.csc_array((neg, self.V.indices, self.V.indptr), shape=self.V.shape), slope

    def _sums(self, each: Array) -> Array:
        """Return the sum of the entries of each sample, be those of others ever so large."""
        sums, filled = np.zeros(self.V.shape[1]), np.diff(self.V.indptr) > 0
        if filled.any():
            sums[filled] = np.add.reduceat(each, self.V.indptr[:-1][filled], dtype=np.float64)
        return sums.astype(each.dtype)
