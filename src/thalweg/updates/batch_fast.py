"""Batch factorisation by exact alternation: all codes and outliers, then the dictionary."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder
from thalweg.encoders.fast import Fast
from thalweg.updates import Factors
from thalweg.updates._batch import fill
from thalweg.updates.surrogate import Surrogate

__all__ = ["BatchFast"]


@dataclass(frozen=True)
class BatchFast:
    """The codes that are best for the dictionary, then the dictionary that is best for them.

    Parameters
    ----------
    encoder : Encoder
        Finds codes and outliers, from those of the round before.
    update : Surrogate
        Minimises over the dictionary; it starts each round without a past.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.batch_fast import BatchFast
    >>> V = np.array([[1.0, 2.0], [1.0, 2.0]])
    >>> method = BatchFast()
    >>> state = method.start(V, np.array([[1.0], [0.5]]), None)
    >>> for _ in range(50):
    ...     state = method.advance(V, state, None)
    >>> state.W.ravel().round(3)
    array([0.707, 0.707])
    """

    name: ClassVar[str] = "batch-fast"

    encoder: Encoder = field(default_factory=Fast)
    update: Surrogate = field(default_factory=Surrogate)

    def start(self, V: Array, W: Array, seen: Mask | None) -> Factors:
        """Return the state before the first round: no codes, no outliers."""
        H = np.zeros((V.shape[1], W.shape[1]), dtype=V.dtype).T
        return Factors(W, H, fill(np.zeros_like(V), V, W @ H, seen))

    def advance(self, V: Array, state: Factors, seen: Mask | None) -> Factors:
        """Return the state after one round."""
        H0 = state.H if state.H.any() else None
        codes = self.encoder.encode(V, state.W, H0=H0, seen=seen)
        W, _ = self.update.step(state.W, self.update.init(state.W), V, codes)
        return Factors(W, codes.H, fill(codes.R, V, W @ codes.H, seen))

    def factors(self, state: Factors) -> Factors:
        """Return the state itself."""
        return state
