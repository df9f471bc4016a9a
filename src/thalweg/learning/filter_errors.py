"""Errors of hidden entries of a stream, with and without the past, which decide between the two."""

from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.dynamics.calibration import Calibration, calibrate, length_classes
from thalweg.dynamics.scores import Scores
from thalweg.learning.blending import Blend, Mixture, mix
from thalweg.learning.hidden_trials import MAX_ERROR, error_ratio

__all__ = ["FilterErrors"]

# Hidden entries that are kept, which bounds the memory: those of about 6000 rows of 30 features.
_MAX_ENTRIES = 2**14
# Error with the past over that without it, below which time helps.
_REQUIRED_GAIN = 0.97
# Fewer entries decide nothing.
_LEAST_ENTRIES = 20


class FilterErrors(NamedTuple):
    """The latest hidden entries, in standard deviations of their features.

    Attributes
    ----------
    errors : array of shape (n, n_fills)
        Errors of the fill of the row alone, and of those that use the past.
    std : array of shape (n, n_fills)
        Standard deviations of the fills.
    ages : integer array of shape (n,)
        Rows since the feature was observed.
    columns, gaps : integer arrays of shape (n,)
        Features, and numbers of the gaps.

    Examples
    --------
    >>> from thalweg.learning.filter_errors import FilterErrors
    >>> FilterErrors.none(2).time_helps
    False
    """

    errors: Array
    std: Array
    ages: Any
    columns: Any
    gaps: Any

    @classmethod
    def none(cls, n_fills: int) -> "FilterErrors":
        """Return no errors."""
        zeros, none = np.zeros((0, n_fills)), np.zeros(0, np.intp)
        return cls(zeros, zeros, none, none, none)

    def added(self, parts: list[Scores]) -> "FilterErrors":
        """Return the errors with those of further entries, without the oldest ones."""
        first = parts[0]
        latest = (
            np.stack([part.errors for part in parts], axis=1),
            np.stack([part.std for part in parts], axis=1),
            first.lengths,
            first.columns,
            first.gaps + int(self.gaps.max(initial=-1)) + 1,
        )
        pairs = zip(self, latest, strict=True)
        return FilterErrors(*(np.concatenate(pair)[-_MAX_ENTRIES:] for pair in pairs))

    @property
    def best(self) -> int:
        """Number of the fill with the smallest errors among those that use the past, from 1."""
        errors = self._clipped()
        return 1 + _smallest(errors[:, 1:])

    @property
    def time_helps(self) -> bool:
        """Whether errors are smaller with the past, alone or blended with those without it."""
        if len(self.errors) < _LEAST_ENTRIES:
            return False
        mixed, still = self._mixture()[1].errors, self._clipped()[:, 0]
        return error_ratio(mixed, still) < _REQUIRED_GAIN

    def blend(self) -> Blend:
        """Return the weights of all fills by age."""
        edges, found = self._mixture()
        weights = np.zeros((len(edges), self.errors.shape[1]))
        weights[:, found.members] = found.weights
        return Blend((), edges, weights)

    def calibration(self, blend: Blend, n_features: int) -> Calibration:
        """Return the sizes of the errors of a blend, by age and feature."""
        weights = blend.weights[self._classes(blend.lengths)]
        errors, std = (np.sum(weights * part, axis=1) for part in (self.errors, self.std))
        scores = Scores(errors, std, self.ages, self.columns, self.gaps)
        return calibrate(scores, np.ones(n_features))

    def _clipped(self) -> Array:
        return np.clip(self.errors, -MAX_ERROR, MAX_ERROR)

    def _classes(self, edges: Any) -> Any:
        return np.maximum(np.searchsorted(edges, self.ages, side="right") - 1, 0)

    def _mixture(self) -> tuple[Any, Mixture]:
        """Return the classes of ages, and the best mixture of the fills."""
        edges, errors = length_classes(self.ages), self._clipped()
        first = _smallest(errors)
        return edges, mix(list(errors.T), first, self._classes(edges), len(edges))


def _smallest(errors: Array) -> int:
    """Return the column with the smallest errors, the first one among equals."""

    def better(a: int, b: int) -> int:
        return b if error_ratio(errors[:, b], errors[:, a]) < 1.0 else a

    return reduce(better, range(errors.shape[1]))
