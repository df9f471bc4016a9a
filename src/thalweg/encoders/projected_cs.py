"""Codes of any sign and outliers by projected compressive sensing."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from thalweg import _native
from thalweg._linalg import as_rows, without_rounding_rows
from thalweg._typing import Array, Mask
from thalweg.encoders import Codes

__all__ = ["NoiseAverage", "ProjectedCS", "RecoveredSamples"]

# Bound of the projected residual, in units of its expected norm under noise alone.
_RELATIVE_NOISE_BOUND = 1.0


class RecoveredSamples(NamedTuple):
    """Separated samples, as rows.

    Attributes
    ----------
    H : array of shape (B, K)
        Codes.
    R : array of shape (B, F)
        Outliers.
    error : array of shape (B,)
        Median absolute residual.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.projected_cs import RecoveredSamples
    >>> RecoveredSamples(np.ones((2, 1)), np.zeros((2, 3)), np.zeros(2)).R.shape
    (2, 3)
    """

    H: Array
    R: Array
    error: Array


class NoiseAverage(NamedTuple):
    """Running geometric mean of the noise scales of samples.

    Attributes
    ----------
    scale : float
        Standard deviation of the noise; 0 if unknown.
    n_samples : float
        Number of averaged samples, at most the memory of the average.

    Examples
    --------
    >>> from thalweg.encoders.projected_cs import NoiseAverage
    >>> NoiseAverage().scale
    0.0
    """

    scale: float = 0.0
    n_samples: float = 0.0


@dataclass(frozen=True)
class ProjectedCS:
    """Separate samples by argmin_x |x|_1 subject to |Psi (v - x)| <= bound.

    Psi = I - W W' projects onto the orthogonal complement of the basis, and missing entries of x
    cost nothing. The outliers are the entries of x beyond the threshold. The codes are the least
    squares fit of the other entries, and the values of the outliers are the residuals of that fit.

    Psi is never formed: the problem is solved for the codes.

    Parameters
    ----------
    threshold : float
        Smallest outlier, in noise scales.
    noise_bound, support_threshold : float, optional
        Bound of the residual norm and smallest outlier, in data units. By default both follow the
        noise scale.
    noise_scale : float
        Standard deviation of the noise; with 0 each sample has its own.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.projected_cs import ProjectedCS
    >>> V = np.full((20, 1), -0.5)
    >>> V[3] = 50.0
    >>> codes = ProjectedCS(noise_scale=0.1).encode(V, np.full((20, 1), 20**-0.5))
    >>> np.flatnonzero(codes.R)
    array([3])
    """

    threshold: float = 3.0
    noise_bound: float | None = None
    support_threshold: float | None = None
    noise_scale: float = 0.0
    name: ClassVar[str] = "projected-cs"

    def recover(
        self, X: Array, mask: Mask, W: Array, noise: NoiseAverage, memory: float
    ) -> tuple[RecoveredSamples, NoiseAverage]:
        """Separate the rows of X in order.

        Parameters
        ----------
        X : array of shape (B, F)
            Samples.
        mask : boolean array of shape (B, F)
            Mask of the observed entries.
        W : array of shape (F, K)
            Orthonormal basis.
        noise : NoiseAverage
            Noise scale before the first sample.
        memory : float
            Number of samples over which the noise scale is averaged; with 0 it stays constant.

        Returns
        -------
        RecoveredSamples, NoiseAverage
            The separated samples, and the noise scale after the last one.
        """
        basis = np.ascontiguousarray(without_rounding_rows(W).T, dtype=np.float64)
        X, mask = np.ascontiguousarray(X), np.ascontiguousarray(mask)
        (B, F), average = X.shape, _native.NoiseAverage(**noise._asdict())
        found = RecoveredSamples(np.empty((B, len(basis))), np.empty((B, F)), np.empty(B))
        _native.recover_sparse(X, mask, basis, self._problem(), memory, average, found)
        return found, NoiseAverage(average.scale, average.n_samples)

    def _problem(self) -> _native.SparseRecovery:
        bound, cut = self.noise_bound, self.support_threshold
        return _native.SparseRecovery(
            noise_bound=_RELATIVE_NOISE_BOUND if bound is None else bound,
            noise_bound_in_data_units=bound is not None,
            support_threshold=self.threshold if cut is None else cut,
            support_threshold_in_data_units=cut is not None,
        )

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Mask | None = None
    ) -> Codes:
        """Encode the columns of V, independently of each other.

        An outlier costs as much as an entry at the threshold.

        Parameters
        ----------
        V : array of shape (F, B)
            Samples; values at missing entries are ignored.
        W : array of shape (F, K)
            Orthonormal basis.
        H0 : ignored
            The iteration starts at least squares.
        observed : boolean array of shape (F, B), optional
            Mask of the observed entries; by default all are observed.
        """
        X, mask = as_rows(V, observed, np.dtype(np.float64))
        found, _ = self.recover(X, mask, W, NoiseAverage(self.noise_scale, 1.0), 0.0)
        residual = X - found.H @ W.T
        inliers = np.where(mask & (found.R == 0.0), residual, 0.0)
        cut = self.support_threshold
        cut = self.threshold * self.noise_scale if cut is None else cut
        cost = 0.5 * cut**2 * np.count_nonzero(found.R, axis=1)
        loss = 0.5 * np.einsum("bf,bf->b", inliers, inliers) + cost
        R = np.where(mask, found.R, residual)
        H, R, loss, cost = (part.astype(W.dtype) for part in (found.H.T, R.T, loss, cost))
        return Codes(H, R, loss, cost, np.ones(len(X), dtype=np.bool_))
