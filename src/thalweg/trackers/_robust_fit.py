"""Codes of samples that are not learned from, in spite of outliers and with any sign."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from thalweg import _kernels
from thalweg._typing import Array, Mask
from thalweg.encoders import Codes
from thalweg.trackers._blocks import as_rows, told

__all__ = ["RobustFit"]

# By how much the cap is raised for samples that are encoded and not learned from.
_PATIENCE = 20


@dataclass(frozen=True)
class RobustFit:
    """Minimises |v - W h - r|^2 / 2 + threshold |r|_1 + ridge |h|^2 / 2 over the entries observed.

    With the threshold 0 nothing but outliers may be left, r = v - W h, and |r|_1 is minimised.
    Both are done by alternating directions, ADMM.

    Parameters
    ----------
    threshold : float
        Weight of the outliers, which is the residual where they begin; or 0.
    ridge : float
        Weight of the codes.
    rho : float
        Weight of ADMM, in units of the mean residual of least squares: it changes the way and
        not the end.
    tol : float
        A sample is done when loss and dual differ by no more than this share of the loss, and
        the dual is orthogonal to the basis as closely.
    max_iter : int
        Cap on the number of steps.
    """

    threshold: float = 0.0
    ridge: float = 0.0
    rho: float = 1.8
    tol: float = 1e-3
    max_iter: int = 200
    name: ClassVar[str] = "robust-fit"

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Mask | None = None
    ) -> Codes:
        """Return codes and outliers of the columns of V, each as if it were alone."""
        X, mask = as_rows(V, observed, W.dtype)
        H = np.empty((len(X), W.shape[1]), dtype=W.dtype)
        solved, U = np.empty(len(X), dtype=np.bool_), np.ascontiguousarray(told(W).T)
        how = self.ridge, self.threshold, self.rho, self.tol, self.max_iter
        _kernels.robust_codes(U, X, mask, *how, H, solved)
        residual = X - H @ U
        kept = np.clip(residual, -self.threshold, self.threshold) * mask
        # over gaps an outlier is free, and makes up for what is not there
        R = residual - kept
        size = np.sum(np.abs(R), axis=1, where=mask)
        cost = (self.threshold or 1.0) * size + 0.5 * self.ridge * np.square(H).sum(axis=1)
        loss = 0.5 * np.square(kept).sum(axis=1) + cost
        return Codes(H.T, R.T, loss.astype(W.dtype), cost.astype(W.dtype), solved)

    def patient(self) -> "RobustFit":
        """Return the same with a higher cap, for samples whose codes are wanted themselves."""
        return replace(self, max_iter=_PATIENCE * self.max_iter)
