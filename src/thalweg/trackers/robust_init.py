"""Initial basis and noise scale from a few samples with gaps and outliers."""

from typing import NamedTuple

import numpy as np

from thalweg import _native
from thalweg._linalg import pack_rows
from thalweg._typing import Array, Mask
from thalweg.encoders.outlier_rejection import OutlierRejection
from thalweg.trackers._least_absolute_residuals import least_absolute_residuals
from thalweg.trackers._probabilistic_pca import probable_codes
from thalweg.trackers.feature_scales import FeatureScales, leverages, observed_medians
from thalweg.trackers.noise_scale import truncated_noise_scale

__all__ = ["RobustInit", "robust_basis", "robust_init"]

# Initial bases: one of singular vectors, the others random. benchmark: tracking_corruption
_N_GUESSES = 2
_MAX_ITERATIONS = 15  # of alternating fits by least absolute values
_REFINING_ITERATIONS = 10  # with rejection of outliers
_SCALE_FITS = 3  # of all features, in units of their sizes, and twice of their noise
_HUBER_STEPS = 6  # of each fit, which is a warm start of the next one
_RELATIVE_DECREASE = 1e-3  # of the loss, or of the noise scale, below which iterations stop
_MAX_FEATURES = 512  # more features are only fitted at the end, to bound the time
# A residual beyond this many typical sizes may be an outlier before any fit.
# benchmark: tracking_corruption
_SUSPECT_SIZE = 3.0
# Quantile of absolute entries that estimates a typical size, and the median of the absolute value
# of a normal variable over that quantile: outliers do not reach the quantile.
_LOW_QUANTILE, _MEDIAN_TO_LOW_QUANTILE = 0.25, 2.117
# Smallest typical size of an entry, as a share of the overall size: a row may be nearly zero.
# Safety margin: any value in 0.03..0.3 gives the same results.
_SIZE_FLOOR = 0.1
# Huber's threshold, as a share of the typical entry: so small that the fit is nearly one of least
# absolute values. Safety margin: any value in 1e-3..3e-2 changes errors by 4 %.
_RELATIVE_HUBER_THRESHOLD = 1e-2
# Observed entries per code below which samples do not determine their codes well.
# benchmark: tracking_gaps
_FEW_ENTRIES_PER_CODE = 4
_LEAST_SPARE = 0.1  # share of the noise that a fit leaves at least. Safety margin.
_THRESHOLD = 2.5  # noise scales beyond which an entry is an outlier; as in PETRELS-ADMM


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


class _Data(NamedTuple):
    """Samples as rows, the mask of observed entries, and the typical size of each entry."""

    X: Array
    observed: Mask
    typical: Array


class _Factors(NamedTuple):
    """A basis and the codes of the samples."""

    U: Array
    H: Array


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
    part = _Data(X[:, some], mask[:, some], _typical_sizes(X[:, some], mask[:, some]))
    if not part.typical.any():
        return RobustInit(_completed_basis(np.zeros((len(V), 0)), K, rng).astype(V.dtype), 0.0)
    rank = min(K, *part.X.shape)
    H = _robust_codes(part, rank, rng, guess[some] if guess is not None and rank == K else None)
    # All entries count again: a feature that was fitted to wrong inliers would stay wrong.
    U = _huber_fit(X.T, mask.T, H, _huber_threshold(part))
    inliers, noise_scale = _inliers(X, mask, _Factors(U, H))
    U = _huber_fit(X.T, inliers.T, H, np.inf)
    inliers = mask & (np.abs(X - H @ U.T) <= _THRESHOLD * noise_scale)
    U = _huber_fit(X.T, inliers.T, H, np.inf)
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
    rich = mask & (per_sample >= _FEW_ENTRIES_PER_CODE * K)  # others tell little of the noise
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
        threshold = _THRESHOLD * found.noise_scale or _RELATIVE_HUBER_THRESHOLD
        W = _huber_fit(relative, mask, H, threshold)
        residual = np.abs(relative - W @ H.T) * scale[:, None] * lengths
        spare = (1.0 - leverages(W, share)) * (1.0 - K / np.maximum(counts, K + 1))
        noise = observed_medians(residual.T, rich.T) / np.sqrt(np.maximum(spare, _LEAST_SPARE))
        # A constant feature tells nothing of its noise: its typical size is an upper bound.
        noise = np.where(constant, np.maximum(noise, typical), noise)
        known = noise > 0.0
        common = float(np.median(noise[known])) if known.any() else typical
        scales = FeatureScales.estimated(
            np.where(known, noise, common), np.where(known, rich.sum(axis=1), 0.0), V.dtype
        )
        U, scale = W * scale[:, None], scales.scale.astype(np.float64) * common
        start = U / scale[:, None]
    return RobustInit(U.astype(V.dtype), common, scales)


