"""[A] Tables 2 and 5 at their size, n = 12000: as ``archetypes``, with one seed.

With ``--quick``, n = 3000 and the first noise.
"""

from typing import Any

from benchmarks.cases.archetypes import NOISES, compare, report

__all__ = ["report", "run"]


def run(quick: bool) -> dict[str, Any]:
    """Fit every method in every cell."""
    return compare(3000, 1, NOISES[:1]) if quick else compare(12000, 1, NOISES)
