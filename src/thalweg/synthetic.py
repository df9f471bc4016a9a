"""Data with a known answer: the papers' generators, and a scene for demonstrations.

Rows are samples. The same seed gives the same data.
"""

from collections.abc import Iterator
from math import floor, pi
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter

from thalweg._typing import Array, Mask
from thalweg.errors import ParameterError

__all__ = ["OutlierData", "Scene", "moving_scene", "nmf_with_outliers"]

# Rows that are drawn together, so that no work array is as large as the data.
_ROWS = 1024


class OutlierData(NamedTuple):
    """Contaminated samples, and what they were made of.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
        Contaminated data in [0, 1], with NaN where an entry is missing.
    clean : array of shape (n_samples, n_features)
        ``codes @ components``, clipped to [0, 1].
    outliers : array of shape (n_samples, n_features)
        What was planted on the clean data, before noise and clipping.
    components : array of shape (n_components, n_features)
        The true dictionary, one component a row.
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
    """Draw the synthetic data of [O] VII-D1: nonnegative, of low rank, with outliers.

    Codes and components are half-normal. Exactly ``floor(contaminated * n_samples)`` samples
    carry outliers, each at exactly ``floor(density * n_features)`` places, uniform on [-1, 1].
    The paper's experiments have ``n_samples=100_000``.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        Sizes, at least 1.
    contaminated : float
        Share of samples that carry outliers, in [0, 1].
    density : float
        Share of outliers in such a sample, in [0, 1].
    noise : float
        Standard deviation of the Gaussian noise on every entry.
    missing : float
        Probability that an entry is missing, in [0, 1]. It does not change the other entries.
    random_state : int, Generator or None
        Seed or source of the random numbers.

    Returns
    -------
    OutlierData
        ``X``, ``clean``, ``outliers``, ``components`` and ``codes``, in float64.

    Notes
    -----
    Two errata of [O]. ``1 / sqrt(n_components)`` is the standard deviation of the normal
    numbers whose modulus is taken, not their variance: with the latter nearly every clean entry
    is clipped to 1. And standard normal noise would drown data in [0, 1], so that the true
    dictionary would do worse than a constant; 0.01 to 0.05 is meant.

    Examples
    --------
    >>> from thalweg.synthetic import nmf_with_outliers
    >>> data = nmf_with_outliers(100, missing=0.05, random_state=0)
    >>> data.X.shape, data.components.shape
    ((100, 400), (49, 400))
    """
    _require_sizes(n_samples=n_samples, n_features=n_features, n_components=n_components)
    _require_shares(contaminated=contaminated, density=density, missing=missing)
    _require_noise(noise)
    rng = _generator(random_state)
    scale = n_components**-0.5
    components = np.abs(rng.normal(0.0, scale, (n_components, n_features)))
    codes = np.abs(rng.normal(0.0, scale, (n_samples, n_components)))
    clean = codes @ components
    np.clip(clean, 0.0, 1.0, out=clean)
    outliers = np.zeros_like(clean)
    hit = np.sort(rng.permutation(n_samples)[: _part(contaminated, n_samples)])
    for block in _blocks(len(hit)):
        outliers[hit[block]] = _sparse_rows(
            len(hit[block]), n_features, _part(density, n_features), rng
        )
    X = clean + outliers
    for block in _blocks(n_samples):
        X[block] += rng.normal(0.0, noise, X[block].shape)
    np.clip(X, 0.0, 1.0, out=X)
    for block in _blocks(n_samples):
        X[block][rng.random(X[block].shape) < missing] = np.nan
    return OutlierData(X, clean, outliers, components, codes)


class Scene(NamedTuple):
    """A film from a fixed camera, and what it was made of.

    Attributes
    ----------
    frames : array of shape (n_frames, height * width)
        What the camera saw, in [0, 1], with NaN at gaps.
    background : array of shape (n_frames, height * width)
        The place without objects, noise and gaps; a matrix of rank 3 with nonnegative factors.
    mask : boolean array of shape (n_frames, height * width)
        Where an object stands before the background, at gaps as well.
    shape : tuple of int
        ``(height, width)``: ``frames[t].reshape(shape)`` is a picture.

    Examples
    --------
    >>> from thalweg.synthetic import moving_scene
    >>> scene = moving_scene(10, shape=(30, 40), random_state=0)
    >>> scene.frames[0].reshape(scene.shape).shape
    (30, 40)
    """

    frames: Array
    background: Array
    mask: Mask
    shape: tuple[int, int]


def moving_scene(
    n_frames: int = 200,
    shape: tuple[int, int] = (120, 160),
    *,
    missing: float = 0.02,
    noise: float = 0.01,
    random_state: int | np.random.Generator | None = None,
) -> Scene:
    """Film a street on which the light changes and two objects move.

    Sky, houses and a road are seen in daylight, in low sun from one side and in the light of
    lamps; these three follow one another in days of 200 frames. A white van drives to the
    right, and a dark balloon drifts to the left, more slowly. They come back each time after
    they left.

    Parameters
    ----------
    n_frames : int
        Number of frames, at least 1.
    shape : tuple of int
        Height and width in pixels, at least 16 each.
    missing : float
        Probability that a pixel is missing, in [0, 1]. Unless it is 0, one frame in 20 also
        loses a band of lines, and during 25 frames of each 100 a patch of the sensor is dead.
    noise : float
        Standard deviation of the Gaussian noise on every pixel.
    random_state : int, Generator or None
        Seed or source of the random numbers.

    Returns
    -------
    Scene
        ``frames``, ``background`` (both in float32), ``mask`` and ``shape``.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.synthetic import moving_scene
    >>> scene = moving_scene(50, shape=(30, 40), random_state=0)
    >>> scene.frames.shape, scene.frames.dtype
    ((50, 1200), dtype('float32'))
    >>> np.linalg.matrix_rank(scene.background)
    np.int64(3)
    """
    _require_sizes(n_frames=n_frames)
    _require_shape(shape)
    _require_shares(missing=missing)
    _require_noise(noise)
    rng = _generator(random_state)
    height, width = shape
    background = _light(n_frames, rng) @ _place(height, width, rng)
    frames, mask = background.copy(), np.zeros(background.shape, dtype=np.bool_)
    for t, start in enumerate(_phases(n_frames, rng)):
        for inside, grey in _objects(height, width, start):
            mask[t] |= inside.ravel()
            frames[t, inside.ravel()] = grey
    for block in _blocks(n_frames):
        frames[block] += noise * rng.standard_normal(frames[block].shape, dtype=np.float32)
    np.clip(frames, 0.0, 1.0, out=frames)
    if missing > 0:
        _lose(frames.reshape(n_frames, height, width), missing, rng)
    return Scene(frames, background, mask, (height, width))