def _constant_features(V: Array, observed: Mask) -> Mask:
    """Return which features have one value only."""
    largest = np.where(observed, V, -np.inf).max(axis=1, initial=-np.inf)
    smallest = np.where(observed, V, np.inf).min(axis=1, initial=np.inf)
    constant: Mask = largest <= smallest
    return constant


def _robust_codes(data: _Data, K: int, rng: np.random.Generator, guess: Array | None) -> Array:
    """Return codes of the samples with small residuals in most entries."""
    counts = data.observed.sum(axis=1)
    if np.median(counts[counts > 0]) < _FEW_ENTRIES_PER_CODE * K:
        return probable_codes(data.X, _unsuspicious(data), K, rng)
    guesses = _guesses(data, K, rng)
    if guess is not None:
        guesses.append(guess.astype(np.float64))
    return _refined(data, _converged(data, _best_fit(data, guesses))).H


def _typical_sizes(X: Array, observed: Mask) -> Array:
    """Return the typical size of each entry, from its row and its column."""
    sizes = np.abs(X)
    rows, columns = _robust_medians(sizes, observed), _robust_medians(sizes.T, observed.T)
    overall = sizes.sum() / max(np.count_nonzero(observed), 1)
    if not overall > 0.0:
        return np.zeros_like(X)
    middle = float(_robust_medians(sizes[None], observed[None])[0])
    if not middle > np.finfo(np.float64).eps * overall:  # most entries are zero or rounding
        return np.full_like(X, overall)
    both: Array = np.outer(rows, columns) / middle
    bounded: Array = np.maximum(both, _SIZE_FLOOR * min(middle, overall))
    return bounded


def _robust_medians(sizes: Array, observed: Mask) -> Array:
    """Return the medians that normal entries would have, from a quantile below the outliers.

    If 40 % of all entries are outliers, some samples have more than half outliers.
    """
    sizes = np.sort(np.where(observed, sizes, np.inf).reshape(len(sizes), -1), axis=1)
    counts = observed.reshape(len(sizes), -1).sum(axis=1)
    place = _LOW_QUANTILE * np.maximum(counts - 1, 0)
    rows, below = np.arange(len(sizes)), place.astype(np.intp)
    low, high = sizes[rows, below], sizes[rows, np.minimum(below + 1, np.maximum(counts - 1, 0))]
    with np.errstate(invalid="ignore"):  # rows without observed entries
        quantiles = low + (place - below) * (high - low)
    medians: Array = _MEDIAN_TO_LOW_QUANTILE * np.where(counts > 0, quantiles, 0.0)
    return medians


def _guesses(data: _Data, K: int, rng: np.random.Generator) -> list[Array]:
    """Return initial bases: singular vectors of the unsuspicious entries, and random ones."""
    entries = np.where(_unsuspicious(data), data.X, 0.0)
    first = np.linalg.svd(entries, full_matrices=False)[2][:K].T
    others = (rng.normal(size=(data.X.shape[1], K)) for _ in range(_N_GUESSES - 1))
    return [first, *(np.linalg.qr(U)[0] for U in others)]


