"""Plain text tables."""

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["number", "table"]


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table; the first column is text, the others are flush right."""
    cells = [list(heads), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    lines = []
    for row in cells:
        first, *others = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *others]).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)


def number(value: float | None, form: str = ".2f") -> str:
    """Return a formatted number, or a dash for none."""
    return "-" if value is None else format(value, form)
