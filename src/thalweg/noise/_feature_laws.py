"""Scale and tail exponent of each feature, given the tail that all features share."""

import numpy as np
from scipy.optimize import brentq

from thalweg._typing import Array
from thalweg.noise._grid import NORMAL, cells, in_bins, survival
from thalweg.noise.generalised_t import GeneralisedT
from thalweg.noise.residual_counts import N_BINS

__all__ = ["TAIL_SHARE", "first_positions", "scale_positions", "shrunk", "tail_exponents"]

# Share of a uniform background in the likelihood of a scale, which bounds the influence of
# outliers. Safety margin: any share in 0.005..0.1 changes scales by less than 2 %.
_ANYWHERE = 0.02
# Candidates for a scale: steps of a quarter of a bin, which a parabola refines.
_STEPS_PER_BIN = 4
# The first scale is this quantile of the absolute residuals: more than half may be outliers. The
# maximum of the likelihood is searched within this many bins of it, two octaves.
_FIRST_QUANTILE, _SEARCHED_BINS = 0.35, 8
# Smallest curvature of a log likelihood: a standard error of 8 octaves, almost no information.
_LEAST_CURVATURE = 1e-4
# Share of the residuals beyond which a feature may have a tail of its own, and the largest log of
# its exponent. Safety margin: any share in 0.1..0.3 has enough residuals and is beyond the body.
TAIL_SHARE, _LARGEST_STEP = 0.2, 1.0
# Log ratio of probabilities beyond which an exponential law is not truncated, up to rounding.
_LONG = 40.0
# Scales and exponents are moved towards the common ones by at most this many of their standard
# errors. Those of exponents are larger.
_SCALE_SHRINKAGE = 1.0
_EXPONENT_SHRINKAGE = 2.0
_SHRINKAGE_ITERATIONS = 20


def first_positions(counts: Array) -> Array:
    """Return log scales in bins from the first, by a low quantile."""
    below = np.cumsum(counts, axis=1) / counts.sum(axis=1, keepdims=True)
    place = np.argmax(below >= _FIRST_QUANTILE, axis=1)
    quantile = brentq(lambda x: float(NORMAL.survival(x)) - (1.0 - _FIRST_QUANTILE), 0.0, 1.0)
    positions: Array = place + 0.5 - in_bins(quantile)
    return positions


def scale_positions(
    counts: Array, before: Array, tail: GeneralisedT, cut: float
) -> tuple[Array, Array]:
    """Return log scales in bins from the first, with their variances, by maximum likelihood.

    The likelihood is that of the residuals up to the cut, given that they are; the cut is in bins
    from the log scale before.
    """
    places = np.arange(-_SEARCHED_BINS, N_BINS * _STEPS_PER_BIN + 1) / _STEPS_PER_BIN
    edges = np.arange(N_BINS + 1.0) - places[:, None]
    edges[:, 0], edges[:, -1] = -np.inf, np.inf
    probabilities = (1.0 - _ANYWHERE) * cells(edges, tail) + _ANYWHERE / N_BINS
    n_kept = np.clip(np.ceil(before + cut), 1, N_BINS).astype(np.intp)
    kept = counts * (np.arange(N_BINS) < n_kept[:, None])
    covered = np.log(np.cumsum(probabilities, axis=1))[:, n_kept - 1].T
    likelihood = kept @ np.log(probabilities).T - kept.sum(axis=1, keepdims=True) * covered
    likelihood[np.abs(places - before[:, None]) > _SEARCHED_BINS] = -np.inf
    best = np.clip(likelihood.argmax(axis=1), 1, len(places) - 2)
    below, at, above = (
        np.take_along_axis(likelihood, best[:, None] + k, 1)[:, 0] for k in (-1, 0, 1)
    )
    with np.errstate(invalid="ignore"):  # at the end of the search
        curvature = 2.0 * at - below - above
    inside = np.isfinite(curvature) & (curvature > _LEAST_CURVATURE)
    curvature = np.where(inside, curvature, _LEAST_CURVATURE)
    slope = np.where(inside, above, 0.0) - np.where(inside, below, 0.0)
    offset = np.where(inside, 0.5 * slope / curvature, 0.0)
    return places[best] + offset / _STEPS_PER_BIN, 1.0 / (curvature * _STEPS_PER_BIN**2)


def tail_exponents(counts: Array, positions: Array, tail: GeneralisedT, cut: float) -> Array:
    """Return the exponent of each feature's tail, shrunk to that of all features.

    The log ratio y of the tail's probabilities has an exponential law with the rate 1 under the
    shared tail. The rate of a feature maximises the likelihood of its residuals up to the cut.
    """
    edges = np.arange(N_BINS + 1.0) - positions[:, None]
    edges[:, 0], edges[:, -1] = -np.inf, np.inf
    logs = np.log(np.maximum(survival(edges, tail) / TAIL_SHARE, np.finfo(float).tiny))
    lower, upper = np.maximum(-logs[:, :-1], 0.0), np.maximum(-logs[:, 1:], 0.0)
    inside = (lower > 0.0) & (edges[:, 1:] <= cut)
    numbers = counts * inside
    # Residuals in a cell of the shared tail are, on average, at the mean of an exponential law.
    width = np.clip(np.where(inside, upper - lower, 1.0), np.finfo(float).eps, _LONG)
    middle = lower + 1.0 - width / np.expm1(width)
    begin = np.where(inside, lower, np.inf).min(axis=1)
    length = np.where(inside, upper, 0.0).max(axis=1) - begin
    n = numbers.sum(axis=1)
    some = (n > 0.0) & (length > 0.0)
    n, length = np.where(some, n, 1.0), np.minimum(np.where(some, length, 1.0), _LONG)
    mean = np.where(some, (numbers * middle).sum(axis=1) / n - np.where(some, begin, 0.0), 0.0)
    # one step of scoring from the rate 1, for an exponential law that is truncated at the length
    ends = np.expm1(length)
    expected = 1.0 - length / ends
    variance = 1.0 - np.square(length) * (ends + 1.0) / np.square(ends)
    variance = np.maximum(variance, _LEAST_CURVATURE)
    steps = np.where(some, (expected - mean) / variance, 0.0)
    variances = np.where(some, 1.0 / (n * variance), 1.0 / _LEAST_CURVATURE)
    steps, _ = shrunk(np.clip(steps, -_LARGEST_STEP, _LARGEST_STEP), variances, _EXPONENT_SHRINKAGE)
    return np.exp(steps - np.average(steps, weights=1.0 / variances))


def shrunk(logs: Array, variances: Array, most: float = _SCALE_SHRINKAGE) -> tuple[Array, float]:
    """Return log scales moved towards the common one, and the common one.

    Empirical Bayes: the log scales have a normal law over the features, whose variance is
    estimated. A feature with few residuals is moved most, by at most this many of its standard
    errors.
    """
    spread = float(np.var(logs))
    common = float(np.mean(logs))
    for _ in range(_SHRINKAGE_ITERATIONS):
        weights = 1.0 / (variances + spread)
        common = float(weights @ logs / weights.sum())
        squares = np.square(logs - common) - variances
        spread = max(float(np.square(weights) @ squares / np.square(weights).sum()), 0.0)
    step = (common - logs) * variances / (variances + spread)
    largest = most * np.sqrt(variances)
    return logs + np.clip(step, -largest, largest), common
