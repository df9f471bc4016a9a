"""What came out of a separation, counted as it goes by, and how near to the truth it is."""

from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array, Mask

__all__ = ["Figures", "Parts", "Truth"]


class Parts(NamedTuple):
    """Some frames taken apart."""

    frames: Array
    background: Array
    foreground: Array
    mask: Mask


class Truth(NamedTuple):
    """What a film was made of, a row for each frame."""

    background: Array
    mask: Mask


class Figures:
    """Counts over all frames; those beside the truth are over the pixels that were seen."""

    def __init__(self, truth: Truth | None = None) -> None:
        self.truth = truth
        self.frames = self._inside = self._pixels = 0
        self._hits = self._found = self._true = 0
        self._error = self._error_before = 0.0
        self._seen = 0

    def add(self, parts: Parts) -> None:
        """Take in some frames."""
        if self.truth is not None:
            self._judge(parts, self.truth)
        self.frames += len(parts.mask)
        self._inside += int(np.count_nonzero(parts.mask))
        self._pixels += parts.mask.size

    def _judge(self, parts: Parts, truth: Truth) -> None:
        place = slice(self.frames, self.frames + len(parts.mask))
        mask = truth.mask[place].reshape(parts.mask.shape)
        background = truth.background[place].reshape(parts.mask.shape)
        seen = ~np.isnan(parts.frames)
        self._hits += int(np.count_nonzero(mask & parts.mask & seen))
        self._found += int(np.count_nonzero(parts.mask & seen))
        self._true += int(np.count_nonzero(mask & seen))
        self._seen += int(np.count_nonzero(seen))
        self._error += float(np.sum(np.square(parts.background - background, dtype=np.float64)))
        self._error_before += float(
            np.nansum(np.square(parts.frames - background, dtype=np.float64))
        )

    def values(self) -> dict[str, Any]:
        """Return the figures by name."""
        own = {"frames": self.frames, "foreground share": self._inside / max(self._pixels, 1)}
        if self.truth is None:
            return own
        quality = {
            "F-measure": 2 * self._hits / max(self._found + self._true, 1),
            "precision": self._hits / max(self._found, 1),
            "recall": self._hits / max(self._true, 1),
            "background PSNR": _decibels(self._error / max(self._pixels, 1)),
            "input PSNR": _decibels(self._error_before / max(self._seen, 1)),
        }
        return {**quality, **own}


def _decibels(error: float) -> float:
    """Return the PSNR of pictures from 0 to 1."""
    return float(-10 * np.log10(max(error, 1e-300)))
