"""[A] Tables 2 and 5 at their size, n = 12000: as ``archetypes``, one seed.

With ``--quick``, n = 3000, noise 0.1 and l / nk = 0.65 only.
"""

from typing import Any

from benchmarks.cases.archetypes import SEEDS, compare, report

__all__ = ["report", "run"]


def run(quick: bool) -> dict[str, Any]:
    """Fit every method in every cell."""
    if quick:
        return compare(3000, {0.1: 1}, (0.65,))
    return compare(12000, dict.fromkeys(SEEDS, 1))
