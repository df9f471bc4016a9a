"""The tail that all features share: a generalised t law, fitted to the residuals of inliers."""

from math import ceil, log

import numpy as np
from scipy.optimize import minimize

from thalweg._typing import Array
from thalweg.noise._grid import NORMAL, cells, in_bins, survival
from thalweg.noise.generalised_t import GeneralisedT
from thalweg.noise.residual_counts import N_BINS

__all__ = ["FIRST_CUT", "fit_tail"]

# Features are aligned by their scales to half a bin, 9 %. Safety margin: errors of 2.5 % on average
# widen the tail by 0.1 %.
_PHASES = 2
# Residuals below the median do not inform about the tail: up to this many scales, one cell.
_BODY = 0.67
# The tail is fitted to residuals up to a cut; beyond it, outliers may explain more of them.
# Candidates begin at this many scales and follow in half octaves. benchmark: alarms
FIRST_CUT = 2.0
_CUT_STEP = 2.0**0.5
# Number of residuals that the choice of the cut is based on: more are weighed down, so that a law
# that is not exactly in the family still explains its tail. benchmark: alarms
_LARGEST_EVIDENCE = 20_000.0
# Share of outliers that has no effect on scales. Safety margin: any share in 1e-4..1e-2.
_NO_OUTLIERS = 2e-3
# Prior of the shape, which few residuals hardly determine: standard deviations of log(p / 2) and of
# 1 / q. Safety margin: a thousand residuals outweigh it.
_LOG_POWER_SPREAD, _HEAVINESS_SPREAD = 0.5, 1.0
# The optimisation starts inside the bounds, where the likelihood has a slope.
_FIRST_HEAVINESS = 0.05
_RELATIVE_TOL, _DIFFERENCE = 1e-8, 1e-5
# Bounds of log s, log p and 1 / q, far beyond the laws of noise.
_SHAPE_BOUNDS = ((-2.0, 2.0), (log(0.4), log(4.0)), (0.0, 4.0))


def fit_tail(
    counts: Array, positions: Array, near: float | None = None
) -> tuple[GeneralisedT, float, float]:
    """Return the shared tail of all features, the share of outliers, and the cut in bins.

    The cut is searched within two half octaves of ``near``, or everywhere.
    """
    edges, pooled = _aligned(counts, positions)
    first, step = in_bins(FIRST_CUT), in_bins(_CUT_STEP)
    largest = edges[:, 1:][pooled > 0.0].max()
    cuts = first + step * np.arange(max(ceil((largest - first) / step), 0) + 1)
    if near is not None:
        nearest = np.argmin(np.abs(cuts - near))
        cuts = cuts[max(nearest - 2, 0) : nearest + 3]
    found: list[tuple[float, float, GeneralisedT, float]] = []
    for cut in cuts[::-1]:
        tail = _fit_below(edges, pooled, cut)
        n_inliers = _inliers(edges, pooled, cut, tail)
        share = float(np.clip(1.0 - n_inliers.sum() / pooled.sum(), 0.0, 1.0))
        found.append((_evidence(edges, pooled, cut, tail, n_inliers), cut, tail, share))
    _, cut, tail, share = max(found, key=lambda one: one[0])
    # Below the cut there are still some outliers, fewer of them further in.
    inner = cut if share < _NO_OUTLIERS else max(cut - step, first)
    return tail, share, float(inner)


def _aligned(counts: Array, positions: Array) -> tuple[Array, Array]:
    """Return edges in bins about the scale, and the counts of all features in each phase."""
    rounded = np.rint(positions * _PHASES).astype(np.intp)
    whole, phase = np.divmod(rounded, _PHASES)
    pooled = np.zeros((_PHASES, 2 * N_BINS + 1))
    places = np.clip(np.arange(N_BINS) - whole[:, None] + N_BINS, 0, 2 * N_BINS)
    np.add.at(pooled, (phase[:, None], places), counts)
    edges = np.arange(2 * N_BINS + 2.0) - N_BINS - np.arange(_PHASES)[:, None] / _PHASES
    return edges, pooled


