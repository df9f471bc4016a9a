"""Likelihood of a generalised t law and outliers, for numbers of residuals in cells."""

from math import exp, log
from typing import NamedTuple

import numpy as np

from thalweg._typing import Array, Indices, Mask
from thalweg.noise._grid import survival
from thalweg.noise.generalised_t import GeneralisedT

__all__ = ["CellCounts", "fitted_law"]

# Prior of the shape, which few residuals hardly determine: standard deviations of log(p / 2) and of
# 1 / q. Safety margin: a thousand residuals outweigh it.
_LOG_POWER_SPREAD, _HEAVINESS_SPREAD = 0.5, 1.0
_PRIOR_MEAN = np.array([0.0, log(2.0), 0.0])
_PRIOR_PRECISION = np.array([0.0, _LOG_POWER_SPREAD**-2, _HEAVINESS_SPREAD**-2])
# Bounds of log s, log p and 1 / q, far beyond the laws of noise.
_LOWEST, _HIGHEST = np.array([-2.0, log(0.4), 0.0]), np.array([2.0, log(4.0), 4.0])
# Half-width of differences. Safety margin: the error of the shape is below 1e-3.
_DIFFERENCE = 1e-3
# Expected gain of the log likelihood at which the iterations stop, and their largest number: about
# ten are needed.
_LEAST_GAIN, _MAX_ITERATIONS = 1e-3, 100
# Damping of the first step, relative to the information, and its factors after a good and a bad
# step. Safety margin: the iterations end at the same law.
_FIRST_DAMPING, _RELAXED, _STIFFENED, _LARGEST_DAMPING = 1e-2, 0.1, 10.0, 1e8


class CellCounts(NamedTuple):
    """Numbers of residuals in cells, which are inliers up to the cut of their group.

    The numbers are Poisson variables, whose means are those of the law. Beyond the cut outliers
    add to them: where there are more residuals than the law predicts, outliers explain the rest.
    A group has as many inliers as its numbers up to the cut suggest.

    Attributes
    ----------
    edges : array of shape (n,)
        All edges, in bins.
    lower, upper : arrays of int of shape (m,)
        Places of the edges of each cell.
    numbers : array of shape (m,)
        Number of residuals in each cell.
    group : array of int of shape (m,)
        Group of each cell.
    within : boolean array of shape (m,)
        Cells up to the cut.
    ends : array of int of shape (g,)
        Place of the edge at which each group is cut.
    """

    edges: Array
    lower: Indices
    upper: Indices
    numbers: Array
    group: Indices
    within: Mask
    ends: Indices

    def log_means(self, shape: Array) -> Array:
        """Return the logs of the numbers of inliers that a law predicts in each cell."""
        beyond = survival(self.edges, _law(shape))
        tiny = np.finfo(float).tiny
        cells = np.log(np.maximum(beyond[self.lower] - beyond[self.upper], tiny))
        numbers = np.bincount(self.group, self.within * self.numbers, len(self.ends))
        covered = np.maximum(1.0 - beyond[self.ends], tiny)
        means: Array = cells + np.log(np.maximum(numbers, tiny) / covered)[self.group]
        return means

    def explained(self, means: Array) -> Mask:
        """Return the cells without outliers, for the numbers that a law predicts."""
        mask: Mask = self.within | (self.numbers < means)
        return mask


def fitted_law(counts: CellCounts, start: GeneralisedT) -> GeneralisedT:
    """Return the law of the largest posterior probability, by damped Fisher scoring.

    Scale, power and heaviness of the family are strongly correlated: near Laplace's law, the
    likelihood has a long and narrow ridge, which steps in units of the information follow.
    """
    shape = np.array([log(start.scale), log(start.power), start.heaviness])
    shape = np.clip(shape, _LOWEST, _HIGHEST)
    damping, value = _FIRST_DAMPING, _log_posterior(counts, shape)
    gradient, information = _derivatives(counts, shape)
    for _ in range(_MAX_ITERATIONS):
        after, gain = _step(shape, gradient, information, damping)
        if gain < _LEAST_GAIN:
            break
        found = _log_posterior(counts, after)
        if found > value:
            shape, value, damping = after, found, damping * _RELAXED
            gradient, information = _derivatives(counts, shape)
        elif damping > _LARGEST_DAMPING:
            break
        else:
            damping *= _STIFFENED
    return _law(shape)


def _law(shape: Array) -> GeneralisedT:
    return GeneralisedT(exp(shape[0]), exp(shape[1]), float(shape[2]))


def _log_posterior(counts: CellCounts, shape: Array) -> float:
    """Return the log posterior, less that of a law which predicts all numbers."""
    logs = counts.log_means(shape)
    means = np.exp(logs)
    some = counts.explained(means)
    n, log_mean, mean = counts.numbers[some], logs[some], means[some]
    known = np.log(np.maximum(n, np.finfo(float).tiny))
    likelihood = float(np.sum(n * (log_mean - known) - (mean - n)))
    return likelihood - 0.5 * float(_PRIOR_PRECISION @ np.square(shape - _PRIOR_MEAN))


def _derivatives(counts: CellCounts, shape: Array) -> tuple[Array, Array]:
    """Return the gradient of the log posterior, and the information."""
    slopes = []
    for k in range(len(shape)):
        below, above = shape.copy(), shape.copy()
        below[k] = max(shape[k] - _DIFFERENCE, _LOWEST[k])
        above[k] = min(shape[k] + _DIFFERENCE, _HIGHEST[k])
        change = counts.log_means(above) - counts.log_means(below)
        slopes.append(change / (above[k] - below[k]))
    means = np.exp(counts.log_means(shape))
    some = counts.explained(means)
    S, n, mean = np.stack(slopes)[:, some], counts.numbers[some], means[some]
    gradient = S @ (n - mean) - _PRIOR_PRECISION * (shape - _PRIOR_MEAN)
    return gradient, (S * mean) @ S.T + np.diag(_PRIOR_PRECISION)


def _step(shape: Array, gradient: Array, information: Array, damping: float) -> tuple[Array, float]:
    """Return the shape after a step within the bounds, and the gain that is expected of it."""
    held = ((shape <= _LOWEST) & (gradient < 0.0)) | ((shape >= _HIGHEST) & (gradient > 0.0))
    free = ~held
    if not free.any():
        return shape, 0.0
    matrix = information[np.ix_(free, free)]
    matrix = matrix + damping * np.diag(np.diagonal(matrix))
    step = np.zeros_like(shape)
    step[free] = np.linalg.solve(matrix, gradient[free])
    gain = 0.5 * float(gradient @ step)
    return np.clip(shape + step, _LOWEST, _HIGHEST), gain
