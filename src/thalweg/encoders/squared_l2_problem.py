"""The objective of encoders under the squared l2 distance, without the model at every entry."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from thalweg._typing import Array, Indices, Mask
from thalweg.encoders import Codes
from thalweg.encoders.columns import chunks, take_columns, times
from thalweg.encoders.divergence_problem import DivergenceProblem, weighted_codes

__all__ = ["CANCELLATION_POWER", "SquaredL2Problem", "column_energies"]

# Power of the machine epsilon: a loss below this share of |v|^2 / 2 is evaluated by the residual,
# since a difference of products keeps too few digits. 1.2e-4 in double precision, where 12 digits
# are kept, and 0.02 in single precision, where 5 are.
CANCELLATION_POWER = 0.25


def column_energies(V: Any) -> Array:
    """Return |v|^2 of each column of a dense or sparse array, in double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.squared_l2_problem import column_energies
    >>> column_energies(np.array([[3.0, 0.0], [4.0, 1.0]]))
    array([25.,  1.])
    """
    if sparse.issparse(V):
        by_sample = V.tocsc()
        energies, filled = np.zeros(V.shape[1]), np.diff(by_sample.indptr) > 0
        if filled.any():
            squares = np.square(by_sample.data, dtype=np.float64)
            energies[filled] = np.add.reduceat(squares, by_sample.indptr[:-1][filled])
        return energies
    dense: Array = np.einsum("fb,fb->b", V, V, dtype=np.float64)
    return dense


@dataclass(frozen=True, eq=False)
class SquaredL2Problem(DivergenceProblem):
    """The objective |V - W H|^2 / 2 + l1 sum(H) + l2/2 |H|^2 of each column, all observed.

    Only the products W'V and W'W enter, so V may be sparse, and W H is never formed. The model is
    known by its products W'W H with the atoms.

    Parameters
    ----------
    loss : Divergence
        The squared l2 distance.
    V : array or sparse array of shape (F, B)
        Samples.
    W : array of shape (F, K)
        Dictionary.
    observed : None
        All entries are observed.
    l1, l2 : float
        Weights of the penalty of the codes.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from thalweg.divergences.squared_l2 import SquaredL2
    >>> from thalweg.encoders.squared_l2_problem import SquaredL2Problem
    >>> V = sparse.csc_array(np.array([[0.0], [4.0]]))
    >>> problem, H = SquaredL2Problem(SquaredL2(), V, np.ones((2, 1)), None), np.array([[2.0]])
    >>> problem.value(problem.model(H), H)
    array([4.])
    """

    V: Any

    @cached_property
    def gram(self) -> Array:
        """W'W, without the penalty."""
        gram: Array = self.W.T @ self.W
        return gram

    @cached_property
    def linear(self) -> Array:
        """W'V, shape (K, B)."""
        return np.asarray(times(self.W.T, self.V))

    def model(self, H: Array) -> Array:
        """Return W'W H."""
        return times(self.gram, H)

    def value(self, P: Array, H: Array) -> Array:
        """Return the objective of each sample."""
        energy = column_energies(self.V)
        products = np.einsum("kb,kb->b", 0.5 * P - self.linear, H, dtype=np.float64)
        loss = 0.5 * energy + products
        least = 0.5 * float(np.finfo(H.dtype).eps) ** CANCELLATION_POWER * energy
        near = np.flatnonzero(loss < least)
        for part in chunks(take_columns(self.V, near), len(H)) if near.size else []:
            columns = near[part]
            loss[columns] = self._residual_loss(columns, take_columns(H, columns))
        value: Array = loss.astype(H.dtype) + self.cost(H)
        return value

    def split(self, P: Array) -> tuple[Array, Array]:
        """Return the negative and the positive part of the derivative of the loss in the codes."""
        return self.linear, P

    def split_in_dictionary(self, H: Array, shares: Array | None = None) -> tuple[Array, Array]:
        """Return the negative and the positive part of the derivative in the dictionary."""
        G = weighted_codes(H, shares)
        return np.asarray(times(self.V, G.T)), times(self.W, H @ G.T)

    def take(self, columns: Indices | slice) -> "SquaredL2Problem":
        """Return the problem of the selected samples, with the products that are known."""
        part = replace(self, V=take_columns(self.V, columns))
        known = vars(self)
        if "gram" in known:
            vars(part)["gram"] = self.gram
        if "linear" in known:
            vars(part)["linear"] = take_columns(self.linear, columns)
        return part

    def codes(self, H: Array, solved: Mask) -> Codes:
        """Return the result of an encoder at codes H; there are no outliers."""
        R = np.broadcast_to(np.zeros((), H.dtype), self.V.shape)
        return Codes(H, R, self.value(self.model(H), H), self.cost(H), solved)

    def _residual_loss(self, columns: Indices, H: Array) -> Array:
        """Return half the squared residual of some samples, with their model at every entry."""
        V = take_columns(self.V, columns)
        residual = (V.toarray() if sparse.issparse(V) else V) - times(self.W, H)
        return 0.5 * column_energies(residual)

    def _totals(self) -> Array:
        totals: Array = np.asarray(self.V.sum(axis=0), self.W.dtype)
        return totals
