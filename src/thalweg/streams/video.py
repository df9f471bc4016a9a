"""Read samples from the frames of a video."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from thalweg.errors import InputError, ParameterError
from thalweg.streams._files import check_dtype, check_size, existing_file, need
from thalweg.streams._stream import Batch, Source, check_cut, collect

__all__ = ["VideoStream"]

# A file may be shorter than its header declares, by the larger of these two.
_DURATION_TOLERANCE_SECONDS, _DURATION_TOLERANCE_FRAMES = 0.25, 2
_ADVICE = "The file may be truncated or of another format: copy or record it again."

# FFmpeg detects the format from the content, and playlists make it open other files and URLs:
# allow only the formats of the suffixes.
_FORMATS = (
    *("avi", "gif", "matroska", "webm", "mov", "mp4", "m4v", "mpeg", "mpegts", "mpegvideo"),
    *("asf", "yuv4mpegpipe"),
)
_OPTIONS = {"format_whitelist": ",".join(_FORMATS), "protocol_whitelist": "file"}


@dataclass(frozen=True, eq=False)
class VideoStream(Source):
    """Read the frames of a video, one sample each, scaled to values from 0 to 1.

    FFmpeg decodes the formats of the suffixes below, and no others. Frames before ``start`` are
    decoded and skipped, so a frame does not depend on ``start``.

    Parameters
    ----------
    source : path
        A video file.
    size : (int, int) or None, default=None
        Height and width to which frames are resized; None keeps their size.
    colour : bool, default=False
        Whether a pixel has three values, red, green and blue; otherwise its luminance.
    frames : tuple of int, default=(0, None)
        Range of frames (start, stop) or (start, stop, step), as in a slice.
    dtype : 'float32' or 'float64', default='float32'
        Type of the batches.

    Attributes
    ----------
    n_features : int
        Number of values per frame.
    n_samples : None
        Unknown before the video is decoded.
    n_announced : int or None
        Number of frames of the whole file by its header, which may be wrong.
    rate : float
        Average frame rate of the file, in frames per second.
    shape : tuple of int
        (height, width), or (height, width, 3) with colour.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import av
    >>> import numpy as np
    >>> from thalweg.streams.video import VideoStream
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "white.mp4")
    ...     with av.open(str(path), "w") as file:
    ...         track = file.add_stream("mpeg4", rate=25, width=32, height=16, pix_fmt="yuv420p")
    ...         white = np.full((16, 32, 3), 255, dtype=np.uint8)
    ...         for packet in [*track.encode(av.VideoFrame.from_ndarray(white)), *track.encode()]:
    ...             file.mux(packet)
    ...     stream = VideoStream(path)
    ...     stream.shape, next(stream.batches(10)).X.mean().round(1)
    ((16, 32), np.float32(1.0))
    """

    source: str | PathLike[str]
    size: tuple[int, int] | None = None
    colour: bool = False
    frames: tuple[int | None, ...] = (0, None)
    dtype: str = "float32"
    name: ClassVar[str] = "video"
    suffixes: ClassVar[tuple[str, ...]] = (
        ".avi",
        ".gif",
        ".m4v",
        ".mkv",
        ".mov",
        ".mp4",
        ".mpeg",
        ".mpg",
        ".ts",
        ".webm",
        ".wmv",
        ".y4m",
    )

    def __post_init__(self) -> None:
        existing_file(self.source)
        check_size(self.size)
        check_dtype(self.dtype)
        if not _is_range(self.frames):
            raise ParameterError(
                "frames must be (start, stop) or (start, stop, step) with 0 <= start < stop and "
                f"step >= 1, got {self.frames!r}. Example: frames=(0, 100)."
            )

    @property
    def n_samples(self) -> None:
        """Unknown before the video is decoded."""
        return

    @property
    def n_features(self) -> int:
        """Number of values per frame."""
        return prod(self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a frame: (height, width), or (height, width, 3) with colour."""
        return (*(self.size or self._header[0]), *((3,) if self.colour else ()))

    @property
    def n_announced(self) -> int | None:
        """Number of frames of the whole file by its header."""
        return self._header[1]

    @property
    def rate(self) -> float:
        """Average frame rate of the file, in frames per second."""
        return self._header[2]

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield batches of ``size`` frames, the first at frame ``start`` of the range."""
        check_cut(size, start)
        (first, last, step), shape = _slice(self.frames), self.shape
        with self._file() as file:
            frames = islice(_frames(file, self._path), first + start * step, last, step)
            reformatter = need("av", "PyAV").video.reformatter.VideoReformatter()  # shared
            pixels = (self._pixels(frame, reformatter, *shape[:2]) for frame in frames)
            yield from collect(pixels, size, start, self._rows)

    @property
    def _path(self) -> Path:
        return Path(self.source)

    @cached_property
    def _header(self) -> tuple[tuple[int, int], int | None, float]:
        """Return the shape of the first frame, the number of frames and the frame rate."""
        with self._file() as file:
            track = file.streams.video[0]
            frame = next(_frames(file, self._path), None)
            if frame is None:
                raise InputError(
                    f"{self._path} must have frames, got none that can be decoded. {_ADVICE}"
                )
            rate = float(track.average_rate or track.guessed_rate or 0)
            return (frame.height, frame.width), track.frames or None, rate

    def _pixels(self, frame: Any, reformatter: Any, height: int, width: int) -> Any:
        if self.size is None and (frame.height, frame.width) != (height, width):
            raise InputError(
                f"{self._path} must have frames of equal size, got {frame.height} x {frame.width} "
                f"pixels after {height} x {width}. Pass size=(height, width) to resize them."
            )
        pixel_format = "rgb24" if self.colour else "gray"
        return reformatter.reformat(frame, width, height, pixel_format).to_ndarray().ravel()

    def _rows(self, frames: list[Any]) -> Any:
        dtype = check_dtype(self.dtype)
        return np.array(frames, dtype) / dtype.type(255)

    @contextmanager
    def _file(self) -> Iterator[Any]:
        av = need("av", "PyAV")
        try:
            # "file:" keeps a file name such as "http:x.mp4" from being read as a URL
            with av.open(f"file:{self._path.absolute()}", container_options=_OPTIONS) as file:
                if not file.streams.video:
                    raise InputError(
                        f"{self._path} must be a video, got a file without video track."
                    )
                file.streams.video[0].thread_type = "AUTO"
                yield file
        except av.FFmpegError as error:
            raise InputError(
                f"{self._path} must be a video, got an unreadable file: {error.strerror}. {_ADVICE}"
            ) from error


def _is_range(frames: tuple[int | None, ...]) -> bool:
    if len(frames) not in (2, 3):
        return False
    first, last, step = _slice(frames)
    return step >= 1 and first >= 0 and (last is None or last > first)


def _slice(frames: tuple[int | None, ...]) -> tuple[int, int | None, int]:
    selected = slice(*frames)
    return selected.start or 0, selected.stop, 1 if selected.step is None else selected.step


def _frames(file: Any, path: Path) -> Iterator[Any]:
    """Yield the decoded frames; raise if the file is truncated."""
    track, end = file.streams.video[0], 0.0
    for packet in file.demux():
        if packet.is_corrupt:
            raise InputError(f"{path} must be a complete video, got a corrupt packet. {_ADVICE}")
        if packet.pts is not None and packet.time_base is not None:
            end = max(end, float((packet.pts + (packet.duration or 0)) * packet.time_base))
        if packet.stream is track:
            yield from packet.decode()
    # a Matroska file has no end marker, but its header declares the duration
    rate = float(track.average_rate or 1)
    tolerance = max(_DURATION_TOLERANCE_SECONDS, _DURATION_TOLERANCE_FRAMES / rate)
    if "matroska" in file.format.name and end + tolerance < (file.duration or 0) / 1e6:
        raise InputError(
            f"{path} must last {file.duration / 1e6:.1f} s by its header, got {end:.1f} s. "
            f"{_ADVICE}"
        )
