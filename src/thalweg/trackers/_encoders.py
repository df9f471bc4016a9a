"""Codes of samples that are not learned from, for a basis whose codes may have any sign."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg import _kernels
from thalweg._typing import Array, Mask
from thalweg.encoders import Codes
from thalweg.trackers._blocks import as_rows, pack

__all__ = ["LeastSquares", "Rejecting"]


@dataclass(frozen=True)
class LeastSquares:
    """Minimises the sum of squares |v - W h|^2 / 2 over the entries observed.

    With fewer of these than codes, the codes are close to those of least norm.
    """

    name: ClassVar[str] = "least-squares"

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Mask | None = None
    ) -> Codes:
        """Return the codes of the columns of V, each as if it were alone."""
        X, mask = as_rows(V, observed, W.dtype)
        H = np.empty((len(X), W.shape[1]), dtype=W.dtype)
        _kernels.least_squares_codes(X, mask, pack(W), H)
        residual = X - H @ W.T
        # over gaps an outlier is free, and makes up for what is not there
        R = np.where(mask, W.dtype.type(0), residual)
        loss = 0.5 * np.square(residual, where=mask, out=np.zeros_like(X)).sum(axis=1)
        return Codes(H.T, R.T, loss, np.zeros_like(loss), np.ones(len(X), dtype=np.bool_))


@dataclass(frozen=True)
class Rejecting:
    """Fits robustly, then leaves out what lies beyond ``limit`` times the noise level.

    The loss is the sum of min(e^2, limit^2 noise^2) / 2 over the residuals e of the entries
    observed: an outlier costs as much as an entry at the limit. It is not convex; the fit begins at
    the minimum of Huber's function with the knee ``knee * noise`` and goes down from there. Codes
    that the entries kept hardly tell are made small at the end; those of fewer than 2K + 2 entries
    that do not fit are of as many as do, and no longer than four times the usual.

    Parameters
    ----------
    noise : float
        Noise level; with 0 each sample has one of its own, from its median residual.
    prior : float
        Squared noise level over the usual square of a code.
    rule : array of shape (4,)
        Knee and limit in units of the noise level, and two numbers that only trackers use.
    admm : array
        Parameters of the paper's alternating directions; empty for the exact fit.
    """

    noise: float
    prior: float
    rule: Array
    admm: Array
    name: ClassVar[str] = "rejecting"

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Mask | None = None
    ) -> Codes:
        """Return codes and outliers of the columns of V, each as if it were alone."""
        X, mask = as_rows(V, observed, W.dtype)
        H, R = np.empty((len(X), W.shape[1]), dtype=W.dtype), np.empty_like(X)
        solved = np.empty(len(X), dtype=np.bool_)
        _kernels.rejecting_codes(
            X, mask, pack(W), self.noise, self.prior, self.rule, self.admm, H, R, solved
        )
        residual = X - H @ W.T
        within = mask & (R == 0)
        kept = np.square(residual, where=within, out=np.zeros_like(X)).sum(axis=1)
        cost = 0.5 * (self.rule[1] * self.noise) ** 2 * np.count_nonzero(R, axis=1)
        cost = cost.astype(W.dtype)
        R = np.where(mask, R, residual)
        return Codes(H.T, R.T, 0.5 * kept + cost, cost, solved)
