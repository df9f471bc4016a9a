"""Every compiled loop: pure functions on arrays, and nothing else.

Rows are samples here (the memory order in which a sample is contiguous). Each public kernel
has a naive twin in ``tests/reference.py``. Kernels release the GIL and are cached on disk; the
cache of a kernel does not see changes in other files, so that kernels which call one another
live in the same one.
"""

from thalweg._kernels.atoms import sweep_atoms
from thalweg._kernels.codes import CAPPED, SOLVED, alternate_l1, envelope_l1, nonnegative_codes
from thalweg._kernels.counts import count_codes, products_at
from thalweg._kernels.rows import sweep_rows, weighted_grams
from thalweg._kernels.simplex import simplex_codes
from thalweg._kernels.supports import offer_entries, sweep_supports

__all__ = [
    "CAPPED",
    "SOLVED",
    "alternate_l1",
    "count_codes",
    "envelope_l1",
    "nonnegative_codes",
    "offer_entries",
    "products_at",
    "simplex_codes",
    "sweep_atoms",
    "sweep_rows",
    "sweep_supports",
    "weighted_grams",
]
