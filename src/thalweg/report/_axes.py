"""Ticks of an axis, and where values lie along it."""

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.report._text import figure

__all__ = ["Axis"]


@dataclass(frozen=True)
class Axis:
    """An axis from ``low`` to ``high``, in logarithms of base 10 if ``log``."""

    low: float
    high: float
    log: bool = False

    @classmethod
    def around(cls, values: Array, log: bool = False, margin: float = 0.0) -> "Axis":
        """Return an axis with all finite values on it."""
        seen = values[np.isfinite(values)]
        if log:
            seen = np.log10(seen[seen > 0])
        low, high = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 1.0)
        if low == high:  # room around a constant
            around = 0.5 if log else 0.5 * abs(low) or 0.5
            low, high = low - around, high + around
        room = margin * (high - low)
        return cls(low - room, high + room, log)

    def place(self, values: Any) -> Array:
        """Return where values lie, 0 at the low end and 1 at the high end; NaN for a gap."""
        found = np.asarray(values, dtype=np.float64)
        if self.log:
            found = np.log10(found, out=np.full_like(found, np.nan), where=found > 0)
        place: Array = (found - self.low) / (self.high - self.low)
        return place

    def labels(self) -> list[str]:
        """Return the ticks as text."""
        ticks = self.ticks()
        digits = 4 if self.log else _digits(ticks)
        return [figure(tick) if digits == 4 else f"{tick:.{digits}g}" for tick in ticks]

    def ticks(self, most: int = 6) -> list[float]:
        """Return round values on the axis."""
        if not self.log:
            return _round_steps(self.low, self.high, most)
        first, last = ceil(self.low - 1e-9), floor(self.high + 1e-9)
        if last - first < 1:  # within one decade
            return [t for t in _round_steps(10**self.low, 10**self.high, most) if t > 0]
        step = ceil((last - first + 1) / most)
        return [10.0**power for power in range(first, last + 1, step)]


def _digits(ticks: list[float]) -> int:
    """Return how many significant digits tell ticks apart."""
    step = min((b - a for a, b in pairwise(ticks)), default=0.0)
    largest = max(map(abs, ticks), default=0.0)
    return 4 if step <= 0 else max(4, floor(log10(largest)) - floor(log10(step)) + 1)


def _round_steps(low: float, high: float, most: int) -> list[float]:
    rough = (high - low) / most
    unit = 10.0 ** floor(log10(rough))
    step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= rough * (1 - 1e-9))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [round(i * step, 12 - floor(log10(step))) for i in range(first, last + 1)]
