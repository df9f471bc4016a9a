"""Stochastic projected subgradient steps: the paper's own dictionary update, [D] (11)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.divergences import Divergence
from thalweg.divergences.kl import KL
from thalweg.divergences.l1 import L1
from thalweg.divergences.l2 import L2
from thalweg.encoders import Codes
from thalweg.encoders.divergence_problem import DivergenceProblem
from thalweg.errors import ParameterError
from thalweg.prox import Prox
from thalweg.prox.simplex import Simplex
from thalweg.updates._running_means import joined, merge_means

__all__ = ["Scales", "Slopes", "Subgradient", "nearest"]

S = TypeVar("S", bound=Any)

# No row moves farther than so many times what the curvature of the batch alone would allow.
_SURPRISE = 10.0
# The curvature is taken as if no entry of the model were below this share of its feature's mean.
_SMALLEST = 0.1


class Scales(NamedTuple):
    """Means over the samples so far.

    Attributes
    ----------
    curvature : array of shape (F,)
        Of a bound on the curvature of the loss in each row of W.
    objective : array of shape ()
        Of the loss, each sample's at the dictionary that it met.
    weight : array of shape ()
        Number of samples, the older ones discounted.
    n_samples : array of shape ()
        Number of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.subgradient import Subgradient
    >>> Subgradient().init(np.ones((3, 2))).curvature.shape
    (3,)
    """

    curvature: Array
    objective: Array
    weight: Array
    n_samples: Array


class Slopes(NamedTuple):
    """What a batch asks of the dictionary: means over its samples.

    Attributes
    ----------
    G : array of shape (F, K)
        The subgradient of the loss in W.
    usual, actual : array of shape (F,)
        Bounds on the curvature in each row of W: to be expected, and of these samples.
    objective : array of shape ()
        The loss.
    weight, n_samples : array of shape ()
        Number of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.subgradient import Subgradient as Encoder
    >>> from thalweg.updates.subgradient import Subgradient
    >>> V, W = np.array([[3.0, 1.0], [4.0, 2.0]]), np.array([[0.5], [0.5]])
    >>> Subgradient().summarise(W, V, Encoder().encode(V, W)).G.shape
    (2, 1)
    """

    G: Array
    usual: Array
    actual: Array
    objective: Array
    weight: Array
    n_samples: Array


@dataclass(frozen=True)
class Subgradient:
    """One step against a subgradient of the mean of d(v | W h) over a batch, back into C.

    The step is eta times the inverse of the curvature, where eta = a / (1 + n / b) after n
    samples. [D] VIII-C divides by no curvature: with data of another unit its dictionary then
    stays where it is, or jumps to the border. The bound, mean of c |h|^2, is a number for each
    row of W, which leaves the nearest point of the paper's C the right one: C is a product of
    sets of rows. With a set of columns the largest bound serves all rows.

    Parameters
    ----------
    loss : Divergence
        The loss d.
    constraint : Prox or None
        The set C, column by column; None is the paper's: entries between 0 and 1, and no row
        of a sum below ``epsilon``.
    epsilon : float
        Keeps every feature in the reach of a loss that is infinite at zero.
    schedule : tuple of float
        a and b. With a = 1 and b = 2e4 eta is the paper's, whose a = b = 2e4; with b = inf it is
        constant, as in Wang et al. (2013), and the dictionary never settles.
    absolute : bool
        Whether the step is the paper's as printed, eta = a / (b + n) and no curvature: then
        a = b = 2e4 is the paper's schedule. It suits data of one size only.
    frozen : int
        So many first columns of W never change.
    forgetting, fade : float
        Weights of earlier samples in the means, as in
        :class:`thalweg.updates.surrogate.Surrogate`. Samples that are forgotten do not
        shorten the step: a stream that drifts is followed.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.subgradient import Subgradient as Encoder
    >>> from thalweg.updates.subgradient import Subgradient
    >>> V, W = np.array([[3.0, 1.0], [4.0, 2.0]]), np.array([[0.5], [0.5]])
    >>> update = Subgradient()
    >>> W, state = update.step(W, update.init(W), V, Encoder().encode(V, W))
    >>> W.ravel().round(2)
    array([0.4, 0.6])
    """

    name: ClassVar[str] = "subgradient"

    loss: Divergence = field(default_factory=KL)
    constraint: Prox | None = None
    epsilon: float = 1e-8
    schedule: tuple[float, float] = (1.0, 2e4)
    frozen: int = 0
    forgetting: float = 1.0
    fade: float = 0.0
    absolute: bool = False

    def __post_init__(self) -> None:
        a, b = self.schedule
        if self.absolute and not np.isfinite(b):
            raise ParameterError(
                f"schedule must be two finite numbers for absolute steps, got {self.schedule!r}. "
                "Use (2e4, 2e4), say."
            )
        if not (0.0 < a < np.inf and b > 0.0 and 0.0 <= self.epsilon < 1.0):
            raise ParameterError(
                f"schedule must be two positive numbers and epsilon a number below 1, got "
                f"{self.schedule!r} and {self.epsilon!r}. Example: (1.0, 2e4) and 1e-8."
            )

    def init(self, W: Array) -> Scales:
        """Return the means over no samples."""
        zero = np.zeros(())
        return Scales(np.zeros(len(W), W.dtype), zero, zero, zero)

    def step(
        self, W: Array, state: Scales, V: Array, codes: Codes, observed: Mask | None = None
    ) -> tuple[Array, Scales]:
        """Take in a batch, and go against its subgradient."""
        if V.shape[1] == 0:
            return W, state
        return self.take_in(W, state, self.summarise(W, V, codes, observed))

    def summarise(self, W: Array, V: Array, codes: Codes, observed: Mask | None = None) -> Slopes:
        """Return the subgradient and the curvature of a block of samples."""
        n = V.shape[1]
        problem = DivergenceProblem(self.loss, V, W, observed)
        P = problem.model(codes.H)
        G = problem.grad(P) @ codes.H.T / W.dtype.type(n)  # by Danskin: codes are kept
        usual, actual = (_trace(c, codes.H) for c in _curvatures(problem, P, codes.H))
        count = np.asarray(float(n))
        return Slopes(G, usual, actual, np.asarray(np.mean(codes.loss)), count, count)

    def take_in(self, W: Array, state: Scales, latest: Slopes) -> tuple[Array, Scales]:
        """Go against a subgradient, at the pace of the curvature so far."""
        own = Scales(latest.usual, latest.objective, latest.weight, latest.n_samples)
        state = joined(state, own, self.forgetting, self.fade)
        if self.absolute:
            moved = W - W.dtype.type(self._eta(state)) * latest.G
            return self.inside(moved, W[:, : self.frozen]), state  # [D] (11), as printed
        scale = np.maximum(
            state.curvature / W.dtype.type(self._eta(state)),
            latest.actual / W.dtype.type(_SURPRISE),
        )
        if self.constraint is not None:
            scale = np.full_like(scale, scale.max())
        pace = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)
        moved = W - pace[:, None] * latest.G
        return self.inside(moved, W[:, : self.frozen]), state  # [D] (11)

    def inside(self, W: Array, fixed: Array) -> Array:
        """Return the nearest dictionary in C that has the frozen columns ``fixed``."""
        free = W[:, fixed.shape[1] :]
        if self.constraint is None:
            free = nearest(free, self.epsilon - fixed.sum(axis=1))
        else:
            free = self.constraint.prox(free)
        return np.asfortranarray(np.hstack([fixed, free]))

    def merge(self, states: Sequence[S]) -> S:
        """Return the weighted mean of several states, or of several slopes."""
        return merge_means(states)

    def objective(self, W: Array, state: Scales) -> float:
        """Return the mean loss of the samples so far; W has no part in it."""
        return float(state.objective)

    def _eta(self, state: Scales) -> float:
        """Return the paper's step: [D] VIII-C has a / (tau t + b) after t batches of tau."""
        a, b = self.schedule
        memory = np.inf if self.forgetting == 1.0 else 1.0 / (1.0 - self.forgetting)
        n = min(float(state.n_samples), memory)
        return float(a / (b + n) if self.absolute else a / (1.0 + n / b))


