"""Every compiled loop: pure functions on arrays, and nothing else.

Rows are samples here (the memory order in which a sample is contiguous). Each public kernel
has a naive twin in ``tests/reference.py``. Kernels release the GIL and are cached on disk; the
cache of a kernel does not see changes in other files, so that kernels which call one another
live in the same one.
"""

from thalweg._kernels.approximation import approximate, project, shuffled, sweep_bordered
from thalweg._kernels.atoms import sweep_atoms
from thalweg._kernels.codes import CAPPED, SOLVED, alternate_l1, envelope_l1, nonnegative_codes
from thalweg._kernels.counts import count_codes, products_at
from thalweg._kernels.entries import count_odd
from thalweg._kernels.grams import definite_inverses, kept_grams
from thalweg._kernels.grassmann import (
    ADAPTIVE,
    CONSTANT,
    DIMINISHING,
    GREEDY,
    PROXIMAL,
    robust_codes,
    track_grouse,
    track_l1,
    track_statistics,
)
from thalweg._kernels.knees import huber_knee
from thalweg._kernels.lanes import BYTES
from thalweg._kernels.petrels import (
    LISTEN,
    huber_codes,
    least_squares_codes,
    rejecting_codes,
    track_least_squares,
    track_rejecting,
)
from thalweg._kernels.projected_cs import recover_sparse
from thalweg._kernels.rows import sweep_rows, weighted_grams
from thalweg._kernels.simplex import simplex_codes
from thalweg._kernels.supports import exchange_entries, offer_entries, sweep_supports

__all__ = [
    "ADAPTIVE",
    "BYTES",
    "CAPPED",
    "CONSTANT",
    "DIMINISHING",
    "GREEDY",
    "LISTEN",
    "PROXIMAL",
    "SOLVED",
    "alternate_l1",
    "approximate",
    "count_codes",
    "count_odd",
    "definite_inverses",
    "envelope_l1",
    "exchange_entries",
    "huber_codes",
    "huber_knee",
    "kept_grams",
    "least_squares_codes",
    "nonnegative_codes",
    "offer_entries",
    "products_at",
    "project",
    "recover_sparse",
    "rejecting_codes",
    "robust_codes",
    "shuffled",
    "simplex_codes",
    "sweep_atoms",
    "sweep_bordered",
    "sweep_rows",
    "sweep_supports",
    "track_grouse",
    "track_l1",
    "track_least_squares",
    "track_rejecting",
    "track_statistics",
    "weighted_grams",
]
