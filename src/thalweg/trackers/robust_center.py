"""A robust mean of each feature from a few samples with gaps and outliers."""

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.encoders.outlier_rejection import OutlierRejection
from thalweg.trackers.feature_scales import feature_medians
from thalweg.trackers.robust_init import robust_init

__all__ = ["robust_center"]


def robust_center(V: Array, K: int, observed: Mask, *, seed: int = 0) -> Array:
    """Estimate the mean of samples that lie near an affine subspace of K dimensions.

    Medians of the features are biased by outliers of one sign. The samples less the medians lie
    near a linear subspace of K + 1 dimensions, which is fitted robustly. The estimate is the point
    of it with the median codes, plus the mean residual of each feature without the outliers. With
    too few samples or features it is the median.

    Parameters
    ----------
    V : array of shape (F, N)
        Samples; values at missing entries are ignored.
    K : int
        Number of dimensions.
    observed : boolean array of shape (F, N)
        Mask of the observed entries.
    seed : int
        Seed of the robust fit.

    Returns
    -------
    array of shape (F,)
        The mean; 0 for features without observed entries.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.robust_center import robust_center
    >>> rng = np.random.default_rng(0)
    >>> V = 5.0 + 0.1 * rng.normal(size=(20, 100)) + np.outer(np.ones(20), rng.normal(size=100))
    >>> V[rng.random(V.shape) < 0.2] += 50.0
    >>> mean = robust_center(V, 1, np.ones(V.shape, bool))
    >>> bool(np.abs(mean - mean.mean()).max() < 0.05)
    True
    """
    median = feature_medians(V.T, observed.T)
    if min(V.shape) <= K + 1:
        return median.astype(V.dtype)
    centered = V - median[:, None]
    found = robust_init(centered, K + 1, observed, seed=seed, per_feature=True)
    scales = None if found.scales is None else found.scales.scale
    encoder = OutlierRejection(found.noise_scale, relative_scales=scales)
    codes = encoder.encode(centered, found.U, observed=observed)
    kept = observed & (codes.R == 0)
    residual = np.where(kept, centered - found.U @ codes.H, 0.0)
    offset = residual.sum(axis=1) / np.maximum(kept.sum(axis=1), 1)
    mean: Array = median + found.U @ np.median(codes.H, axis=1) + offset
    return np.where(observed.any(axis=1), mean, 0.0).astype(V.dtype)
