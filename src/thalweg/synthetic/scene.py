"""A video from a fixed camera with changing light and moving objects, for demonstrations."""

from collections.abc import Iterator
from math import pi
from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter

from thalweg._checks import generator
from thalweg._typing import Array, Mask
from thalweg.errors import ParameterError
from thalweg.synthetic._blocks import blocks, part
from thalweg.synthetic._checks import require_noise, require_shares, require_sizes

__all__ = ["Scene", "moving_scene"]


class Scene(NamedTuple):
    """A video from a fixed camera, its background and its foreground mask.

    Attributes
    ----------
    frames : array of shape (n_frames, height * width)
        The observed pixels, in [0, 1], with NaN at missing ones.
    background : array of shape (n_frames, height * width)
        The scene without objects, noise and gaps: a matrix of rank 3 with nonnegative factors.
    mask : boolean array of shape (n_frames, height * width)
        True at the pixels of an object, also where they are missing.
    shape : tuple of int
        ``(height, width)``: ``frames[t].reshape(shape)`` is an image.

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
    """Draw a video of a street with changing light and two moving objects.

    The background shows sky, houses and a road in daylight, in low sun from one side and in
    lamplight; the three alternate in days of 200 frames. A white van drives to the right, and a
    dark balloon drifts more slowly to the left. Both re-enter after they leave the image.

    Parameters
    ----------
    n_frames : int
        Number of frames, at least 1.
    shape : tuple of int
        Height and width in pixels, at least 16 each.
    missing : float
        Probability that a pixel is missing, in [0, 1]. Unless it is 0, a band of rows is also
        missing in one frame of 20, and a rectangle in 25 frames of each 100.
    noise : float
        Standard deviation of the Gaussian noise on every pixel.
    random_state : int, Generator or None
        Seed or random number generator.

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
    require_sizes(n_frames=n_frames)
    _require_shape(shape)
    require_shares(missing=missing)
    require_noise(noise=noise)
    rng = generator(random_state)
    height, width = shape
    background = _light(n_frames, rng) @ _place(height, width, rng)
    frames, mask = background.copy(), np.zeros(background.shape, dtype=np.bool_)
    for t, places in enumerate(_drive(n_frames, rng)):
        for inside, grey in _objects(height, width, places):
            mask[t] |= inside.ravel()
            frames[t, inside.ravel()] = grey
    for block in blocks(n_frames):
        frames[block] += noise * rng.standard_normal(frames[block].shape, dtype=np.float32)
    np.clip(frames, 0.0, 1.0, out=frames)
    if missing > 0:
        _lose(frames.reshape(n_frames, height, width), missing, rng)
    return Scene(frames, background, mask, (height, width))


# Smallest height and width, in pixels.
_SMALLEST_SIDE = 16
# Grey levels, and positions and sizes as shares of the image, below are chosen for the look of the
# picture. Frames per period of the light:
_DAY = 200
# Top edges of the parts of the street, as shares of the height.
_PAVEMENT, _ROAD, _LANE = 0.68, 0.72, 0.94
# Positions of the lamps, as shares of the width.
_LAMPS = (0.15, 0.5, 0.85)
# Speeds of van and balloon, in widths per frame.
_VAN_SPEED, _BALLOON_SPEED = 0.02, 0.007
# A band of rows is missing in one frame of each period: period, frame, height as a share.
_BAND_PERIOD, _BAND_FRAME, _BAND_SIZE = 20, 7, 0.08
# A rectangle is missing in some frames of each period: period, first frame, end, side as a share.
_PATCH_PERIOD, _PATCH_START, _PATCH_STOP, _PATCH_SIZE = 100, 30, 55, 0.15


def _light(n_frames: int, rng: np.random.Generator) -> Array:
    """Return the intensities of daylight, low sun and lamplight in each frame."""
    angle = 2 * pi * (np.arange(n_frames) / _DAY + rng.random())
    day = 0.5 + 0.5 * np.sin(angle)
    courses = [0.55 + 0.45 * day, 0.5 + 0.5 * np.cos(angle), (1 - day) ** 2]
    return np.stack(courses, axis=1).astype(np.float32)


def _place(height: int, width: int, rng: np.random.Generator) -> Array:
    """Return the image of the street in each of the three lights at full intensity, as rows."""
    y, x = _grid(height, width)
    windows, lit = _windows(y, x, rng)
    colour = _colour(y, x, windows, rng)
    pools = sum(np.exp(-(((x - at) / 0.08) ** 2) - ((y - _ROAD) / 0.1) ** 2) for at in _LAMPS)
    lights = [
        0.65 * colour,
        0.35 * colour * (1 - 0.85 * x),
        0.4 * colour * pools + 0.4 * lit,
    ]
    return np.stack(lights).reshape(3, -1).astype(np.float32)


