"""Pictures inside of a page: arrays as WebP in data URIs, gaps as transparent pixels."""

from base64 import b64encode
from io import BytesIO
from typing import Any

import numpy as np

from thalweg._checks import need
from thalweg.report._html import Html, tag

__all__ = ["LONGEST_SIDE", "embed", "fit_side", "has_gaps", "is_small", "picture", "stretched"]

LONGEST_SIDE = 320  # of a picture in a strip, in pixels; more is lost on four side by side
_SMALL = 64 * 64  # so few pixels are shown enlarged, where the marks of a lossy code would show
_QUALITY = 80

Pixels = np.ndarray[Any, np.dtype[Any]]


def embed(image: Pixels, longest: int = LONGEST_SIDE, colours: int = 8) -> str:
    """Return an image, (height, width) or (height, width, 3), as a data URI.

    Floats are from 0 to 1, and clipped; NaN is transparent, so that the page's colour of gaps
    shows. Images larger than ``longest`` are reduced. Those that are small, or have at most
    ``colours`` colours, are kept exactly.
    """
    opener = need("PIL.Image", "Pillow")
    pixels, seen = _bytes(image)
    picture = opener.fromarray(pixels)
    if not seen.all():
        picture = picture.convert("RGBA")
        picture.putalpha(opener.fromarray(seen.astype(np.uint8) * 255))
    height, width = fit_side(image.shape[:2], longest)
    if (width, height) != picture.size:
        picture = picture.resize((width, height))
    few = is_small(seen.shape) or _count(pixels) <= colours
    with BytesIO() as file:
        picture.save(file, "WEBP", lossless=few, quality=_QUALITY, method=4)
        return "data:image/webp;base64," + b64encode(file.getvalue()).decode("ascii")


def fit_side(shape: tuple[int, ...], longest: int) -> tuple[int, int]:
    """Return height and width of an image that is reduced to ``longest`` if it is larger."""
    scale = min(1.0, longest / max(shape))
    return max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale))


def picture(uri: str, alt: str, shape: tuple[int, ...], enlarged: bool = False) -> Html:
    """Return an ``img`` element; ``shape`` is the height and width of the array."""
    sharp = "sharp" if enlarged or is_small(shape) else None
    size = {"width": shape[1], "height": shape[0]}
    return tag("img", src=uri, alt=alt, class_=sharp, decoding="sync", **size)


def is_small(shape: tuple[int, ...]) -> bool:
    """Return whether an image has so few pixels that each should be seen."""
    return shape[0] * shape[1] <= _SMALL


def has_gaps(*images: Pixels) -> bool:
    """Return whether something is missing."""
    return any(some.dtype.kind == "f" and bool(np.isnan(some).any()) for some in images)


def stretched(image: Pixels) -> Pixels:
    """Return an image of any range with its least value at 0 and its largest at 1."""
    values = np.asarray(image, dtype=np.float64)
    seen = values[~np.isnan(values)]
    if not seen.size:
        return values
    low, high = seen.min(), seen.max()
    found: Pixels = (values - low) / (high - low) if high > low else values * 0 + 0.5
    return found


def _bytes(image: Pixels) -> tuple[Pixels, Pixels]:
    """Return an image in 8 bits, and which of its pixels are seen."""
    if image.dtype == np.uint8:
        return np.ascontiguousarray(image), np.ones(image.shape[:2], dtype=bool)
    values = image.astype(np.float32)
    gaps = np.isnan(values)
    seen: Pixels = np.asarray(~(gaps.any(axis=2) if gaps.ndim == 3 else gaps))
    whole = np.rint(255 * np.clip(np.nan_to_num(values), 0, 1)).astype(np.uint8)
    return whole, seen


def _count(pixels: Pixels) -> int:
    """Return how many colours there are."""
    whole = pixels if pixels.ndim == 2 else pixels @ np.array([1 << 16, 1 << 8, 1])
    return len(np.unique(whole))