def _best_fit(data: _Data, guesses: list[Array]) -> _Factors:
    """Return the fit by least absolute values with the smallest truncated loss."""
    mask, size = _unsuspicious(data), float(data.typical.mean())
    fits = (_Factors(*least_absolute_residuals(data.X, mask, U, size)) for U in guesses)
    return min(fits, key=lambda factors: _truncated_loss(data, factors))


def _converged(data: _Data, factors: _Factors) -> _Factors:
    """Return the factors after alternating fits that decrease the truncated loss."""
    loss = _truncated_loss(data, factors)
    for _ in range(_MAX_ITERATIONS):
        after = _alternate(data, _unsuspicious(data), factors, _huber_threshold(data))
        before, loss = loss, _truncated_loss(data, after)
        if not loss < (1.0 - _RELATIVE_DECREASE) * before:
            break
        factors = after
    return factors


def _unsuspicious(data: _Data) -> Mask:
    """Return the mask of the observed entries that are not far larger than typical."""
    return data.observed & (np.abs(data.X) <= _SUSPECT_SIZE * data.typical)


def _huber_threshold(data: _Data) -> float:
    return _RELATIVE_HUBER_THRESHOLD * float(data.typical.mean())


def _alternate(data: _Data, mask: Mask, factors: _Factors, huber_threshold: float) -> _Factors:
    """Fit the codes, and then the basis, each with a warm start."""
    H, T = np.linalg.qr(_huber_fit(data.X, mask, factors.U, huber_threshold, factors.H))
    return _Factors(_huber_fit(data.X.T, mask.T, H, huber_threshold, factors.U @ T.T), H)


def _truncated_loss(data: _Data, factors: _Factors) -> float:
    residual = np.abs(data.X - factors.H @ factors.U.T)
    return float(np.minimum(residual, _SUSPECT_SIZE * data.typical)[data.observed].sum())


def _refined(data: _Data, factors: _Factors) -> _Factors:
    """Return the factors after iterations of nearly least squares on the inliers."""
    before = np.inf
    for _ in range(_REFINING_ITERATIONS):
        inliers, noise_scale = _inliers(data.X, data.observed, factors)
        if not noise_scale < (1.0 - _RELATIVE_DECREASE) * before:
            break
        factors, before = _alternate(data, inliers, factors, noise_scale), noise_scale
    return factors


def _inliers(X: Array, observed: Mask, factors: _Factors) -> tuple[Mask, float]:
    """Return the mask of the entries within the threshold of a fit, and their noise scale."""
    residual = np.abs(X - factors.H @ factors.U.T)
    n_fitted = factors.U.size + factors.H.size
    noise_scale = truncated_noise_scale(residual[observed], _THRESHOLD, n_fitted)
    inliers: Mask = observed & (residual <= _THRESHOLD * noise_scale)
    return inliers, noise_scale


def _huber_fit(
    X: Array, mask: Mask, U: Array, huber_threshold: float, H: Array | None = None
) -> Array:
    """Return the codes of the rows of X that minimise Huber's function on the masked entries."""
    X, mask = np.ascontiguousarray(X), np.ascontiguousarray(mask)
    H = np.zeros((len(X), U.shape[1])) if H is None else H.copy()
    solved = np.empty(len(X), dtype=np.bool_)
    _native.huber_codes(X, mask, pack_rows(U), huber_threshold, _HUBER_STEPS, H, solved)
    return H


def _completed_basis(U: Array, K: int, rng: np.random.Generator) -> Array:
    """Return an orthonormal basis of K dimensions whose span contains the columns of U."""
    random = rng.normal(size=(len(U), K - U.shape[1]))
    size = np.abs(U).max(initial=0.0) or 1.0
    return np.linalg.qr(np.hstack([U / size, random]))[0]