def _grouped(edges: Array, pooled: Array, cut: float) -> tuple[Array, Array, Array]:
    """Return lower and upper edges and counts: the body as one cell, then cells up to the cut."""
    body = edges[:, 1:] <= in_bins(_BODY)
    kept = ~body & (edges[:, 1:] <= cut)
    begin = np.argmin(body, axis=1)
    lower = np.concatenate([np.full(_PHASES, -np.inf), edges[:, :-1][kept]])
    upper = np.concatenate([edges[np.arange(_PHASES), begin], edges[:, 1:][kept]])
    numbers = np.concatenate([np.where(body, pooled, 0.0).sum(axis=1), pooled[kept]])
    phase = np.concatenate([np.arange(_PHASES), np.nonzero(kept)[0]])
    # the last edge up to the cut, in each phase
    ends = np.where(edges <= cut, edges, -np.inf).max(axis=1)
    totals = np.bincount(phase, numbers, _PHASES)
    return np.stack([lower, upper]), numbers, np.stack([ends, totals])


def _fit_below(edges: Array, pooled: Array, cut: float) -> GeneralisedT:
    """Maximise the likelihood of the residuals up to the cut, given that they are."""
    borders, numbers, ends = _grouped(edges, pooled, cut)
    present = numbers > 0.0
    lower, upper = borders[0, present], borders[1, present]
    numbers = numbers[present]
    ends = ends[:, ends[1] > 0.0]
    known, places = np.unique(np.concatenate([lower, upper, ends[0]]), return_inverse=True)
    below, above, last = np.split(places, [len(lower), 2 * len(lower)])

    def loss(shape: Array) -> float:
        law = _law(shape)
        beyond = survival(known, law)
        inside, covered = beyond[below] - beyond[above], 1.0 - beyond[last]
        log_prior = 0.5 * (shape[1] - np.log(2.0)) ** 2 / _LOG_POWER_SPREAD**2
        log_prior += 0.5 * (shape[2] / _HEAVINESS_SPREAD) ** 2
        tiny = np.finfo(float).tiny
        likelihood = numbers @ np.log(np.maximum(inside, tiny))
        likelihood -= ends[1] @ np.log(np.maximum(covered, tiny))
        return float(log_prior - likelihood)

    start = np.array([np.log(NORMAL.scale), np.log(NORMAL.power), _FIRST_HEAVINESS])
    options = {"ftol": _RELATIVE_TOL, "eps": _DIFFERENCE}
    found = minimize(loss, start, method="L-BFGS-B", bounds=_SHAPE_BOUNDS, options=options)
    return _law(found.x)


def _law(shape: Array) -> GeneralisedT:
    return GeneralisedT(float(np.exp(shape[0])), float(np.exp(shape[1])), float(shape[2]))


def _evidence(
    edges: Array, pooled: Array, cut: float, tail: GeneralisedT, n_inliers: Array
) -> float:
    """Return the log likelihood of the numbers, less the cost of the outliers beyond the cut.

    The numbers in quarter octaves are Poisson variables. Beyond the cut outliers add to the mean,
    as many as there are more than expected, with half the log of the total each (BIC).
    """
    group = np.ceil(edges[:, 1:] + N_BINS).astype(np.intp)
    expected = cells(edges, tail) * n_inliers[:, None]
    observed, mean = (np.bincount(group.flat, part.flat) for part in (pooled, expected))
    outer = np.arange(len(mean)) - N_BINS > np.ceil(cut)
    free = outer & (observed > mean)
    mean = np.maximum(np.where(free, observed, mean), np.finfo(float).tiny)
    total = pooled.sum()
    likelihood = float(np.sum(observed * np.log(mean) - mean))
    weight = min(1.0, _LARGEST_EVIDENCE / total)
    return float(weight * likelihood - 0.5 * log(weight * total) * np.count_nonzero(free))


def _inliers(edges: Array, pooled: Array, cut: float, tail: GeneralisedT) -> Array:
    """Return the number of inliers in each phase: those up to the cut over their probability."""
    _, _, (ends, totals) = _grouped(edges, pooled, cut)
    numbers: Array = totals / (1.0 - survival(ends, tail))
    return numbers
