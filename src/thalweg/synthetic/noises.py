"""Nonnegative low-rank data with the noise model of a divergence, [D] VIII-D1."""

from collections.abc import Callable
from math import pi, sqrt
from typing import Literal, NamedTuple, get_args

import numpy as np

from thalweg._checks import generator, require_nonnegative, require_positive
from thalweg._typing import Array
from thalweg.errors import ParameterError
from thalweg.synthetic._blocks import blocks, part, sparse_rows
from thalweg.synthetic._checks import require_noise, require_shares, require_sizes

__all__ = ["NoisyData", "nmf_with_noise"]

Noise = Literal["poisson", "gamma", "gaussian", "uniform-outliers"]

# Upper bound of the data, in units of the mean of the clean data: [D] VIII-D1.
_BOUND = 4.0


class NoisyData(NamedTuple):
    """Noisy samples, the clean data and their factors.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
        Noisy data, clipped to [0, 4 times the mean].
    clean : array of shape (n_samples, n_features)
        ``codes @ components``.
    components : array of shape (n_components, n_features)
        The true dictionary, one component per row.
    codes : array of shape (n_samples, n_components)
        The true codes.

    Examples
    --------
    >>> from thalweg.synthetic import nmf_with_noise
    >>> data = nmf_with_noise(20, 30, 3, noise="uniform-outliers", random_state=0)
    >>> (data.X != data.clean).sum(axis=1).max()
    np.int64(9)
    """

    X: Array
    clean: Array
    components: Array
    codes: Array


def nmf_with_noise(
    n_samples: int = 2000,
    n_features: int = 400,
    n_components: int = 40,
    *,
    noise: Noise = "poisson",
    sigma: float = 5.0,
    offset: float = 1.0,
    gamma_shape: float = 1000.0,
    gaussian_std: float = 30.0,
    outlier_density: float = 0.3,
    outlier_size: float = 2.0,
    random_state: int | np.random.Generator | None = None,
) -> NoisyData:
    """Draw the synthetic data of [D] VIII-D1: nonnegative, low-rank, with one of four noises.

    Codes and components are ``offset`` plus half-normal numbers. The mean of the clean data is
    m = n_components (offset + sigma sqrt(2 / pi))^2, and the data are clipped to [0, 4 m]. The
    experiments of the paper have about 100,000 samples.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        Sizes, at least 1.
    noise : {"poisson", "gamma", "gaussian", "uniform-outliers"}
        The noise model, suited to the Kullback-Leibler, Itakura-Saito and squared l2 losses, and
        to the robust losses (Huber, l1, l2), in this order. Codes and components do not depend
        on it.
    sigma : float
        Standard deviation of the normal distribution behind the half-normal one, > 0.
    offset : float
        The smallest possible entry of codes and components, >= 0.
    gamma_shape : float
        Shape of the Gamma noise. Its mean is the clean entry, and its relative variance is
        1 / gamma_shape.
    gaussian_std : float
        Standard deviation of the Gaussian noise.
    outlier_density : float
        Share of outliers in each sample, in [0, 1]: exactly
        ``floor(outlier_density * n_features)`` of them.
    outlier_size : float
        Outliers are uniform on [-outlier_size m, outlier_size m].
    random_state : int, Generator or None
        Seed or random number generator.

    Returns
    -------
    NoisyData
        ``X``, ``clean``, ``components`` and ``codes``, in float64.

    Notes
    -----
    With the defaults m is 996, and the signal-to-noise ratio
    20 log10(|clean| / |X - clean|) is 30.1 dB for Poisson, 30.0 dB for Gamma and 30.5 dB for
    Gaussian noise. The paper rounds 2 m to 2000 and 4 m to 4000. Poisson noise has no noise
    level parameter: its ratio grows with ``sigma`` and ``offset``.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.synthetic import nmf_with_noise
    >>> data = nmf_with_noise(500, noise="gamma", random_state=0)
    >>> ratio = np.linalg.norm(data.clean) / np.linalg.norm(data.X - data.clean)
    >>> round(20 * np.log10(ratio))
    30
    """
    require_sizes(n_samples=n_samples, n_features=n_features, n_components=n_components)
    _require_known(noise)
    require_positive(sigma=sigma, gamma_shape=gamma_shape)
    require_nonnegative(offset=offset, outlier_size=outlier_size)
    require_noise(gaussian_std=gaussian_std)
    require_shares(outlier_density=outlier_density)
    rng = generator(random_state)
    mean = n_components * (offset + sigma * sqrt(2 / pi)) ** 2
    n_hit = part(outlier_density, n_features)
    noises: dict[str, Callable[[Array], Array]] = {
        "poisson": lambda rows: rng.poisson(rows).astype(np.float64),
        "gamma": lambda rows: rng.gamma(gamma_shape, rows / gamma_shape),
        "gaussian": lambda rows: rng.normal(rows, gaussian_std),
        "uniform-outliers": lambda rows: (
            rows + outlier_size * mean * sparse_rows(len(rows), n_features, n_hit, rng)
        ),
    }
    components = offset + np.abs(rng.normal(0.0, sigma, (n_components, n_features)))
    codes = offset + np.abs(rng.normal(0.0, sigma, (n_samples, n_components)))
    clean = codes @ components
    X = np.empty_like(clean)
    for block in blocks(n_samples):
        X[block] = noises[noise](clean[block])
    np.clip(X, 0.0, _BOUND * mean, out=X)
    return NoisyData(X, clean, components, codes)


def _require_known(noise: object) -> None:
    known = get_args(Noise)
    if not isinstance(noise, str) or noise not in known:
        raise ParameterError(
            f"noise must be one of {', '.join(map(repr, known))}, got {noise!r}. "
            "Use one of these names."
        )
