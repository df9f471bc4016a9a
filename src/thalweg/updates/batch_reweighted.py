"""Batch factorisation under a robust loss by iteratively reweighted least squares."""

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from thalweg._threads import map_in_threads
from thalweg._typing import Array, Observed
from thalweg.divergences import HalfQuadratic
from thalweg.divergences.l1 import L1
from thalweg.encoders.columns import take_columns, times
from thalweg.encoders.divergence_problem import DivergenceProblem, weighted_codes
from thalweg.encoders.entry_weights import WeightedLoss
from thalweg.encoders.newton import quadratic_minimum
from thalweg.errors import ParameterError
from thalweg.prox import Prox
from thalweg.solvers.nnls import nnls, prepare
from thalweg.updates._feature_matrices import times_grams, with_squares
from thalweg.updates._running_means import mean_of, shares_of
from thalweg.updates.atom_scaling import penalty_slopes
from thalweg.updates.batch_multiplicative import BatchMultiplicative, Piece

__all__ = ["BatchReweighted", "Quadratics"]

# Smoothing width of the loss in the first iteration, in units of the mean absolute entry of the
# sample, and its factor per iteration. Larger widths end in minima of least squares, smaller
# factors in minima near the initial point. 0.03..1 and 0.6..0.97 were tried, with and without
# outliers.
# benchmarks: divergences
_INITIAL_SMOOTHING, _SMOOTHING_FACTOR = 0.1, 0.97
# Ridge, in units of the mean diagonal entry, that keeps the matrix of few samples definite.
_RIDGE = 1e-11
# Coordinate sweeps over the entries of a row with bounds on both sides.
_SWEEPS = 20


class Quadratics(NamedTuple):
    """Sums over samples from which the dictionary is updated; those of several blocks add up.

    Attributes
    ----------
    A : array of shape (F, K, K) or (K, K)
        Sum of w h h', with weights w for each row of W or shared by all.
    slope : array of shape (F, K)
        Derivative of the objective in W, including the penalty of the codes.
    bend : array of shape (K,)
        Contribution of the penalty to the diagonal of A.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.batch_reweighted import Quadratics
    >>> one = Quadratics(np.ones((2, 2)), np.ones((3, 2)), np.zeros(2))
    >>> one.plus(one._replace(A=np.ones((3, 2, 2)))).A.shape
    (3, 2, 2)
    """

    A: Array
    slope: Array
    bend: Array

    def plus(self, other: "Quadratics") -> "Quadratics":
        """Return the sum of two blocks; A may have one matrix in one of them, F in the other."""
        return Quadratics(*(one + two for one, two in zip(self, other, strict=True)))