def _colour(y: Array, x: Array, windows: Mask, rng: np.random.Generator) -> Array:
    """Return the grey levels of sky, houses, pavement and road, between 0.02 and 0.95."""
    fine = _texture(y.shape, 0.7, rng)
    colour = 0.66 + 0.3 * y + 0.06 * _texture(y.shape, y.shape[0] / 14, rng)
    houses, wall = _houses(y, x, rng)
    colour = np.where(houses, wall + 0.03 * fine - 0.2 * windows, colour)
    colour = np.where(y >= _PAVEMENT, 0.55 + 0.02 * fine, colour)
    colour = np.where(y >= _ROAD, 0.3 + 0.03 * fine, colour)
    dashes = (np.abs(y - _LANE) < 0.012) & (np.floor(14 * x) % 2 == 0)
    return np.clip(np.where(dashes, 0.7, colour), 0.02, 0.95)


def _houses(y: Array, x: Array, rng: np.random.Generator) -> tuple[Mask, Array]:
    """Return the mask of the houses, and the grey level of their walls."""
    widths = rng.uniform(0.5, 1.5, 9)
    number = np.searchsorted(np.cumsum(widths / widths.sum())[:-1], x)
    roofs, greys = rng.uniform(0.34, 0.56, 9), rng.permutation(np.linspace(0.35, 0.8, 9))
    houses: Mask = (y >= roofs[number]) & (y < _PAVEMENT)
    return houses, greys[number]


def _windows(y: Array, x: Array, rng: np.random.Generator) -> tuple[Mask, Mask]:
    """Return the mask of a grid of windows, and of the lit ones among them."""
    row, column = np.floor(40 * y).astype(int), np.floor(48 * x).astype(int)
    windows = (row % 2 == 1) & (column % 2 == 1) & (y > 0.58) & (y < _PAVEMENT - 0.03)
    lit = rng.random((40, 48)) < 0.4
    return windows, windows & lit[row, column]


def _texture(shape: tuple[int, ...], scale: float, rng: np.random.Generator) -> Array:
    """Return smooth noise of standard deviation 1, with details of ``scale`` pixels."""
    noise = gaussian_filter(rng.standard_normal(shape), scale, mode="wrap")
    texture: Array = (noise - noise.mean()) / noise.std()
    return texture


def _drive(n_frames: int, rng: np.random.Generator) -> Iterator[tuple[float, float]]:
    """Yield the horizontal positions of van and balloon, in units of the image width."""
    van, balloon = rng.random(2)
    for t in range(n_frames):
        yield (_VAN_SPEED * t + van) % 1.6 - 0.2, 1.1 - (_BALLOON_SPEED * t + balloon) % 1.4


def _objects(height: int, width: int, places: tuple[float, float]) -> Iterator[tuple[Mask, float]]:
    """Yield the masks and the grey levels of van and balloon."""
    y, x = _grid(height, width)
    van, balloon = places
    along, down = (x - van) / 0.2, (y - 0.75) / 0.14
    bonnet = (along > 0.78) & (down < 0.4)
    yield (along >= 0) & (along < 1) & (down >= 0) & (down < 1) & ~bonnet, 0.92
    yield ((x - balloon) / 0.065) ** 2 + ((y - 0.16) / 0.1) ** 2 <= 1, 0.03


def _grid(height: int, width: int) -> tuple[Array, Array]:
    """Return the pixel centres, as shares of the height and of the width."""
    y, x = np.mgrid[:height, :width]
    return (y + 0.5) / height, (x + 0.5) / width


def _lose(frames: Array, missing: float, rng: np.random.Generator) -> None:
    """Set single pixels, bands of rows and a rectangle in some of the frames to NaN."""
    _, height, width = frames.shape
    patch = (slice(0), slice(0))
    for t, frame in enumerate(frames):
        frame[rng.random(frame.shape, dtype=np.float32) < missing] = np.nan
        if t % _BAND_PERIOD == _BAND_FRAME:
            frame[_piece(height, _BAND_SIZE, rng)] = np.nan
        if t % _PATCH_PERIOD == _PATCH_START:
            patch = _piece(height, _PATCH_SIZE, rng), _piece(width, _PATCH_SIZE, rng)
        if _PATCH_START <= t % _PATCH_PERIOD < _PATCH_STOP:
            frame[patch] = np.nan


def _piece(length: int, share: float, rng: np.random.Generator) -> slice:
    size = part(share, length)
    start = int(rng.integers(length - size + 1))
    return slice(start, start + size)


def _require_shape(shape: Any) -> None:
    sides = shape if isinstance(shape, tuple | list) and len(shape) == 2 else (0, 0)
    if not all(isinstance(side, int | np.integer) and side >= _SMALLEST_SIDE for side in sides):
        raise ParameterError(
            f"shape must be (height, width) with at least {_SMALLEST_SIDE} pixels each, "
            f"got {shape!r}. Use a pair such as shape=(120, 160)."
        )
