"""Multiplicative updates of the dictionary, from the majorisers of all samples so far."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from thalweg._typing import Array, Observed
from thalweg.divergences import Divergence
from thalweg.divergences.kl import KL
from thalweg.encoders import Codes
from thalweg.encoders.sparse_divergence_problem import make_divergence_problem
from thalweg.errors import ParameterError
from thalweg.prox import Prox
from thalweg.prox.l2_ball import L2Ball
from thalweg.solvers.multiplicative import rescale
from thalweg.updates._running_means import (
    add_batch,
    batch_share,
    mean_of,
    merge_means,
    shares_of,
    total,
    without_forgetting,
)
from thalweg.updates.atom_scaling import (
    PenaltySlopes,
    column_gauges,
    penalty_slopes,
    smallest_entries,
)

__all__ = ["Majorisers", "Multiplicative"]


class Majorisers(NamedTuple):
    """Means over all samples of the coefficients of powers of W.

    Attributes
    ----------
    neg : array of shape (F, K)
        Coefficients of -W^-down in the derivative: the mean of (neg h') w~^down.
    pos : array of shape (F, K)
        Coefficients of W^up in the derivative: the mean of (pos h') w~^-up.
    square : array of shape (F, K)
        Coefficients of W^2 / 2, from the penalty of the codes.
    constant : array of shape ()
        Constant that makes a majoriser equal to the loss at its w~.
    weight : array of shape ()
        Discounted number of samples.
    n_samples : array of shape ()
        Number of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.multiplicative import Multiplicative
    >>> Multiplicative().init(np.ones((3, 2))).neg.shape
    (3, 2)
    """

    neg: Array
    pos: Array
    square: Array
    constant: Array
    weight: Array
    n_samples: Array


@dataclass(frozen=True)
class Multiplicative:
    """Compute argmin_{W in C} of the mean of separable majorisers of d(v | W h) for fixed codes.

    The majoriser of a sample touches the loss at w~, the dictionary of its time. It is a sum of
    two powers of each entry of W, so that the sum over a stream needs 2 F K numbers. For the
    Itakura-Saito divergence this is the update of Lefevre, Bach and Fevotte (2011).

    Parameters
    ----------
    loss : Divergence
        The loss d.
    constraint : Prox
        The set C of each column, with a ``gauge``, since columns are scaled into it.
    code_l1, code_l2 : float
        Weights of the penalty of the codes. The constraint then also needs a ``price``.
    forgetting, frozen, fade
        As in :class:`thalweg.updates.surrogate.Surrogate`.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.multiplicative import Multiplicative as Encoder
    >>> from thalweg.updates.multiplicative import Multiplicative
    >>> V, W = np.array([[3.0, 1.0], [4.0, 2.0]]), np.array([[1.0], [1.0]])
    >>> update = Multiplicative()
    >>> W, state = update.step(W, update.init(W), V, Encoder().encode(V, W))
    >>> W.ravel().round(2)
    array([0.55, 0.83])
    """

    name: ClassVar[str] = "multiplicative"

    loss: Divergence = field(default_factory=KL)
    constraint: Prox = field(default_factory=L2Ball)
    code_l1: float = 0.0
    code_l2: float = 0.0
    forgetting: float = 1.0
    frozen: int = 0
    fade: float = 0.0

    def init(self, W: Array) -> Majorisers:
        """Return the majorisers of no samples."""
        zero = np.zeros(())
        neg, pos, square = (np.zeros_like(W) for _ in range(3))
        return Majorisers(neg, pos, square, zero, zero, zero)

    def step(
        self,
        W: Array,
        state: Majorisers,
        V: Any,
        codes: Codes,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> tuple[Array, Majorisers]:
        """Add the majorisers of a batch, and minimise the sum of all majorisers."""
        if V.shape[1] == 0:
            return W, state
        state = self.absorb(self._positive(W), state, V, codes, observed, sample_weight)
        return self._moved(W, state)

    def summarise(
        self,
        W: Array,
        V: Any,
        codes: Codes,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> Majorisers:
        """Return the majorisers of a block of samples."""
        return without_forgetting(self).absorb(
            self._positive(W), self.init(W), V, codes, observed, sample_weight
        )

    def take_in(
        self, W: Array, state: Majorisers, latest: Majorisers, n_samples: int | None = None
    ) -> tuple[Array, Majorisers]:
        """Add the majorisers of a batch, and minimise the sum of all majorisers."""
        return self._moved(W, add_batch(state, latest, self.forgetting, self.fade, n_samples))

    def _positive(self, W: Array) -> Array:
        """Return W with positive entries, since multiplicative updates cannot change zeros."""
        return np.maximum(W, smallest_entries(W, self.loss))

    def _moved(self, W: Array, state: Majorisers) -> tuple[Array, Majorisers]:
        moved, state = self.minimise(self._positive(W), state)
        moved[:, : self.frozen] = W[:, : self.frozen]
        return moved, state

    def absorb(
        self,
        W: Array,
        state: Majorisers,
        V: Any,
        codes: Codes,
        observed: Observed | None,
        sample_weight: Array | None = None,
    ) -> Majorisers:
        """Return the majorisers after a batch."""
        n, shares = V.shape[1], shares_of(sample_weight)
        up, down = self.loss.growth
        problem = make_divergence_problem(self.loss, V, W, observed)
        neg, pos = problem.split_in_dictionary(codes.H, shares)
        slopes = self._penalty_slopes(codes.H, shares)
        pos = pos + n * slopes.flat
        constant = (
            total(codes.loss, shares) / n
            - (self._potential(pos, W, up + 1.0) - self._potential(neg, W, 1.0 - down)) / n
        )
        counts = batch_share(
            state.weight, state.n_samples, n, self.forgetting, self.fade, mean_of(sample_weight)
        )
        keep, share = W.dtype.type(1.0 - counts.share), W.dtype.type(counts.share / n)
        return Majorisers(
            keep * state.neg + share * (neg * W**down if down else neg),
            keep * state.pos + share * (pos * W**-up if up else pos),
            keep * state.square + W.dtype.type(counts.share) * (slopes.square + slopes.shared / W),
            np.asarray((1.0 - counts.share) * state.constant + counts.share * constant),
            counts.weight,
            counts.n_samples,
        )

    def minimise(self, W: Array, state: Majorisers) -> tuple[Array, Majorisers]:
        """Return the minimiser of the majorisers, scaled into C, and the rescaled majorisers."""
        up, down = self.loss.growth
        free = np.arange(W.shape[1]) >= self.frozen
        neg = state.neg * W**-down if down else state.neg
        pos = state.pos * W**up if up else state.pos
        factors = rescale(neg, pos, (up, down), 0.0, state.square * W)
        moved = np.maximum(W * factors, smallest_entries(W, self.loss))
        W = np.where(free, moved, W)
        size = column_gauges(W, self.constraint, free)
        state = state._replace(
            neg=state.neg * size ** (1.0 - down),
            pos=state.pos * size ** (1.0 + up),
            square=state.square * size**2,
        )
        return np.asfortranarray(W / size), state

    def merge(self, states: Sequence[Majorisers]) -> Majorisers:
        """Return the weighted mean of several states with the same scale of W."""
        return merge_means(states)

    def objective(self, W: Array, state: Majorisers) -> float:
        """Return the mean of the majorisers at W."""
        up, down = self.loss.growth
        W = np.maximum(W, smallest_entries(W, self.loss))
        pos = self._potential(state.pos * W**up, W, up + 1.0)
        neg = self._potential(state.neg * W**-down, W, 1.0 - down)
        return float(pos - neg + 0.5 * np.vdot(state.square * W, W) + state.constant)

    def _penalty_slopes(self, H: Array, shares: Array | None) -> PenaltySlopes:
        if not (self.code_l1 or self.code_l2):
            zeros = np.zeros(len(H), H.dtype)
            return PenaltySlopes(zeros, zeros, zeros)
        if not hasattr(self.constraint, "price"):
            raise ParameterError(
                "constraint must be an l1 ball, an l2 ball or a simplex if the codes are "
                f"penalised, got {self.constraint!r}. Use one of these."
            )
        return penalty_slopes(H, self.constraint, self.code_l1, self.code_l2, shares)

    def _potential(self, slope: Array, W: Array, exponent: float) -> float:
        """Return the antiderivative of the power of W with this slope at W.

        ``exponent`` is that of the antiderivative; 0 is the logarithm.
        """
        if exponent == 0.0:
            return float(np.sum(slope * W * np.log(W)))
        return float(np.sum(slope * W)) / exponent
