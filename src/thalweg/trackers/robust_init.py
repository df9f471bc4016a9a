"""Initial basis and noise scale from a few samples with gaps and outliers."""

from typing import NamedTuple

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.encoders.outlier_rejection import OutlierRejection
from thalweg.noise.feature_scales import FeatureScales, observed_medians, unfitted_shares
from thalweg.trackers._robust_factors import (
    FEW_ENTRIES_PER_CODE,
    RELATIVE_HUBER_THRESHOLD,
    THRESHOLD,
    Data,
    Factors,
    huber_fit,
    huber_threshold_of,
    inliers_of,
    robust_codes,
    typical_sizes,
)

__all__ = ["RobustInit", "robust_basis", "robust_init"]

_SCALE_FITS = 3  # of all features, in units of their sizes, and twice of their noise
_MAX_FEATURES = 512  # more features are only fitted at the end, to bound the time
_LEAST_SPARE = 0.1  # share of the noise that a fit leaves at least. Safety margin.


class RobustInit(NamedTuple):
    """An orthonormal basis, and the noise scale of the entries that fit it.

    Attributes
    ----------
    U : array of shape (F, K)
        Basis with orthonormal columns.
    noise_scale : float
        Standard deviation of the noise.
    scales : FeatureScales or None
        Noise scales of the features, relative to ``noise_scale``; None if they are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.robust_init import RobustInit
    >>> RobustInit(np.eye(3, 2), 0.1).noise_scale
    0.1
    """

    U: Array
    noise_scale: float
    scales: FeatureScales | None = None


def robust_basis(
    V: Array, K: int, observed: Mask | None = None, *, seed: int = 0, guess: Array | None = None
) -> Array:
    """Compute an orthonormal basis of the K dimensions that most entries fit.

    Basis U and codes H minimise

        sum min(|v - u' h|, c)

    over the observed entries, with c three times the typical size of the entry's row and column.
    They are fitted by least absolute values: by ADMM from several initial guesses, and then
    alternately. Least squares on the entries within 2.5 noise scales follow.

    Parameters
    ----------
    V : array of shape (F, N)
        Samples; values at missing entries are ignored.
    K : int
        Number of dimensions, at most F. With fewer samples the other directions are random.
    observed : boolean array of shape (F, N), optional
        Mask of the observed entries.
    seed : int
        Seed of the random guesses.
    guess : array of shape (F, K), optional
        An additional guess.

    Returns
    -------
    array of shape (F, K)
        Basis with orthonormal columns.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.robust_init import robust_basis
    >>> rng = np.random.default_rng(0)
    >>> V = np.outer(np.ones(30), rng.normal(size=60))
    >>> V[rng.random(V.shape) < 0.3] = 20.0
    >>> U = robust_basis(V, 1)
    >>> bool(abs(U.sum()) / 30**0.5 > 0.999999)
    True
    """
    return robust_init(V, K, observed, seed=seed, guess=guess).U


def robust_init(
    V: Array,
    K: int,
    observed: Mask | None = None,
    *,
    seed: int = 0,
    guess: Array | None = None,
    per_feature: bool = False,
) -> RobustInit:
    """Compute the basis of :func:`robust_basis`, and the noise scale.

    Parameters
    ----------
    V, K, observed, seed, guess
        As in :func:`robust_basis`.
    per_feature : bool
        Whether each feature has a noise scale of its own. Then the features are first divided by
        the median of their moduli, and then by the noise scales that a fit leaves. Samples that are
        larger than most are divided by their size. So neither large features nor large samples
        have more influence than others.

    Returns
    -------
    RobustInit
        The basis, and the noise scale of the entries within 2.5 noise scales of it.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.robust_init import robust_init
    >>> rng = np.random.default_rng(0)
    >>> V = np.outer(np.ones(30), rng.normal(size=60)) + 0.1 * rng.normal(size=(30, 60))
    >>> V[rng.random(V.shape) < 0.3] = 20.0
    >>> bool(0.09 < robust_init(V, 1).noise_scale < 0.11)
    True
    """
    if per_feature:
        return _init_with_scales(V, K, observed, seed, guess)
    rng = np.random.default_rng(seed)
    X = V.T.astype(np.float64)
    mask = np.ones(X.shape, dtype=np.bool_) if observed is None else observed.T
    X = np.where(mask, X, 0.0)
    some = np.sort(rng.permutation(len(V))[:_MAX_FEATURES])
    part = Data(X[:, some], mask[:, some], typical_sizes(X[:, some], mask[:, some]))
    if not part.typical.any():
        return RobustInit(_completed_basis(np.zeros((len(V), 0)), K, rng).astype(V.dtype), 0.0)
    rank = min(K, *part.X.shape)
    H = robust_codes(part, rank, rng, guess[some] if guess is not None and rank == K else None)
    # All entries count again: a feature that was fitted to wrong inliers would stay wrong.
    U = huber_fit(X.T, mask.T, H, huber_threshold_of(part))
    inliers, noise_scale = inliers_of(X, mask, Factors(U, H))
    U = huber_fit(X.T, inliers.T, H, np.inf)
    inliers = mask & (np.abs(X - H @ U.T) <= THRESHOLD * noise_scale)
    U = huber_fit(X.T, inliers.T, H, np.inf)
    return RobustInit(_completed_basis(U, K, rng).astype(V.dtype), noise_scale)


