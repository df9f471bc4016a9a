"""Samples from the frames of a video."""

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
from thalweg.streams._files import check_dtype, check_size, existing, need
from thalweg.streams._stream import Batch, Source, check_cut, collect

__all__ = ["VideoStream"]

# Seconds, and frames, that may be missing from what a header announces.
_SLACK, _SLACK_FRAMES = 0.25, 2
_AGAIN = "It may be truncated, or of another format: copy or record it again."

# FFmpeg recognises a file by its content, and playlists make it open other files and addresses:
# only the formats of the suffixes are tried.
_FORMATS = (
    *("avi", "gif", "matroska", "webm", "mov", "mp4", "m4v", "mpeg", "mpegts", "mpegvideo"),
    *("asf", "yuv4mpegpipe"),
)
_OPTIONS = {"format_whitelist": ",".join(_FORMATS), "protocol_whitelist": "file"}


@dataclass(frozen=True, eq=False)
class VideoStream(Source):
    """The frames of a video, one sample each, with values from 0 to 1.

    FFmpeg decodes the formats of the suffixes below, and no others. Frames before ``start`` are
    decoded and passed over, so that a frame is the same from wherever one begins.

    Parameters
    ----------
    source : path
        A video file.
    size : (int, int) or None, default=None
        Height and width to which frames are resized; None keeps them.
    colour : bool, default=False
        Whether a sample has red, green and blue of each pixel, or its luminance.
    frames : tuple of int, default=(0, None)
        First frame and the one behind the last, counted from 0, and the step if it is not 1; as
        in a slice.
    dtype : 'float32' or 'float64', default='float32'
        Type of the batches.

    Attributes
    ----------
    n_features : int
        Numbers in a frame.
    n_samples : None
        Not known before the video is decoded.
    n_announced : int or None
        Frames of the whole file as its header has it, which need not be true.
    rate : float
        Frames of the file per second, on average.
    shape : tuple of int
        Height and width; 3 behind them with colour.

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
        existing(self.source)
        check_size(self.size)
        check_dtype(self.dtype)
        if not _is_range(self.frames):
            raise ParameterError(
                f"frames should be (first, behind the last) or (first, behind the last, step) in "
                f"rising order from 0, but {self.frames!r} came. Give frames=(0, 100), say."
            )

    @property
    def n_samples(self) -> None:
        """Not known before the video is decoded."""
        return

    @property
    def n_features(self) -> int:
        """Numbers in a frame."""
        return prod(self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Height and width; 3 behind them with colour."""
        return (*(self.size or self._facts[0]), *((3,) if self.colour else ()))

    @property
    def n_announced(self) -> int | None:
        """Frames of the whole file as its header has it."""
        return self._facts[1]

    @property
    def rate(self) -> float:
        """Frames of the file per second, on average."""
        return self._facts[2]

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield ``size`` frames at a time, from frame ``start`` of the range on."""
        check_cut(size, start)
        (first, last, step), shape = _slice(self.frames), self.shape
        with self._file() as file:
            frames = islice(_frames(file, self._path), first + start * step, last, step)
            change = need("av", "PyAV").video.reformatter.VideoReformatter()  # one for all frames
            pixels = (self._pixels(frame, change, *shape[:2]) for frame in frames)
            yield from collect(pixels, size, start, self._rows)

    @property
    def _path(self) -> Path:
        return Path(self.source)

    @cached_property
    def _facts(self) -> tuple[tuple[int, int], int | None, float]:
        with self._file() as file:
            track = file.streams.video[0]
            frame = next(_frames(file, self._path), None)
            if frame is None:
                raise InputError(
                    f"{self._path} should have frames, but none can be decoded. {_AGAIN}"
                )
            rate = float(track.average_rate or track.guessed_rate or 0)
            return (frame.height, frame.width), track.frames or None, rate

    def _pixels(self, frame: Any, change: Any, height: int, width: int) -> Any:
        if self.size is None and (frame.height, frame.width) != (height, width):
            raise InputError(
                f"{self._path} should have frames of one size, but one of {frame.height} x "
                f"{frame.width} pixels comes after those of {height} x {width}. "
                "Give size=(height, width) to resize them."
            )
        form = "rgb24" if self.colour else "gray"
        return change.reformat(frame, width, height, form).to_ndarray().ravel()

    def _rows(self, kept: list[Any]) -> Any:
        dtype = check_dtype(self.dtype)
        return np.array(kept, dtype) / dtype.type(255)

    @contextmanager
    def _file(self) -> Iterator[Any]:
        av = need("av", "PyAV")
        try:
            # a name such as "http:x.mp4" is a file's, too
            with av.open(f"file:{self._path.absolute()}", container_options=_OPTIONS) as file:
                if not file.streams.video:
                    raise InputError(
                        f"{self._path} should be a video, but it has no pictures. Check the file."
                    )
                file.streams.video[0].thread_type = "AUTO"
                yield file
        except av.FFmpegError as error:
            raise InputError(
                f"{self._path} should be a video, but it cannot be decoded: {error.strerror}. "
                f"{_AGAIN}"
            ) from error


def _is_range(frames: tuple[int | None, ...]) -> bool:
    if len(frames) not in (2, 3):
        return False
    first, last, step = _slice(frames)
    return step >= 1 and first >= 0 and (last is None or last > first)


def _slice(frames: tuple[int | None, ...]) -> tuple[int, int | None, int]:
    found = slice(*frames)
    return found.start or 0, found.stop, 1 if found.step is None else found.step


def _frames(file: Any, path: Path) -> Iterator[Any]:
    """Yield the decoded frames, and raise where the file ends too early."""
    track, end = file.streams.video[0], 0.0
    for packet in file.demux():
        if packet.is_corrupt:
            raise InputError(f"{path} should be a whole video, but it breaks off. {_AGAIN}")
        if packet.pts is not None and packet.time_base is not None:
            end = max(end, float((packet.pts + (packet.duration or 0)) * packet.time_base))
        if packet.stream is track:
            yield from packet.decode()
    # Matroska has no mark of its end, but the header knows how long it is
    slack = max(_SLACK, _SLACK_FRAMES / float(track.average_rate or 1))
    if "matroska" in file.format.name and end + slack < (file.duration or 0) / 1e6:
        raise InputError(
            f"{path} should last {file.duration / 1e6:.1f} s, but it breaks off at {end:.1f} s. "
            f"{_AGAIN}"
        )
