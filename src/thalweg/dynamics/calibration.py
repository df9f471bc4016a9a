"""Standard errors and intervals of fills, calibrated by entries that were hidden."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import erfinv

from thalweg._typing import Array
from thalweg.dynamics.scores import Scores

__all__ = ["Calibration", "calibrate", "length_classes"]

# Lengths of gaps from which each class begins, in rows.
_LENGTHS = (1, 2, 4, 8, 16, 32, 64, 128)
# Hidden entries and gaps of a class, below which it joins the class before: the 0.9 quantile of as
# many independent scores is known within 0.03 and 0.07.
_LEAST_ENTRIES, _LEAST_GAPS = 100, 20
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
    >>> from thalweg.dynamics.scores import Scores
    >>> rng = np.random.default_rng(0)
    >>> errors, ones = rng.normal(size=(400, 5)), np.ones((400, 5), int)
    >>> found = calibrate(Scores.of(errors, ones * 0.5, ones, ones > 0), np.ones(5))
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


def calibrate(found: Scores, scale: Array) -> Calibration:
    """Return the sizes of the errors of hidden entries by length of gap and feature.

    Split conformal prediction: the score of an entry is |error| / std, and the interval at level p
    has the half width q std, where q is the quantile of level p (1 + 1 / n) of the scores from n
    gaps. Entries of one gap are not exchangeable with those of others one by one, so that gaps
    count, not entries.

    Parameters
    ----------
    found : Scores
        Errors of hidden entries.
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
    >>> from thalweg.dynamics.scores import Scores
    >>> rng = np.random.default_rng(0)
    >>> errors, ones = rng.normal(size=(400, 5)), np.ones((400, 5), int)
    >>> found = calibrate(Scores.of(errors, ones * 1.0, ones, ones > 0), np.ones(5))
    >>> bool(abs(found.interval_factor(0.9, ones).mean() - 1.645) < 0.1)
    True
    """
    F = len(scale)
    if len(found.errors) == 0:
        return _normal_errors(F)
    scores = np.abs(found.errors) / found.std
    relative = np.square(found.errors / scale[found.columns])
    edges = length_classes(found.lengths, found.gaps)
    classes = np.searchsorted(edges, found.lengths, side="right") - 1
    features = _feature_factors(scores, classes, found.columns, F)
    scores = scores / features[found.columns]
    quantiles, factors, counts, plain = [], [], [], []
    for k in range(len(edges)):
        own = classes == k
        inside, n_gaps = scores[own], len(np.unique(found.gaps[own]))
        levels = np.minimum(1.0, _LEVELS * (1.0 + 1.0 / n_gaps))
        quantiles.append(np.quantile(inside, levels))
        most = _MAX_SCORE * np.median(inside) / _NORMAL_MEDIAN
        factors.append(max(np.sqrt(np.mean(np.square(np.minimum(inside, most)))), _TINY))
        counts.append(len(inside))
        plain.append(np.sqrt(np.mean(relative[own])))
    return Calibration(
        edges, np.array(quantiles), np.array(factors), features, np.array(counts), np.array(plain)
    )


def length_classes(lengths: Array, gaps: Array | None = None) -> Array:
    """Return the length from which each class of gaps begins, such that each has enough entries.

    Parameters
    ----------
    lengths : integer array of shape (n,)
        Lengths of the gaps of hidden entries.
    gaps : integer array of shape (n,) or None
        Numbers of the gaps; None counts entries only.

    Returns
    -------
    integer array
        Lengths; the first is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.calibration import length_classes
    >>> length_classes(np.repeat([1, 3, 20], [200, 50, 150]))
    array([ 1, 16])
    """
    edges: list[int] = []
    for begin in reversed(_LENGTHS):
        inside = (lengths >= begin) & (lengths < (edges[0] if edges else np.inf))
        enough = np.count_nonzero(inside) >= _LEAST_ENTRIES
        if enough and (gaps is None or len(np.unique(gaps[inside])) >= _LEAST_GAPS):
            edges.insert(0, begin)
    if not edges:
        return np.ones(1, np.intp)
    edges[0] = 1
    return np.array(edges, np.intp)


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
