"""Read and write the cells of a column of times."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from thalweg._typing import Array

__all__ = ["TimeFormat", "find_format"]

_DATES = ("%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%d-%b-%Y", "%d %b %Y")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %H.%M.%S", " %I:%M %p", " %I:%M:%S %p")
# Formats besides ISO 8601, in the order in which they are tried; of two that fit, the one whose
# times increase is taken.
_PATTERNS = (*(date + clock for date in _DATES for clock in _CLOCKS), "%Y-%m")
# Least numbers that are seconds, milliseconds, microseconds and nanoseconds since 1970: all from
# the year 1973 on.
_EPOCHS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3), (1e8, 1.0))


@dataclass(frozen=True)
class TimeFormat:
    """How times are written.

    Parameters
    ----------
    pattern : str
        A pattern of :meth:`datetime.datetime.strptime`, ``"iso"``, or ``"epoch"``.
    unit : float, default=1.0
        Seconds of a unit of numbers since 1970.
    """

    pattern: str
    unit: float = 1.0

    def seconds(self, cells: Sequence[str]) -> Array:
        """Return seconds since 1970, NaN for empty cells; raise ValueError for other text."""
        read = self._reader()
        found = [read(cell.strip()) if cell.strip() else np.nan for cell in cells]
        return np.array(found, np.float64)

    def text(self, seconds: float, like: str) -> str:
        """Return a time in the same format, with a date only if another one has a date only."""
        if self.pattern == "epoch":
            return f"{seconds / self.unit:.0f}"
        moment = datetime.fromtimestamp(round(seconds, 6), UTC)
        if self.pattern != "iso":
            return moment.strftime(self.pattern)
        if len(like.strip()) <= len("2024-01-01"):
            whole = seconds % 86400 == 0
            return moment.date().isoformat() if whole else moment.isoformat(" ")[:19]
        mark = "Z" if like.strip().endswith("Z") else ""
        return moment.replace(tzinfo=None).isoformat(like.strip()[10]) + mark

    def _reader(self) -> Callable[[str], float]:
        if self.pattern == "epoch":
            return lambda cell: float(cell) * self.unit
        if self.pattern == "iso":
            return lambda cell: _timestamp(datetime.fromisoformat(cell))
        return lambda cell: _timestamp(datetime.strptime(cell, self.pattern))


def find_format(cells: Sequence[str], *, named: bool) -> TimeFormat | None:
    """Return the format of a sample of cells, or None if they are not times.

    Parameters
    ----------
    cells : sequence of str
        Cells in the order of rows.
    named : bool
        Whether the column is known to have times, by its name or by request: then numbers may be
        seconds since 1970, or dates without separators.

    Returns
    -------
    TimeFormat or None
        The format; of several, the first whose times increase.
    """
    filled = [cell.strip() for cell in cells if cell.strip()]
    if not filled:
        return None
    if all(_is_number(cell) for cell in filled):
        return _numbers(filled) if named else None
    fitting = [form for form in map(TimeFormat, ("iso", *_PATTERNS)) if _fits(form, filled)]
    return next((form for form in fitting if _increase(form, filled)), next(iter(fitting), None))


def _numbers(cells: Sequence[str]) -> TimeFormat | None:
    """Return the format of numbers: dates without separators, or counts since 1970."""
    for pattern in ("iso", "%Y%m%d%H%M", "%Y%m%d%H%M%S"):
        form = TimeFormat(pattern)
        if len(cells[0]) in (8, 12, 14) and _fits(form, cells) and _increase(form, cells):
            return form
    least = min(float(cell) for cell in cells)
    unit = next((unit for bound, unit in _EPOCHS if least >= bound), None)
    return None if unit is None else TimeFormat("epoch", unit)


def _fits(form: TimeFormat, cells: Sequence[str]) -> bool:
    try:
        form.seconds(cells)
    except ValueError:
        return False
    return True


def _increase(form: TimeFormat, cells: Sequence[str]) -> bool:
    return bool((np.diff(form.seconds(cells)) > 0).all())


def _timestamp(moment: datetime) -> float:
    """Return seconds since 1970; times without a zone are UTC, so that all days have 24 hours."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
