"""Standard errors and intervals of fills, calibrated by entries that were hidden."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import erfinv

from thalweg._typing import Array, Mask

__all__ = ["Calibration", "calibrate"]

# Lengths of gaps from which each class begins, in rows.
_LENGTHS = (1, 2, 4, 8, 16, 32, 64, 128)
# Hidden entries of a class, below which it joins the class before: the 0.9 quantile of as many
# scores is known within 0.03.
_LEAST_ENTRIES = 100
# Weight of the common scale in that of a feature, in entries.
_PRIOR_ENTRIES = 50.0
# Levels whose quantiles are kept.
_LEVELS = np.linspace(0.01, 0.995, 198)
# Largest score in the mean square, in standard deviations of normal scores with the same median, so
# that hidden outliers do not determine it.
_MAX_SCORE = 6.0
_NORMAL_MEDIAN = 0.6745  # of the modulus of a standard normal variable
_TINY = 1e-12  # least factor, for tables that are filled without error


class Calibration(NamedTuple):
    """Sizes of errors of hidden entries, in units of the standard deviations of a model.

    Attributes
    ----------
    lengths : array of shape (n,)
        Length of gap from which each class begins.
    quantiles : array of shape (n, n_levels)
        Quantiles of the moduli of errors in each class, in standard deviations.
    factors : array of shape (n,)
        Root mean square error in each class, in standard deviations.
    features : array of shape (F,)
        The same for each feature, relative to all; shrunk to 1.
    counts : array of shape (n,)
        Hidden entries in each class.
    errors : array of shape (n,)
        Root mean square error in each class, in standard deviations of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.calibration import calibrate
    >>> rng = np.random.default_rng(0)
    >>> errors, ones = rng.normal(size=(400, 5)), np.ones((400, 5), int)
    >>> found = calibrate(errors, ones * 0.5, ones, ones > 0, np.ones(5))
    >>> bool(abs(found.std_factor(ones).mean() - 2.0) < 0.1)
    True
    """

    lengths: Any
    quantiles: Array
    factors: Array
    features: Array
    counts: Any
    errors: Array

    def std_factor(self, lengths: Array) -> Array:
        """Return the factor of the standard deviation of each entry, for lengths of gaps."""
        product: Array = self.factors[self._classes(lengths)] * self.features
        return product

    def interval_factor(self, level: float, lengths: Array) -> Array:
        """Return half the width of intervals in standard deviations, for lengths of gaps."""
        per_class = np.array([np.interp(level, _LEVELS, row) for row in self.quantiles])
        product: Array = per_class[self._classes(lengths)] * self.features
        return product

    def _classes(self, lengths: Array) -> Array:
        found = np.searchsorted(self.lengths, np.maximum(lengths, 1), side="right") - 1
        return np.asarray(np.maximum(found, 0))


def calibrate(errors: Array, std: Array, lengths: Array, hidden: Mask, scale: Array) -> Calibration:
    """Return the sizes of the errors of hidden entries by length of gap and feature.

    Split conformal prediction: the score of an entry is |error| / std, and the interval at level p
    has the half width q std, where q is the quantile of level p (1 + 1 / n) of n scores.

    Parameters
    ----------
    errors, std : array of shape (N, F)
        Errors of fills, and the standard deviations of the model.
    lengths : integer array of shape (N, F)
        Lengths of gaps while the entries were hidden.
    hidden : boolean array of shape (N, F)
        Entries to use.
    scale : array of shape (F,)
        Standard deviations of the columns.

    Returns
    -------
    Calibration
        Factors and quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.calibration import calibrate
    >>> rng = np.random.default_rng(0)
    >>> errors, ones = rng.normal(size=(400, 5)), np.ones((400, 5), int)
    >>> found = calibrate(errors, ones * 1.0, ones, ones > 0, np.ones(5))
    >>> bool(abs(found.interval_factor(0.9, ones).mean() - 1.645) < 0.1)
    True
    """
    F = hidden.shape[1]
    rows, columns = np.nonzero(hidden)
    if len(rows) == 0:
        return _normal_errors(F)
    scores = (np.abs(errors[rows, columns]) / std[rows, columns]).astype(np.float64)
    relative = np.square(errors[rows, columns] / scale[columns]).astype(np.float64)
    own = lengths[rows, columns]
    edges = _classes(own)
    classes = np.searchsorted(edges, own, side="right") - 1
    features = _feature_factors(scores, classes, columns, F)
    scores = scores / features[columns]
    quantiles, factors, counts, plain = [], [], [], []
    for k in range(len(edges)):
        inside = scores[classes == k]
        levels = np.minimum(1.0, _LEVELS * (1.0 + 1.0 / len(inside)))
        quantiles.append(np.quantile(inside, levels))
        most = _MAX_SCORE * np.median(inside) / _NORMAL_MEDIAN
        factors.append(max(np.sqrt(np.mean(np.square(np.minimum(inside, most)))), _TINY))
        counts.append(len(inside))
        plain.append(np.sqrt(np.mean(relative[classes == k])))
    return Calibration(
        edges, np.array(quantiles), np.array(factors), features, np.array(counts), np.array(plain)
    )


def _feature_factors(scores: Array, classes: Any, columns: Any, F: int) -> Array:
    """Return the median score of each feature over that of its classes, shrunk to 1."""
    relative = scores.copy()
    for k in np.unique(classes):
        relative[classes == k] /= max(float(np.median(scores[classes == k])), _TINY)
    factors = np.ones(F)
    for f in np.unique(columns):
        own = relative[columns == f]
        factors[f] = (own.size * np.median(own) + _PRIOR_ENTRIES) / (own.size + _PRIOR_ENTRIES)
    return np.maximum(factors, _TINY)


def _normal_errors(F: int) -> Calibration:
    """Return the calibration of a model whose standard deviations are right."""
    normal = np.sqrt(2.0) * erfinv(_LEVELS)
    none = np.zeros(1, np.intp)
    return Calibration(none + 1, normal[None], np.ones(1), np.ones(F), none, np.full(1, np.nan))


def _classes(lengths: Array) -> Array:
    """Return the first length of each class, such that each has enough entries."""
    edges: list[int] = []
    for begin in reversed(_LENGTHS):
        upper = edges[0] if edges else np.inf
        if np.count_nonzero((lengths >= begin) & (lengths < upper)) >= _LEAST_ENTRIES:
            edges.insert(0, begin)
    if not edges:
        return np.ones(1, np.intp)
    edges[0] = 1
    return np.array(edges, np.intp)
