"""Projected compressive sensing: samples taken apart, for trackers and as an encoder."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from thalweg import _kernels
from thalweg._typing import Array, Mask
from thalweg.encoders import Codes
from thalweg.trackers._blocks import as_rows, told

__all__ = ["Recovered", "Sensing"]

# Norm of the residual of the sensed sample, in units of what noise alone has.
_NOISE = 1.0


class Recovered(NamedTuple):
    """Samples as rows taken apart: codes, outliers and median residuals."""

    H: Array
    R: Array
    error: Array


@dataclass(frozen=True)
class Sensing:
    """Outliers of least l1 norm for a given residual, and least squares on the other entries.

    1. x minimises |x|_1 over |Psi (v - x)| <= bound, where Psi = I - W W' takes the subspace
       off and gaps are entries of x that cost nothing.
    2. Outliers are the entries of x beyond the threshold.
    3. Codes are the least squares of the other entries, and outliers what they leave.

    Psi is never formed: the first problem is one in the codes.

    Parameters
    ----------
    limit : float
        Threshold in units of the level of noise.
    noise_bound, support_threshold : float or None
        Bound and threshold in the units of the data; None for multiples of the level.
    level : float
        Level of noise; 0 lets each sample have its own.
    """

    limit: float
    noise_bound: float | None = None
    support_threshold: float | None = None
    level: float = 0.0
    name: ClassVar[str] = "projected-cs"

    def recover(self, X: Array, mask: Mask, W: Array, level: Array, memory: float) -> Recovered:
        """Take the rows of X apart; ``level`` is changed as they come, unless memory is 0."""
        given = (self.noise_bound, self.support_threshold)
        fixed = tuple(value is not None for value in given)
        rules = tuple(
            float(unit if value is None else value)
            for value, unit in zip(given, (_NOISE, self.limit), strict=True)
        )
        basis = np.ascontiguousarray(told(W).T, dtype=np.float64)
        B, F = X.shape
        found = Recovered(np.empty((B, len(basis))), np.empty((B, F)), np.empty(B))
        _kernels.recover_sparse(X, mask, basis, rules, fixed, float(memory), level, tuple(found))
        return found

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Mask | None = None
    ) -> Codes:
        """Return codes and outliers of the columns of V, each as if it were alone.

        An outlier costs as much as an entry at the threshold.
        """
        X, mask = as_rows(V, observed, np.dtype(np.float64))
        found = self.recover(X, mask, W, np.array([self.level, 1.0]), 0.0)
        residual = X - found.H @ W.T
        inliers = np.where(mask & (found.R == 0.0), residual, 0.0)
        cut = self.support_threshold
        cut = self.limit * self.level if cut is None else cut
        cost = 0.5 * cut**2 * np.count_nonzero(found.R, axis=1)
        loss = 0.5 * np.einsum("bf,bf->b", inliers, inliers) + cost
        R = np.where(mask, found.R, residual)
        H, R, loss, cost = (part.astype(W.dtype) for part in (found.H.T, R.T, loss, cost))
        return Codes(H, R, loss, cost, np.ones(len(X), dtype=np.bool_))
