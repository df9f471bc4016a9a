"""Check a positive semidefinite matrix."""

from typing import NoReturn

import numpy as np

from thalweg._typing import Array
from thalweg.errors import ParameterError

# Tolerated negative eigenvalue of an n x n matrix, in n machine epsilons of the largest one.
_EIGENVALUE_ROUNDING = 10.0


def checked_psd(matrix: Array) -> Array:
    """Return a symmetric, read-only copy in double precision; raise ``ParameterError`` if invalid.

    A one-dimensional array is the diagonal of a matrix. Rounding errors in the dtype of the
    argument are tolerated.
    """
    given = np.asarray(matrix)
    eps = float(np.finfo(given.dtype if given.dtype.kind == "f" else np.float64).eps)
    kept: Array = np.array(given, dtype=np.float64)
    _check_form(kept, eps**0.5)
    if kept.ndim == 2:
        kept = (kept + kept.T) / 2
        least, most = np.linalg.eigvalsh(kept)[[0, -1]]
    else:
        least, most = np.min(kept), 0.0
    if least < -_EIGENVALUE_ROUNDING * len(kept) * eps * most:
        _reject(f"the eigenvalue {least:.3g}", "Pass a covariance matrix or its inverse")
    kept.setflags(write=False)
    return kept


def _check_form(matrix: Array, tolerance: float) -> None:
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
    if not (matrix.ndim == 1 or square) or matrix.size == 0:
        _reject(f"the shape {matrix.shape}", "Pass one row and one column for each feature")
    if not np.isfinite(matrix).all():
        _reject("entries that are not finite", "Replace NaN and inf")
    asymmetry = np.max(np.abs(matrix - matrix.T))
    if asymmetry > tolerance * np.max(np.abs(matrix)):
        _reject("a matrix that is not symmetric", "Pass (M + M.T) / 2")


def _reject(found: str, remedy: str) -> NoReturn:
    raise ParameterError(
        "matrix must be symmetric and positive semidefinite, or its nonnegative diagonal, "
        f"got {found}. {remedy}, or None for the identity."
    )
