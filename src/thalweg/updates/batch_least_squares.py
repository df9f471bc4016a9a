"""Batch factorisation under the squared l2 distance by coordinate descent on Gram matrices."""

from dataclasses import dataclass, field
from math import nan
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from thalweg import _native
from thalweg._typing import Array, Mask, Observed
from thalweg.divergences import Divergence
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.encoders.columns import take_columns, times
from thalweg.encoders.divergence_problem import weighted_codes
from thalweg.encoders.entry_weights import are_weights
from thalweg.encoders.squared_l2_problem import CANCELLATION_POWER, column_energies
from thalweg.prox import Prox
from thalweg.prox.orthant import Orthant
from thalweg.solvers.block_coordinate import BlockCoordinate
from thalweg.updates._feature_matrices import times_grams, with_squares
from thalweg.updates.atom_scaling import penalty_slopes_of
from thalweg.updates.batch_multiplicative import BatchMultiplicative
from thalweg.updates.batch_reweighted import bounded_rows

__all__ = ["BatchLeastSquares", "Moments"]

# Coordinate sweeps for the same products with the data, at most, and the multiplications of all
# sweeps but the first in units of the products' (Gillis and Glineur, 2012). 0.25 and 0.5 were
# tried, with 1 to 5 sweeps.
# benchmark: squares_peers
_MOST_SWEEPS, _SWEEP_SHARE = 3, 0.25
# Numbers that the Gram matrices of all features may take. Beyond, missing entries are filled with
# the model, which needs one matrix but more iterations.
_LARGEST_MATRICES = 2**26


class Moments(NamedTuple):
    """Sums over samples from which the dictionary is updated; those of several blocks add up.

    Attributes
    ----------
    A : array of shape (K, K) or (F, K, K)
        Sum of h h', for each feature over the samples that have it.
    B : array of shape (F, K)
        Sum of v h'.
    totals, squares : array of shape (K,)
        Sums of h and of h^2.
    energy : float
        Sum of |v|^2 / 2; NaN if missing entries were filled.
    n_entries, n_samples : int
        Numbers of entries that a product with the data visits, and of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.batch_least_squares import BatchLeastSquares
    >>> one = BatchLeastSquares().parts(np.ones((3, 2)), np.ones((3, 1)), np.ones((1, 2)))
    >>> one.plus(one).energy, one.plus(one).A
    (6.0, array([[4.]]))
    """

    A: Array
    B: Array
    totals: Array
    squares: Array
    energy: float
    n_entries: int
    n_samples: int

    def plus(self, other: "Moments") -> "Moments":
        """Return the sums of two blocks; A may have one matrix in one of them, F in the other."""
        pairs: Any = zip(self, other, strict=True)
        return Moments(*(one + two for one, two in pairs))


