"""Codes of any sign by a robust fit, rejection of outliers, and least squares on the rest."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from thalweg import _native
from thalweg._linalg import as_rows, pack_rows
from thalweg._typing import Array, Mask
from thalweg.encoders import Codes

__all__ = ["OutlierRejection"]


@dataclass(frozen=True)
class OutlierRejection:
    """Compute argmin_h sum min(e^2, threshold^2 noise_scale^2) / 2 for e = v - W h.

    The sum is over the observed entries: an outlier costs as much as an entry at the threshold. The
    problem is not convex. The iteration starts at the minimum of Huber's function with the
    threshold ``huber_threshold * noise_scale``, and alternates between rejection and least squares
    on the entries kept, until the same entries are kept.

    Codes that the kept entries hardly determine are shrunk at the end. Among fewer than 2K + 2
    observed entries an outlier cannot be identified. Such a sample keeps all entries if they fit;
    otherwise its codes fit the largest consistent subset, and their norm is at most four times the
    typical one.

    Parameters
    ----------
    noise_scale : float
        Standard deviation of the noise; with 0 each sample has its own, from its median residual.
    prior_precision : float
        Noise variance over the typical squared code.
    huber_threshold : float
        Threshold of Huber's function in the robust fit, in noise scales.
    threshold : float
        Residual beyond which an entry is an outlier, in noise scales.
    solver : {"fast", "admm"}
        How Huber's function is minimised: exactly by Newton's method, or by Algorithm 2 of [T].
    relative_scales : array of shape (F,), optional
        Noise scales of the features, relative to ``noise_scale``; by default they are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.outlier_rejection import OutlierRejection
    >>> V = np.outer(np.ones(20), [-2.0])
    >>> V[3] = 50.0
    >>> codes = OutlierRejection(noise_scale=0.1).encode(V, np.ones((20, 1)))
    >>> codes.H.round(6), np.flatnonzero(codes.R)
    (array([[-2.]]), array([3]))
    """

    noise_scale: float = 0.0
    prior_precision: float = 0.0
    huber_threshold: float = 0.5
    threshold: float = 2.5
    solver: str = "fast"
    relative_scales: Array | None = None
    name: ClassVar[str] = "outlier-rejection"

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
            The robust fit starts at least squares.
        observed : boolean array of shape (F, B), optional
            Mask of the observed entries; by default all are observed.
        """
        X, mask = as_rows(V, observed, W.dtype)
        if self.relative_scales is not None:
            scales = self.relative_scales.astype(W.dtype, copy=False)
            codes = replace(self, relative_scales=None).encode(
                (X / scales).T, W / scales[:, None], observed=mask.T
            )
            return codes._replace(R=codes.R * scales[:, None])
        H, R = np.empty((len(X), W.shape[1]), dtype=W.dtype), np.empty_like(X)
        solved = np.empty(len(X), dtype=np.bool_)
        settings = _native.RejectionSettings(
            huber_threshold=self.huber_threshold,
            threshold=self.threshold,
            admm=_native.ADMMSettings() if self.solver == "admm" else None,
        )
        _native.codes_with_rejection(
            X, mask, pack_rows(W), self.noise_scale, self.prior_precision, settings, (H, R, solved)
        )
        residual = X - H @ W.T
        within = mask & (R == 0)
        kept = np.square(residual, where=within, out=np.zeros_like(X)).sum(axis=1)
        cost = 0.5 * (self.threshold * self.noise_scale) ** 2 * np.count_nonzero(R, axis=1)
        cost = cost.astype(W.dtype)
        R = np.where(mask, R, residual)
        return Codes(H.T, R.T, 0.5 * kept + cost, cost, solved)
