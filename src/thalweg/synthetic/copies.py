"""Long streams of noisy copies of a small data set, [D] VIII-B."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from thalweg._checks import generator
from thalweg._typing import Array
from thalweg.errors import InputError
from thalweg.synthetic._blocks import blocks
from thalweg.synthetic._checks import require_noise, require_sizes

__all__ = ["replicate"]


def replicate(
    X: ArrayLike,
    copies: int,
    *,
    noise: float = 0.0,
    batch_size: int = 1024,
    random_state: int | np.random.Generator | None = None,
) -> Iterator[Array]:
    """Return batches of noisy copies of the samples, in random order, [D] VIII-B.

    Each copy has its own noise, and is clipped to [0, 2 max(X)]. A small data set becomes a long
    stream in this way. The memory holds ``X``, the order of the samples and one batch.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Samples, >= 0, with NaN at missing entries, which stay missing.
    copies : int
        Number of copies of each sample, at least 1.
    noise : float
        Standard deviation of the Gaussian noise on every entry.
    batch_size : int
        Samples per batch, at least 1; the last batch may have fewer.
    random_state : int, Generator or None
        Seed or random number generator.

    Returns
    -------
    iterator of arrays of shape (batch_size, n_features)
        ``copies * n_samples`` samples in total, in float64.

    Examples
    --------
    >>> from thalweg.synthetic import replicate
    >>> stream = replicate([[1.0, 2.0], [3.0, 4.0]], 5, batch_size=4, random_state=0)
    >>> [len(batch) for batch in stream]
    [4, 4, 2]
    """
    require_sizes(copies=copies, batch_size=batch_size)
    require_noise(noise=noise)
    return _batches(_samples(X), copies, noise, batch_size, generator(random_state))


def _batches(
    X: Array, copies: int, noise: float, batch_size: int, rng: np.random.Generator
) -> Iterator[Array]:
    bound = 2 * np.nanmax(X)
    order = rng.permutation(copies * len(X))
    for block in blocks(len(order), batch_size):
        batch = X[order[block] % len(X)]
        batch += rng.normal(0.0, noise, batch.shape)
        yield np.clip(batch, 0.0, bound, out=batch)


def _samples(X: ArrayLike) -> Array:
    try:
        samples = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"X must be an array of numbers, got a {type(X).__name__} that cannot be converted. "
            "Use rows of equal length, with NaN at missing entries."
        ) from None
    if samples.ndim != 2 or np.isnan(samples).all():
        raise InputError(
            "X must be a matrix with at least one observed entry, got an array of shape "
            f"{samples.shape} with {np.count_nonzero(~np.isnan(samples))} observed entries. "
            "Use one row for each sample."
        )
    least, most = np.nanmin(samples), np.nanmax(samples)
    if not 0 <= least <= most < np.inf:
        raise InputError(
            f"X must be finite and >= 0, got values from {least} to {most}. "
            "Shift the data first, and use NaN for missing entries."
        )
    return samples
