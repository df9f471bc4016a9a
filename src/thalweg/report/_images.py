"""Embed arrays in a page as WebP data URIs; gaps become transparent pixels."""

from base64 import b64encode
from io import BytesIO
from typing import Any

import numpy as np

from thalweg._checks import need
from thalweg.report._html import Html, tag

__all__ = ["LONGEST_SIDE", "embed", "fit_side", "has_gaps", "is_small", "picture", "stretched"]

LONGEST_SIDE = 320  # pixels of an image in a strip; four side by side cannot show more
_SMALL_PIXELS = 64 * 64  # smaller images are shown enlarged, where lossy artefacts would be visible
_MAX_COLOURS = 8  # of images that are stored losslessly, such as masks
_WEBP_QUALITY = 80  # from 0 to 100; default of Pillow
_WEBP_METHOD = 4  # from 0 (fast) to 6 (small files); default of Pillow

Pixels = np.ndarray[Any, np.dtype[Any]]


def embed(image: Pixels, longest: int = LONGEST_SIDE, colours: int = _MAX_COLOURS) -> str:
    """Encode an image, (height, width) or (height, width, 3), as a data URI.

    Floats are clipped to [0, 1]; NaN is transparent, so that the page shows its colour of gaps.
    Images larger than ``longest`` are downscaled. Small images, and those with at most ``colours``
    colours, are stored losslessly.
    """
    opener = need("PIL.Image", "Pillow")
    pixels, observed = _bytes(image)
    picture = opener.fromarray(pixels)
    if not observed.all():
        picture = picture.convert("RGBA")
        picture.putalpha(opener.fromarray(observed.astype(np.uint8) * 255))
    height, width = fit_side(image.shape[:2], longest)
    if (width, height) != picture.size:
        picture = picture.resize((width, height))
    lossless = is_small(observed.shape) or _n_colours(pixels) <= colours
    with BytesIO() as file:
        picture.save(file, "WEBP", lossless=lossless, quality=_WEBP_QUALITY, method=_WEBP_METHOD)
        return "data:image/webp;base64," + b64encode(file.getvalue()).decode("ascii")


def fit_side(shape: tuple[int, ...], longest: int) -> tuple[int, int]:
    """Return the height and width of an image downscaled to at most ``longest``."""
    scale = min(1.0, longest / max(shape))
    return max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale))


def picture(uri: str, alt: str, shape: tuple[int, ...], enlarged: bool = False) -> Html:
    """Return an ``img`` element; ``shape`` is the height and width of the array."""
    sharp = "sharp" if enlarged or is_small(shape) else None
    size = {"width": shape[1], "height": shape[0]}
    return tag("img", src=uri, alt=alt, class_=sharp, decoding="sync", **size)


def is_small(shape: tuple[int, ...]) -> bool:
    """Return whether an image is shown enlarged, with visible pixels."""
    return shape[0] * shape[1] <= _SMALL_PIXELS


def has_gaps(*images: Pixels) -> bool:
    """Return whether any array has missing entries."""
    return any(array.dtype.kind == "f" and bool(np.isnan(array).any()) for array in images)


def stretched(image: Pixels) -> Pixels:
    """Rescale an image linearly: minimum to 0, maximum to 1."""
    values = np.asarray(image, dtype=np.float64)
    observed = values[~np.isnan(values)]
    if not observed.size:
        return values
    low, high = observed.min(), observed.max()
    scaled: Pixels = (values - low) / (high - low) if high > low else values * 0 + 0.5
    return scaled


def _bytes(image: Pixels) -> tuple[Pixels, Pixels]:
    """Return an image in 8 bits, and the mask of its observed pixels."""
    if image.dtype == np.uint8:
        return np.ascontiguousarray(image), np.ones(image.shape[:2], dtype=bool)
    values = image.astype(np.float32)
    gaps = np.isnan(values)
    observed: Pixels = np.asarray(~(gaps.any(axis=2) if gaps.ndim == 3 else gaps))
    pixels = np.rint(255 * np.clip(np.nan_to_num(values), 0, 1)).astype(np.uint8)
    return pixels, observed


def _n_colours(pixels: Pixels) -> int:
    """Return the number of distinct colours."""
    codes = pixels if pixels.ndim == 2 else pixels @ np.array([1 << 16, 1 << 8, 1])
    return len(np.unique(codes))
