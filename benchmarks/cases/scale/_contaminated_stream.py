"""The synthetic data of [O] VII-D1 as a stream that is never stored."""

from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["contaminated_batches"]


def contaminated_batches(
    n_samples: int,
    batch_size: int,
    *,
    n_features: int = 400,
    n_components: int = 49,
    contaminated: float = 0.7,
    density: float = 0.1,
    noise: float = 0.01,
    seed: int = 0,
) -> Iterator[Any]:
    """Yield batches drawn as by ``synthetic.nmf_with_outliers``, from one dictionary."""
    rng = np.random.default_rng(seed)
    scale = n_components**-0.5
    components = np.abs(rng.normal(0.0, scale, (n_components, n_features)))
    for start in range(0, n_samples, batch_size):
        size = min(batch_size, n_samples - start)
        clean = np.abs(rng.normal(0.0, scale, (size, n_components))) @ components
        X = np.clip(clean, 0.0, 1.0)
        hit = rng.random((size, n_features)) < density
        hit &= rng.random((size, 1)) < contaminated
        X[hit] += rng.uniform(-1.0, 1.0, np.count_nonzero(hit))
        X += rng.normal(0.0, noise, X.shape)
        yield np.clip(X, 0.0, 1.0, out=X)
