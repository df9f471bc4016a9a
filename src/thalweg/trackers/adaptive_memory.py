"""A forgetting factor that follows the drift of a subspace."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from thalweg._typing import Array

__all__ = ["AdaptiveMemory"]

# Longest and shortest memory in samples: forgetting factors of 0.9999 and 0.8.
_LONGEST, _SHORTEST = 1e4, 5.0
# The memory is shortened if an agreement exceeds its standard error this many times.
# benchmark: tracking_hard
_SIGNIFICANT = 3.0
# It becomes longer only below this many: it stays where a drift is likely, but not yet proven.
# benchmark: tracking_hard
_LIKELY = 1.0
_SHORTENING = 0.7  # factor of the memory then
# Otherwise it becomes longer: by this share at each check, and at most by one for each sample.
_LENGTHENING = 0.05
# Factors of the evidence at each check: that of samples is of about five checks, that of moves,
# which are longer than a check themselves, of about two.
_SAMPLE_DECAY, _MOVE_DECAY = 0.8, 0.5
# Moves are no evidence about a memory shorter than this multiple of the time between checks.
_MOVES_PER_MEMORY = 2.0


class AdaptiveMemory(NamedTuple):
    """The memory of a recursive estimate of a basis, from the correlation of its errors in time.

    A basis that learns at the best rate leaves prediction errors that are uncorrelated in time. If
    it lags behind a moving subspace, its moves between checks point in the same direction. So do
    the errors ``r h'`` of successive samples: the cosines of their residuals r and of their codes h
    are correlated. Noise that is correlated in time makes both cosines large, but does not
    correlate them. On such evidence the memory is shortened; without any it becomes longer.

    Attributes
    ----------
    length : float
        Number of samples that are remembered, 1 / (1 - forgetting factor).
    n_samples : float
        Number of samples behind the present estimate.
    evidence : array of shape (8,)
        The sums over pairs of samples, and of c and c^2 for the cosine c of successive moves, with
        weights that decay.
    basis : array of shape (F, K)
        The basis at the last check.
    move : array of shape (F, K)
        The direction of its last move out of its span; 0 before the first one.
    pair_sums : array of shape (6,)
        Sums of 1, a, b, ab, a^2 and b^2 since the last check, for the cosines a and b of the
        residuals and of the codes of successive samples.
    last_residual, last_codes : arrays
        The latest sample that was learned from.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.adaptive_memory import AdaptiveMemory
    >>> W = np.eye(3, 1)
    >>> memory = AdaptiveMemory.longest(W)._replace(n_samples=1000.0)
    >>> memory.pair_sums[:] = 32.0, 0.0, 0.0, 25.0, 30.0, 30.0
    >>> memory.updated(W, 32).length < 1000.0
    True
    """

    length: float
    n_samples: float
    evidence: Array
    basis: Array
    move: Array
    pair_sums: Array
    last_residual: Array
    last_codes: Array

    @classmethod
    def longest(cls, W: Array) -> "AdaptiveMemory":
        """Return the longest memory, before the first sample, with the basis W."""
        (F, K), dtype = W.shape, W.dtype
        zeros = np.zeros(6), np.zeros(F, dtype), np.zeros(K, dtype)
        return cls(_LONGEST, 0.0, np.zeros(8), W, np.zeros_like(W), *zeros)

    @property
    def forgetting(self) -> float:
        """The forgetting factor."""
        return 1.0 - 1.0 / self.length

    def without_evidence(self, W: Array) -> "AdaptiveMemory":
        """Return the memory as if nothing had been observed since the last check."""
        zeros = np.zeros(6), np.zeros_like(self.move)
        return self._replace(basis=W, pair_sums=zeros[0], move=zeros[1], evidence=np.zeros(8))

    def updated(self, W: Array, n: int) -> "AdaptiveMemory":
        """Return the memory after a check of n samples, at which the basis is W."""
        n_samples = self.n_samples * self.forgetting**n + n
        length = min(self.length, n_samples)
        move = _direction(W, self.basis)
        chance = 1.0 / max(W.shape[1] * (W.shape[0] - W.shape[1]), 1) if self.move.any() else 0.0
        now = np.array([*self.pair_sums, float(np.vdot(move, self.move)), chance])
        evidence = self.evidence * _DECAYS + now
        agreement = _correlation(*evidence[:6].tolist())
        if length > _MOVES_PER_MEMORY * n and evidence[7] > 0.0:
            agreement = max(agreement, float(evidence[6]) / sqrt(evidence[7]))
        if agreement > _SIGNIFICANT:
            length, evidence = max(_SHORTENING * length, _SHORTEST), np.zeros(8)
        elif agreement > _LIKELY:
            length = self.length
        else:
            length = min(self.length + min(_LENGTHENING * self.length, n), _LONGEST)
        return self._replace(
            length=length,
            n_samples=n_samples,
            evidence=evidence,
            move=move,
            pair_sums=np.zeros(6),
        )


_DECAYS = np.array([_SAMPLE_DECAY] * 6 + [_MOVE_DECAY] * 2)


def _correlation(n: float, a: float, b: float, ab: float, aa: float, bb: float) -> float:
    """Return the correlation of two variables in its standard errors, from their sums."""
    if not n > 0.0:
        return 0.0
    variances = max(aa - a * a / n, 0.0) * max(bb - b * b / n, 0.0)
    return (ab - a * b / n) / sqrt(variances / n) if variances > 0.0 else 0.0


def _direction(W: Array, before: Array) -> Array:
    """Return the unit direction in which the basis has moved out of its span; 0 if it has not."""
    gram = (W.T @ W).astype(np.float64)
    ridge = float(np.finfo(W.dtype).eps * np.trace(gram)) or 1.0
    inside = np.linalg.solve(gram + ridge * np.eye(len(gram)), W.T @ (W - before))
    move: Array = W - before - W @ inside.astype(W.dtype)
    size = float(np.linalg.norm(move))
    return move / size if size > 0.0 else np.zeros_like(move)
