"""Codes of any sign and outliers by l1 regression, solved by ADMM."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from thalweg import _native
from thalweg._linalg import as_rows, without_rounding_rows
from thalweg._typing import Array, Mask
from thalweg.encoders import Codes

__all__ = ["RobustRegression"]

# Factor of max_iter for samples that are encoded and not learned from: their codes are the result,
# and no later sample corrects them. Safety margin: any value in 5..100 gives the same results.
_MORE_ITERATIONS = 20


@dataclass(frozen=True)
class RobustRegression:
    """Compute argmin_(h, r) |v - W h - r|^2 / 2 + outlier_weight |r|_1 + ridge |h|^2 / 2.

    The sums are over the observed entries. With ``outlier_weight=0`` the residual consists of
    outliers alone: r = v - W h, and |r|_1 + ridge |h|^2 / 2 is minimised. Both problems are solved
    by the alternating direction method of multipliers (ADMM).

    Parameters
    ----------
    outlier_weight : float
        Weight of the l1 norm of the outliers, in data units, or 0.
    ridge : float
        Weight of the squared codes.
    rho : float
        Penalty parameter of ADMM, in units of the mean residual of least squares. It changes the
        number of iterations, not the solution.
    tol : float
        A sample is solved if loss and dual differ by at most this share of the loss, and the dual
        is orthogonal to the basis to the same accuracy. With 0, all iterations are done.
    max_iter : int
        Maximum number of iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.robust_regression import RobustRegression
    >>> V = np.outer(np.ones(20), [-2.0])
    >>> V[3] = 50.0
    >>> RobustRegression().encode(V, np.ones((20, 1))).H.round(2)
    array([[-2.]])
    """

    outlier_weight: float = 0.0
    ridge: float = 0.0
    rho: float = 1.8  # GRASTA's published code; ADMM converges for any positive value
    tol: float = 1e-3
    max_iter: int = 200
    name: ClassVar[str] = "robust-regression"

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Mask | None = None
    ) -> Codes:
        """Encode the columns of V, independently of each other.

        Parameters
        ----------
        V : array of shape (F, B)
            Samples; values at missing entries are ignored.
        W : array of shape (F, K)
            Basis.
        H0 : ignored
            ADMM starts at least squares.
        observed : boolean array of shape (F, B), optional
            Mask of the observed entries; by default all are observed.
        """
        X, mask = as_rows(V, observed, W.dtype)
        H = np.empty((len(X), W.shape[1]), dtype=W.dtype)
        solved = np.empty(len(X), dtype=np.bool_)
        U = np.ascontiguousarray(without_rounding_rows(W).T)
        _native.robust_codes(U, X, mask, self.problem(), H, solved)
        residual = X - H @ U
        kept = np.clip(residual, -self.outlier_weight, self.outlier_weight) * mask
        # at missing entries the outlier is free and equals the residual
        R = residual - kept
        size = np.sum(np.abs(R), axis=1, where=mask)
        cost = (self.outlier_weight or 1.0) * size + 0.5 * self.ridge * np.square(H).sum(axis=1)
        loss = 0.5 * np.square(kept).sum(axis=1) + cost
        return Codes(H.T, R.T, loss.astype(W.dtype), cost.astype(W.dtype), solved)

    def problem(self) -> _native.RegressionProblem:
        """Return the problem of one sample for compiled code."""
        return _native.RegressionProblem(
            ridge=self.ridge,
            outlier_weight=self.outlier_weight,
            rho=self.rho,
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def with_more_iterations(self) -> "RobustRegression":
        """Return the same encoder with 20 times the maximum number of iterations."""
        return replace(self, max_iter=_MORE_ITERATIONS * self.max_iter)