@dataclass(frozen=True)
class BatchReweighted(BatchMultiplicative):
    """Minimise the mean of d(v | W h) + omega(h) by weighted least squares in H and W in turn.

    For a robust loss f(u) of the residual u, w u^2 / 2 with w = f'(u) / u majorises f up to a
    constant. Codes and rows of W minimise the weighted squares exactly over nonnegative values ::

        argmin_h sum_f w_f (v_f - (W h)_f)^2 / 2 + omega(h).

    Multiplicative updates minimise a separable majoriser of the same squares. That fails under the
    l1 distance: the weight of an exactly fitted entry is almost infinite, and fixes all codes of
    its sample and all entries of its row. Here such an entry takes one degree of freedom only.

    Residuals below a smoothing width have a quadratic loss, and the width decreases in each
    iteration. The smoothed loss is an upper bound of the loss that decreases with the width, so
    the mean of the smoothed loss never increases.

    Parameters
    ----------
    loss : HalfQuadratic
        The loss d: l1, l2 or Huber's.
    constraint, code_l1, code_l2, frozen
        As in :class:`thalweg.updates.batch_multiplicative.BatchMultiplicative`.
    smoothing : float
        Smoothing width, in units of the mean absolute entry of a sample under the l1 distance, and
        of its norm under l2. With 0, :meth:`objective` is the loss itself.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.batch_reweighted import BatchReweighted
    >>> V = np.outer([1.0, 2.0, 3.0, 2.0, 1.0], np.arange(1.0, 7.0))
    >>> V[0, 2] = 50.0
    >>> method = BatchReweighted()
    >>> W, H = method.start([(V, None)], np.ones((5, 1)))
    >>> for number in range(150):
    ...     W, H = method.in_round(number).sweep([(V, None)], W, H)
    >>> (W / W[0, 0]).ravel().round(2)
    array([1., 2., 3., 2., 1.])
    """

    name: ClassVar[str] = "batch-reweighted"

    loss: HalfQuadratic = field(default_factory=L1)
    smoothing: float = _INITIAL_SMOOTHING

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.loss, HalfQuadratic):
            raise ParameterError(
                f"loss must be 'l1', 'l2' or 'huber', got {self.loss!r}. Use multiplicative "
                "updates for other losses."
            )

    def in_round(self, number: float) -> Self:
        """Return the method with the smoothing width of an iteration; 0 for infinity."""
        return replace(self, smoothing=_INITIAL_SMOOTHING * _SMOOTHING_FACTOR**number)

    def encode(self, V: Array, W: Array, H: Array, observed: Observed | None = None) -> Array:
        """Return the codes of a block after one update."""
        new = H.copy(order="F")

        def encode_piece(piece: Piece) -> None:
            columns, problem = piece
            old = take_columns(H, columns)
            weights, weighted = self._weighted(problem, old)
            slope = times(W.T, weighted) + W.dtype.type(self.code_l1)
            slope += W.dtype.type(self.code_l2) * old
            new.T[columns] = quadratic_minimum(problem, old, slope, weights).T

        pieces = list(self._pieces(V, W, observed, self._filled(V, observed)))
        deque(map_in_threads(encode_piece, pieces), maxlen=0)
        return new

    def parts(  # type: ignore[override]
        self,
        V: Array,
        W: Array,
        H: Array,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> Quadratics:
        """Return the sums over the samples of a block from which W is updated."""
        F, K = W.shape
        A, slope, bend = np.zeros((K, K), W.dtype), np.zeros((F, K), W.dtype), np.zeros(K, W.dtype)
        for columns, problem in self._pieces(V, W, observed, self._filled(V, observed)):
            codes = take_columns(H, columns)
            weights, weighted = self._weighted(problem, codes)
            weight = None if sample_weight is None else sample_weight[columns]
            A = with_squares(A, weighted_codes(weights, weight), codes, F)
            slope += times(weighted, weighted_codes(codes, weight).T)
        if self._rescales and self._penalised and H.size:
            n, shares = H.shape[1] * mean_of(sample_weight), shares_of(sample_weight)
            slopes = penalty_slopes(H, self.constraint, self.code_l1, self.code_l2, shares)
            # The Hessian of (sum of F terms)^2 / 2 is at most F times the identity.
            bend += n * (slopes.square + F * self.constraint.price[0] * slopes.shared)  # type: ignore[attr-defined]
            slope += n * (slopes.flat + slopes.shared + slopes.square * W)
        return Quadratics(A, slope, bend)

    def move(self, W: Array, parts: Quadratics) -> tuple[Array, Array]:  # type: ignore[override]
        """Return W after one update, and the factors by which its codes have to be multiplied."""
        free = self._free(W)
        A = parts.A[..., free[:, None] & free].reshape(*parts.A.shape[:-2], free.sum(), -1).copy()
        diagonal = np.einsum("...kk->...k", A)
        diagonal += parts.bend[free] + W.dtype.type(_RIDGE) * diagonal.mean(axis=-1, keepdims=True)
        minimum = _unbounded if self._rescales else self._bounded
        new = W.copy(order="F")
        new[:, free] = minimum(A, W[:, free], parts.slope[:, free])
        return self._placed(new)

    def _values(self, problem: DivergenceProblem, H: Array) -> Array:
        """Return the smoothed objective of each sample over its observed entries."""
        residual = _standardised(problem, problem.residual(problem.model(H)))
        each = self.loss.smoothed(residual, self._floor(problem))
        if problem.observed is not None and len(each) > 1:
            each = each * problem.observed
        values: Array = np.sum(each, axis=0, dtype=np.float64) + problem.cost(H)
        return values

    def _weighted(self, problem: DivergenceProblem, H: Array) -> tuple[Array, Array]:
        """Return the weights at codes H, 0 at missing entries, and the weighted residuals."""
        residual = problem.residual(problem.model(H))
        # With larger weights the other entries would be lost in rounding errors.
        least = float(np.finfo(residual.dtype).eps) ** 0.5
        weights = self.loss.weights(_standardised(problem, residual), self._floor(problem, least))
        if isinstance(problem.loss, WeightedLoss) or problem.observed is not None:
            weights = weights * problem.entry_weights()
        return weights, weights * residual

    def _floor(self, problem: DivergenceProblem, least: float = 0.0) -> Array:
        """Return the smoothing width of each sample."""
        data = np.abs(_standardised(problem, problem.residual(np.zeros_like(problem.V))))
        whole = self.loss.smoothed(data, np.zeros((1, data.shape[1]), data.dtype))
        count: Any = len(whole)
        if problem.observed is not None and count > 1:
            count = np.maximum(problem.observed.sum(axis=0), 1)
        floor: Array = max(self.smoothing, least) * whole.sum(axis=0) / count
        return floor.astype(data.dtype)[None]

    def _filled(self, V: Array, observed: Observed | None) -> Array:
        """Return V with 0 at missing entries; samples that are 0 keep zero codes."""
        return V if observed is None else np.where(observed, V, 0)

    def _width(self, W: Array) -> int:
        return int(max(len(W), W.shape[1] ** 2))

    def _bounded(self, A: Array, W: Array, slope: Array) -> Array:
        return bounded_rows(A, W, slope, self.constraint)


def _standardised(problem: DivergenceProblem, residual: Array) -> Array:
    """Return residuals in standard deviations, if entries have weights."""
    weighted = isinstance(problem.loss, WeightedLoss)
    return residual * np.sqrt(problem.entry_weights()) if weighted else residual


def bounded_rows(A: Array, W: Array, slope: Array, bounds: Prox) -> Array:
    """Return the rows after coordinate sweeps, with each entry minimised within its bounds.

    Parameters
    ----------
    A : array of shape (K, K) or (F, K, K)
        Matrices of the quadratic functions of the rows, one for all or one each.
    W : array of shape (F, K)
        The rows.
    slope : array of shape (F, K)
        Gradient at W.
    bounds : Prox
        The set of the entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.orthant import Orthant
    >>> from thalweg.updates.batch_reweighted import bounded_rows
    >>> bounded_rows(2.0 * np.eye(2), np.ones((1, 2)), np.array([[4.0, 1.0]]), Orthant())
    array([[0. , 0.5]])
    """
    W, slope = W.copy(), slope.copy()
    for _ in range(_SWEEPS):
        for k in range(W.shape[1]):
            bend = np.broadcast_to(A[..., k, k], len(W))
            step = np.divide(slope[:, k], bend, out=np.zeros_like(slope[:, k]), where=bend > 0)
            change = bounds.prox(W[:, k] - step) - W[:, k]
            W[:, k] += change
            slope += change[:, None] * A[..., k, :]
    return W


def _unbounded(A: Array, W: Array, slope: Array) -> Array:
    """Return the nonnegative rows that minimise the quadratics with this slope at W."""
    rows: Array = nnls(prepare(A), (times_grams(W, A) - slope).T)[0].T
    return rows
