"""Axes of a chart: ticks, labels and positions of values."""

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.report._text import format_number

__all__ = ["Axis"]

_ROUNDING = 1e-9  # tolerance, in steps, for ticks at the ends of an axis
_MIN_DIGITS = 4  # significant digits of labels


@dataclass(frozen=True)
class Axis:
    """An axis from ``low`` to ``high``; both are base-10 logarithms if ``log``."""

    low: float
    high: float
    log: bool = False

    @classmethod
    def covering(cls, values: Array, log: bool = False, margin: float = 0.0) -> "Axis":
        """Return an axis that covers all finite values, plus a relative ``margin``."""
        finite = values[np.isfinite(values)]
        if log:
            finite = np.log10(finite[finite > 0])
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        if low == high:  # a constant gets an axis of positive length
            half = 0.5 if log else 0.5 * abs(low) or 0.5
            low, high = low - half, high + half
        padding = margin * (high - low)
        return cls(low - padding, high + padding, log)

    def position(self, values: Any) -> Array:
        """Return relative positions: 0 at ``low``, 1 at ``high``; NaN for gaps."""
        scaled = np.asarray(values, dtype=np.float64)
        if self.log:
            scaled = np.log10(scaled, out=np.full_like(scaled, np.nan), where=scaled > 0)
        position: Array = (scaled - self.low) / (self.high - self.low)
        return position

    def labels(self) -> list[str]:
        """Return the ticks as text."""
        ticks = self.ticks()
        digits = _MIN_DIGITS if self.log else _digits(ticks)
        return [
            format_number(tick) if digits == _MIN_DIGITS else f"{tick:.{digits}g}" for tick in ticks
        ]

    def ticks(self, most: int = 6) -> list[float]:
        """Return round values on the axis, about ``most`` of them."""
        if not self.log:
            return _round_steps(self.low, self.high, most)
        first, last = ceil(self.low - _ROUNDING), floor(self.high + _ROUNDING)
        if last - first < 1:  # within one decade
            return [t for t in _round_steps(10**self.low, 10**self.high, most) if t > 0]
        step = ceil((last - first + 1) / most)
        return [10.0**power for power in range(first, last + 1, step)]


def _digits(ticks: list[float]) -> int:
    """Return the number of significant digits that distinguishes the ticks."""
    step = min((b - a for a, b in pairwise(ticks)), default=0.0)
    largest = max(map(abs, ticks), default=0.0)
    if step <= 0:
        return _MIN_DIGITS
    return max(_MIN_DIGITS, floor(log10(largest)) - floor(log10(step)) + 1)


def _round_steps(low: float, high: float, most: int) -> list[float]:
    rough = (high - low) / most
    unit = 10.0 ** floor(log10(rough))
    step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= rough * (1 - _ROUNDING))
    first, last = ceil(low / step - _ROUNDING), floor(high / step + _ROUNDING)
    return [round(i * step, 12 - floor(log10(step))) for i in range(first, last + 1)]
