"""Multiplicative updates of a dictionary, with the majorisers of all samples so far."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.divergences import Divergence
from thalweg.divergences.kl import KL
from thalweg.encoders import Codes
from thalweg.encoders.sparse_divergence_problem import make_divergence_problem
from thalweg.errors import ParameterError
from thalweg.prox import Prox
from thalweg.prox.l2_ball import L2Ball
from thalweg.solvers.multiplicative import rescale
from thalweg.updates._running_means import alone, batch_share, joined, merge_means
from thalweg.updates.atom_scaling import Price, lowest, priced, sizes

__all__ = ["Majorisers", "Multiplicative"]


class Majorisers(NamedTuple):
    """Means over the samples so far of the coefficients of powers of W.

    Attributes
    ----------
    neg : array of shape (F, K)
        Of minus the power -down: the mean of (neg h') w~^down.
    pos : array of shape (F, K)
        Of the power up: the mean of (pos h') w~^-up.
    square : array of shape (F, K)
        Of the square, W^2 / 2: what the codes' penalty asks of W.
    constant : array of shape ()
        What makes the majoriser equal to the loss where it touches.
    weight : array of shape ()
        Number of samples, the older ones discounted.
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
    """argmin over W in C of the mean of separable majorisers of d(v | W h), codes kept.

    The majoriser of a sample, made where W was w~ when the sample came, is a sum of two powers
    of each entry of W, so that the majorisers of a whole stream add up in 2 F K numbers. With
    the Itakura-Saito divergence this is the update of Lefevre, Bach and Fevotte (2011).

    Parameters
    ----------
    loss : Divergence
        The loss d.
    constraint : Prox
        The set C, column by column; it is met by rescaling columns, and needs a ``gauge``.
    code_l1, code_l2 : float
        Weights of the codes' penalty; then the constraint needs a ``price``, too.
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
        self, W: Array, state: Majorisers, V: Any, codes: Codes, observed: Mask | None = None
    ) -> tuple[Array, Majorisers]:
        """Take in a batch, and go where the majorisers of all samples are least."""
        if V.shape[1] == 0:
            return W, state
        return self._moved(W, self.absorb(self._positive(W), state, V, codes, observed))

    def summarise(self, W: Array, V: Any, codes: Codes, observed: Mask | None = None) -> Majorisers:
        """Return the majorisers of a block of samples alone."""
        return alone(self).absorb(self._positive(W), self.init(W), V, codes, observed)

    def take_in(self, W: Array, state: Majorisers, latest: Majorisers) -> tuple[Array, Majorisers]:
        """Take in a batch by its majorisers, and go where those of all samples are least."""
        return self._moved(W, joined(state, latest, self.forgetting, self.fade))

    def _positive(self, W: Array) -> Array:
        """Return W without zeros, which could not be multiplied."""
        return np.maximum(W, lowest(W, self.loss))

    def _moved(self, W: Array, state: Majorisers) -> tuple[Array, Majorisers]:
        moved, state = self.minimise(self._positive(W), state)
        moved[:, : self.frozen] = W[:, : self.frozen]
        return moved, state

    def absorb(
        self, W: Array, state: Majorisers, V: Any, codes: Codes, observed: Mask | None
    ) -> Majorisers:
        """Return the majorisers with those of a batch taken in."""
        n = V.shape[1]
        up, down = self.loss.growth
        problem = make_divergence_problem(self.loss, V, W, observed)
        neg, pos = problem.split_in_dictionary(codes.H)
        price = self._price(codes.H)
        pos = pos + n * price.flat
        touch = (
            float(np.mean(codes.loss))
            - (self._potential(pos, W, up + 1.0) - self._potential(neg, W, 1.0 - down)) / n
        )
        counts = batch_share(state.weight, state.n_samples, n, self.forgetting, self.fade)
        keep, share = W.dtype.type(1.0 - counts.share), W.dtype.type(counts.share / n)
        return Majorisers(
            keep * state.neg + share * (neg * W**down if down else neg),
            keep * state.pos + share * (pos * W**-up if up else pos),
            keep * state.square + W.dtype.type(counts.share) * (price.square + price.shared / W),
            np.asarray((1.0 - counts.share) * state.constant + counts.share * touch),
            counts.weight,
            counts.n_samples,
        )

    def minimise(self, W: Array, state: Majorisers) -> tuple[Array, Majorisers]:
        """Return where the majorisers are least, and the majorisers in its scale."""
        up, down = self.loss.growth
        free = np.arange(W.shape[1]) >= self.frozen
        neg = state.neg * W**-down if down else state.neg
        pos = state.pos * W**up if up else state.pos
        factors = rescale(neg, pos, (up, down), 0.0, state.square * W)
        moved = np.maximum(W * factors, lowest(W, self.loss))
        W = np.where(free, moved, W)
        size = sizes(W, self.constraint, free)
        state = state._replace(
            neg=state.neg * size ** (1.0 - down),
            pos=state.pos * size ** (1.0 + up),
            square=state.square * size**2,
        )
        return np.asfortranarray(W / size), state

    def merge(self, states: Sequence[Majorisers]) -> Majorisers:
        """Return the weighted mean of several states, of one and the same scale of W."""
        return merge_means(states)

    def objective(self, W: Array, state: Majorisers) -> float:
        """Return the mean of the majorisers at W."""
        up, down = self.loss.growth
        W = np.maximum(W, lowest(W, self.loss))
        pos = self._potential(state.pos * W**up, W, up + 1.0)
        neg = self._potential(state.neg * W**-down, W, 1.0 - down)
        return float(pos - neg + 0.5 * np.vdot(state.square * W, W) + state.constant)

    def _price(self, H: Array) -> Price:
        if not (self.code_l1 or self.code_l2):
            nothing = np.zeros(len(H), H.dtype)
            return Price(nothing, nothing, nothing)
        if not hasattr(self.constraint, "price"):
            raise ParameterError(
                f"a penalty of the codes needs components in an l1 ball, an l2 ball or a simplex "
                f"here, got the constraint {self.constraint!r}. Use one of these."
            )
        return priced(H, self.constraint, self.code_l1, self.code_l2)

    def _potential(self, slope: Array, W: Array, exponent: float) -> float:
        """Return the antiderivative whose slope at W is a power of W: of exponent less one."""
        if exponent == 0.0:
            return float(np.sum(slope * W * np.log(W)))
        return float(np.sum(slope * W)) / exponent
