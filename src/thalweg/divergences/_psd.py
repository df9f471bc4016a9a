"""The check of a positive semidefinite matrix."""

from typing import NoReturn

import numpy as np

from thalweg._typing import Array
from thalweg.errors import ParameterError


def checked_psd(matrix: Array) -> Array:
    """Return a symmetric copy in double precision that cannot be written to, or raise.

    One axis stands for the diagonal of a matrix. Rounding in the dtype that came is forgiven.
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
    if least < -10 * len(kept) * eps * most:
        _refuse(f"one with the eigenvalue {least:.3g}", "Pass a covariance, or the inverse of one")
    kept.setflags(write=False)
    return kept


def _check_form(matrix: Array, tolerance: float) -> None:
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
    if not (matrix.ndim == 1 or square) or matrix.size == 0:
        _refuse(f"one of shape {matrix.shape}", "Give one row and one column for each feature")
    if not np.isfinite(matrix).all():
        _refuse("one that is not finite", "Replace NaN and inf")
    asymmetry = np.max(np.abs(matrix - matrix.T))
    if asymmetry > tolerance * np.max(np.abs(matrix)):
        _refuse("one that is not symmetric", "Pass (M + M.T) / 2")


def _refuse(found: str, remedy: str) -> NoReturn:
    raise ParameterError(
        "matrix must be symmetric and positive semidefinite, or its nonnegative diagonal, "
        f"got {found}. {remedy}, or None for the identity."
    )
