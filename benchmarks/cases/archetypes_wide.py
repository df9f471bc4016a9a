"""[A] Tables 2 and 5 at their size, n = 12000: as ``archetypes``, three cells of one seed.

Noise 0.01, 0.1 and 0.5, l / nk = 0.65; with ``--quick``, noise 0.1 and n = 3000.
"""

from typing import Any

from benchmarks.cases.archetypes import NOISES, compare, report

__all__ = ["report", "run"]


def run(quick: bool) -> dict[str, Any]:
    """Fit every method in every cell."""
    return compare(3000, 1, (0.1,), (0.65,)) if quick else compare(12000, 1, NOISES, (0.65,))
