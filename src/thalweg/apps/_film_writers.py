"""Write the background, foreground, mask and boxes of a film."""

from contextlib import ExitStack
from types import TracebackType
from typing import Any

import numpy as np

from thalweg.apps._boxes import BOX_HEADER, boxes
from thalweg.apps._figures import Parts
from thalweg.apps._films import Writer, film, frame_folder, in_bytes, lossless_film
from thalweg.apps._folder import Folder
from thalweg.apps._tables import Csv, csv_file

__all__ = ["FilmWriters", "mask_levels"]

_OBJECT, _SHADOW = np.uint8(255), np.uint8(127)  # grey values of the mask


class FilmWriters:
    """Writers of the parts of a film: videos, or folders of images; the mask without loss."""

    def __init__(
        self, folder: Folder, shape: tuple[int, ...], rate: float, frames: bool, marked: bool
    ) -> None:
        self._folder, self._shape, self._rate = folder, shape, rate
        self._frames, self._marked = frames, marked
        self._stack = ExitStack()
        self._writers: dict[str, Writer] = {}
        self._boxes: Csv
        self.n_objects = 0

    def __enter__(self) -> "FilmWriters":
        with ExitStack() as stack:
            for name in ("background", "foreground", "mask"):
                self._writers[name] = stack.enter_context(self._opened(name))
            path = self._folder.file("boxes", "boxes.csv")
            self._boxes = stack.enter_context(csv_file(path, BOX_HEADER))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def write(self, first: int, parts: Parts) -> None:
        """Append frames, numbered from ``first``."""
        self._writers["background"].write(in_bytes(parts.background))
        self._writers["foreground"].write(in_bytes(parts.foreground))
        self._writers["mask"].write(mask_levels(parts, self._marked))
        for box in boxes(parts.mask, first):
            self._boxes.add(box)
            self.n_objects += 1

    def _opened(self, name: str) -> Any:
        if self._frames:
            return frame_folder(self._folder.file(name, name))
        if name == "mask":
            return lossless_film(self._folder.file(name, "mask.mkv"), self._shape[:2], self._rate)
        return film(self._folder.file(name, f"{name}.mp4"), self._shape, self._rate)


def mask_levels(parts: Parts, marked: bool) -> Any:
    """Return masks in 8 bits: white objects and, if marked, grey shadows on black."""
    levels = np.where(parts.mask, _OBJECT, np.uint8(0))
    return np.where(parts.shadow, _SHADOW, levels) if marked else levels