def nearest(W: Array, epsilon: Array | float) -> Array:
    """Return the nearest matrix with entries between 0 and 1 and rows of sums >= epsilon.

    [D] S-1 sends a row of too small a sum to the probability simplex; the nearest point is in
    the simplex of sum epsilon. It is the row itself that is projected, not what clipping has
    left of it.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.subgradient import nearest
    >>> nearest(np.array([[2.0, -1.0], [-3.0, -1.0]]), 0.5)
    array([[1. , 0. ],
           [0. , 0.5]])
    """
    inside = np.clip(W, 0.0, 1.0)
    low = inside.sum(axis=1) < epsilon
    if low.any():
        total = np.broadcast_to(np.asarray(epsilon, W.dtype), len(W))[low]
        inside[low] = (total * Simplex().prox(W[low].T / total)).T
    return inside


def _curvatures(problem: DivergenceProblem, P: Array, H: Array) -> tuple[Array, Array]:
    """Return the curvature to be expected of the loss at a model, and that of the batch.

    The first is that of data which fit, as in Fisher's scoring: at a count of zero the batch's
    is zero, and at an outlier anything. A norm has a kink there; both are then that of its mean
    residual.
    """
    if isinstance(problem.loss, (L1, L2)):
        c = _at_mean_residual(problem, P, H)
        return c, c
    near = np.maximum(P, P.dtype.type(_SMALLEST) * P.mean(axis=1, keepdims=True))
    usual = replace(problem, V=near).curvature(near, np.inf)
    actual = problem.curvature(P, np.inf)
    return np.broadcast_to(usual, P.shape), np.broadcast_to(actual, P.shape)


def _at_mean_residual(problem: DivergenceProblem, P: Array, H: Array) -> Array:
    """Return the inverse of a norm's mean residual over a batch; zero at gaps."""
    observed = np.ones(P.shape, np.bool_) if problem.observed is None else problem.observed
    count = observed.sum() if isinstance(problem.loss, L1) else observed.any(axis=0).sum()
    total = float(problem.value(P, H).sum())
    return observed * P.dtype.type(count / total if total > 0.0 else 0.0)


def _trace(c: Array, H: Array) -> Array:
    """Return the mean of c |h|^2 for each row: the trace of the loss's Hessian in it."""
    trace: Array = c @ (np.einsum("kb,kb->b", H, H) / H.dtype.type(H.shape[1]))
    return trace