@dataclass(frozen=True)
class BatchLeastSquares(BatchMultiplicative):
    """Minimise the mean of |v - W h|^2 / 2 + omega(h) by coordinate descent in H and W in turn.

    The codes of all samples depend on the data through W'V and W'W only, and W through V H' and
    H H'. So sparse data stay sparse, and W H is not formed. Each entry is minimised exactly, given
    all others; the objective never increases. This is hierarchical alternating least squares, with
    several sweeps for the same products (Gillis and Glineur, 2012).

    With missing entries, each sample and each feature has a Gram matrix of its own.

    Parameters
    ----------
    loss : SquaredL2
        The squared l2 distance.
    constraint, code_l1, code_l2, frozen
        As in :class:`thalweg.updates.batch_multiplicative.BatchMultiplicative`.
    sweeps : int
        Coordinate sweeps over the codes, and over the dictionary, per iteration; at most, since
        further sweeps take at most a quarter of the operations of the products with the data.

    References
    ----------
    N. Gillis and F. Glineur, "Accelerated multiplicative updates and hierarchical ALS algorithms
    for nonnegative matrix factorization", Neural Computation, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.batch_least_squares import BatchLeastSquares
    >>> blocks = [(np.array([[3.0], [4.0]]), None), (np.array([[6.0], [8.0]]), None)]
    >>> method = BatchLeastSquares()
    >>> W, H = method.start(blocks, np.array([[1.0], [1.0]]))
    >>> W, H = method.sweep(blocks, W, H)
    >>> W.ravel().round(3), H.round(3)
    (array([0.6, 0.8]), array([[ 5., 10.]]))
    """

    name: ClassVar[str] = "batch-least-squares"

    loss: Divergence = field(default_factory=SquaredL2)
    sweeps: int = _MOST_SWEEPS

    def encode(self, V: Any, W: Array, H: Array, observed: Observed | None = None) -> Array:
        """Return the codes of a block after one update."""
        if observed is not None:
            return self._encode_incomplete(V, W, H, observed)
        A = W.T @ W + W.dtype.type(self.code_l2) * np.eye(W.shape[1], dtype=W.dtype)
        B = W.T @ V - W.dtype.type(self.code_l1)
        return self._descend(A, B.T, H.T, Orthant(), np.ones(len(H), np.bool_), V.size).T

    def parts(  # type: ignore[override]
        self,
        V: Any,
        W: Array,
        H: Array,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> Moments:
        """Return the sums over the samples of a block from which W is updated."""
        filled, G = False, weighted_codes(H, sample_weight)
        is_large = W.size * W.shape[1] > _LARGEST_MATRICES
        if observed is not None and is_large and not are_weights(observed):
            V, observed, filled = np.where(observed, V, times(W, H)), None, True
        energy = nan if filled else 0.5 * _energy(V, observed, sample_weight)
        if observed is None:
            A: Array = H @ G.T
        else:
            zeros = np.zeros((len(H), len(H)), W.dtype)
            weights = weighted_codes(np.asarray(observed, W.dtype), sample_weight)
            A, V = with_squares(zeros, weights, H, len(W)), V * observed
        squares, n_samples = np.einsum("kb,kb->k", H, G), H.shape[1]
        return Moments(A, times(V, G.T), G.sum(axis=1), squares, energy, V.size, n_samples)

    def move(self, W: Array, parts: Moments) -> tuple[Array, Array]:  # type: ignore[override]
        """Return W after one update, and the factors by which its codes have to be multiplied."""
        A, B = parts.A, parts.B
        if self._rescales and self._penalised:
            slopes = penalty_slopes_of(
                parts.totals, parts.squares, self.constraint, self.code_l1, self.code_l2
            )
            # The Hessian of (sum of F terms)^2 / 2 is at most F times the identity.
            spread = len(W) * self.constraint.price[0] * slopes.shared  # type: ignore[attr-defined]
            A = A + np.diag(slopes.square + spread)
            B = B + spread * W - slopes.flat - slopes.shared
        bounds = Orthant() if self._rescales else self.constraint
        return self._placed(self._descend(A, B, W, bounds, self._free(W), parts.n_entries))

    def total_loss(self, W: Array, factors: Array, parts: Moments) -> float | None:
        """Return the objective of all samples from their sums, unless too few digits are left."""
        product = times_grams(W * factors, parts.A) - 2.0 * parts.B
        loss = parts.energy + 0.5 * float(np.vdot(W * factors, product))
        least = float(np.finfo(W.dtype).eps) ** CANCELLATION_POWER * parts.energy
        if not loss > least:
            return None
        cost = self.code_l1 * factors @ parts.totals
        return loss + float(cost + 0.5 * self.code_l2 * factors**2 @ parts.squares)

    def _encode_incomplete(self, V: Array, W: Array, H: Array, observed: Mask) -> Array:
        """Return the codes of samples with missing entries, in chunks."""
        new, everything = H.copy(order="F"), np.ones(len(H), np.bool_)
        ridge = W.dtype.type(self.code_l2) * np.eye(len(H), dtype=W.dtype)
        for columns, problem in self._pieces(V, W, observed):
            weights = problem.entry_weights()
            A = with_squares(np.zeros_like(ridge), weights.T, W.T, weights.shape[1]) + ridge
            B = times(W.T, problem.V * weights) - W.dtype.type(self.code_l1)
            old = take_columns(H, columns)
            new.T[columns] = self._descend(A, B.T, old.T, Orthant(), everything, problem.V.size)
        return new

    def _descend(
        self, A: Array, B: Array, W: Array, bounds: Prox, free: Mask, n_entries: int
    ) -> Array:
        """Lower w'A w / 2 - b'w in all rows w of W within bounds, with one matrix A or one each.

        B is a product with ``n_entries`` entries of the data.
        """
        sweeps = min(self.sweeps, 1 + int(_SWEEP_SHARE * n_entries / max(W.size, 1)))
        if A.ndim == 2:
            return BlockCoordinate(tol=0.0, max_iter=sweeps).solve(A, B, W, bounds, free)[0]
        if isinstance(bounds, Orthant):
            rows, zeros = np.array(W, order="C"), np.zeros(W.shape[1], W.dtype)
            _native.sweep_rows(A, np.ascontiguousarray(B), rows, zeros, free, sweeps)
            return rows
        new, slope = W.copy(order="F"), times_grams(W, A) - B
        within = A[:, free][:, :, free]
        new[:, free] = bounded_rows(within, W[:, free], slope[:, free], bounds)
        return new

    def _width(self, W: Array) -> int:
        return int(max(len(W), W.shape[1] ** 2))


def _energy(V: Any, observed: Observed | None, sample_weight: Array | None) -> float:
    """Return the sum of the weighted squares of all entries."""
    if sample_weight is not None:
        return float(_energies(V, observed) @ sample_weight)
    entries = V.data if sparse.issparse(V) else V.T
    weighted = entries if observed is None else entries * observed.T
    return float(np.vdot(weighted, entries))


def _energies(V: Any, observed: Observed | None) -> Array:
    """Return the sum of the weighted squares of each sample."""
    return column_energies(V if observed is None else V * np.sqrt(observed))
