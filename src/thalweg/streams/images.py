"""Samples from a folder of images."""

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

# Pillow recognises a file by its content, and runs Ghostscript on PostScript: only the formats of
# the suffixes are tried.
_FORMATS = ("BMP", "JPEG", "PNG", "PPM", "TIFF", "WEBP")


@dataclass(frozen=True, eq=False)
class ImageStream(Source):
    """The images of a folder, one sample each, with values from 0 to 1.

    They come in natural order: ``2.png`` before ``10.png``. Pixels that are wholly transparent are
    gaps. Images of floating-point numbers are taken as they are.

    Parameters
    ----------
    source : path or str
        A folder, a pattern such as ``"frames/*.png"``, or one image.
    size : (int, int) or None, default=None
        Height and width to which images are resized; None asks for images of one size.
    colour : bool, default=False
        Whether a sample has red, green and blue of each pixel, or its luminance.
    dtype : 'float32' or 'float64', default='float32'
        Type of the batches.

    Attributes
    ----------
    n_features, n_samples : int
        Numbers in an image, and images.
    shape : tuple of int
        Height and width; 3 behind them with colour.
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
                f"{self.source} should be a folder of images, or a pattern that some match, but "
                f"there are none. Images end in {', '.join(self.suffixes)}."
            )

    @cached_property
    def paths(self) -> list[Path]:
        """The files, one per sample."""
        source = Path(self.source)
        if source.is_dir():
            found = [path for path in source.iterdir() if path.suffix.lower() in self.suffixes]
            _refuse_strangers(found, source)
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
        """Numbers in an image."""
        return int(np.prod(self.shape))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Height and width; 3 behind them with colour."""
        return self._read(self.paths[0]).shape

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield ``size`` images at a time, from image ``start`` on."""
        check_cut(size, start)
        images = map(self._sample, self.paths[start:])
        yield from collect(images, size, start, np.array)

    def _sample(self, path: Path) -> Array:
        pixels = self._read(path)
        if pixels.shape != self.shape:
            raise InputError(
                f"Images should have one size, but {self.paths[0]} has {_by(self.shape)} pixels "
                f"and {path} has {_by(pixels.shape)}. Give size=(height, width) to resize them."
            )
        return pixels.ravel()

    def _read(self, path: Path) -> Array:
        opener = need("PIL.Image", "Pillow")
        try:
            with opener.open(path, formats=_FORMATS) as image:
                pixels = _pixels(image, self.size, self.colour)
        except (OSError, SyntaxError, opener.DecompressionBombError) as error:
            raise InputError(
                f"{path} should be an image, but it cannot be read: {error}. "
                "Take it out of the folder, or copy it again."
            ) from error
        found: Array = pixels.astype(check_dtype(self.dtype), copy=False)
        return found


def _refuse_strangers(paths: list[Path], folder: Path) -> None:
    """Raise if an image of a folder is a link to something outside of it."""
    inside = folder.resolve()
    for path in paths:
        if path.is_symlink() and not path.resolve().is_relative_to(inside):
            raise InputError(
                f"{folder} should have its own images, but {path.name} is a link to "
                f"{path.resolve()}. Copy the image there, or name a pattern such as '*.png', "
                "which follows links."
            )


def _pixels(image: Any, size: tuple[int, int] | None, colour: bool) -> Any:
    """Return an image as an array of floats, with NaN where it is transparent."""
    deep = image.mode.startswith("I;16")
    if deep or image.mode == "F":  # one channel, which Pillow resizes in floats only
        pixels = _resized(image.convert("F"), size) / np.float32(65535 if deep else 1)
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
    """Return a key by which numbers inside of names sort as numbers."""
    parts = re.split(r"(\d+)", str(path))
    return [int(part) if part.isdecimal() else part.casefold() for part in parts] + [str(path)]


def _by(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} x {shape[1]}"
