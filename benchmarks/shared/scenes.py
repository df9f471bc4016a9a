"""Generated films of a street with the disturbances of outdoor cameras, and their true masks."""

from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter

from thalweg import synthetic

DISTURBANCES = ("none", "leaves", "water", "gain steps", "stopped car")
GAINS, GAIN_FRAMES = (1.0, 0.8, 1.15, 0.9), 50  # automatic exposure: a step every 50 frames


class Film(NamedTuple):
    """Frames in 8 bits, and the true mask of the objects."""

    frames: Any
    mask: Any


def film(disturbance: str, n: int = 300, shape: tuple[int, int] = (72, 96), seed: int = 0) -> Film:
    """Return a street with one of the disturbances."""
    scene = synthetic.moving_scene(n, shape, missing=0.0, random_state=seed)
    rng = np.random.default_rng(seed)
    frames, mask = (part.reshape(n, *shape).copy() for part in (scene.frames, scene.mask))
    if disturbance in ("leaves", "water"):
        flicker = _leaves(n, shape, rng) if disturbance == "leaves" else _waves(n, shape)
        frames += np.where(mask, 0.0, flicker)
    elif disturbance == "gain steps":
        frames *= np.resize(np.repeat(GAINS, GAIN_FRAMES), n)[:, None, None]
    elif disturbance == "stopped car":
        rows, columns = slice(shape[0] * 3 // 4, shape[0] * 9 // 10), slice(8, 8 + shape[1] // 5)
        parked = slice(n // 2, n * 3 // 4)  # a quarter of the film
        frames[parked, rows, columns] = 0.85 + 0.01 * rng.standard_normal(
            frames[parked, rows, columns].shape
        )
        mask[parked, rows, columns] = True
    return Film(np.rint(255 * np.clip(frames, 0.0, 1.0)).astype(np.uint8), mask)


def _leaves(n: int, shape: tuple[int, int], rng: np.random.Generator) -> Any:
    """Return textures that come and go at random in the left third of the upper half."""
    texture = gaussian_filter(rng.standard_normal((n, *shape)), (1.0, 1.5, 1.5))
    leaves = 0.1 * texture / texture.std()
    leaves[:, shape[0] // 2 :] = 0.0
    leaves[:, :, shape[1] // 3 :] = 0.0
    return leaves


def _waves(n: int, shape: tuple[int, int]) -> Any:
    """Return waves that run to the left in the lowest quarter."""
    t, y, x = np.ogrid[:n, : shape[0], : shape[1]]
    waves = 0.08 * np.sin(2 * np.pi * (x / 9 + t / 5.3)) * np.cos(2 * np.pi * (y / 6 - t / 11.0))
    return np.where(y >= shape[0] * 3 // 4, waves, 0.0)
