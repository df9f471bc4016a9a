"""A long stream from few samples, [D] VIII-B."""

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
    """Return batches of a stream in which each sample comes several times, in random order.

    Each time it comes with noise of its own, clipped to [0, 2 max(X)]. So a data set that is
    too small to be a stream becomes one of independent samples, [D] VIII-B. Only one batch at a
    time is in memory, beside ``X`` and the order.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Samples, >= 0; NaN at gaps, which stay.
    copies : int
        How often each sample comes, at least 1.
    noise : float
        Standard deviation of the Gaussian noise on every entry.
    batch_size : int
        Samples in a batch, at least 1; the last one may have fewer.
    random_state : int, Generator or None
        Seed or source of the random numbers.

    Returns
    -------
    iterator of arrays of shape (batch_size, n_features)
        ``copies * n_samples`` samples in all, in float64.

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
            f"X should be an array of numbers, but {type(X).__name__} came that is none. "
            "Give rows of equal length, NaN where a number is missing."
        ) from None
    if samples.ndim != 2 or np.isnan(samples).all():
        raise InputError(
            f"X should be a matrix with a number in it, but an array of shape {samples.shape} "
            "came that is none, or NaN throughout. Give one row for each sample."
        )
    least, most = np.nanmin(samples), np.nanmax(samples)
    if not 0 <= least <= most < np.inf:
        raise InputError(
            f"X should be finite and >= 0, but it reaches from {least} to {most}. "
            "Shift it first, and put NaN where data are missing."
        )
    return samples
