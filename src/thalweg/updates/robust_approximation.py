"""Averaged stochastic gradient steps on a buffer of samples: [R] Algorithms 1 to 3."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import cos, pi
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg import _native
from thalweg._typing import Array, Observed
from thalweg.divergences import Divergence
from thalweg.divergences.squared_l2 import SquaredL2
from thalweg.encoders import Codes
from thalweg.encoders.divergence_problem import DivergenceProblem, dense_problem
from thalweg.encoders.entry_weights import are_weights
from thalweg.errors import ParameterError
from thalweg.prox import Prox
from thalweg.prox.simplex import Simplex
from thalweg.updates._bounded_set import border_of, diameter, native_sets

__all__ = ["Buffer", "RobustApproximation", "step_factor"]

# Initial factor theta of the step sizes, in units of the diameter of C: [R] statement 5.
_INITIAL_THETA = 0.1
# Without a horizon, number of windows after which theta is halved.
# benchmarks: or_nmf
_THETA_HALVING_WINDOWS = 100.0
# Exponents of the beta-divergences that have a name of their own.
_EXPONENTS = {"squared-l2": 2.0, "kl": 1.0, "itakura-saito": 0.0}

# Fields of a buffer with a column, or an entry, for each sample.
_SAMPLES = ("V", "H", "cost", "weights", "sizes")


class Buffer(NamedTuple):
    """The latest samples with their codes, and the state of the gradient steps.

    Attributes
    ----------
    V : array of shape (F, L)
        Samples minus their outliers, the latest last; NaN at missing entries.
    H : array of shape (K, L)
        Their codes.
    cost : array of shape (L,)
        Their penalties of codes and outliers.
    weights : array of shape (F, L)
        Weights of the entries, with those of the samples; no columns if all are 1.
    sizes : array of shape (L,)
        Weights of the samples; empty if all are 1.
    bound : array of shape ()
        Largest norm of a gradient so far: M of [R].
    seed : array of shape (1,)
        State of the random number generator.
    n_windows : array of shape ()
        Number of windows so far: t of [R].
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
    weights: Array
    sizes: Array
    bound: Array
    seed: NDArray[np.uint64]
    n_windows: Array
    n_samples: Array


