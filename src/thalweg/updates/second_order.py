"""A quadratic that stands for the divergence of all samples so far, curvature included."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from thalweg import _kernels
from thalweg._typing import Array, Mask
from thalweg.divergences import Divergence
from thalweg.divergences.kl import KL
from thalweg.encoders import Codes
from thalweg.encoders.divergence_problem import DivergenceProblem
from thalweg.prox import Prox
from thalweg.prox.l2_ball import L2Ball
from thalweg.prox.orthant import Orthant
from thalweg.solvers import MatrixSolver
from thalweg.solvers.block_coordinate import BlockCoordinate
from thalweg.updates._running_means import alone, batch_share, joined, merge_means
from thalweg.updates.atom_replacement import replace_dead_atoms
from thalweg.updates.atom_scaling import lowest, priced, rescaled
from thalweg.updates.surrogate import Statistics

__all__ = ["SecondOrderSurrogate"]

# Where the model is below this share of an entry, slope and curvature are taken as if it were
# there: what a poor dictionary made of an entry would else outweigh the stream for ever.
_FARTHEST = 0.01
# Half-quadratic weights of a sample are at most so many times that of its mean residual: those of
# past samples would else hold the dictionary where it was.
_STEEPEST = 10.0
# Sweeps over the entries of each row after a batch.
_SWEEPS = 2


@dataclass(frozen=True)
class SecondOrderSurrogate:
    """argmin over W in C of the mean of quadratic models of d(v | W h), codes kept.

    Each sample leaves the slope and the curvature that the loss has at its codes. Where the
    curvature differs from entry to entry, every row of W has a K x K matrix of its own: a
    Newton step for all samples, in F K^2 numbers. Where it is shared, K^2 numbers are enough.

    Parameters
    ----------
    loss : Divergence
        The loss d.
    constraint : Prox
        The set C, column by column.
    code_l1, code_l2 : float
        Weights of the codes' penalty. A constraint with a ``gauge`` is met by rescaling columns
        and codes; if codes are penalised, a ``price`` is needed as well. For other sets the
        curvature is levelled up to that of the steepest feature, so that the nearest point of
        the set is the right one.
    forgetting, frozen, fade
        As in :class:`thalweg.updates.surrogate.Surrogate`.
    solver : MatrixSolver
        Minimises the quadratic with the shared matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.newton import Newton
    >>> from thalweg.updates.second_order import SecondOrderSurrogate
    >>> V, W = np.array([[3.0, 1.0], [4.0, 2.0]]), np.array([[1.0], [1.0]])
    >>> update = SecondOrderSurrogate()
    >>> W, state = update.step(W, update.init(W), V, Newton().encode(V, W))
    >>> W.ravel().round(2)
    array([0.54, 0.84])
    """

    name: ClassVar[str] = "second-order"

    loss: Divergence = field(default_factory=KL)
    constraint: Prox = field(default_factory=L2Ball)
    code_l1: float = 0.0
    code_l2: float = 0.0
    forgetting: float = 1.0
    frozen: int = 0
    fade: float = 0.0
    solver: MatrixSolver = field(default_factory=BlockCoordinate)

    def init(self, W: Array) -> Statistics:
        """Return the statistics of no samples."""
        F, K = W.shape
        probe = np.ones((F, 2), W.dtype)
        shape = self._curvature(self.loss.curvature(probe, probe)).shape
        zero = np.zeros(())
        A = np.zeros((K, K) if shape[0] == 1 else (F, K, K), W.dtype)
        return Statistics(A, np.zeros((K, F), W.dtype).T, zero, zero, zero)

    def step(
        self, W: Array, state: Statistics, V: Array, codes: Codes, observed: Mask | None = None
    ) -> tuple[Array, Statistics]:
        """Take in a batch, minimise the quadratic from W, and replace dead atoms."""
        if V.shape[1] == 0:
            return W, state
        state = self.absorb(W, state, V, codes, observed)
        W, state = self.minimise(W, state)
        return replace_dead_atoms(W, state, V, codes, self.constraint, self.frozen)

    @property
    def replaces_dead_atoms(self) -> bool:
        """Whether dead atoms are replaced."""
        return True

    def summarise(
        self, W: Array, V: Array, codes: Codes, observed: Mask | None = None
    ) -> Statistics:
        """Return the statistics of a block of samples alone."""
        return alone(self).absorb(W, self.init(W), V, codes, observed)

    def take_in(self, W: Array, state: Statistics, latest: Statistics) -> tuple[Array, Statistics]:
        """Take in a batch by its statistics, and minimise the quadratic from W."""
        return self.minimise(W, joined(state, latest, self.forgetting, self.fade))

    def absorb(
        self, W: Array, state: Statistics, V: Array, codes: Codes, observed: Mask | None
    ) -> Statistics:
        """Return the statistics with a batch taken in."""
        H, n = codes.H, V.shape[1]
        problem = DivergenceProblem(self.loss, V, W, observed)
        P = problem.model(H)
        near = np.maximum(P, V.dtype.type(_FARTHEST) * V)
        slope = problem.grad(near)
        shared = state.A.ndim == 2
        curve = self._curvature(problem.curvature(near, _STEEPEST, filled=shared))
        counts = batch_share(state.weight, state.n_samples, n, self.forgetting, self.fade)
        keep, share = W.dtype.type(1.0 - counts.share), W.dtype.type(counts.share / n)
        rows = np.ascontiguousarray(H.T)
        linear = curve * P - slope
        if shared:
            A: Array = keep * state.A + (share * curve * H) @ rows
        else:
            curve = np.ascontiguousarray(np.broadcast_to(curve, V.shape))
            A = state.A.copy()
            _kernels.weighted_grams(curve, rows, keep, share, A)
        B = keep * state.B + (share * (rows.T @ linear.T)).T
        if self._rescales() and (self.code_l1 or self.code_l2):
            price = priced(H, self.constraint, self.code_l1, self.code_l2)
            # A square of a sum bends by at most the number of its terms.
            spread = len(W) * self.constraint.price[0] * price.shared  # type: ignore[attr-defined]
            B += W.dtype.type(counts.share) * (spread * W - price.flat - price.shared)
            diagonal = np.einsum("...kk->...k", A)
            diagonal += W.dtype.type(counts.share) * (price.square + spread)
        constant = np.mean(codes.loss)
        # It is that of W; the quadratic says what has changed since.
        constant += float(np.vdot(linear, P) - 0.5 * np.vdot((linear + slope), P)) / n
        mean = np.asarray((1.0 - counts.share) * state.constant + counts.share * constant)
        return Statistics(A, B, mean, counts.weight, counts.n_samples)

    def minimise(self, W: Array, state: Statistics) -> tuple[Array, Statistics]:
        """Return the dictionary after a descent from W, and the statistics in its scale."""
        A, B = state.A, state.B
        free = np.arange(W.shape[1]) >= self.frozen
        scaled = self._rescales()
        bounds = Orthant() if scaled else self.constraint
        if A.ndim == 3:
            rows = np.array(W, order="C")
            _kernels.sweep_rows(
                A, np.ascontiguousarray(B), rows, lowest(W, self.loss), free, _SWEEPS
            )
            W = np.asfortranarray(rows)
        else:
            W, _ = self.solver.solve(A, B, W, bounds, free, float(state.constant))
        return rescaled(W, state, self.constraint, free) if scaled else (W, state)

    def merge(self, states: Sequence[Statistics]) -> Statistics:
        """Return the weighted mean of several statistics, of one and the same scale of W."""
        return merge_means(states)

    def objective(self, W: Array, state: Statistics) -> float:
        """Return the mean of the quadratic models at W."""
        product = W @ state.A if state.A.ndim == 2 else np.einsum("fkl,fl->fk", state.A, W)
        quadratic = 0.5 * np.vdot(product, W) - np.vdot(W, state.B) + state.constant
        return float(quadratic)

    def _rescales(self) -> bool:
        free = not (self.code_l1 or self.code_l2) or hasattr(self.constraint, "price")
        return free and hasattr(self.constraint, "gauge")

    def _curvature(self, curve: Array) -> Array:
        """Return the curvature, the same for all features where the set needs that."""
        return curve if self._rescales() else curve.max(axis=0, keepdims=True)
