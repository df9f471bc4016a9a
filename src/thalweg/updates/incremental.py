"""Joint multiplicative updates of the latest codes and of the dictionary: INMF and INMF-VC."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Any, ClassVar

import numpy as np

from thalweg._typing import Array, Observed
from thalweg.encoders import Codes
from thalweg.encoders.entry_weights import require_mask
from thalweg.prox import Prox
from thalweg.prox.l2_ball import L2Ball
from thalweg.solvers.multiplicative import rescale
from thalweg.updates._running_means import merge_means
from thalweg.updates.atom_scaling import rescale_columns
from thalweg.updates.surrogate import Statistics, Surrogate

__all__ = ["Incremental"]

# Initial codes and atoms are at least this share of the mean of their column, since multiplicative
# updates cannot change zeros.
_MIN_ENTRY_SHARE = 1e-6
# Ridge, in units of the trace, that keeps the Gram matrix of dependent atoms invertible.
_RIDGE = 1e-12
# Maximum number of halvings of a step on the volume.
_MAX_HALVINGS = 8


@dataclass(frozen=True)
class Incremental:
    """Compute argmin_{W, H} of the mean of |v - W h|^2/2 + mu log volume(W), H the latest codes.

    Codes of earlier samples are fixed, in the statistics of
    :class:`thalweg.updates.surrogate.Surrogate`. The latest codes and W are updated in turn by the
    rules of Lee and Seung ([R] (40)) until the objective converges. A factor 0/0, which (40) leaves
    undefined, is 1. The volume is sqrt(det(W'W)), which is |det W| for square W ([R] (41)). The
    positive and negative parts of the gradient of its logarithm, W (W'W)^-1, are added to the
    denominator and the numerator of the update.

    mu is in units of the smallest eigenvalue lambda of W A W', with A the mean of h h': the mean
    square of the model in its weakest direction. If W shrinks by s in that direction, the loss
    grows by lambda s^2 / 2, and the volume term changes by mu log(1 - s); the sum has a minimum
    only for mu < lambda / 4. With fewer samples than atoms lambda and mu are 0.

    Parameters
    ----------
    constraint : Prox
        A set with a ``gauge``: atoms are scaled onto its boundary, past codes inversely.
    forgetting, fade : float
        Weights of earlier samples, as in :class:`thalweg.updates.surrogate.Surrogate`.
        ``forgetting`` is S_old of [R] (39) for batches of one sample; ``fade`` is L - 1 of the
        amnesic average [R] (42).
    volume, decay : float
        mu = volume exp(-decay t) lambda after t samples: delta and tau of [R] IV-D. With
        ``volume`` below 1/4 the volume does not collapse.
    tol, max_iter : float, int
        The updates of a batch stop at this relative decrease of the objective in an iteration,
        or after ``max_iter`` iterations.

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

    def absorb(
        self, state: Statistics, V: Array, codes: Codes, sample_weight: Array | None = None
    ) -> Statistics:
        """Return the statistics after a batch."""
        return self._means.absorb(state, V, codes, None, sample_weight)

    def step(
        self,
        W: Array,
        state: Statistics,
        V: Array,
        codes: Codes,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> tuple[Array, Statistics]:
        """Update the codes of the batch and the dictionary jointly.

        A mask is not needed, since V - R equals W H at missing entries. Entries cannot have
        weights, since their factors would differ from those of the past.
        """
        require_mask(observed, "Incremental")
        if V.shape[1] == 0:
            return W, state
        clean, H, W = V - codes.R, _positive(codes.H), _positive(W)
        joint = self.absorb(state, V, codes._replace(H=H), sample_weight)
        mu = self._weight(W, joint)
        value = self._objective(W, joint, mu)
        for _ in range(self.max_iter):
            H = H * _ratio(W.T @ clean, (W.T @ W) @ H)  # [R] (40), first line
            joint = self.absorb(state, V, codes._replace(H=H), sample_weight)
            W = self._multiplied(W, joint, mu)
            previous, value = value, self._objective(W, joint, mu)
            if previous - value <= self.tol * abs(previous):
                break
        return rescale_columns(W, joint, self.constraint, np.ones(W.shape[1], np.bool_))

    def minimise(self, W: Array, state: Statistics) -> Array:
        """Return the dictionary after multiplicative updates with fixed codes."""
        W = _positive(W)
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
        """Return the mean loss of all samples at W plus the volume term."""
        return self._objective(W, state, self._weight(W, state))

    def _objective(self, W: Array, state: Statistics, mu: float) -> float:
        # The transposes are contiguous in memory.
        smooth = 0.5 * np.vdot(W.T @ W, state.A) - np.vdot(W.T, state.B.T)
        loss = float(smooth + state.constant)
        return loss + mu * 0.5 * float(np.linalg.slogdet(_gram(W))[1]) if mu else loss

    @property
    def _means(self) -> Surrogate:
        return Surrogate(forgetting=self.forgetting, fade=self.fade)

    def _weight(self, W: Array, state: Statistics) -> float:
        """Return mu, which is constant during the updates of a batch."""
        delta = self.volume * exp(-self.decay * float(state.n_samples))
        return delta * _weakest(W, state.A) if delta else 0.0

    def _multiplied(self, W: Array, state: Statistics, mu: float) -> Array:
        if not mu:
            return W * _ratio(state.B, (state.A @ W.T).T)  # [R] (40), second line
        slope = W.dtype.type(mu) * (W @ np.linalg.inv(_gram(W)).astype(W.dtype))
        product = (state.A @ W.T).T
        factors = _ratio(state.B + np.maximum(-slope, 0), product + np.maximum(slope, 0))
        value = self._objective(W, state, mu)
        for halved in range(_MAX_HALVINGS):  # the logarithm of the volume is not convex
            tried = W * factors ** W.dtype.type(0.5**halved)
            if self._objective(tried, state, mu) <= value:
                return tried
        return W


def _weakest(W: Array, A: Array) -> float:
    """Return the smallest of the K eigenvalues of W A W', or 0 if it is a rounding error."""
    R: Any = np.linalg.qr(W.astype(np.float64), mode="r")
    if R.shape[0] < R.shape[1]:
        return 0.0  # the volume is 0 if there are more atoms than features
    found = np.linalg.eigvalsh(R @ A @ R.T)
    rounding = len(A) * float(np.finfo(A.dtype).eps) * found[-1]
    return float(found[0]) if found[0] > rounding else 0.0


def _ratio(neg: Array, pos: Array) -> Array:
    if pos.min() > 0.0:  # the common case, without 0/0
        with np.errstate(over="ignore"):
            return np.minimum(np.maximum(neg, 0) / pos, np.finfo(pos.dtype).max)
    return rescale(np.maximum(neg, 0), pos, (1.0, 0.0))


def _positive(X: Array) -> Array:
    """Return X with its zeros raised to a small share of the mean of their column."""
    raised: Array = np.maximum(X, X.dtype.type(_MIN_ENTRY_SHARE) * X.mean(axis=0))
    return raised


def _gram(W: Array) -> Array:
    wide = W.astype(np.float64)
    G = wide.T @ wide
    G.flat[:: len(G) + 1] += _RIDGE * np.trace(G)
    return G
