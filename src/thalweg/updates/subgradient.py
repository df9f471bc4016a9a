"""Stochastic projected subgradient steps on the dictionary: [D] (11)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from thalweg._typing import Array, Observed
from thalweg.divergences import Divergence
from thalweg.divergences.kl import KL
from thalweg.divergences.l1 import L1
from thalweg.divergences.l2 import L2
from thalweg.encoders import Codes
from thalweg.encoders.divergence_problem import (
    DivergenceProblem,
    dense_problem,
    weighted_codes,
)
from thalweg.encoders.entry_weights import WeightedLoss
from thalweg.errors import ParameterError
from thalweg.prox import Prox
from thalweg.prox.simplex import Simplex
from thalweg.updates._running_means import add_batch, mean_of, merge_means, shares_of, total

__all__ = ["Scales", "Slopes", "Subgradient", "project_rows"]

S = TypeVar("S", bound=Any)

# Largest step of a row of W, in units of the step from the curvature of the batch alone.
# benchmarks: divergences
_MAX_STEP = 10.0
# Smallest entry of the model, in units of the mean of its feature, at which the expected curvature
# is evaluated.
# benchmarks: divergences
_MIN_MODEL_SHARE = 0.1


class Scales(NamedTuple):
    """Means over the samples so far.

    Attributes
    ----------
    curvature : array of shape (F,)
        Upper bound of the curvature of the loss in each row of W.
    objective : array of shape ()
        Loss of the samples, each with the dictionary of its time.
    weight : array of shape ()
        Discounted number of samples.
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
    """Means over the samples of a batch.

    Attributes
    ----------
    G : array of shape (F, K)
        Subgradient of the loss in W.
    expected, actual : array of shape (F,)
        Upper bounds of the curvature in each row of W: expected for data that fit the model, and
        of these samples.
    objective : array of shape ()
        Loss.
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
    expected: Array
    actual: Array
    objective: Array
    weight: Array
    n_samples: Array


@dataclass(frozen=True)
class Subgradient:
    """Take one projected subgradient step on the mean of d(v | W h) over a batch, W in C.

    The step size is eta divided by an upper bound of the curvature, with eta = a / (1 + n / b)
    after n samples. [D] VIII-C does not divide by the curvature; in other units its dictionary
    hardly moves, or jumps to the boundary. The bound, the mean of c |h|^2, is one number for each
    row of W. The Euclidean projection is then exact for C of the paper, a product of sets of rows.
    For a set of columns all rows use the largest bound.

    Parameters
    ----------
    loss : Divergence
        The loss d.
    constraint : Prox or None
        The set C of each column. None is that of the paper: entries between 0 and 1, and row sums
        of at least ``epsilon``.
    epsilon : float
        Smallest row sum of W, which keeps losses finite that are infinite at a zero model.
    schedule : tuple of float
        (a, b). (1, 2e4) is the schedule of the paper, whose a = b = 2e4. With b = inf eta is
        constant, as in Wang et al. (2013), and the dictionary does not converge.
    absolute : bool
        Whether the step size is eta = a / (b + n) without the curvature, as printed; a = b = 2e4
        in the paper. This suits data of one scale only.
    frozen : int
        Number of leading columns of W that are fixed.
    forgetting, fade : float
        Weights of earlier samples in the means, as in
        :class:`thalweg.updates.surrogate.Surrogate`. Forgotten samples do not count in n, so
        that the dictionary follows a drifting stream.

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
                f"schedule must be two finite numbers if absolute=True, got {self.schedule!r}. "
                "Use for example (2e4, 2e4)."
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
        self,
        W: Array,
        state: Scales,
        V: Array,
        codes: Codes,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> tuple[Array, Scales]:
        """Take a step against the subgradient of a batch."""
        if V.shape[1] == 0:
            return W, state
        return self.take_in(
            W, state, self.summarise(W, V, codes, observed, sample_weight), V.shape[1]
        )

    def summarise(
        self,
        W: Array,
        V: Array,
        codes: Codes,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> Slopes:
        """Return the subgradient and the curvature of a block of samples."""
        n = V.shape[1]
        shares = shares_of(sample_weight)
        problem = dense_problem(self.loss, V, W, observed)
        P, H = problem.model(codes.H), weighted_codes(codes.H, shares)
        G = problem.grad(P) @ H.T / W.dtype.type(n)  # Danskin's theorem
        expected, actual = (_trace(c, codes.H * H) for c in _curvatures(problem, P, codes.H))
        count = np.asarray(n * mean_of(sample_weight))
        loss = np.asarray(total(codes.loss, shares) / n)
        return Slopes(G, expected, actual, loss, count, count)

    def take_in(
        self, W: Array, state: Scales, latest: Slopes, n_samples: int | None = None
    ) -> tuple[Array, Scales]:
        """Take a step against a subgradient, in units of the mean curvature so far."""
        own = Scales(latest.expected, latest.objective, latest.weight, latest.n_samples)
        state = add_batch(state, own, self.forgetting, self.fade, n_samples)
        if self.absolute:
            moved = W - W.dtype.type(self._eta(state)) * latest.G
            return self.inside(moved, W[:, : self.frozen]), state  # [D] (11), as printed
        scale = np.maximum(
            state.curvature / W.dtype.type(self._eta(state)),
            latest.actual / W.dtype.type(_MAX_STEP),
        )
        if self.constraint is not None:
            scale = np.full_like(scale, scale.max())
        step = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)
        moved = W - step[:, None] * latest.G
        return self.inside(moved, W[:, : self.frozen]), state  # [D] (11)

    def inside(self, W: Array, fixed: Array) -> Array:
        """Return the projection of W onto C, with the frozen columns ``fixed``."""
        free = W[:, fixed.shape[1] :]
        if self.constraint is None:
            free = project_rows(free, self.epsilon - fixed.sum(axis=1))
        else:
            free = self.constraint.prox(free)
        return np.asfortranarray(np.hstack([fixed, free]))

    def merge(self, states: Sequence[S]) -> S:
        """Return the weighted mean of several states, or of several slopes."""
        return merge_means(states)

    def objective(self, W: Array, state: Scales) -> float:
        """Return the mean loss of the samples so far, which does not depend on W."""
        return float(state.objective)

    def _eta(self, state: Scales) -> float:
        """Return eta: [D] VIII-C has a / (tau t + b) after t batches of tau samples."""
        a, b = self.schedule
        memory = np.inf if self.forgetting == 1.0 else 1.0 / (1.0 - self.forgetting)
        n = min(float(state.n_samples), memory)
        return float(a / (b + n) if self.absolute else a / (1.0 + n / b))


