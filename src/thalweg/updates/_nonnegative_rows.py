"""Nonnegative dictionaries without other constraints: each row is a problem of its own."""

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.prox.orthant import Orthant
from thalweg.solvers import Status
from thalweg.solvers.block_coordinate import BlockCoordinate
from thalweg.solvers.nnls import nnls, prepare

__all__ = ["minimise_rows"]

# Sweeps over all columns before rows are solved one by one. On sparse counts, where codes of
# different atoms hardly overlap, fewer suffice; on dense data 20 to 200 would be needed, and the
# exact solution of all rows costs about as much as 20. benchmark: squares_peers
_SWEEPS = 5


def minimise_rows(A: Array, B: Array, W: Array, free: Mask, constant: float) -> Array:
    """Return argmin_{W >= 0} tr(W' W A)/2 - tr(W' B), starting from W; other columns stay fixed.

    Block coordinate descent comes first. If it is slow, each row of W is computed by exact
    nonnegative least squares, starting from its support.
    """
    W, status = BlockCoordinate(max_iter=_SWEEPS).solve(A, B, W, Orthant(), free, constant)
    if status is Status.CONVERGED:
        return W
    used = free & (np.diag(A) >= np.finfo(A.dtype).tiny)  # other columns stay
    linear = B[:, used] - W[:, ~used] @ A[np.ix_(~used, used)]
    gram = prepare(A[np.ix_(used, used)])
    found, _, solved = nnls(gram, linear.T, passive=W[:, used].T > 0.0)
    W = np.array(W, order="F")
    W[:, used] = np.where(solved[:, None], found.T, W[:, used])
    return W
