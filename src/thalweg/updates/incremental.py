"""Multiplicative updates of the latest codes and of the dictionary together: INMF and INMF-VC."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Any, ClassVar

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.encoders import Codes
from thalweg.prox import Prox
from thalweg.prox.l2_ball import L2Ball
from thalweg.solvers.multiplicative import rescale
from thalweg.updates._running_means import merge_means
from thalweg.updates.atom_scaling import rescaled
from thalweg.updates.surrogate import Statistics, Surrogate

__all__ = ["Incremental"]

# A zero cannot be multiplied: codes and atoms begin at no less than this share of their mean.
_SEED = 1e-6
# Keeps the Gram matrix of dependent atoms invertible, relative to its trace.
_RIDGE = 1e-12
# How often a step on the volume is shortened by half.
_HALVINGS = 8


@dataclass(frozen=True)
class Incremental:
    """argmin over W and the latest codes of the mean of |v - W h|^2/2 + mu log volume(W).

    Codes of earlier samples are kept, in the two matrices of
    :class:`thalweg.updates.surrogate.Surrogate`. The latest codes and W take turns with the
    updates of Lee and Seung ([R] (40)), until the objective settles. A factor 0/0, at which (40)
    fails, is 1. The volume is the root of det(W'W), |det W| if W is square ([R] (41)): the two
    signs of the gradient of its logarithm, W (W'W)^-1, join the two sides of the fraction.

    The weight mu is relative to the least eigenvalue of W A W', A the mean of h h': the mean
    square of the model in its weakest direction. Shrunk by s in that direction, W loses
    eigenvalue s^2/2 and gains mu log(1 - s), which has a minimum only for mu below a quarter of
    the eigenvalue. While there are fewer samples than atoms the eigenvalue is 0, and so is mu.

    Parameters
    ----------
    constraint : Prox
        A set with a ``gauge``: atoms are scaled onto its border, past codes inversely.
    forgetting, fade : float
        Weights of earlier samples, as in :class:`thalweg.updates.surrogate.Surrogate`.
        ``forgetting`` is S_old of [R] (39) when samples come one by one; ``fade`` is L - 1 of
        the amnesic average [R] (42).
    volume, decay : float
        mu is volume exp(-decay t) times the eigenvalue after t samples; delta and tau of
        [R] IV-D. A ``volume`` below 1/4 keeps the volume from collapsing.
    tol, max_iter : float, int
        Relative decrease in a round below which the updates of a batch end, and their cap.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.fast import Fast
    >>> from thalweg.updates.incremental import Incremental
    >>> V, W = np.array([[0.3], [0.4]]), np.array([[1.0], [0.1]])
    >>> update = Incremental(max_iter=1000, tol=1e-9)
    >>> W, state = update.step(W, update.init(W), V, Fast().encode(V, W))
    >>> W.ravel().round(3)
    array([0.6, 0.8])
    """

    name: ClassVar[str] = "incremental"

    constraint: Prox = field(default_factory=L2Ball)
    forgetting: float = 1.0
    fade: float = 0.0
    volume: float = 0.0
    decay: float = 0.0
    tol: float = 1e-4
    max_iter: int = 200

    def init(self, W: Array) -> Statistics:
        """Return the statistics of no samples."""
        return self._means.init(W)

    def absorb(self, state: Statistics, V: Array, codes: Codes) -> Statistics:
        """Return the statistics with a batch taken in."""
        return self._means.absorb(state, V, codes)

    def step(
        self, W: Array, state: Statistics, V: Array, codes: Codes, observed: Mask | None = None
    ) -> tuple[Array, Statistics]:
        """Find the codes of the batch and the dictionary together.

        Gaps need no mark here: the outliers make V - R equal to W H over them.
        """
        if V.shape[1] == 0:
            return W, state
        clean, H, W = V - codes.R, _seeded(codes.H), _seeded(W)
        joint = self.absorb(state, V, codes._replace(H=H))
        mu = self._weight(W, joint)
        value = self._objective(W, joint, mu)
        for _ in range(self.max_iter):
            H = H * _ratio(W.T @ clean, (W.T @ W) @ H)  # [R] (40), first line
            joint = self.absorb(state, V, codes._replace(H=H))
            W = self._multiplied(W, joint, mu)
            previous, value = value, self._objective(W, joint, mu)
            if previous - value <= self.tol * abs(previous):
                break
        return rescaled(W, joint, self.constraint, np.ones(W.shape[1], np.bool_))

    def minimise(self, W: Array, state: Statistics) -> Array:
        """Return the dictionary after multiplicative updates, all codes kept."""
        W = _seeded(W)
        mu = self._weight(W, state)
        value = self._objective(W, state, mu)
        for _ in range(self.max_iter):
            W = self._multiplied(W, state, mu)
            previous, value = value, self._objective(W, state, mu)
            if previous - value <= self.tol * abs(previous):
                break
        return W

    def merge(self, states: Sequence[Statistics]) -> Statistics:
        """Return the weighted mean of several statistics."""
        return merge_means(states)

    def objective(self, W: Array, state: Statistics) -> float:
        """Return the mean loss of all samples at W, with the volume's part."""
        return self._objective(W, state, self._weight(W, state))

    def _objective(self, W: Array, state: Statistics, mu: float) -> float:
        # the transposes are contiguous in memory
        smooth = 0.5 * np.vdot(W.T @ W, state.A) - np.vdot(W.T, state.B.T)
        loss = float(smooth + state.constant)
        return loss + mu * 0.5 * float(np.linalg.slogdet(_gram(W))[1]) if mu else loss

    @property
    def _means(self) -> Surrogate:
        return Surrogate(forgetting=self.forgetting, fade=self.fade)

    def _weight(self, W: Array, state: Statistics) -> float:
        """Return mu, which stays what it is while the updates of a batch go on."""
        delta = self.volume * exp(-self.decay * float(state.n_samples))
        return delta * _weakest(W, state.A) if delta else 0.0

    def _multiplied(self, W: Array, state: Statistics, mu: float) -> Array:
        if not mu:
            return W * _ratio(state.B, (state.A @ W.T).T)  # [R] (40), second line
        slope = W.dtype.type(mu) * (W @ np.linalg.inv(_gram(W)).astype(W.dtype))
        product = (state.A @ W.T).T
        factors = _ratio(state.B + np.maximum(-slope, 0), product + np.maximum(slope, 0))
        value = self._objective(W, state, mu)
        for halved in range(_HALVINGS):  # the logarithm of a volume is not convex
            tried = W * factors ** W.dtype.type(0.5**halved)
            if self._objective(tried, state, mu) <= value:
                return tried
        return W


def _weakest(W: Array, A: Array) -> float:
    """Return the least of the K eigenvalues of W A W', 0 if it is one of rounding errors only."""
    R: Any = np.linalg.qr(W.astype(np.float64), mode="r")
    if R.shape[0] < R.shape[1]:
        return 0.0  # more atoms than features have no volume
    found = np.linalg.eigvalsh(R @ A @ R.T)
    rounding = len(A) * float(np.finfo(A.dtype).eps) * found[-1]
    return float(found[0]) if found[0] > rounding else 0.0


def _ratio(neg: Array, pos: Array) -> Array:
    if pos.min() > 0.0:  # the usual case needs no other guard
        with np.errstate(over="ignore"):
            return np.minimum(np.maximum(neg, 0) / pos, np.finfo(pos.dtype).max)
    return rescale(np.maximum(neg, 0), pos, (1.0, 0.0))


def _seeded(X: Array) -> Array:
    """Return X with zeros raised to a small share of the mean of their column."""
    raised: Array = np.maximum(X, X.dtype.type(_SEED) * X.mean(axis=0))
    return raised


def _gram(W: Array) -> Array:
    wide = W.astype(np.float64)
    G = wide.T @ wide
    G.flat[:: len(G) + 1] += _RIDGE * np.trace(G)
    return G
