"""Averaged gradient steps on the samples of a buffer: [R] Algorithms 1 to 3."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import cos, pi, sqrt
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg import _kernels
from thalweg._typing import Array, Mask
from thalweg.divergences import Divergence
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.encoders import Codes
from thalweg.encoders.divergence_problem import DivergenceProblem
from thalweg.errors import ParameterError
from thalweg.prox import Prox
from thalweg.prox.simplex import Simplex

__all__ = ["Buffer", "RobustApproximation", "diameter", "pace"]

# [R] statement 5: the first of the factors theta.
_THETA = 0.1
# Without a horizon theta is halved after so many windows, and falls like their inverse.
_HALVED = 100.0
# Exponents of the beta-divergences that have a name of their own.
_EXPONENTS = {"squared-l2": 2.0, "kl": 1.0, "itakura-saito": 0.0}


class Buffer(NamedTuple):
    """The latest samples with their codes, and what the steps need to know of all of them.

    Attributes
    ----------
    V : array of shape (F, L)
        Samples without their outliers, the latest last; NaN at gaps.
    H : array of shape (K, L)
        Their codes.
    cost : array of shape (L,)
        What the penalties of the codes and of the outliers add to their losses.
    bound : array of shape ()
        The largest norm of a gradient so far: M of [R].
    seed : array of shape (1,)
        State of the random numbers.
    n_windows : array of shape ()
        Number of calls: t of [R].
    n_samples : array of shape ()
        Number of samples so far.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.robust_approximation import RobustApproximation
    >>> RobustApproximation().init(np.ones((3, 2))).V.shape
    (3, 0)
    """

    V: Array
    H: Array
    cost: Array
    bound: Array
    seed: NDArray[np.uint64]
    n_windows: Array
    n_samples: Array


@dataclass(frozen=True)
class RobustApproximation:
    """argmin over W in C of the mean of d(v | W h) over a buffer, by averaged gradient steps.

    Each step goes against the gradient of one sample, in the order of a random permutation, and
    back into C; the mean of all points, weighted by the steps, is the next dictionary
    (Nemirovski et al., 2009). The error falls like one over the root of the number of steps.

    Parameters
    ----------
    loss : Divergence
        A beta-divergence: squared l2, KL, Itakura-Saito or Beta.
    constraint : Prox
        The set C, column by column: a simplex, a ball or a box, since the step is in units of its
        diameter. Bounds of a box may also be arrays of W's shape.
    l1, l2 : float
        Elastic-net weights on W; the second is alpha of [R] (29).
    buffer_size : int or None
        How many samples are kept: l of [R] Algorithm 3. None keeps all: Algorithm 1.
    horizon : int or None
        T of [R]: the steps fall to zero after so many windows. None needs no end.
    tol : float
        tau of [R] (9). As printed it is met at the first step, where the average is the start;
        here at least once over the buffer.
    max_steps : int
        Cap on the steps, beyond the first time over the buffer.
    frozen : int
        So many first columns of W never change.
    seed : int
        Of the permutations.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.fast import Fast
    >>> from thalweg.updates.robust_approximation import RobustApproximation
    >>> V, W = np.array([[3.0], [1.0]]), np.array([[0.5], [0.5]])
    >>> update = RobustApproximation()
    >>> state = update.init(W)
    >>> for _ in range(20):
    ...     W, state = update.step(W, state, V, Fast().encode(V, W))
    >>> W.ravel().round(2)
    array([0.75, 0.25])
    """

    name: ClassVar[str] = "robust-approximation"

    loss: Divergence = field(default_factory=SquaredL2)
    constraint: Prox = field(default_factory=Simplex)
    l1: float = 0.0
    l2: float = 0.0
    buffer_size: int | None = 20
    horizon: int | None = None
    tol: float = 1e-3
    max_steps: int = 10_000
    frozen: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        _exponent(self.loss)
        _border(self.constraint)

    def init(self, W: Array) -> Buffer:
        """Return an empty buffer."""
        F, K = W.shape
        zero = np.zeros(())
        V, H = np.empty((0, F), W.dtype).T, np.empty((0, K), W.dtype).T
        seed = np.array([self.seed], np.uint64)
        return Buffer(V, H, np.empty(0, W.dtype), zero, seed, zero, zero)

    def step(
        self, W: Array, state: Buffer, V: Array, codes: Codes, observed: Mask | None = None
    ) -> tuple[Array, Buffer]:
        """Take in a batch as one window, and move to the average of the steps."""
        if V.shape[1] == 0:
            return W, state
        return self.minimise(W, self.absorb(state, V, codes, observed))

    def absorb(self, state: Buffer, V: Array, codes: Codes, observed: Mask | None = None) -> Buffer:
        """Return the buffer with a batch in it, the oldest samples out of it."""
        clean = (V - codes.R).T
        if observed is not None:
            clean = np.where(observed.T, clean, clean.dtype.type(np.nan))
        return state._replace(
            V=_latest([state.V.T, clean], self.buffer_size).T,
            H=_latest([state.H.T, codes.H.T], self.buffer_size).T,
            cost=_latest([state.cost, codes.cost], self.buffer_size),
            n_windows=np.asarray(state.n_windows + 1.0),
            n_samples=np.asarray(state.n_samples + float(V.shape[1])),
        )

    def summarise(self, W: Array, V: Array, codes: Codes, observed: Mask | None = None) -> Buffer:
        """Return the latest samples of a block, as a buffer without a past."""
        return self.absorb(self.init(W), V, codes, observed)

    def take_in(self, W: Array, state: Buffer, latest: Buffer) -> tuple[Array, Buffer]:
        """Take in a window by a buffer of its own, and move to the average of the steps."""
        size = self.buffer_size
        state = state._replace(
            V=_latest([state.V.T, latest.V.T], size).T,
            H=_latest([state.H.T, latest.H.T], size).T,
            cost=_latest([state.cost, latest.cost], size),
            n_windows=np.asarray(state.n_windows + 1.0),
            n_samples=np.asarray(state.n_samples + latest.n_samples),
        )
        return self.minimise(W, state)

    def minimise(self, W: Array, state: Buffer) -> tuple[Array, Buffer]:
        """Return the average of the steps from W, and the state after them: [R] Algorithm 2."""
        moving = np.array(W.T, order="C")
        average, seed = moving.copy(), state.seed.copy()
        border, bounds = _border(self.constraint)
        span = diameter(self.constraint, len(W), W.shape[1], self.frozen)
        size = state.V.shape[1]
        _, bound = _kernels.approximate(
            np.ascontiguousarray(state.V.T),
            np.ascontiguousarray(state.H.T),
            moving,
            average,
            seed,
            float(state.bound),
            pace(int(state.n_windows), self.horizon) * span,
            _exponent(self.loss),
            (self.l1, self.l2),
            border,
            _bounds(bounds, W),
            self.frozen,
            self.tol,
            max(2, size),
            max(self.max_steps, size),
        )
        return average.T, state._replace(bound=np.asarray(bound), seed=seed)

    def merge(self, states: Sequence[Buffer]) -> Buffer:
        """Return the latest samples of all states, of each the same number."""
        size = self.buffer_size
        each = None if size is None else max(1, size // len(states))
        return states[0]._replace(
            V=_latest([_latest([s.V.T], each) for s in states], size).T,
            H=_latest([_latest([s.H.T], each) for s in states], size).T,
            cost=_latest([_latest([s.cost], each) for s in states], size),
            bound=np.asarray(max(s.bound for s in states)),
            n_windows=np.asarray(sum(s.n_windows for s in states)),
            n_samples=np.asarray(sum(s.n_samples for s in states)),
        )

    def objective(self, W: Array, state: Buffer) -> float:
        """Return the mean loss over the buffer, with the penalty of W: g of [R] (6)."""
        penalty = self.l1 * W.sum() + 0.5 * self.l2 * np.vdot(W, W)
        if state.cost.size == 0:
            return float(penalty)
        observed = ~np.isnan(state.V)
        V = np.where(observed, state.V, W.dtype.type(0))
        problem = DivergenceProblem(self.loss, V, W, None if observed.all() else observed)
        losses = problem.value(problem.model(state.H), state.H) + state.cost
        return float(losses.mean() + penalty)


def pace(window: int, horizon: int | None) -> float:
    """Return theta of a window, counted from 1.

    [R] statement 5 falls like a cosine to zero at a horizon, and needs to know it. Without one it
    falls like 1 / (1 + window / 100).

    Examples
    --------
    >>> from thalweg.updates.robust_approximation import pace
    >>> round(pace(1, 10), 6), round(pace(6, 10), 6), pace(11, 10), pace(100, None)
    (0.1, 0.070711, 0.0, 0.05)
    """
    if horizon is None:
        return _THETA / (1.0 + window / _HALVED)
    return _THETA * cos(pi * (window - 1) / (2 * horizon)) if window <= horizon else 0.0


def diameter(constraint: Prox, n_rows: int, n_columns: int, frozen: int = 0) -> float:
    """Return the largest distance of two matrices with free columns in a set.

    [R] prints sqrt(2) r for r columns of the simplex; a product of r sets has sqrt(r) times the
    diameter of one.

    Examples
    --------
    >>> from thalweg.prox.simplex import Simplex
    >>> from thalweg.updates.robust_approximation import diameter
    >>> round(diameter(Simplex(), n_rows=5, n_columns=8), 9)
    4.0
    """
    (l1, l2, _), bounds = _border(constraint)
    if bounds:
        lower, upper = (_entries(b, n_rows, n_columns)[:, frozen:] for b in bounds)
        return float(np.linalg.norm(np.subtract(upper, lower, dtype=np.float64)))
    # the largest entry that a lone one can have, along two axes
    return sqrt(n_columns - frozen) * sqrt(2.0) * 2.0 / (l1 + sqrt(l1**2 + 2.0 * l2))


def _latest(parts: list[Array], size: int | None) -> Array:
    """Return the last rows of parts that follow one another, in memory of their own."""
    joined: Array = np.concatenate(parts)
    return joined if size is None or len(joined) <= size else joined[-size:].copy()


def _bounds(bounds: tuple[Array, Array] | None, W: Array) -> Array:
    """Return lower and upper bounds of the atoms, as rows; of none, if there are none."""
    if bounds is None:
        return np.empty((2, 0, 0), W.dtype)
    return np.array([_entries(b, *W.shape).T for b in bounds], W.dtype)


def _entries(bound: Array, n_rows: int, n_columns: int) -> Array:
    """Return a bound of all entries, of each row, or of each entry as one of each entry."""
    wide = bound if bound.ndim == 2 else bound.reshape(-1, 1)
    return np.broadcast_to(wide, (n_rows, n_columns))


def _exponent(loss: Divergence) -> float:
    exponent = getattr(loss, "beta", _EXPONENTS.get(loss.name))
    if exponent is None:
        raise ParameterError(
            f"loss must be a beta-divergence here: {', '.join(map(repr, _EXPONENTS))} or "
            f"Beta(b), got {loss!r}. OnlineNMF has other losses."
        )
    return float(exponent)


def _border(constraint: Prox) -> tuple[tuple[float, float, bool], tuple[Array, Array] | None]:
    """Return a set as weights of a sum and of squares, or as bounds of the entries."""
    border = getattr(constraint, "border", None)
    if border is not None:
        return border, None
    bounds = [np.asarray(getattr(constraint, side, np.inf)) for side in ("lower", "upper")]
    if not all(np.isfinite(b).all() for b in bounds):
        raise ParameterError(
            "constraint must be bounded, for steps are in units of its diameter, got "
            f"{constraint!r}. Take a simplex, an l1, l2 or elastic-net ball, or a finite box."
        )
    return (0.0, 0.0, False), (bounds[0], bounds[1])
