"""What codes are as a rule, so that gaps are filled with what is likely.

Few entries tell little of K codes: those that fit them best may be far from all that was ever
observed, and with them what is put into the gaps. The most likely codes have the least of

    loss + dispersion/2 sum_k (h_k / size_k)^2.

The dispersion is twice the mean loss for each degree of freedom: the variance of the noise under
squared l2, and about 1 for counts under KL. Where many entries were observed, the loss decides.
"""

from typing import NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.encoders import Codes
from thalweg.estimators._input import Batch

__all__ = ["CodePrior", "due", "empty_prior", "look", "merged"]

# Of the batches after the first ones, one in so many is looked at.
_FIRST, _EVERY = 20, 8

# Samples that are remembered at most, of the sizes and of the dispersion, which changes with the
# components and with the weight of outliers. Of fewer the latest half does.
_SIZES, _DISPERSION = 1000, 100
# What is so many times the median counts as no more than that: gaps leave some codes unbounded.
_FAR = 4.0
# A component that is seldom in use counts as one of at least this share of the most used one.
_SELDOM = 0.1


class CodePrior(NamedTuple):
    """Means over the latest samples.

    Attributes
    ----------
    squares : array of shape (K,)
        Mean of the squared codes.
    dispersion : float
        Twice the mean loss for each degree of freedom: for each entry observed beyond the number of
        codes in use.
    n_samples : int
        Number of samples looked at.
    """

    squares: Array
    dispersion: float
    n_samples: int

    def sizes(self, W: Array) -> Array:
        """Return the usual size of each code, for a dictionary W."""
        lengths = np.maximum(np.sqrt(np.einsum("fk,fk->k", W, W)), np.finfo(W.dtype).tiny)
        parts = np.sqrt(self.squares) * lengths
        return np.asarray(np.maximum(parts, _SELDOM * parts.max(initial=0.0)) / lengths, W.dtype)

    def follow(self, latest: "CodePrior") -> "CodePrior":
        """Return the means with the latest samples taken in."""
        total = self.n_samples + latest.n_samples
        slow, fast = (
            min(1.0, latest.n_samples / min(0.5 * total, memory))
            for memory in (_SIZES, _DISPERSION)
        )
        return CodePrior(
            self.squares + slow * (latest.squares - self.squares),
            self.dispersion + fast * (latest.dispersion - self.dispersion),
            total,
        )


def due(n_batches: int) -> bool:
    """Tell whether to look at the batch that comes after so many others."""
    return n_batches < _FIRST or n_batches % _EVERY == 0


def empty_prior(K: int) -> CodePrior:
    """Return the means over no samples."""
    return CodePrior(np.zeros(K), 0.0, 0)


def look(batch: Batch, codes: Codes, past: CodePrior) -> CodePrior:
    """Return the means over a batch, in which no sample counts for much more than others."""
    H, n = codes.H, codes.H.shape[1]
    squares = np.square(H.T, dtype=np.float64)
    lengths = squares.sum(axis=1)
    longest = _FAR * _middle(lengths, past.squares.sum() if past.n_samples else None)
    counted = longest / np.maximum(lengths, longest) if longest > 0.0 else np.ones(n)
    entries = (
        batch.V.shape[0] if batch.observed is None else np.count_nonzero(batch.observed, axis=0)
    )
    free = np.maximum(entries - np.count_nonzero(H, axis=0), 0)
    return CodePrior(counted @ squares / n, _dispersion(codes.loss, free, past), n)


def merged(parts: list[CodePrior]) -> CodePrior:
    """Return the means over several sets of samples."""
    counts = [part.n_samples for part in parts]
    return CodePrior(
        np.average([part.squares for part in parts], axis=0, weights=counts),
        float(np.average([part.dispersion for part in parts], weights=counts)),
        sum(counts),
    )


def _dispersion(loss: Array, free: Array, past: CodePrior) -> float:
    """Return twice the loss for each degree of freedom; what it was if there is none."""
    told = free > 0
    if not told.any():
        return past.dispersion
    weights = free[told]
    ratios = 2.0 * loss[told] / weights
    most = _FAR * _middle(ratios, past.dispersion or None)
    return float(np.minimum(ratios, most or np.inf) @ weights / weights.sum())


def _middle(values: Array, before: float | None) -> float:
    """Return the lower median of values, and of what it was before."""
    known = values if before is None else np.append(values, before)
    place = (known.size - 1) // 2
    return float(np.partition(known, place)[place])
