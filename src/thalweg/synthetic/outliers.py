"""Nonnegative low-rank data with outliers, [O] VII-D1."""

from typing import NamedTuple

import numpy as np

from thalweg._checks import generator
from thalweg._typing import Array
from thalweg.synthetic._blocks import blocks, part, sparse_rows
from thalweg.synthetic._checks import require_noise, require_shares, require_sizes

__all__ = ["OutlierData", "nmf_with_outliers"]


class OutlierData(NamedTuple):
    """Contaminated samples, the clean data, the outliers and the factors.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
        Contaminated data in [0, 1], with NaN where an entry is missing.
    clean : array of shape (n_samples, n_features)
        ``codes @ components``, clipped to [0, 1].
    outliers : array of shape (n_samples, n_features)
        The outliers that were added to the clean data, before noise and clipping.
    components : array of shape (n_components, n_features)
        The true dictionary, one component per row.
    codes : array of shape (n_samples, n_components)
        The true codes.

    Examples
    --------
    >>> from thalweg.synthetic import nmf_with_outliers
    >>> data = nmf_with_outliers(20, n_features=30, n_components=3, random_state=0)
    >>> (data.outliers != 0).any(axis=1).sum()
    np.int64(14)
    """

    X: Array
    clean: Array
    outliers: Array
    components: Array
    codes: Array


def nmf_with_outliers(
    n_samples: int = 2000,
    n_features: int = 400,
    n_components: int = 49,
    *,
    contaminated: float = 0.7,
    density: float = 0.1,
    noise: float = 0.01,
    missing: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> OutlierData:
    """Draw the synthetic data of [O] VII-D1: nonnegative, low-rank, with outliers.

    Codes and components are half-normal. Exactly ``floor(contaminated * n_samples)`` samples have
    outliers, each at exactly ``floor(density * n_features)`` entries, uniform on [-1, 1]. The
    experiments of the paper have ``n_samples=100_000``.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        Sizes, at least 1.
    contaminated : float
        Share of samples with outliers, in [0, 1].
    density : float
        Share of outliers among the entries of these samples, in [0, 1].
    noise : float
        Standard deviation of the Gaussian noise on every entry.
    missing : float
        Probability that an entry is missing, in [0, 1]. The other entries do not depend on it.
    random_state : int, Generator or None
        Seed or random number generator.

    Returns
    -------
    OutlierData
        ``X``, ``clean``, ``outliers``, ``components`` and ``codes``, in float64.

    Notes
    -----
    Two errata of [O]. ``1 / sqrt(n_components)`` is the standard deviation of the normal
    distribution behind the half-normal one, not its variance: with the latter, nearly every clean
    entry is clipped to 1. Noise of standard deviation 1 would dominate data in [0, 1], so that the
    true dictionary would fit worse than a constant; a noise of 0.01 to 0.05 is meant.

    Examples
    --------
    >>> from thalweg.synthetic import nmf_with_outliers
    >>> data = nmf_with_outliers(100, missing=0.05, random_state=0)
    >>> data.X.shape, data.components.shape
    ((100, 400), (49, 400))
    """
    require_sizes(n_samples=n_samples, n_features=n_features, n_components=n_components)
    require_shares(contaminated=contaminated, density=density, missing=missing)
    require_noise(noise=noise)
    rng = generator(random_state)
    scale = n_components**-0.5
    components = np.abs(rng.normal(0.0, scale, (n_components, n_features)))
    codes = np.abs(rng.normal(0.0, scale, (n_samples, n_components)))
    clean = codes @ components
    np.clip(clean, 0.0, 1.0, out=clean)
    outliers = np.zeros_like(clean)
    hit = np.sort(rng.permutation(n_samples)[: part(contaminated, n_samples)])
    for block in blocks(len(hit)):
        outliers[hit[block]] = sparse_rows(
            len(hit[block]), n_features, part(density, n_features), rng
        )
    X = clean + outliers
    for block in blocks(n_samples):
        X[block] += rng.normal(0.0, noise, X[block].shape)
    np.clip(X, 0.0, 1.0, out=X)
    for block in blocks(n_samples):
        X[block][rng.random(X[block].shape) < missing] = np.nan
    return OutlierData(X, clean, outliers, components, codes)