def project_rows(W: Array, epsilon: Array | float) -> Array:
    """Project onto the matrices with entries between 0 and 1 and row sums of at least epsilon.

    [D] S-1 projects a row with a smaller sum onto the probability simplex; the nearest point is
    on the simplex of sum epsilon. The row itself is projected, not its clipped values.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.subgradient import project_rows
    >>> project_rows(np.array([[2.0, -1.0], [-3.0, -1.0]]), 0.5)
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
    """Return the expected curvature of the loss at a model, and that of the batch.

    The first is evaluated for data equal to the model, as in Fisher scoring, since the curvature
    at the data is 0 for zero counts and arbitrary for outliers. For norms, which have a kink at an
    exact fit, both are the curvature at the mean residual.
    """
    if isinstance(_plain(problem.loss), (L1, L2)):
        c = _at_mean_residual(problem, P, H)
        return c, c
    near = np.maximum(P, P.dtype.type(_MIN_MODEL_SHARE) * P.mean(axis=1, keepdims=True))
    expected = replace(problem, V=near).curvature(near, np.inf)
    actual = problem.curvature(P, np.inf)
    return np.broadcast_to(expected, P.shape), np.broadcast_to(actual, P.shape)


def _at_mean_residual(problem: DivergenceProblem, P: Array, H: Array) -> Array:
    """Return the inverse of the mean residual of a norm over a batch, 0 at missing entries."""
    observed = np.ones(P.shape, np.bool_) if problem.observed is None else problem.observed
    count = observed.sum() if isinstance(_plain(problem.loss), L1) else observed.any(axis=0).sum()
    value = float(problem.value(P, H).sum())
    return problem.entry_weights() * P.dtype.type(count / value if value > 0.0 else 0.0)


def _plain(loss: Divergence) -> Divergence:
    return loss.loss if isinstance(loss, WeightedLoss) else loss


def _trace(c: Array, squares: Array) -> Array:
    """Return the mean of c |h|^2 for each row of W: the trace of the Hessian in that row."""
    trace: Array = c @ (squares.sum(axis=0) / squares.dtype.type(squares.shape[1]))
    return trace
