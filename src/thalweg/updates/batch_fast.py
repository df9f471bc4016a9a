"""Batch factorisation by exact alternation: all codes and outliers, then the dictionary."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from thalweg._typing import Array, Observed
from thalweg.encoders import Codes, Encoder
from thalweg.encoders.fast import Fast
from thalweg.updates import Factors
from thalweg.updates._batch_sums import fill_missing
from thalweg.updates.surrogate import Statistics, Surrogate

__all__ = ["BatchFast"]


@dataclass(frozen=True)
class BatchFast:
    """Alternate between the optimal codes and outliers and the optimal dictionary.

    Parameters
    ----------
    encoder : Encoder
        Computes codes and outliers, from those of the last iteration.
    update : Surrogate
        Minimises over the dictionary, with the statistics of this iteration only.

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
    shared: ClassVar[tuple[str, ...]] = ("W",)

    encoder: Encoder = field(default_factory=Fast)
    update: Surrogate = field(default_factory=Surrogate)

    def start(self, V: Array, W: Array, observed: Observed | None) -> Factors:
        """Return the initial state: zero codes and outliers."""
        H = np.zeros((V.shape[1], W.shape[1]), dtype=V.dtype).T
        return Factors(W, H, fill_missing(np.zeros_like(V), V, W @ H, observed))

    def advance(
        self,
        V: Array,
        state: Factors,
        observed: Observed | None,
        sample_weight: Array | None = None,
    ) -> Factors:
        """Return the state after one iteration."""
        codes, empty = self._codes(V, state, observed), self.update.init(state.W)
        W, _ = self.update.step(state.W, empty, V, codes, observed, sample_weight)
        return Factors(W, codes.H, fill_missing(codes.R, V, W @ codes.H, observed))

    def visit(
        self,
        V: Array,
        state: Factors,
        observed: Observed | None,
        sample_weight: Array | None = None,
    ) -> tuple[Factors, Statistics]:
        """Compute the codes of a block; return its statistics.

        ``move`` does not replace dead atoms, since that needs samples.
        """
        codes = self._codes(V, state, observed)
        sums = self.update.summarise(state.W, V, codes, observed, sample_weight)
        return Factors(state.W, codes.H, codes.R), sums

    def merge(self, sums: Sequence[Statistics]) -> Statistics:
        """Return the statistics of several blocks."""
        return self.update.merge(sums)

    def move(self, state: Factors, sums: Statistics) -> Factors:
        """Compute the optimal dictionary for the codes."""
        return state._replace(W=self.update.minimise(state.W, sums))

    def _codes(self, V: Array, state: Factors, observed: Observed | None) -> Codes:
        H0 = state.H if state.H.any() else None
        return self.encoder.encode(V, state.W, H0=H0, observed=observed)

    def factors(self, state: Factors) -> Factors:
        """Return the state itself."""
        return state