def _init_with_scales(
    V: Array, K: int, observed: Mask | None, seed: int, guess: Array | None
) -> RobustInit:
    """Return the basis and the noise scales of the features, by fits to features in two units."""
    mask = np.ones(V.shape, dtype=np.bool_) if observed is None else observed
    V64 = np.where(mask, V, 0.0).astype(np.float64)
    counts, sizes = mask.sum(axis=1), observed_medians(np.abs(V64.T), mask.T)
    if not sizes.any():
        return robust_init(V, K, observed, seed=seed, guess=guess)._replace(
            scales=FeatureScales.equal(len(V), V.dtype)
        )
    typical = float(np.median(sizes[sizes > 0.0]))
    constant = _constant_features(V64, mask)
    varying = mask & ~constant[:, None]
    per_sample = mask.sum(axis=0)
    rich = mask & (per_sample >= FEW_ENTRIES_PER_CODE * K)  # others hardly determine the noise
    share = float(per_sample[per_sample > 0].mean()) / len(V)
    scale: Array = np.where(sizes > 0.0, sizes, typical)
    start = None if guess is None else guess / scale[:, None]
    lengths = observed_medians(np.abs(V64 / scale[:, None]), mask)
    usual = lengths[lengths > 0.0]  # none if most entries are zero
    lengths = np.maximum(lengths, float(np.median(usual)) if usual.size else 1.0)
    for _ in range(_SCALE_FITS):
        relative = V64 / scale[:, None] / lengths
        found = robust_init(relative, K, varying, seed=seed, guess=start)
        H = OutlierRejection(found.noise_scale).encode(relative, found.U, observed=varying).H.T
        threshold = THRESHOLD * found.noise_scale or RELATIVE_HUBER_THRESHOLD
        W = huber_fit(relative, mask, H, threshold)
        residual = np.abs(relative - W @ H.T) * scale[:, None] * lengths
        spare = unfitted_shares(W, share) * (1.0 - K / np.maximum(counts, K + 1))
        noise = observed_medians(residual.T, rich.T) / np.sqrt(np.maximum(spare, _LEAST_SPARE))
        # The noise of a constant feature is unknown: its typical size is an upper bound.
        noise = np.where(constant, np.maximum(noise, typical), noise)
        known = noise > 0.0
        common = float(np.median(noise[known])) if known.any() else typical
        scales = FeatureScales.estimated(
            np.where(known, noise, common), np.where(known, rich.sum(axis=1), 0.0), V.dtype
        )
        U, scale = W * scale[:, None], scales.scale.astype(np.float64) * common
        start = U / scale[:, None]
    # Codes are in data units, as with a common noise scale.
    return RobustInit(
        _completed_basis(U, K, np.random.default_rng(seed)).astype(V.dtype), common, scales
    )


def _constant_features(V: Array, observed: Mask) -> Mask:
    """Return which features have one value only."""
    largest = np.where(observed, V, -np.inf).max(axis=1, initial=-np.inf)
    smallest = np.where(observed, V, np.inf).min(axis=1, initial=np.inf)
    constant: Mask = largest <= smallest
    return constant


def _completed_basis(U: Array, K: int, rng: np.random.Generator) -> Array:
    """Return an orthonormal basis of K dimensions whose span contains the columns of U."""
    random = rng.normal(size=(len(U), K - U.shape[1]))
    size = np.abs(U).max(initial=0.0) or 1.0
    return np.linalg.qr(np.hstack([U / size, random]))[0]
