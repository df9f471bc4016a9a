"""Minimise second-order models of the divergence of all samples so far."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy import sparse

from thalweg import _native
from thalweg._typing import Array, Observed
from thalweg.divergences import Divergence
from thalweg.divergences.kl import KL
from thalweg.encoders import Codes
from thalweg.encoders.columns import times
from thalweg.encoders.divergence_problem import DivergenceProblem, weighted_codes
from thalweg.encoders.entry_weights import WeightedLoss
from thalweg.encoders.sparse_divergence_problem import make_divergence_problem
from thalweg.encoders.squared_l2_problem import SquaredL2Problem, column_energies
from thalweg.prox import Prox
from thalweg.prox.l2_ball import L2Ball
from thalweg.solvers.block_coordinate import BlockCoordinate
from thalweg.updates._feature_matrices import times_grams
from thalweg.updates._nonnegative_rows import minimise_rows
from thalweg.updates._running_means import (
    add_batch,
    averaged,
    batch_share,
    code_squares,
    mean_of,
    merge_means,
    shares_of,
    total,
    without_forgetting,
)
from thalweg.updates.atom_replacement import replace_dead_atoms
from thalweg.updates.atom_scaling import penalty_slopes, rescale_columns, smallest_entries
from thalweg.updates.surrogate import Statistics

__all__ = ["SecondOrderSurrogate"]

# Slope and curvature are evaluated at a model of at least this share of the entry. Otherwise
# entries badly fitted by an early dictionary would dominate the statistics.
# benchmarks: divergences
_MIN_MODEL_SHARE = 0.01
# Largest half-quadratic weight of an entry, in units of the weight of the mean residual. Larger
# weights of past samples would fix the dictionary.
# benchmarks: divergences
_MAX_WEIGHT = 10.0
# Coordinate sweeps over the entries of each row after a batch.
_SWEEPS = 2


@dataclass(frozen=True)
class SecondOrderSurrogate:
    """Compute argmin_{W in C} of the mean of quadratic models of d(v | W h) for fixed codes.

    The model of a sample has the slope and the curvature of the loss at its codes. If the curvature
    differs between entries, each row of W has its own K x K matrix, F K^2 numbers in all; the
    minimum is then a Newton step on the loss of all samples. If it is shared, K^2 numbers suffice.

    Parameters
    ----------
    loss : Divergence
        The loss d.
    constraint : Prox
        The set C of each column.
    code_l1, code_l2 : float
        Weights of the penalty of the codes. If the constraint has a ``gauge``, and also a ``price``
        for penalised codes, columns and codes are rescaled. Otherwise all features get the largest
        curvature of any feature, so that the constrained minimum is the Euclidean projection.
    forgetting, frozen, fade
        As in :class:`thalweg.updates.surrogate.Surrogate`.

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

    def init(self, W: Array) -> Statistics:
        """Return the statistics of no samples."""
        F, K = W.shape
        probe = np.ones((F, 2), W.dtype)
        shape = self._curvature(self.loss.curvature(probe, probe)).shape
        zero = np.zeros(())
        A = np.zeros((K, K) if shape[0] == 1 else (F, K, K), W.dtype)
        return Statistics(A, np.zeros((K, F), W.dtype).T, zero, zero, zero)

    def step(
        self,
        W: Array,
        state: Statistics,
        V: Array,
        codes: Codes,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> tuple[Array, Statistics]:
        """Add a batch to the statistics, minimise the quadratic from W, replace dead atoms."""
        if V.shape[1] == 0:
            return W, state
        state = self.absorb(W, state, V, codes, observed, sample_weight)
        W, state = self.minimise(W, state)
        return replace_dead_atoms(W, state, V, codes, self.constraint, self.frozen)

    @property
    def replaces_dead_atoms(self) -> bool:
        """Whether dead atoms are replaced."""
        return True

    def summarise(
        self,
        W: Array,
        V: Array,
        codes: Codes,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> Statistics:
        """Return the statistics of a block of samples."""
        return without_forgetting(self).absorb(W, self.init(W), V, codes, observed, sample_weight)

    def take_in(
        self, W: Array, state: Statistics, latest: Statistics, n_samples: int | None = None
    ) -> tuple[Array, Statistics]:
        """Add the statistics of a batch, and minimise the quadratic from W."""
        return self.minimise(W, add_batch(state, latest, self.forgetting, self.fade, n_samples))

    def absorb(
        self,
        W: Array,
        state: Statistics,
        V: Array,
        codes: Codes,
        observed: Observed | None,
        sample_weight: Array | None = None,
    ) -> Statistics:
        """Return the statistics after a batch."""
        n, weight = V.shape[1], mean_of(sample_weight)
        problem = make_divergence_problem(self.loss, V, W, observed)
        counts = batch_share(state.weight, state.n_samples, n, self.forgetting, self.fade, weight)
        shares = shares_of(sample_weight)
        plain = shares is None and state.A.ndim == 2 and not sparse.issparse(V)
        if plain and isinstance(problem, SquaredL2Problem):
            A, B, energy = averaged(state, V, None, codes.H, counts.share)
            constant = 0.5 * energy + float(np.mean(codes.cost))
        else:
            A, B, constant = self._averaged(problem, state, codes, counts.share, shares)
        if self._rescales() and (self.code_l1 or self.code_l2):
            slopes = penalty_slopes(codes.H, self.constraint, self.code_l1, self.code_l2, shares)
            # The Hessian of (sum of F terms)^2 / 2 is at most F times the identity.
            spread = len(W) * self.constraint.price[0] * slopes.shared  # type: ignore[attr-defined]
            B += W.dtype.type(counts.share) * (spread * W - slopes.flat - slopes.shared)
            diagonal = np.einsum("...kk->...k", A)
            diagonal += W.dtype.type(counts.share) * (slopes.square + spread)
        mean = np.asarray((1.0 - counts.share) * state.constant + counts.share * constant)
        return Statistics(A, B, mean, counts.weight, counts.n_samples)

    def _averaged(
        self,
        problem: DivergenceProblem,
        state: Statistics,
        codes: Codes,
        weight: float,
        shares: Array | None,
    ) -> tuple[Array, Array, float]:
        """Return the means A and B with a batch of this weight, and the constant of the batch."""
        H, V, dtype = codes.H, problem.V, problem.W.dtype
        has_weights = isinstance(problem.loss, WeightedLoss)
        shared = state.A.ndim == 2 and not (has_weights and self._rescales())
        if isinstance(problem, SquaredL2Problem):
            curve, linear = np.ones((1, 1), dtype), V
            constant = total(0.5 * column_energies(V) + codes.cost, shares) / V.shape[1]
        else:
            curve, linear, constant = self._model(problem, codes, shared, shares)
        keep, share = dtype.type(1.0 - weight), dtype.type(weight / V.shape[1])
        rows = np.ascontiguousarray(H.T)
        if shared:
            A: Array = keep * state.A + (share * curve * weighted_codes(H, shares)) @ rows
        else:
            curve = np.broadcast_to(curve, V.shape)
            A = code_squares(state.A, H, curve, shares, float(keep), float(share))
        rows = rows if shares is None else rows * shares.astype(H.dtype)[:, None]
        B = (keep * state.B.T + share * times(linear, rows).T).T  # column-major, as W
        return A, B, constant

    def _model(
        self, problem: DivergenceProblem, codes: Codes, shared: bool, shares: Array | None
    ) -> tuple[Array, Array, float]:
        """Return curvature c, coefficients b and mean constant of c p^2 / 2 - b p.

        This quadratic in the model p has the slope and the value of the loss at the codes.
        """
        P = problem.model(codes.H)
        near = np.maximum(P, P.dtype.type(_MIN_MODEL_SHARE) * problem.V)
        slope = problem.grad(near)
        curve = self._curvature(problem.curvature(near, _MAX_WEIGHT, filled=shared))
        linear = curve * P - slope
        weighted = weighted_codes(P, shares)
        offset = float(np.vdot(linear, weighted) - 0.5 * np.vdot((linear + slope), weighted))
        return curve, linear, (total(codes.loss, shares) + offset) / P.shape[1]

    def minimise(self, W: Array, state: Statistics) -> tuple[Array, Statistics]:
        """Return the dictionary after a descent from W, and the rescaled statistics."""
        A, B = state.A, state.B
        free = np.arange(W.shape[1]) >= self.frozen
        scaled = self._rescales()
        if A.ndim == 3:
            rows = np.array(W, order="C")
            _native.sweep_rows(
                A, np.ascontiguousarray(B), rows, smallest_entries(W, self.loss), free, _SWEEPS
            )
            W = np.asfortranarray(rows)
        elif scaled:
            W = minimise_rows(A, B, W, free, float(state.constant))
        else:
            W, _ = BlockCoordinate().solve(A, B, W, self.constraint, free, float(state.constant))
        return rescale_columns(W, state, self.constraint, free) if scaled else (W, state)

    def merge(self, states: Sequence[Statistics]) -> Statistics:
        """Return the weighted mean of several statistics with the same scale of W."""
        return merge_means(states)

    def objective(self, W: Array, state: Statistics) -> float:
        """Return the mean of the quadratic models at W."""
        quadratic = 0.5 * np.vdot(times_grams(W, state.A), W) - np.vdot(W, state.B) + state.constant
        return float(quadratic)

    def _rescales(self) -> bool:
        free = not (self.code_l1 or self.code_l2) or hasattr(self.constraint, "price")
        return free and hasattr(self.constraint, "gauge")

    def _curvature(self, curve: Array) -> Array:
        """Return the curvature, or its maximum over features if columns are not rescaled."""
        return curve if self._rescales() else curve.max(axis=0, keepdims=True)
