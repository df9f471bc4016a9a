"""Accumulate statistics of a separation, and scores if the truth is known."""

from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.apps._run import TINY

__all__ = ["Parts", "Statistics", "Truth"]


class Parts(NamedTuple):
    """Frames and their decomposition."""

    frames: Array
    background: Array
    foreground: Array
    mask: Mask
    shadow: Mask


class Truth(NamedTuple):
    """True background and mask of a video, one row per frame."""

    background: Array
    mask: Mask


class Statistics:
    """Statistics over all frames; scores of the mask use the observed pixels only."""

    def __init__(self, truth: Truth | None = None) -> None:
        self.truth = truth
        self.frames = self._n_foreground = self._n_pixels = 0
        self._n_hits = self._n_detected = self._n_true = 0
        self._background_error = self._input_error = 0.0  # sums of squares
        self._n_observed = 0

    def add(self, parts: Parts) -> None:
        """Add frames."""
        if self.truth is not None:
            self._score(parts, self.truth)
        self.frames += len(parts.mask)
        self._n_foreground += int(np.count_nonzero(parts.mask))
        self._n_pixels += parts.mask.size

    def _score(self, parts: Parts, truth: Truth) -> None:
        rows = slice(self.frames, self.frames + len(parts.mask))
        mask = truth.mask[rows].reshape(parts.mask.shape)
        background = truth.background[rows].reshape(parts.mask.shape)
        observed = ~np.isnan(parts.frames)
        self._n_hits += int(np.count_nonzero(mask & parts.mask & observed))
        self._n_detected += int(np.count_nonzero(parts.mask & observed))
        self._n_true += int(np.count_nonzero(mask & observed))
        self._n_observed += int(np.count_nonzero(observed))
        errors = np.square(parts.background - background, dtype=np.float64)
        self._background_error += float(np.sum(errors))
        errors = np.square(parts.frames - background, dtype=np.float64)
        self._input_error += float(np.nansum(errors))

    def values(self) -> dict[str, Any]:
        """Return the statistics by name."""
        share = self._n_foreground / max(self._n_pixels, 1)
        own = {"frames": self.frames, "foreground share": share}
        if self.truth is None:
            return own
        scores = {
            "F-measure": 2 * self._n_hits / max(self._n_detected + self._n_true, 1),
            "precision": self._n_hits / max(self._n_detected, 1),
            "recall": self._n_hits / max(self._n_true, 1),
            "background PSNR": _psnr(self._background_error / max(self._n_pixels, 1)),
            "input PSNR": _psnr(self._input_error / max(self._n_observed, 1)),
        }
        return {**scores, **own}


def _psnr(mean_square: float) -> float:
    """Return the PSNR in dB of images from 0 to 1; finite for an error of 0."""
    return float(-10 * np.log10(max(mean_square, TINY)))
