"""A Gaussian prior of the codes, estimated from the stream, for filling gaps.

A sample with few observed entries does not determine its K codes. The codes with the smallest loss
may then be far too large, and so are the values that they predict at the gaps. The most probable
codes minimise

    loss + dispersion/2 sum_k (h_k / size_k)^2.

The dispersion is twice the mean loss per degree of freedom: the noise variance under the squared
l2 distance, and about 1 for counts under KL. With many observed entries, the loss dominates.
"""

from typing import NamedTuple

import numpy as np

from thalweg._typing import Array
from thalweg.encoders import Codes
from thalweg.learning.batches import Batch

__all__ = ["CodePrior", "empty_prior", "estimate_prior", "merged"]

# The first batches are all sampled, later one of this many. benchmark: fills
FIRST_SAMPLED, SAMPLED_EVERY = 20, 8
# Samples over which the averages of sizes and of the dispersion run at most. The dispersion
# changes with the components and with the outlier weight, and must follow faster. Fewer samples
# are averaged over their latest half. benchmark: fills
_SIZE_MEMORY, _DISPERSION_MEMORY = 1000, 100
# Squared codes and losses are clipped at this many medians: gaps leave some codes unbounded.
_CLIP = 4.0
# Smallest size of a code, as a share of the largest: a rarely used component may still occur.
_SIZE_FLOOR = 0.1


class CodePrior(NamedTuple):
    """Running averages over the latest samples.

    Attributes
    ----------
    squares : array of shape (K,)
        Mean of the squared codes.
    dispersion : float
        Twice the mean loss per degree of freedom. A sample has as many degrees of freedom as
        observed entries beyond its nonzero codes.
    n_samples : int
        Number of samples in the averages.

    Examples
    --------
    >>> from thalweg.learning.code_prior import empty_prior
    >>> empty_prior(3).n_samples
    0
    """

    squares: Array
    dispersion: float
    n_samples: int

    def sizes(self, W: Array) -> Array:
        """Return the typical size of each code, for a dictionary W."""
        lengths = np.maximum(np.sqrt(np.einsum("fk,fk->k", W, W)), np.finfo(W.dtype).tiny)
        parts = np.sqrt(self.squares) * lengths
        floor = _SIZE_FLOOR * parts.max(initial=0.0)
        return np.asarray(np.maximum(parts, floor) / lengths, W.dtype)

    def averaged(self, latest: "CodePrior") -> "CodePrior":
        """Return the running averages with the latest samples."""
        total = self.n_samples + latest.n_samples
        slow, fast = (
            min(1.0, latest.n_samples / min(0.5 * total, memory))
            for memory in (_SIZE_MEMORY, _DISPERSION_MEMORY)
        )
        return CodePrior(
            self.squares + slow * (latest.squares - self.squares),
            self.dispersion + fast * (latest.dispersion - self.dispersion),
            total,
        )


def empty_prior(K: int) -> CodePrior:
    """Return the averages over no samples.

    Examples
    --------
    >>> from thalweg.learning.code_prior import empty_prior
    >>> empty_prior(2).squares
    array([0., 0.])
    """
    return CodePrior(np.zeros(K), 0.0, 0)


def estimate_prior(batch: Batch, codes: Codes, past: CodePrior) -> CodePrior:
    """Return the averages over a batch, in which the influence of a sample is bounded.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.fast import Fast
    >>> from thalweg.learning.batches import as_batch
    >>> from thalweg.learning.code_prior import empty_prior, estimate_prior
    >>> batch, W = as_batch(np.full((4, 3), 2.0)), np.ones((3, 1))
    >>> estimate_prior(batch, Fast().encode(batch.V, W), empty_prior(1)).squares
    array([4.])
    """
    H, n, each = codes.H, codes.H.shape[1], batch.sample_weight
    squares = np.square(H.T, dtype=np.float64)
    lengths = squares.sum(axis=1)
    longest = _CLIP * _lower_median(lengths, past.squares.sum() if past.n_samples else None, each)
    weights = longest / np.maximum(lengths, longest) if longest > 0.0 else np.ones(n)
    if each is not None:
        weights = weights * (each / each.mean())
    observed = batch.observed
    entries = batch.V.shape[0] if observed is None else np.count_nonzero(observed, axis=0)
    freedom = np.maximum(entries - np.count_nonzero(H, axis=0), 0)
    return CodePrior(weights @ squares / n, _dispersion(codes.loss, freedom, past, each), n)


def merged(parts: list[CodePrior]) -> CodePrior:
    """Return the averages over several sets of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.code_prior import CodePrior, merged
    >>> merged([CodePrior(np.ones(1), 1.0, 1), CodePrior(np.ones(1), 2.0, 3)]).dispersion
    1.75
    """
    counts = [part.n_samples for part in parts]
    return CodePrior(
        np.average([part.squares for part in parts], axis=0, weights=counts),
        float(np.average([part.dispersion for part in parts], weights=counts)),
        sum(counts),
    )


def _dispersion(loss: Array, freedom: Array, past: CodePrior, each: Array | None) -> float:
    """Return twice the loss per degree of freedom; the past value if there is none."""
    usable = freedom > 0
    if not usable.any():
        return past.dispersion
    weights = freedom[usable]
    ratios = 2.0 * loss[usable] / weights
    if each is not None:
        each = each[usable]
        weights = weights * each
    largest = _CLIP * _lower_median(ratios, past.dispersion or None, each)
    return float(np.minimum(ratios, largest or np.inf) @ weights / weights.sum())


def _lower_median(values: Array, past: float | None, each: Array | None) -> float:
    """Return the lower median of the values, and of a past median if there is one.

    ``each`` are weights of the values; the past one has their mean.
    """
    if each is not None:
        if past is not None:
            values, each = np.append(values, past), np.append(each, each.mean())
        order = np.argsort(values, kind="stable")
        below = np.cumsum(each[order])
        return float(values[order[np.searchsorted(below, 0.5 * below[-1])]])
    known = values if past is None else np.append(values, past)
    place = (known.size - 1) // 2
    return float(np.partition(known, place)[place])
