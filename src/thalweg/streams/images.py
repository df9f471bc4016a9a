"""Read samples from a folder of images."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from glob import glob
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from thalweg._typing import Array
from thalweg.errors import InputError
from thalweg.streams._files import check_dtype, check_size, need
from thalweg.streams._stream import Batch, Source, check_cut, collect

__all__ = ["ImageStream"]

# Pillow detects the format from the content, and runs Ghostscript on PostScript: allow only the
# formats of the suffixes.
_FORMATS = ("BMP", "JPEG", "PNG", "PPM", "TIFF", "WEBP")


@dataclass(frozen=True, eq=False)
class ImageStream(Source):
    """Read the images of a folder, one sample each, scaled to values from 0 to 1.

    Images are sorted in natural order: ``2.png`` before ``10.png``. Fully transparent pixels are
    gaps. Floating-point images are not scaled.

    Parameters
    ----------
    source : path or str
        A folder, a pattern such as ``"frames/*.png"``, or one image.
    size : (int, int) or None, default=None
        Height and width to which images are resized; None requires images of equal size.
    colour : bool, default=False
        Whether a pixel has three values, red, green and blue; otherwise its luminance.
    dtype : 'float32' or 'float64', default='float32'
        Type of the batches.

    Attributes
    ----------
    n_features, n_samples : int
        Number of values per image, and number of images.
    shape : tuple of int
        (height, width), or (height, width, 3) with colour.
    paths : list of Path
        The files, one per sample.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from PIL import Image
    >>> from thalweg.streams.images import ImageStream
    >>> with TemporaryDirectory() as folder:
    ...     for gray in (0, 51, 255):
    ...         Image.new("L", (2, 1), gray).save(Path(folder, f"{gray}.png"))
    ...     next(ImageStream(folder, dtype="float64").batches(3)).X
    array([[0. , 0. ], [0.2, 0.2], [1. , 1. ]])
    """

    source: str | PathLike[str]
    size: tuple[int, int] | None = None
    colour: bool = False
    dtype: str = "float32"
    name: ClassVar[str] = "images"
    suffixes: ClassVar[tuple[str, ...]] = (
        ".bmp",
        ".jpeg",
        ".jpg",
        ".pgm",
        ".png",
        ".ppm",
        ".tif",
        ".tiff",
        ".webp",
    )

    def __post_init__(self) -> None:
        check_size(self.size)
        check_dtype(self.dtype)
        if not self.paths:
            raise InputError(
                f"{self.source} must be a folder of images, or a pattern that matches some, got "
                f"no images. Images end in {', '.join(self.suffixes)}."
            )

    @cached_property
    def paths(self) -> list[Path]:
        """The files, one per sample."""
        source = Path(self.source)
        if source.is_dir():
            found = [path for path in source.iterdir() if path.suffix.lower() in self.suffixes]
            _reject_outside_links(found, source)
        elif source.exists():
            found = [source]
        else:
            found = [Path(path) for path in glob(str(source), recursive=True)]
        return sorted((path for path in found if path.is_file()), key=_natural)

    @property
    def n_samples(self) -> int:
        """Number of images."""
        return len(self.paths)

    @property
    def n_features(self) -> int:
        """Number of values per image."""
        return int(np.prod(self.shape))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of an image: (height, width), or (height, width, 3) with colour."""
        return self._read(self.paths[0]).shape

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield batches of ``size`` images, the first at image ``start``."""
        check_cut(size, start)
        images = map(self._sample, self.paths[start:])
        yield from collect(images, size, start, np.array)

    def _sample(self, path: Path) -> Array:
        pixels = self._read(path)
        if pixels.shape != self.shape:
            raise InputError(
                f"Images must have equal sizes, got {_size_text(self.shape)} pixels in "
                f"{self.paths[0]} and {_size_text(pixels.shape)} in {path}. Pass "
                "size=(height, width) to resize them."
            )
        return pixels.ravel()

    def _read(self, path: Path) -> Array:
        opener = need("PIL.Image", "Pillow")
        try:
            with opener.open(path, formats=_FORMATS) as image:
                pixels = _pixels(image, self.size, self.colour)
        except (OSError, SyntaxError, opener.DecompressionBombError) as error:
            raise InputError(
                f"{path} must be an image, got an unreadable file: {error}. "
                "Remove it from the folder, or copy it again."
            ) from error
        converted: Array = pixels.astype(check_dtype(self.dtype), copy=False)
        return converted


def _reject_outside_links(paths: list[Path], folder: Path) -> None:
    """Raise if an image is a symbolic link to a file outside the folder."""
    inside = folder.resolve()
    for path in paths:
        if path.is_symlink() and not path.resolve().is_relative_to(inside):
            raise InputError(
                f"{folder} must contain its images, got {path.name}, a symbolic link to "
                f"{path.resolve()}. Copy the image into the folder, or pass a pattern such as "
                "'*.png', which follows links."
            )


def _pixels(image: Any, size: tuple[int, int] | None, colour: bool) -> Any:
    """Convert an image to an array of floats, with NaN for transparent pixels."""
    is_16_bit = image.mode.startswith("I;16")
    if is_16_bit or image.mode == "F":  # Pillow resizes these single-channel modes only as floats
        pixels = _resized(image.convert("F"), size) / np.float32(65535 if is_16_bit else 1)
        return np.repeat(pixels[..., None], 3, axis=2) if colour else pixels
    plain = "RGB" if colour else "L"
    if not image.has_transparency_data:
        return _resized(image.convert(plain), size) / 255
    pixels = _resized(image.convert("RGBA").convert(plain + "A"), size) / 255
    pixels[pixels[..., -1] == 0] = np.nan
    return pixels[..., :-1] if colour else pixels[..., 0]


def _resized(image: Any, size: tuple[int, int] | None) -> Any:
    if size is not None and image.size != (size[1], size[0]):
        image = image.resize((size[1], size[0]))
    return np.asarray(image)


def _natural(path: Path) -> list[Any]:
    """Return a sort key that compares numbers in names by value."""
    parts = re.split(r"(\d+)", str(path))
    return [int(part) if part.isdecimal() else part.casefold() for part in parts] + [str(path)]


def _size_text(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} x {shape[1]}"
