"""Batch factorisation under a divergence by multiplicative updates."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from thalweg._threads import map_in_threads
from thalweg._typing import Array, Indices, Mask, Observed
from thalweg.divergences import Divergence
from thalweg.divergences.kl import KL
from thalweg.encoders.columns import take_columns
from thalweg.encoders.divergence_problem import DivergenceProblem
from thalweg.encoders.multiplicative import multiply
from thalweg.encoders.sparse_divergence_problem import make_divergence_problem
from thalweg.errors import ParameterError
from thalweg.prox import Prox
from thalweg.prox.box import Box
from thalweg.prox.l2_ball import L2Ball
from thalweg.solvers.multiplicative import rescale
from thalweg.updates._running_means import mean_of, shares_of
from thalweg.updates.atom_scaling import column_gauges, penalty_slopes, smallest_entries

__all__ = ["BatchMultiplicative", "Parts"]

# Entries per work array for dense data (2 MB in double precision, to stay in the cache), and
# smallest number of samples at a time.
# speed only: results do not depend on them
_CHUNK_ENTRIES, _MIN_CHUNK_SIZE = 2**18, 16

# (V, observed), or with the weights of the samples
Block = tuple[Any, ...]
Piece = tuple[Indices | slice, DivergenceProblem]


class Parts(NamedTuple):
    """Sums over samples from which the dictionary is updated; those of several blocks add up.

    Attributes
    ----------
    neg : array of shape (F, K)
        Negative part of the derivative of the objective in W, as a nonnegative array.
    pos : array of shape (F, K) or (K,)
        Positive part of the derivative.
    square, shared : array of shape (K,)
        Contribution of the penalty of the codes to the positive part: ``square`` times W, and
        ``shared`` in all entries of a column.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.batch_multiplicative import Parts
    >>> one = Parts(np.ones((3, 2)), np.ones((3, 2)), np.zeros(2), np.zeros(2))
    >>> one.plus(one).neg.max()
    np.float64(2.0)
    """

    neg: Array
    pos: Array
    square: Array
    shared: Array

    def plus(self, other: "Parts") -> "Parts":
        """Return the sum of two blocks."""
        return Parts(*(one + two for one, two in zip(self, other, strict=True)))


@dataclass(frozen=True)
class BatchMultiplicative:
    """Minimise the mean of d(v | W h) + omega(h) by multiplicative updates of H and W in turn.

    [D] calls this method Batch. Each update minimises a separable majoriser, so the objective
    never increases: the exponents are those of Fevotte and Idier, and half-quadratic weights
    majorise robust losses. Blocks of samples are independent: each computes its codes and its
    :class:`Parts`, and W is updated from the sum of the latter.

    Parameters
    ----------
    loss : Divergence
        The loss d.
    constraint : Prox
        The set of each column. If it has a ``gauge``, columns are scaled and their codes scaled
        inversely; columns in a box are clipped.
    code_l1, code_l2 : float
        Weights of the penalty omega of the codes. Scaled columns then also need a ``price``.
    frozen : int
        Number of leading columns of W that are fixed.

    References
    ----------
    C. Fevotte and J. Idier, "Algorithms for nonnegative matrix factorization with the
    beta-divergence", Neural Computation, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.batch_multiplicative import BatchMultiplicative
    >>> blocks = [(np.array([[3.0], [4.0]]), None), (np.array([[6.0], [8.0]]), None)]
    >>> method = BatchMultiplicative()
    >>> W, H = method.start(blocks, np.array([[1.0], [1.0]]))
    >>> W, H = method.sweep(blocks, W, H)
    >>> W.ravel().round(3), H.round(3)
    (array([0.6, 0.8]), array([[ 5., 10.]]))
    """

    name: ClassVar[str] = "batch-multiplicative"

    loss: Divergence = field(default_factory=KL)
    constraint: Prox = field(default_factory=L2Ball)
    code_l1: float = 0.0
    code_l2: float = 0.0
    frozen: int = 0

    def __post_init__(self) -> None:
        if not (self._rescales or isinstance(self.constraint, Box)):
            raise ParameterError(
                "constraint must be a set that columns can be scaled into, or a box, got "
                f"{self.constraint!r}. Use 'l2-ball', 'l1-ball', 'simplex', 'elastic-net-ball', "
                "'nonnegative' or 'box'."
            )
        if self._rescales and self._penalised and not hasattr(self.constraint, "price"):
            raise ParameterError(
                "constraint must be an l1 ball, an l2 ball, a simplex or a box if the codes are "
                f"penalised, got {self.constraint!r}. Use one of these."
            )

    @property
    def _rescales(self) -> bool:
        return hasattr(self.constraint, "gauge")

    @property
    def _penalised(self) -> bool:
        return bool(self.code_l1 or self.code_l2)

    def start(self, blocks: Iterable[Block], W: Array) -> tuple[Array, Array]:
        """Return W on the boundary of its set, and uniform codes for each sample."""
        W = self.place(W)
        return W, np.asfortranarray(
            np.hstack([self.begin(V, W, observed) for V, observed, *_ in blocks])
        )

    def place(self, W: Array) -> Array:
        """Return W on the boundary of its set, and positive if the loss requires that."""
        # Multiplicative updates cannot change zeros; a zero row keeps some losses infinite.
        raised = np.maximum(W, smallest_entries(W, self.loss))
        return self._placed(np.where(self._free(W), raised, W))[0]

    def begin(self, V: Any, W: Array, observed: Observed | None = None) -> Array:
        """Return the initial codes of a block, uniform for each sample."""
        return make_divergence_problem(self.loss, V, W, observed).start()

    def in_round(self, number: float) -> Self:
        """Return the method for an iteration; here it is always the same."""
        return self

    def sweep(self, blocks: Iterable[Block], W: Array, H: Array) -> tuple[Array, Array]:
        """Return dictionary and codes after one iteration over all samples.

        The columns of H are the codes of the blocks in their order.
        """
        H, begin = H.copy(order="F"), 0
        total: Any = None
        for V, observed, *weight in blocks:
            mine = slice(begin, begin + V.shape[1])
            H[:, mine] = self.encode(V, W, H[:, mine], observed)
            parts = self.parts(V, W, H[:, mine], observed, *weight)
            begin, total = mine.stop, total.plus(parts) if total is not None else parts
        if total is None:  # no samples
            return W, H
        W, size = self.move(W, total)
        H *= size[:, None]
        return W, H

    def encode(self, V: Any, W: Array, H: Array, observed: Observed | None = None) -> Array:
        """Return the codes of a block after one update."""
        new = H.copy(order="F")

        def encode_piece(piece: Piece) -> None:
            columns, problem = piece
            old = take_columns(H, columns)
            new.T[columns] = multiply(problem, old, problem.model(old)).T

        deque(map_in_threads(encode_piece, list(self._pieces(V, W, observed, H))), maxlen=0)
        return new

    def parts(
        self,
        V: Any,
        W: Array,
        H: Array,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> Parts:
        """Return the sums over the samples of a block from which W is updated."""
        neg, pos = np.zeros_like(W), np.zeros(W.shape[1], W.dtype)

        def split_piece(piece: Piece) -> tuple[Array, Array]:
            columns, problem = piece
            each = None if sample_weight is None else sample_weight[columns]
            return problem.split_in_dictionary(take_columns(H, columns), each)

        for less, more in map_in_threads(split_piece, list(self._pieces(V, W, observed, H))):
            neg, pos = neg + less, pos + more
        zeros = np.zeros(W.shape[1], W.dtype)
        if not (self._rescales and self._penalised and H.size):
            return Parts(neg, pos, zeros, zeros)
        n = H.shape[1] * mean_of(sample_weight)
        shares = shares_of(sample_weight)
        slopes = penalty_slopes(H, self.constraint, self.code_l1, self.code_l2, shares)
        return Parts(neg, pos + n * slopes.flat, n * slopes.square, n * slopes.shared)

    def move(self, W: Array, parts: Parts) -> tuple[Array, Array]:
        """Return W after one update, and the factors by which its codes have to be multiplied."""
        penalty = parts.square * W + parts.shared
        factors = rescale(parts.neg, parts.pos, self.loss.growth, 0.0, penalty)
        # The majoriser is convex, so any point between W and its minimum decreases it, too.
        least = np.minimum(W, smallest_entries(W, self.loss))
        return self._placed(np.where(self._free(W), np.maximum(W * factors, least), W))

    def objective(self, blocks: Iterable[Block], W: Array, H: Array) -> float:
        """Return the mean loss of the samples plus the penalty of their codes."""
        begin, total, mass = 0, 0.0, 0.0
        for V, observed, *weight in blocks:
            mine, each = H[:, begin : begin + V.shape[1]], next(iter(weight), None)

            def piece_total(piece: Piece, codes: Array = mine, each: Any = each) -> float:
                columns, problem = piece
                values = self._values(problem, take_columns(codes, columns))
                values = values if each is None else values * each[columns]
                return float(np.sum(values, dtype=np.float64))

            total += sum(map_in_threads(piece_total, list(self._pieces(V, W, observed))))
            begin, mass = begin + V.shape[1], mass + V.shape[1] * mean_of(each)
        return total / max(mass, np.finfo(float).tiny)

    def total_loss(self, W: Array, factors: Array, parts: Any) -> float | None:
        """Return the objective of all samples if their sums determine it, else None.

        ``factors`` multiply the codes of the sums; see :meth:`move`.
        """
        return None

    def _values(self, problem: DivergenceProblem, H: Array) -> Array:
        """Return the objective of each sample."""
        return problem.value(problem.model(H), H)

    def _placed(self, W: Array) -> tuple[Array, Array]:
        """Return W with its free columns in the set, and their gauges before."""
        free = self._free(W)
        if self._rescales:
            size = column_gauges(W, self.constraint, free)
            return np.asfortranarray(W / size), size
        placed = np.where(free, self.constraint.prox(W), W)
        return np.asfortranarray(placed), np.ones(W.shape[1], W.dtype)

    def _free(self, W: Array) -> Mask:
        free: Mask = np.arange(W.shape[1]) >= self.frozen
        return free

    def _width(self, W: Array) -> int:
        """Return the number of work entries per sample."""
        return int(max(W.shape))

    def _pieces(
        self, V: Any, W: Array, observed: Observed | None, H: Array | None = None
    ) -> Iterator[Piece]:
        """Yield the problems of chunks of samples, without samples whose codes H are 0.

        Those stay 0 and do not affect W, but the derivative of the loss may be infinite there.
        """
        whole = make_divergence_problem(self.loss, V, W, observed, self.code_l1, self.code_l2)
        B = V.shape[1]
        size = max(_MIN_CHUNK_SIZE, _CHUNK_ENTRIES // self._width(W))
        size = max(B, 1) if sparse.issparse(V) else size
        for begin in range(0, B, size):
            columns: Indices | slice = slice(begin, min(begin + size, B))
            if H is not None and not (alive := H[:, columns].any(axis=0)).all():
                columns = begin + np.flatnonzero(alive)
            complete = isinstance(columns, slice) and size >= B
            yield columns, whole if complete else whole.take(columns)
