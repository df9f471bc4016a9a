"""Minimise the quadratic surrogate of the mean loss of all samples: [O] (10)-(12)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from thalweg._typing import Array, Observed
from thalweg.encoders import Codes
from thalweg.encoders.divergence_problem import weighted_codes
from thalweg.encoders.entry_weights import are_weights
from thalweg.prox import Prox
from thalweg.prox.l2_ball import L2Ball
from thalweg.solvers import MatrixSolver
from thalweg.solvers.block_coordinate import BlockCoordinate
from thalweg.updates._feature_matrices import times_grams
from thalweg.updates._running_means import (
    add_batch,
    averaged,
    batch_share,
    dead_atoms,
    mean_of,
    merge_means,
    shares_of,
    weighted_means,
    without_forgetting,
)
from thalweg.updates.atom_replacement import replace_dead_atoms

__all__ = ["Statistics", "Surrogate"]


class Statistics(NamedTuple):
    """Running means over all samples, which merge like sums if multiplied by ``weight``.

    Attributes
    ----------
    A : array of shape (K, K) or (F, K, K)
        Mean of h h'; of w h h' for each feature, once entries have weights w.
    B : array of shape (F, K)
        Mean of (v - r) h', or of w (v - r) h'.
    constant : array of shape ()
        Mean of the terms that do not depend on W: |v - r|^2/2 + g(r) + omega(h).
    weight : array of shape ()
        Discounted number of samples.
    n_samples : array of shape ()
        Number of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.surrogate import Surrogate
    >>> Surrogate().init(np.ones((3, 2))).A.shape
    (2, 2)
    """

    A: Array
    B: Array
    constant: Array
    weight: Array
    n_samples: Array


@dataclass(frozen=True)
class Surrogate:
    """Compute argmin_{W in C} of the mean of |v - W h - r|^2/2 for fixed codes.

    The mean is over all samples, each with the codes h and outliers r of its time.

    Parameters
    ----------
    solver : MatrixSolver
        Minimises the quadratic [O] (12).
    constraint : Prox
        The set C of each column.
    l1, l2 : float
        Elastic-net weights on W, [O] VI-B; the problem stays quadratic since W >= 0.
    forgetting : float
        Forgetting factor per sample; 1 forgets nothing.
    frozen : int
        Number of leading columns of W that are fixed.
    fade : float
        Sample i of t has the weight (i/t)^fade. This discounts the codes of early, poor
        dictionaries, while the change of W still decreases like 1/t (Mairal et al., 2010, section
        3.4). 0 is [O]: equal weights.
    replace_unused : bool
        Whether atoms that no sample uses are replaced by residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.fast import Fast
    >>> from thalweg.updates.surrogate import Surrogate
    >>> V, W = np.array([[3.0], [4.0]]), np.array([[1.0], [0.0]])
    >>> update = Surrogate()
    >>> W, state = update.step(W, update.init(W), V, Fast().encode(V, W))
    >>> W.ravel().round(3)
    array([0.949, 0.316])
    """

    name: ClassVar[str] = "surrogate"

    solver: MatrixSolver = field(default_factory=BlockCoordinate)
    constraint: Prox = field(default_factory=L2Ball)
    l1: float = 0.0
    l2: float = 0.0
    forgetting: float = 1.0
    frozen: int = 0
    fade: float = 0.0
    replace_unused: bool = True

    def init(self, W: Array) -> Statistics:
        """Return the statistics of no samples."""
        F, K = W.shape
        zero = np.zeros(())
        return Statistics(np.zeros((K, K), W.dtype), np.zeros((K, F), W.dtype).T, zero, zero, zero)

    def absorb(
        self,
        state: Statistics,
        V: Array,
        codes: Codes,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> Statistics:
        """Return the statistics after a batch."""
        H, n = codes.H, V.shape[1]
        if n == 0:
            return state
        mean_weight = 1.0 if sample_weight is None else mean_of(sample_weight)
        share, total, n_samples = batch_share(
            state.weight, state.n_samples, n, self.forgetting, self.fade, mean_weight
        )
        by_entry = state.A.ndim == 3 or (observed is not None and are_weights(observed))
        if sample_weight is None and not by_entry:
            A, B, square = averaged(state, V, codes.R, H, share)
            cost = codes.cost.sum()
        else:
            shares = shares_of(sample_weight)
            A, B, square = weighted_means(state, V - codes.R, H, share, observed, shares)
            cost = weighted_codes(codes.cost, shares).sum()
        mean = np.asarray((1.0 - share) * state.constant + share * (0.5 * square + cost / n))
        return Statistics(A, B, mean, total, n_samples)

    def step(
        self,
        W: Array,
        state: Statistics,
        V: Array,
        codes: Codes,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> tuple[Array, Statistics]:
        """Add a batch to the statistics, minimise the surrogate from W, and replace dead atoms.

        A mask is not needed, since V - R equals W H at missing entries. With weights of entries,
        missing ones have none, and each feature has a matrix A of its own.
        """
        state = self.absorb(state, V, codes, observed, sample_weight)
        W = self.minimise(W, state)
        if not self.replaces_dead_atoms or not dead_atoms(state, self.frozen):
            return W, state
        return replace_dead_atoms(W, state, V, codes, self.constraint, self.frozen)

    @property
    def replaces_dead_atoms(self) -> bool:
        """Whether dead atoms are replaced; under an l1 penalty they are wanted."""
        return self.replace_unused and self.l1 == 0.0

    def summarise(
        self,
        W: Array,
        V: Array,
        codes: Codes,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> Statistics:
        """Return the statistics of a block of samples."""
        return without_forgetting(self).absorb(self.init(W), V, codes, observed, sample_weight)

    def take_in(
        self, W: Array, state: Statistics, latest: Statistics, n_samples: int | None = None
    ) -> tuple[Array, Statistics]:
        """Add the statistics of a batch, and minimise the surrogate from W."""
        state = add_batch(state, latest, self.forgetting, self.fade, n_samples)
        return self.minimise(W, state), state

    def minimise(self, W: Array, state: Statistics) -> Array:
        """Return the minimiser of the surrogate, starting from W."""
        A = state.A + self.l2 * np.eye(W.shape[1], dtype=W.dtype) if self.l2 else state.A
        B = state.B - W.dtype.type(self.l1) if self.l1 else state.B
        free = np.arange(W.shape[1]) >= self.frozen
        W, _ = self.solver.solve(A, B, W, self.constraint, free, float(state.constant))
        return W

    def merge(self, states: Sequence[Statistics]) -> Statistics:
        """Return the weighted mean of several statistics."""
        return merge_means(states)

    def objective(self, W: Array, state: Statistics) -> float:
        """Return the surrogate [O] (11) at W, including the penalty of W."""
        product = W @ state.A if state.A.ndim == 2 else times_grams(W, state.A)
        quadratic = 0.5 * np.vdot(product, W) - np.vdot(W, state.B) + state.constant
        return float(quadratic + self.l1 * W.sum() + 0.5 * self.l2 * np.vdot(W, W))
