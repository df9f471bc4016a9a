"""Robust completion of a matrix: alternating least squares on the entries that are no outliers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg._linalg import largest_angle
from thalweg._typing import Array, Mask
from thalweg.completion import Completed
from thalweg.encoders import Codes, Encoder
from thalweg.encoders.least_squares import LeastSquares
from thalweg.noise.leverage import studentised
from thalweg.noise.relative_scales import relative_scales
from thalweg.noise.residual_counts import ResidualCounts
from thalweg.trackers.noise_scale import truncated_noise_scale
from thalweg.trackers.petrels_admm import PetrelsADMMTracker
from thalweg.trackers.robust_center import robust_center
from thalweg.trackers.robust_init import robust_init

__all__ = ["Alternation", "code_size", "encoder_at"]

# Observations of each feature, on average, from which an initial basis is found; iterations over
# all samples follow. Safety margin: half and twice as many change errors of fills by less than 1 %.
_INIT_OBSERVATIONS, _INIT_PER_COMPONENT = 1500, 100


@dataclass(frozen=True)
class Alternation:
    """Alternate between rejecting outliers and least squares, until the subspace converges.

    An iteration rejects the outliers of each sample as PETRELS-ADMM does, and then minimises
    [T] (24) over every row of the basis on the remaining entries. The recursion of a tracker only
    approaches that minimum. Both steps decrease the sum of min(e^2, threshold^2) over the residuals
    e. The noise scale is estimated again after each iteration.

    If the tracker has ``noise="per-feature"``, so are scales s of the features, and the sum is over
    e / s. Each row of the basis is fitted to one feature, so that its scale does not matter for it.

    Parameters
    ----------
    tracker : tracker of PETRELS-ADMM
        Rejects the outliers.
    tol : float
        Angle between successive subspaces, in radians, at which the iteration stops.
    max_iter : int
        Largest number of iterations.
    center : bool
        Whether the model has a mean of each feature, which is fitted with the rows of the basis.
    start : tuple of array and float, or None
        Basis and noise scale to begin with; None finds them by a robust initialisation.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import RobustMatrixCompletion
    >>> X = np.outer(np.arange(1.0, 30.0), np.arange(1.0, 9.0))
    >>> RobustMatrixCompletion(1, random_state=0).fit(X).converged_
    True
    """

    tracker: PetrelsADMMTracker
    tol: float
    max_iter: int
    center: bool = False
    start: tuple[Array, float] | None = None
    name: ClassVar[str] = "alternation"

    def complete(
        self,
        V: Array,
        observed: Mask | None,
        n_components: int,
        rng: np.random.Generator | int | None = 0,
    ) -> Completed:
        """Return the low-rank part of V and its outliers."""
        rng = np.random.default_rng(rng)
        rank = min(n_components, *V.shape)
        seed = int(rng.integers(2**31))
        mean = _center(V, observed, rank, seed) if self.center else None
        V = V if mean is None else V - mean[:, None]
        start = self.start or _init(V, observed, rank, seed)
        found, beyond = self.improve(V, observed, *start), ((0, n_components - rank), (0, 0))
        mean = mean if found.mean is None or mean is None else mean + found.mean
        return found._replace(U=np.pad(found.U.T, beyond).T, H=np.pad(found.H, beyond), mean=mean)

    def improve(self, V: Array, observed: Mask | None, U: Array, noise: float) -> Completed:
        """Return the low-rank part that the alternation reaches from a basis."""
        mask = np.ones(V.shape, dtype=np.bool_) if observed is None else observed
        size, count, converged = 0.0, 0, False
        scales: Array | None = None
        mean = np.zeros(len(V), V.dtype)
        while count < self.max_iter and not converged:
            codes = encoder_at(self.tracker, U, noise, size, scales).encode(V, U, observed=observed)
            size, kept = code_size(codes.H, mask), mask & (codes.R == 0)
            rows, Q, shift = _rows(V, kept, U, codes.H, self.center)
            if self.tracker.noise == "per-feature":
                scales = _feature_scales(V, mask, U, codes, scales)
            V, mean = (V - shift[:, None], mean + shift) if self.center else (V, mean)
            residual = V - rows @ Q.T if scales is None else (V - rows @ Q.T) / scales[:, None]
            n_fitted = rows.size + Q.size + (len(V) if self.center else 0)
            noise = truncated_noise_scale(residual[mask], self.tracker.threshold, n_fitted)
            before, U = U, np.linalg.qr(rows)[0]
            count, converged = count + 1, largest_angle(U, before) <= self.tol
        codes = encoder_at(self.tracker, U, noise, size, scales).encode(V, U, observed=observed)
        return Completed(U, codes.H, codes.R * mask, count, converged, scales, mean)


def encoder_at(
    tracker: PetrelsADMMTracker,
    U: Array,
    noise: float,
    size: float,
    scales: Array | None = None,
) -> Encoder:
    """Return the encoder of the tracker for noise scales and a typical |h|^2.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.robust_completion import encoder_at
    >>> from thalweg.trackers.petrels_admm import PetrelsADMMTracker
    >>> encoder_at(PetrelsADMMTracker(), np.eye(3, 2), 0.5, 1.0).noise_scale
    0.5
    """
    return tracker.rejection(noise**2, size, U.shape[1], scales)


def code_size(H: Array, mask: Mask) -> float:
    """Return the median |h|^2 of the samples with observed entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.robust_completion import code_size
    >>> code_size(np.array([[1.0, 3.0]]), np.array([[True, False]]))
    1.0
    """
    sizes = np.square(H[:, mask.any(axis=0)]).sum(axis=0)
    return float(np.median(sizes)) if sizes.size else 0.0


def _rows(
    V: Array, kept: Mask, U: Array, H: Array, center: bool = False
) -> tuple[Array, Array, Array]:
    """Return rows of least squares on the entries kept, [T] (24), for the codes, orthonormal.

    Also return these codes, and the intercepts, which are 0 without ``center``. A row with no more
    such entries than there are codes stays.
    """
    Q, T = np.linalg.qr(H.T)
    if not center:
        rows = LeastSquares().encode(V.T, Q, observed=kept.T).H.T
        enough = kept.sum(axis=1) > len(H)
        return np.where(enough[:, None], rows, U @ T.T), Q, np.zeros(len(V), V.dtype)
    K, constant = len(H), np.ones((len(Q), 1), Q.dtype)
    found = LeastSquares().encode(V.T, np.hstack([Q, constant]), observed=kept.T).H.T
    enough = kept.sum(axis=1) > K + 1
    rows = np.where(enough[:, None], found[:, :K], U @ T.T)
    return rows, Q, np.where(enough, found[:, K], 0.0).astype(V.dtype)


def _feature_scales(V: Array, mask: Mask, U: Array, codes: Codes, before: Array | None) -> Array:
    """Return relative noise scales of the features: geometric means with those before.

    Without the mean, scales that depend on one another through the leverages may oscillate.
    """
    H = codes.H
    residuals = studentised(V, U, H, codes.R, mask, before)
    counts = ResidualCounts.of(residuals, mask, V)
    squares = H @ H.T / max(H.shape[1], 1)
    found = relative_scales(counts, U, squares, before, in_sample=True)
    scales: Array = np.sqrt(found if before is None else found * before).astype(V.dtype)
    return scales


def _init(V: Array, observed: Mask | None, rank: int, seed: int) -> tuple[Array, float]:
    """Return a robust initial basis and the noise scale, from a sample if there are many rows."""
    V, observed = _init_sample(V, observed, rank, seed)
    return robust_init(V, rank, observed, seed=seed)[:2]


def _center(V: Array, observed: Mask | None, rank: int, seed: int) -> Array:
    """Return a robust mean of each feature, from as many samples as the initial basis."""
    V, observed = _init_sample(V, observed, rank, seed)
    mask = np.ones(V.shape, dtype=np.bool_) if observed is None else observed
    return robust_center(V, rank, mask, seed=seed)


def _init_sample(
    V: Array, observed: Mask | None, rank: int, seed: int
) -> tuple[Array, Mask | None]:
    """Return as many samples as an initial basis needs."""
    share = 1.0 if observed is None else float(observed.mean())
    n = int((_INIT_OBSERVATIONS + _INIT_PER_COMPONENT * rank) / max(share, 1.0 / V.shape[1]))
    if n < V.shape[1]:
        some = np.sort(np.random.default_rng(seed).permutation(V.shape[1])[:n])
        V, observed = V[:, some], None if observed is None else observed[:, some]
    return V, observed
