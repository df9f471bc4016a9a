"""[A] Table 2 at its size and on data as its text has them: objectives by start.

Table
    [A] 2, n = 12000 (one cell of 3000 with ``--quick``).
Data
    ``archetypal_mixtures`` as the text of [A] 5.1 has them: no archetype is among the samples.
    m = 200, k = 20, noise 0.01, 0.1, 0.5; five seeds.
Settings
    As in ``archetypes``, but for the SAA of [A], which is left out.
Measures
    As in ``archetypes``. As [A] had other data (see there), its figures are not beside these.
Claim
    The default is at or below every single start in every cell, in the mean and for each seed.
"""

from typing import Any

from benchmarks._findings import Finding
from benchmarks.cases.archetypes.archetypes import compare, gains, overview

SEEDS = {0.01: 5, 0.1: 5, 0.5: 5}


def run(quick: bool) -> dict[str, Any]:
    """Fit every method in every cell (one cell with ``--quick``)."""
    if quick:
        return compare(3000, {0.1: 1}, (0.65,), separable=False)
    return compare(12000, SEEDS, separable=False)


def report(result: dict[str, Any]) -> str:
    """Return the table of all methods, and whether the default is lowest."""
    return overview(result)


def findings(result: dict[str, Any]) -> list[Finding]:
    """Compare the parts of the default with one another."""
    return gains(result)
