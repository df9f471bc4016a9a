"""The law of the residuals: a robust scale of each feature, and a tail that all features share."""

from functools import lru_cache
from math import log
from typing import NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.noise._feature_laws import (
    TAIL_SHARE,
    first_positions,
    scale_positions,
    shrunk,
    tail_exponents,
)
from thalweg.noise._grid import NORMAL, in_bins, quantile_ratio
from thalweg.noise._shared_tail import FIRST_CUT, fit_tail
from thalweg.noise.generalised_t import GeneralisedT
from thalweg.noise.residual_counts import BINS_PER_OCTAVE, N_BINS, ResidualCounts

__all__ = ["ResidualLaw", "fit_law"]

_LOG_TAIL_SHARE = log(TAIL_SHARE)
# Grid of log sizes between which log probabilities are interpolated: octaves, and points of one.
# The error of a p-value is below 0.1 % up to six scales.
_OCTAVES, _POINTS = (-14, 34), 64
# Steps from the first scales to those with residuals up to the first cut.
_FIRST_STEPS = 4
# Alternations between scales and the shared tail. Safety margin: later ones change p-values by
# less than 1 %.
_ALTERNATIONS = 2


class ResidualLaw(NamedTuple):
    """The law of the residuals of a fit.

    Attributes
    ----------
    scales : array of shape (F,)
        Standard deviation that a normal law with the same quantile of 68 % would have; NaN if there
        are no residuals at all.
    tail : GeneralisedT
        Law of ``r / scales``, which all features share.
    exponents : array of shape (F,)
        Tail of each feature: beyond the largest fifth of its residuals, the probability falls as
        that of the shared tail to this power. It is 1 without evidence for another value.
    outlier_share : float
        Share of the residuals that the law does not explain.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.noise.residual_counts import ResidualCounts
    >>> from thalweg.noise.residual_law import fit_law
    >>> residuals = np.random.default_rng(0).normal(size=(4, 5000)) * [[1.0], [1.0], [9.0], [9.0]]
    >>> law = fit_law(ResidualCounts.none(4).added(residuals))
    >>> bool(np.allclose(law.scales, [1, 1, 9, 9], rtol=0.05))
    True
    >>> bool(np.allclose(law.p_values(law.scales * 1.96), 0.05, atol=0.005))
    True
    """

    scales: Array
    tail: GeneralisedT
    exponents: Array
    outlier_share: float

    def p_values(self, residuals: Array) -> Array:
        """Return P(|r| >= observed) for residuals of shape (..., F); 1 without a law."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(np.abs(residuals) / self.scales)
        log_shared = np.interp(logs, *_log_survival(self.tail), left=0.0)
        excess = np.minimum(log_shared - _LOG_TAIL_SHARE, 0.0)
        with np.errstate(under="ignore"):
            values = np.exp(log_shared + (self.exponents - 1.0) * excess)
        return np.where(np.isnan(logs) & ~np.isnan(residuals), 1.0, values)


def fit_law(counts: ResidualCounts) -> ResidualLaw:
    """Estimate scales and the shared tail from counted residuals.

    The scale of a feature maximises the likelihood of its counts under the shared tail, mixed with
    a small uniform background. The tail is a generalised t law. It maximises the likelihood of the
    numbers of residuals in cells of sizes, of which outliers may explain a part beyond a cut.

    Parameters
    ----------
    counts : ResidualCounts
        The counted residuals.

    Returns
    -------
    ResidualLaw
        The law.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.noise.residual_counts import ResidualCounts
    >>> from thalweg.noise.residual_law import fit_law
    >>> residuals = np.random.default_rng(0).laplace(size=(20, 1000))
    >>> residuals[:, :50] = 40.0  # outliers
    >>> law = fit_law(ResidualCounts.of(residuals))
    >>> bool(abs(law.outlier_share - 0.05) < 0.01)
    True
    >>> p = law.p_values(np.full(20, -np.log(0.01)))  # exact: 0.01
    >>> bool(np.all((0.007 < p) & (p < 0.014)))
    True
    """
    return _fitted(counts.numbers().tobytes(), counts.first.tobytes())


@lru_cache(maxsize=8)
def _log_survival(tail: GeneralisedT) -> tuple[Array, Array]:
    """Return log sizes, and the log probabilities that they are exceeded."""
    low, high = _OCTAVES
    sizes = np.exp2(np.linspace(low, high, (high - low) * _POINTS + 1))
    return np.log(sizes), np.log(np.maximum(tail.survival(sizes), np.finfo(float).tiny))


@lru_cache(maxsize=8)
def _fitted(counts_bytes: bytes, first_bytes: bytes) -> ResidualLaw:
    """Fit the law, once for the p-values of several batches."""
    first = np.frombuffer(first_bytes, np.int64)
    counts = np.frombuffer(counts_bytes).reshape(len(first), N_BINS)
    known = counts.sum(axis=1) > 0.0
    if not known.any():
        return ResidualLaw(np.full(len(first), np.nan), NORMAL, np.ones(len(first)), 0.0)
    some, starts = counts[known], first[known]
    tail, share, cut = NORMAL, 0.0, in_bins(FIRST_CUT)
    positions: Array = first_positions(some)
    variances: Array = np.zeros(len(some))
    for _ in range(_FIRST_STEPS):
        positions, variances = scale_positions(some, positions, tail, cut)
    near: float | None = None
    for _ in range(_ALTERNATIONS):
        tail, share, cut = fit_tail(some, positions, near)
        near = cut
        positions, variances = scale_positions(some, positions, tail, cut)
    moved, common = shrunk(starts + positions, variances)
    logs: Array = np.full(len(first), common)
    logs[known] = moved
    # The unit of the tail is free: it is standardised to the 68 % quantile of a normal law.
    unit = quantile_ratio(tail)
    scales = np.exp2(logs / BINS_PER_OCTAVE) * unit
    exponents: Array = np.ones(len(first))
    exponents[known] = tail_exponents(some, moved - starts, tail, cut)
    for values in (scales, exponents):
        values.flags.writeable = False
    return ResidualLaw(scales, tail._replace(scale=tail.scale / unit), exponents, share)
