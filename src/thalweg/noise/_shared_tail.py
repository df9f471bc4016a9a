"""The tail that all features share: a generalised t law, fitted to the residuals of inliers."""

from math import ceil, log

import numpy as np

from thalweg._typing import Array
from thalweg.noise._grid import NORMAL, cells, in_bins, survival
from thalweg.noise._tail_likelihood import CellCounts, fitted_law
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
# Where there are outliers, the final cut is this factor further in. benchmark: alarms
_INWARD = 2.0**-0.25
# Number of residuals that the choice of the cut is based on: more are weighed down, so that a law
# that is not exactly in the family still explains its tail. benchmark: alarms
_LARGEST_EVIDENCE = 20_000.0
# Share of outliers that has no effect on scales. Safety margin: any share in 1e-4..1e-2.
_NO_OUTLIERS = 2e-3


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
    tail = NORMAL
    for cut in cuts[::-1]:
        tail = fitted_law(_cell_counts(edges, pooled, cut), tail)
        n_inliers = _inliers(edges, pooled, cut, tail)
        share = float(np.clip(1.0 - n_inliers.sum() / pooled.sum(), 0.0, 1.0))
        found.append((_evidence(edges, pooled, cut, tail, n_inliers), cut, tail, share))
    _, cut, tail, share = max(found, key=lambda one: one[0])
    if share < _NO_OUTLIERS:
        return tail, share, float(cut)
    # Below the cut there are still some outliers, fewer of them further in.
    inner = max(cut + in_bins(_INWARD), first)
    return fitted_law(_cell_counts(edges, pooled, inner), tail), share, float(inner)


def _aligned(counts: Array, positions: Array) -> tuple[Array, Array]:
    """Return edges in bins about the scale, and the counts of all features in each phase."""
    rounded = np.rint(positions * _PHASES).astype(np.intp)
    whole, phase = np.divmod(rounded, _PHASES)
    pooled = np.zeros((_PHASES, 2 * N_BINS + 1))
    places = np.clip(np.arange(N_BINS) - whole[:, None] + N_BINS, 0, 2 * N_BINS)
    np.add.at(pooled, (phase[:, None], places), counts)
    edges = np.arange(2 * N_BINS + 2.0) - N_BINS - np.arange(_PHASES)[:, None] / _PHASES
    return edges, pooled


def _cell_counts(edges: Array, pooled: Array, cut: float) -> CellCounts:
    """Return the numbers of all cells, with the body as one cell; phases are groups."""
    body = edges[:, 1:] <= in_bins(_BODY)
    phase, place = np.nonzero(~body)
    begin = np.argmin(body, axis=1)
    lower = np.concatenate([np.full(_PHASES, -np.inf), edges[phase, place]])
    upper = np.concatenate([edges[np.arange(_PHASES), begin], edges[phase, place + 1]])
    numbers = np.concatenate([np.where(body, pooled, 0.0).sum(axis=1), pooled[phase, place]])
    ends = np.where(edges <= cut, edges, -np.inf).max(axis=1)
    known, places = np.unique(np.concatenate([lower, upper, ends]), return_inverse=True)
    below, above, last = np.split(places, [len(lower), 2 * len(lower)])
    group = np.concatenate([np.arange(_PHASES), phase])
    return CellCounts(known, below, above, numbers, group, upper <= cut, last)


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
    within = edges[:, 1:] <= cut
    ends = np.where(edges <= cut, edges, -np.inf).max(axis=1)
    totals = np.where(within, pooled, 0.0).sum(axis=1)
    numbers: Array = totals / (1.0 - survival(ends, tail))
    return numbers
