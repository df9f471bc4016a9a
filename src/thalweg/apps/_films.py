"""Write images: videos with PyAV, folders of PNG files with Pillow."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from thalweg._checks import need
from thalweg._typing import Array
from thalweg.apps._run import TINY

__all__ = [
    "Writer",
    "film",
    "frame_folder",
    "in_bytes",
    "lossless_film",
    "reduced",
    "tiled",
    "write_png",
]

_DEFAULT_RATE = 25  # frames per second
_LONGEST_SIDE = 320  # pixels, as in the report
# In order of preference: any player reads H.264, any FFmpeg writes MPEG-4.
_CODECS = ("libx264", "mpeg4")
# Codec settings: visually almost lossless, and fast.
_CODEC_OPTIONS = {
    "libx264": {"crf": "17", "preset": "veryfast"},
    "mpeg4": {"qmin": "2", "qmax": "4"},
}


class Writer(Protocol):
    """Protocol of a sequential writer of frames."""

    def write(self, frames: Any) -> None:
        """Append frames, (n, height, width) or (n, height, width, 3) in 8 bits."""
        ...


class _Film:
    def __init__(self, file: Any, track: Any, av: Any, padded: bool) -> None:
        self.file, self.track, self.av, self.padded = file, track, av, padded

    def write(self, frames: Any) -> None:
        for frame in map(_even, frames) if self.padded else frames:
            pixels = "rgb24" if frame.ndim == 3 else "gray"
            for packet in self.track.encode(self.av.VideoFrame.from_ndarray(frame, format=pixels)):
                self.file.mux(packet)


class _Pngs:
    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0

    def write(self, frames: Any) -> None:
        for frame in frames:
            write_png(self.folder / f"{self.count:06d}.png", frame)
            self.count += 1


@contextmanager
def film(path: Path, shape: tuple[int, ...], rate: float) -> Iterator[Writer]:
    """Open an mp4 file; frames of odd height or width are padded by repeating the last line."""
    av = need("av", "PyAV")
    codec = next(name for name in _CODECS if name in av.codecs_available)
    even = (shape[0] + shape[0] % 2, shape[1] + shape[1] % 2)
    options = {"pix_fmt": "yuv420p", "options": _CODEC_OPTIONS[codec]}
    with _opened(path, "mp4", codec, even, rate, options) as (file, track):
        yield _Film(file, track, av, padded=True)


@contextmanager
def lossless_film(path: Path, shape: tuple[int, ...], rate: float) -> Iterator[Writer]:
    """Open a Matroska file of grey frames, compressed without loss by FFV1."""
    av = need("av", "PyAV")
    with _opened(path, "matroska", "ffv1", shape, rate, {"pix_fmt": "gray"}) as (file, track):
        yield _Film(file, track, av, padded=False)


@contextmanager
def _opened(
    path: Path, form: str, codec: str, shape: tuple[int, ...], rate: float, options: dict[str, Any]
) -> Iterator[tuple[Any, Any]]:
    """Open a file with one track; what the encoder keeps is written at the end."""
    # rates of TV standards have the denominator 1001
    exact = Fraction(rate).limit_denominator(1001) if rate > 0 else _DEFAULT_RATE
    with need("av", "PyAV").open(str(path), "w", format=form) as file:
        track = file.add_stream(codec, rate=exact, height=shape[0], width=shape[1], **options)
        yield file, track
        for packet in track.encode():
            file.mux(packet)


@contextmanager
def frame_folder(path: Path) -> Iterator[Writer]:
    """Create a folder of numbered PNG files."""
    path.mkdir()
    yield _Pngs(path)


def write_png(path: Path, image: Any) -> None:
    """Write an 8-bit image."""
    need("PIL.Image", "Pillow").fromarray(image).save(path)


def in_bytes(images: Array) -> Any:
    """Convert images from [0, 1] to 8 bits; gaps are black."""
    return np.rint(255 * np.minimum(np.fmax(images, 0), 1)).astype(np.uint8)  # fmax(NaN, 0) = 0


def reduced(images: Any, longest: int = _LONGEST_SIDE) -> Any:
    """Subsample rows and columns of images to sides of at most ``longest`` pixels."""
    step = -(-max(images.shape[1:3]) // longest)
    return images[:, ::step, ::step]


def tiled(images: Array) -> Any:
    """Arrange images in a grid in 8 bits, each scaled from its minimum to its maximum."""
    n, (height, width) = len(images), images.shape[1:3]
    across = -(-width * n // max(1, int(np.sqrt(width * height * n))))
    down = -(-n // across)
    sheet = np.ones((down * (height + 1) - 1, across * (width + 1) - 1, *images.shape[3:]))
    for i, image in enumerate(images):
        y, x = (i // across) * (height + 1), (i % across) * (width + 1)
        low, high = float(image.min()), float(image.max())
        sheet[y : y + height, x : x + width] = (image - low) / max(high - low, TINY)
    return in_bytes(sheet)


def _even(frame: Any) -> Any:
    padding = [(0, n % 2) for n in frame.shape[:2]] + [(0, 0)] * (frame.ndim - 2)
    return np.ascontiguousarray(np.pad(frame, padding, mode="edge"))