@dataclass(frozen=True)
class RobustApproximation:
    """Compute argmin_{W in C} of the mean of d(v | W h) over a buffer, by averaged gradient steps.

    Each step is a projected gradient step on one sample, in the order of a random permutation. The
    new dictionary is the mean of all iterates, weighted by their step sizes (Nemirovski et al.,
    2009). The error decreases like 1 / sqrt(number of steps).

    Parameters
    ----------
    loss : Divergence
        A beta-divergence: squared l2, KL, Itakura-Saito or Beta.
    constraint : Prox
        The set C of each column: a simplex, a ball or a box, since step sizes are in units of its
        diameter. The bounds of a box may also be arrays of the shape of W.
    l1, l2 : float
        Elastic-net weights on W; ``l2`` is alpha of [R] (29).
    buffer_size : int or None
        Number of samples kept: l of [R] Algorithm 3. None keeps all: Algorithm 1.
    horizon : int or None
        Number of windows after which the steps are 0: T of [R]. None for an endless stream.
    tol : float
        tau of [R] (9). As printed it is met at the first step, where the average is the initial
        point; here the whole buffer is used at least once.
    max_steps : int
        Maximum number of steps per window; the buffer is used at least once.
    frozen : int
        Number of leading columns of W that are fixed.
    seed : int
        Seed of the permutations.

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
        border_of(self.constraint)

    def init(self, W: Array) -> Buffer:
        """Return an empty buffer."""
        F, K = W.shape
        zero = np.zeros(())
        V, H = np.empty((0, F), W.dtype).T, np.empty((0, K), W.dtype).T
        seed = np.array([self.seed], np.uint64)
        none = np.empty(0, W.dtype)
        return Buffer(V, H, none, V, none, zero, seed, zero, zero)

    def step(
        self,
        W: Array,
        state: Buffer,
        V: Array,
        codes: Codes,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> tuple[Array, Buffer]:
        """Add a batch as one window, and move to the average of the steps."""
        if V.shape[1] == 0:
            return W, state
        return self.minimise(W, self.absorb(state, V, codes, observed, sample_weight))

    def absorb(
        self,
        state: Buffer,
        V: Array,
        codes: Codes,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> Buffer:
        """Return the buffer after a batch, without its oldest samples."""
        clean = V - codes.R
        if observed is not None:
            clean = np.where(observed, clean, clean.dtype.type(np.nan))
        weights, sizes = _weights_of(V, observed, sample_weight)
        batch = state._replace(
            V=clean,
            H=codes.H,
            cost=codes.cost,
            weights=weights,
            sizes=sizes,
            n_samples=np.asarray(float(V.shape[1])),
        )
        return self._joined(state, batch)

    def _joined(self, state: Buffer, latest: Buffer) -> Buffer:
        """Return the latest samples of two buffers."""
        size = self.buffer_size
        if latest.sizes.size or state.sizes.size:
            state, latest = _with_weights(state), _with_weights(latest)
        parts: dict[str, Any] = {
            name: _latest([getattr(one, name).T for one in (state, latest)], size).T
            for name in _SAMPLES
        }
        return state._replace(
            **parts,
            n_windows=np.asarray(state.n_windows + 1.0),
            n_samples=np.asarray(state.n_samples + latest.n_samples),
        )

    def summarise(
        self,
        W: Array,
        V: Array,
        codes: Codes,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> Buffer:
        """Return the buffer of the latest samples of a block."""
        return self.absorb(self.init(W), V, codes, observed, sample_weight)

    def take_in(
        self, W: Array, state: Buffer, latest: Buffer, n_samples: int | None = None
    ) -> tuple[Array, Buffer]:
        """Add a window by its own buffer, and move to the average of the steps."""
        return self.minimise(W, self._joined(state, latest))

    def minimise(self, W: Array, state: Buffer) -> tuple[Array, Buffer]:
        """Return the average of the steps from W, and the state after them: [R] Algorithm 2."""
        average, seed = np.array(W.T, order="C"), state.seed.copy()
        _, bound = _native.robust_approximation(
            (
                np.ascontiguousarray(state.V.T),
                np.ascontiguousarray(state.H.T),
                np.ascontiguousarray(state.weights.T) if state.weights.size else None,
            ),
            average,
            seed,
            float(state.bound),
            native_sets(self.constraint, W),
            self._settings(W, state),
        )
        return average.T, state._replace(bound=np.asarray(bound), seed=seed)

    def _settings(self, W: Array, state: Buffer) -> _native.ApproximationSettings:
        span = diameter(self.constraint, len(W), W.shape[1], self.frozen)
        size = state.V.shape[1]
        return _native.ApproximationSettings(
            beta=_exponent(self.loss),
            l1=self.l1,
            l2=self.l2,
            step_length=step_factor(int(state.n_windows), self.horizon) * span,
            frozen=self.frozen,
            tol=self.tol,
            min_steps=max(2, size),
            max_steps=max(self.max_steps, size),
        )

    def merge(self, states: Sequence[Buffer]) -> Buffer:
        """Return the buffer of the latest samples of all states, equally many of each."""
        size = self.buffer_size
        each = None if size is None else max(1, size // len(states))
        if any(s.sizes.size for s in states):
            states = [_with_weights(s) for s in states]
        parts: dict[str, Any] = {
            name: _latest([_latest([getattr(s, name).T], each) for s in states], size).T
            for name in _SAMPLES
        }
        return states[0]._replace(
            **parts,
            bound=np.asarray(max(s.bound for s in states)),
            n_windows=np.asarray(sum(s.n_windows for s in states)),
            n_samples=np.asarray(sum(s.n_samples for s in states)),
        )

    def objective(self, W: Array, state: Buffer) -> float:
        """Return the mean loss over the buffer plus the penalty of W: g of [R] (6)."""
        penalty = self.l1 * W.sum() + 0.5 * self.l2 * np.vdot(W, W)
        if state.cost.size == 0:
            return float(penalty)
        observed = ~np.isnan(state.V)
        V = np.where(observed, state.V, W.dtype.type(0))
        seen: Any = None if observed.all() else observed
        if state.sizes.size == 0:
            problem = DivergenceProblem(self.loss, V, W, seen)
            losses = problem.value(problem.model(state.H), state.H) + state.cost
            return float(losses.mean() + penalty)
        problem = dense_problem(self.loss, V, W, state.weights * observed)
        losses = problem.value(problem.model(state.H), state.H) + state.cost * state.sizes
        return float(losses.sum() / state.sizes.sum() + penalty)


def step_factor(window: int, horizon: int | None) -> float:
    """Return the factor theta of the step sizes in a window, counted from 1.

    With a horizon it decreases to 0 like a cosine ([R] statement 5), without one like
    1 / (1 + window / 100).

    Examples
    --------
    >>> from thalweg.updates.robust_approximation import step_factor
    >>> (
    ...     round(step_factor(1, 10), 6),
    ...     round(step_factor(6, 10), 6),
    ...     step_factor(11, 10),
    ...     step_factor(100, None),
    ... )
    (0.1, 0.070711, 0.0, 0.05)
    """
    if horizon is None:
        return _INITIAL_THETA / (1.0 + window / _THETA_HALVING_WINDOWS)
    return _INITIAL_THETA * cos(pi * (window - 1) / (2 * horizon)) if window <= horizon else 0.0


def _latest(parts: list[Array], size: int | None) -> Array:
    """Return a copy of the last rows of consecutive parts."""
    joined: Array = np.concatenate(parts)
    return joined if size is None or len(joined) <= size else joined[-size:].copy()


def _exponent(loss: Divergence) -> float:
    exponent = getattr(loss, "beta", _EXPONENTS.get(loss.name))
    if exponent is None:
        raise ParameterError(
            f"loss must be a beta-divergence, {', '.join(map(repr, _EXPONENTS))} or Beta(b), got "
            f"{loss!r}. OnlineNMF accepts other losses."
        )
    return float(exponent)


def _weights_of(
    V: Array, observed: Observed | None, sample_weight: Array | None
) -> tuple[Array, Array]:
    """Return the weights of all entries and of the samples; none if all are 1."""
    if sample_weight is None and not are_weights(observed):
        return np.empty((0, len(V)), V.dtype).T, np.empty(0, V.dtype)
    sizes = np.ones(V.shape[1]) if sample_weight is None else sample_weight
    entries: Any = observed if are_weights(observed) else np.ones_like(V)
    return (sizes * entries).astype(V.dtype), sizes.astype(V.dtype)


def _with_weights(state: Buffer) -> Buffer:
    """Return a buffer with weights of 1 if it has none."""
    if state.sizes.size:
        return state
    return state._replace(weights=np.ones_like(state.V), sizes=np.ones_like(state.cost))
