"""[A] Tables 2 and 5 at their size, n = 12000: as ``archetypes``, one cell of one seed.

Noise 0.1, l / nk = 0.65; with ``--quick``, n = 3000.
"""

from typing import Any

from benchmarks.cases.archetypes import compare, report

__all__ = ["report", "run"]


def run(quick: bool) -> dict[str, Any]:
    """Fit every method in the cell."""
    return compare(3000 if quick else 12000, {0.1: 1}, (0.65,))
