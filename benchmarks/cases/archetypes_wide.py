"""[A] Tables 2 and 5 at their size, n = 12000, as ``archetypes`` (``--quick``: one cell, 3000)."""

from typing import Any

from benchmarks.cases.archetypes import SEEDS, compare, report

__all__ = ["report", "run"]


def run(quick: bool) -> dict[str, Any]:
    """Fit every method in every cell (one cell with ``--quick``)."""
    return compare(3000, {0.1: 1}, (0.65,)) if quick else compare(12000, SEEDS)
